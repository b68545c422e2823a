"""No mitigation: logistic regression, or any scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import logistic_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows
from fermi.errors import bad_argument


class Unmitigated(Baseline):
    """A plain model without mitigation, whatever the strength.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; `strength` and `notion` change nothing here.
    estimator : classifier, optional
        Logistic regression by default.
    """

    capabilities = Capabilities(
        nonbinary_target=True,
        nonbinary_attribute=True,
        beyond_logistic=True,
        stochastic=True,
        unbiased=True,
        convergent=True,
        unknown_attribute=True,
        has_knob=False,
    )

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
        if not hasattr(model, "predict_proba"):
            raise bad_argument("estimator", f"is {model!r}", "a classifier with `predict_proba`")
        if "random_state" in model.get_params():
            model.set_params(random_state=int(rng.integers(2**31)))
        self.model_ = model.fit(rows.X, rows.y)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(self.model_.predict_proba(X))
