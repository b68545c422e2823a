"""Fair gradient boosting on stock LightGBM and XGBoost: a classifier, and the bare objective for their `train`."""

from __future__ import annotations

from fermi.boosting.bare import objective
from fermi.boosting.classifier import FermiBoostingClassifier
from fermi.boosting.custom_objective import BoostingObjective

__all__ = ["BoostingObjective", "FermiBoostingClassifier", "objective"]
