"""Reweighing (Kamiran and Calders 2012): train on rows weighed so that class and group are independent.

A row of class y and group s weighs p(y) p(s) / p(y, s). The weights do not look at what the model predicts, so
they leave a gap or more than close it. Here they are raised to a power: at strength 1 the one, up to 3, that leaves the
smallest gap of labels on the training rows. The paper's is 1. Pre-processing, so it knows demographic parity alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import logistic_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows
from fermi.baselines.common.several import once
from fermi.measures import parity_difference

_POWERS = np.arange(1, 13) / 4


class Reweighing(Baseline):
    """Logistic regression on rows weighed so that class and group are independent.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(
        notions=("demographic_parity",), nonbinary_target=True, nonbinary_attribute=True, beyond_logistic=True
    )

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        weights = independent_weights(rows)
        fairest = once(rows, "power", lambda: fairest_power(rows, weights)) if strength > 0.0 else 0.0
        self.power_ = strength * fairest
        self.model_ = logistic_regression(len(rows.y)).fit(rows.X, rows.y, sample_weight=weights**self.power_)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(self.model_.predict_proba(X))


def independent_weights(rows: Rows) -> Floats:
    """The weight p(y) p(s) / p(y, s) of each row."""
    joint = np.zeros((rows.n_classes, rows.n_groups))
    np.add.at(joint, (rows.y, rows.s), 1.0 / len(rows.y))
    weights: Floats = (joint.sum(axis=1)[:, None] * joint.sum(axis=0) / np.where(joint > 0, joint, 1.0))[rows.y, rows.s]
    return weights


def fairest_power(rows: Rows, weights: Floats) -> float:
    """The power of the weights with which logistic regression has the smallest gap of labels on these rows."""

    def gap(power: float) -> float:
        model = logistic_regression(len(rows.y)).fit(rows.X, rows.y, sample_weight=weights**power)
        return parity_difference(model.predict(rows.X), rows.s)

    return float(min(_POWERS, key=gap))
