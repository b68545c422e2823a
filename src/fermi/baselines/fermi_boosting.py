"""FERMI with boosted trees (Lowy et al. 2022): cross-entropy + λ · ERMI as the objective of LightGBM or XGBoost.

It is `FermiBoostingClassifier`; tables keep their categories. `strength` is λ, on a scale of equal factors. Trees are
shallow by default: deep ones learn the groups of few training rows by heart, and the gap of new rows stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows, geometric
from fermi.baselines.fermi import masked
from fermi.boosting import FermiBoostingClassifier
from fermi.boosting.features import read_table
from fermi.boosting.options import read_params
from fermi.notions import ConditionalParity

_LAM = (0.03, 300.0)


class FermiBoosting(Baseline):
    """Fair boosted trees with λ from 0.03 to 300, by equal factors.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    booster, n_estimators, learning_rate
        As in `FermiBoostingClassifier`.
    booster_params : dict, optional
        The library's other parameters; `max_depth` is 2 unless given.
    """

    capabilities = Capabilities(
        nonbinary_target=True, nonbinary_attribute=True, beyond_logistic=True, unknown_attribute=True
    )

    def __init__(
        self,
        strength: float = 0.5,
        notion: Any = "demographic_parity",
        random_state: Any = None,
        *,
        booster: str = "lightgbm",
        n_estimators: int = 300,
        learning_rate: float = 0.1,
        booster_params: Any = None,
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.booster = booster
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.booster_params = booster_params

    def _features(self, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
        return read_table(self, X, y, reset=reset)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        # The conditions are coded already, whatever the notion was.
        self.model_ = FermiBoostingClassifier(
            self.booster,
            ConditionalParity(masked(rows.z)),
            geometric(strength, *_LAM),
            n_estimators=self.n_estimators,
            learning_rate=self.learning_rate,
            booster_params={"max_depth": 2, **read_params(self.booster_params, self.booster)},
            random_state=rng,
        )
        self.model_.fit(rows.X, rows.y, sensitive_features=masked(rows.s))

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(self.model_.predict_proba(X))
