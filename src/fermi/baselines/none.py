"""No mitigation: logistic regression, or any scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from fermi._kernels import Floats, Ints
from fermi.baselines._linear import logistic_regression
from fermi.baselines._protocol import Baseline, Capabilities, Rows


class Unmitigated(Baseline):
    """The plain model, whatever the strength.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; none of them changes anything.
    estimator : classifier, optional
        Logistic regression by default.
    """

    capabilities = Capabilities(
        nonbinary_target=True, nonbinary_attribute=True, beyond_logistic=True, stochastic=True, unbiased=True,
        convergent=True, unknown_attribute=True, has_knob=False,
    )  # fmt: skip

    def __init__(
        self,
        strength: float = 0.5,
        notion: Any = "demographic_parity",
        random_state: Any = None,
        *,
        estimator: Any = None,
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.estimator = estimator

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        model = logistic_regression(len(rows.y)) if self.estimator is None else clone(self.estimator)
        self.model_ = model.fit(rows.X, rows.y)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(self.model_.predict_proba(X))
