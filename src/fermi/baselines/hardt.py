"""Equality of opportunity by post-processing (Hardt, Price and Srebro 2016), as fairlearn implements it.

Each group gets thresholds of its own on the scores of logistic regression, drawn at random where one threshold cannot
meet the notion exactly; they maximise the accuracy. The method is exact, without a knob: `strength` is the probability
with which a row gets the mitigated label rather than the plain one. A row of an unknown group keeps the plain one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._optional import require
from fermi._typing import Floats, Ints
from fermi.baselines.common.constraints import constraint, refuse_uniform_groups
from fermi.baselines.common.linear_models import dense, mixture, plain_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows
from fermi.baselines.common.several import once


class Hardt(Baseline):
    """Logistic regression with a threshold per group on its scores.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(
        nonbinary_attribute=True, beyond_logistic=True, needs_attribute=True, has_knob=False, draws=True
    )

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        refuse_uniform_groups(rows, self.groups_)
        fairlearn = require("fairlearn.postprocessing", extra="baselines")
        X = np.asarray(dense(rows.X), dtype=np.float64)  # fairlearn writes its own numbers among these
        self.model_ = plain_regression(rows)

        def thresholds() -> Any:
            optimizer = fairlearn.ThresholdOptimizer(
                estimator=self.model_, constraints=constraint(rows).name, prefit=True, predict_method="predict_proba"
            )
            return optimizer.fit(X, rows.y, sensitive_features=rows.s)

        self.thresholds_ = once(rows, "thresholds", thresholds)
        self.share_ = strength

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        X, s = np.asarray(dense(X), dtype=np.float64), np.asarray(s)
        plain = self.model_.predict_proba(X)
        mitigated = np.eye(2)[plain.argmax(axis=1)]
        known = s >= 0
        if known.any():
            mitigated[known] = self.thresholds_._pmf_predict(X[known], sensitive_features=s[known])
        return mixture(plain, mitigated, self.share_)
