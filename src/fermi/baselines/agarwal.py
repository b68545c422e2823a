"""The reductions approach (Agarwal, Beygelzimer, Dudík, Langford and Wallach 2018), as fairlearn implements it.

Exponentiated gradient on the multipliers of the fairness constraints, against logistic regression on rows that are
weighed and labelled by those multipliers. The result draws one of the fitted models for each row. A constraint bounds
how far a group's rate is from that of all: `strength` takes the bound from that of plain logistic regression down to
0.001, in equal steps.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fermi._optional import require
from fermi._typing import Floats, Ints
from fermi.baselines.common.constraints import constraint
from fermi.baselines.common.linear_models import dense, logistic_regression, plain_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows
from fermi.inputs.arguments import AT_LEAST_ONE, whole

_LEAST = 0.001  # the tightest bound


class Agarwal(Baseline):
    """A random choice among models, found by exponentiated gradient (the reductions approach).

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    max_iter : int
        Steps of the gradient; each trains one logistic regression.
    """

    capabilities = Capabilities(nonbinary_attribute=True, beyond_logistic=True, draws=True)

    def __init__(
        self, strength: float = 0.5, notion: Any = "demographic_parity", random_state: Any = None, *, max_iter: int = 30
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.max_iter = max_iter

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        fairlearn = require("fairlearn.reductions", extra="baselines")
        X = dense(rows.X)
        bound = max((1.0 - strength) * unfairness(rows, plain_regression(rows).predict(X)), _LEAST)
        moment = getattr(fairlearn, constraint(rows).moment)(difference_bound=bound)
        # The multipliers may sum to 1 / eps.
        found = fairlearn.ExponentiatedGradient(
            logistic_regression(len(rows.y)),
            moment,
            eps=0.01,
            max_iter=whole("max_iter", self.max_iter, AT_LEAST_ONE, low=1),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fairlearn's use of pandas
            found.fit(X, rows.y, sensitive_features=rows.s)
        kept = [(weight, found.predictors_[j]) for j, weight in found.weights_.items() if weight > 0]
        self.weights_, self.models_ = zip(*kept, strict=True)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        X = dense(X)
        chosen = sum(weight * model.predict(X) for weight, model in zip(self.weights_, self.models_, strict=True))
        positive = np.clip(chosen, 0.0, 1.0)
        return np.stack([1.0 - positive, positive], axis=1)


def unfairness(rows: Rows, labels: Any) -> float:
    """The largest distance of a group's rate from that of all rows, within a condition."""
    shape = (rows.n_conditions, rows.n_groups)
    counts, positive = np.zeros(shape), np.zeros(shape)
    counted = (rows.s >= 0) & (rows.z >= 0)
    np.add.at(counts, (rows.z[counted], rows.s[counted]), 1.0)
    np.add.at(positive, (rows.z[counted], rows.s[counted]), labels[counted])
    overall = positive.sum(axis=1, keepdims=True) / counts.sum(axis=1, keepdims=True)
    distance = np.abs(positive / np.maximum(counts, 1.0) - overall)
    return float(distance[counts > 0].max())
