"""Reweighing (Kamiran and Calders 2012): train on rows weighed so that class and group are independent.

A row of class y and group s weighs p(y) p(s) / p(y, s), raised to a power that is 1 in the paper, at strength 0.5. A
gap is usually left there, since the weights do not look at what the model predicts; strength 1, the power of 2, goes
beyond. Pre-processing, so it knows demographic parity alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._kernels import Floats, Ints
from fermi.baselines._linear import logistic_regression
from fermi.baselines._protocol import Baseline, Capabilities, Rows


class Reweighing(Baseline):
    """Logistic regression on reweighed rows."""

    capabilities = Capabilities(
        notions=("demographic_parity",), nonbinary_target=True, nonbinary_attribute=True, beyond_logistic=True
    )

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        self.model_ = logistic_regression(len(rows.y))
        self.model_.fit(rows.X, rows.y, sample_weight=independent_weights(rows) ** (2.0 * strength))

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(self.model_.predict_proba(X))


def independent_weights(rows: Rows) -> Floats:
    """p(y) p(s) / p(y, s) of each row."""
    joint = np.zeros((rows.n_classes, rows.n_groups))
    np.add.at(joint, (rows.y, rows.s), 1.0 / len(rows.y))
    weights: Floats = (joint.sum(axis=1)[:, None] * joint.sum(axis=0) / np.where(joint > 0, joint, 1.0))[rows.y, rows.s]
    return weights
