"""Prejudice remover (Kamishima, Akaho and Sakuma 2011): mutual information of prediction and group as a penalty.

The penalty is η Σ p(s) p(ŷ|s) log(p(ŷ|s) / p(ŷ)), with the laws of the prediction averaged over the model's
probabilities. The paper trains one logistic regression per group; here one model serves all, so that the penalty is the
same function of the probabilities and the group is not needed to predict. The paper has two classes, two groups and
demographic parity; the formula holds for more, and within conditions. `strength` sets η from 0.3 to 100 by equal
factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import Penalty, minimise, plain_minimum
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows, geometric

_ETA = (0.3, 100.0)


class Kamishima(Baseline):
    """Logistic regression penalised by the mutual information of prediction and group.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(nonbinary_target=True, nonbinary_attribute=True, unknown_attribute=True)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        plain = plain_minimum(rows)
        eta = geometric(strength, *_ETA)
        penalty = mutual_information(rows, eta)
        self.model_ = plain if eta == 0.0 else minimise(rows.X, rows.y, rows.n_classes, penalty, plain)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return self.model_.proba(X)


def mutual_information(rows: Rows, eta: float) -> Penalty:
    """The penalty η · I(Ŷ; S | Z) over the rows that count, with its gradient."""
    shape, counted = (rows.n_conditions, rows.n_groups), np.flatnonzero(rows.cells >= 0)
    weight = np.full(len(counted), 1.0 / len(counted))
    member = csr_array((weight, (rows.cells[counted], counted)), (shape[0] * shape[1], len(rows.y)))

    def penalty(logits: Floats) -> tuple[float, Floats]:
        F = softmax(logits, axis=1)
        joint = np.asarray(member @ F).reshape(*shape, -1)  # p(z, s, ŷ)
        independent = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
        independent /= np.maximum(joint.sum(axis=(1, 2), keepdims=True), 1e-300)
        ratio = np.log(np.maximum(joint, 1e-300) / np.maximum(independent, 1e-300))
        ratio[joint <= 0.0] = 0.0
        # The laws inside the logarithm contribute nothing: they sum to one.
        slope = np.asarray(member.T @ ratio.reshape(-1, F.shape[1]))
        gradient = F * (slope - (F * slope).sum(axis=1, keepdims=True))
        return eta * float((joint * ratio).sum()), eta * gradient

    return penalty
