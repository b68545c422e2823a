"""Wasserstein fair classification (Jiang, Pacchiano, Stepleton, Jiang and Chiappa 2020): one law of scores for all.

Logistic regression with the penalty β Σ p(s) W₁(law of f given s, law of f), where f is the probability of the second
class. On the line W₁ is the area between two distribution functions, so its derivative in a score is the change of
their distance across it: the optimal matching, without solving for one. Equalized odds and equal opportunity take
the laws within each class or the advantaged one, which the paper does not treat. `strength` sets β from 0.1 to 5 by
equal factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import Penalty, minimise, plain_minimum
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows, geometric

_BETA = (0.1, 5.0)


class Jiang(Baseline):
    """Logistic regression penalised by Wasserstein distances between the groups' scores.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(nonbinary_attribute=True, unknown_attribute=True)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        plain = plain_minimum(rows)
        beta = geometric(strength, *_BETA)
        self.model_ = plain if beta == 0.0 else minimise(rows.X, rows.y, 2, transport(rows, beta), plain)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return self.model_.proba(X)


def transport(rows: Rows, beta: float) -> Penalty:
    """The penalty β Σ p(s) W₁ between a group's scores and all scores, the mean over conditions, with its gradient."""
    parts = [np.flatnonzero((rows.s >= 0) & (rows.z == z)) for z in range(rows.n_conditions)]
    parts = [part for part in parts if len(part)]
    n = sum(len(part) for part in parts)

    def penalty(logits: Floats) -> tuple[float, Floats]:
        f = expit(logits[:, 1] - logits[:, 0])
        total, slope = 0.0, np.zeros_like(f)
        for part in parts:
            distance, slope[part] = wasserstein(f[part], rows.s[part], rows.n_groups)
            total += len(part) / n * distance
            slope[part] *= len(part) / n
        slope *= beta * f * (1.0 - f)
        return beta * total, np.stack([-slope, slope], axis=1)

    return penalty


def wasserstein(f: Floats, s: Ints, n_groups: int) -> tuple[float, Floats]:
    """The distances Σ p(s) W₁(scores of group s, all scores), and their derivative in each score."""
    order, n = np.argsort(f, kind="stable"), len(f)
    member = s[order, None] == np.arange(n_groups)
    counts = member.sum(axis=0)
    # The distribution functions of the groups and of all between one score and the next; both end at 1.
    below = np.cumsum(member, axis=0) / np.maximum(counts, 1)
    distance = np.abs(below - np.arange(1, n + 1)[:, None] / n) @ (counts / n)
    distance[-1] = 0.0
    slope = np.empty(n)
    slope[order] = np.diff(distance, prepend=0.0) * -1.0
    return float(distance[:-1] @ np.diff(f[order])), slope
