"""FERMI and labels within a bound: FERMI's linear model (Lowy et al. 2022) under the label stage of `FairLabels`.

FERMI makes the probabilities of the groups meet, and users are judged on labels; the second stage acts on those, as
`linear_post` does on the plain model. `strength` does both: λ goes from 0 to 1, and the bound on the gap of labels from
that of the plain model on held-out rows to zero, each in equal steps. On Adult's held-out training rows the error
within a bound of 0.02 or less is the same for λ of 0, 0.3, 1 and 3, but for 0.0012, which is below its standard error;
within looser bounds λ of 1 and more overshoots and costs up to 0.002 at λ = 1. Hence a λ that grows as the bound
tightens.
"""

from __future__ import annotations

from typing import Any

from fermi.baselines.common.label_stage import LabelStage
from fermi.linear.classifier import FermiClassifier

_LAM = 1.0


class FermiLabels(LabelStage):
    """FERMI with λ from 0 to 1, whose labels are within a bound.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    slack : float
        As in `FairLabels`: how many standard errors of its rate each group may be farther off than the bound.
    """

    def _model(self, n: int, strength: float) -> Any:
        return FermiClassifier(self.notion, _LAM * strength)

    @property
    def _trains_fairly(self) -> bool:
        return True
