"""Algorithm 1 on plain arrays for many seeds at once, and a problem whose minimiser is known in closed form.

Rows are drawn with replacement, as theorem 1 asks, or taken one after the other, as theorem 2 does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import brentq

from fermi._typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a problem: features, classes, groups, λ, and the numbers of groups and classes."""

    X: Floats
    y: Ints
    s: Ints
    lam: float
    k: int
    m: int

    @property
    def prior(self) -> Floats:
        """The share of each group."""
        return np.bincount(self.s, minlength=self.k) / len(self.s)

    def probabilities(self, theta: Floats) -> Floats:
        """The 𝓕 of all rows for each θ of a stack."""
        return softmax(np.einsum("nd,rdm->rnm", self.X, theta))

    def objective(self, theta: Floats) -> Floats:
        """The objective loss + λ · ERMI of all rows at each θ of a stack."""
        F = self.probabilities(theta)
        P = np.einsum("nk,rnm->rkm", np.eye(self.k)[self.s], F) / len(self.y)
        independent = P.sum(axis=2, keepdims=True) * P.sum(axis=1, keepdims=True)
        loss = -np.log(F[:, np.arange(len(self.y)), self.y]).mean(axis=1)
        return np.asarray(loss + self.lam * ((P - independent) ** 2 / independent).sum(axis=(1, 2)))

    def gradient_norm(self, theta: Floats) -> Floats:
        """The norm ‖∇Φ(θ)‖ at each θ of a stack, W eliminated in closed form."""
        F = self.probabilities(theta)
        P = np.einsum("nk,rnm->rkm", np.eye(self.k)[self.s], F) / len(self.y)
        p_s = P.sum(axis=2, keepdims=True)
        W = P / np.sqrt(p_s) / P.sum(axis=1, keepdims=True)
        costs = (2.0 * W / np.sqrt(p_s))[:, self.s] - (W**2).sum(axis=1)[:, None, :]
        slope = F - np.eye(self.m)[self.y] + self.lam * F * (costs - (F * costs).sum(axis=2, keepdims=True))
        gradient = np.einsum("nd,rnm->rdm", self.X, slope) / len(self.y)
        return np.asarray(np.sqrt((gradient**2).sum(axis=(1, 2))))


def softmax(logits: Floats) -> Floats:
    """Softmax over the last axis."""
    e = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def known_minimum(lam: float = 1.0) -> tuple[Rows, Floats]:
    """A problem, and its minimiser, which the symmetry of its rows gives in closed form.

    Two groups, and labels that agree with the group in four rows of five; features are the group as ±1, two more that
    say nothing, in all combinations, and a constant. So the best probability u of the own label is the same in both
    groups, D_R = (2u − 1)², and u solves −0.8/u + 0.2/(1 − u) + 4λ(2u − 1) = 0.
    """
    found = [(g, a, b, agrees) for g, a, b in product((0, 1), (-1, 1), (-1, 1)) for agrees in (1, 1, 1, 1, 0)]
    s = np.array([g for g, *_ in found])
    y = np.array([g if agrees else 1 - g for g, _, _, agrees in found])
    X = np.array([[2 * g - 1, a, b, 1] for g, a, b, _ in found], dtype=float)
    u = float(brentq(lambda u: -0.8 / u + 0.2 / (1 - u) + 4 * lam * (2 * u - 1), 0.5, 0.8 + 1e-9, xtol=1e-15))
    theta = np.zeros((4, 2))
    theta[0] = np.array([-0.5, 0.5]) * math.log(u / (1 - u))
    return Rows(X, y, s, lam, 2, 2), theta


def random_rows(n: int, seed: int, *, lam: float = 1.0, empty: bool = False) -> Rows:
    """Rows of three groups and three classes that depend on each other; with `empty` the third class never occurs."""
    rng = np.random.default_rng(seed)
    s = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    X = np.column_stack([rng.integers(0, 2, (n, 3)) * 2.0 - 1.0 + 0.4 * (s[:, None] - 1), np.ones(n)])
    logits = X @ np.random.default_rng(7).standard_normal((4, 3))
    logits[:, 2] -= 1e3 if empty else 0.0
    y = np.array([rng.choice(3, p=p) for p in softmax(logits)])
    return Rows(X, y, s, lam, 3, 3)


@dataclass(frozen=True)
class Plan:
    """How Algorithm 1 runs: steps, batch, the two step sizes by step, and the ball of W."""

    steps: int
    batch: int
    eta_theta: Callable[[int], float]
    eta_w: Callable[[int], float]
    in_order: bool = False  # rows one after the other, instead of drawn with replacement


def algorithm_1(
    rows: Rows, plan: Plan, seeds: int, rng: np.random.Generator, prior: Floats | None = None
) -> tuple[Floats, Floats]:
    """Run Algorithm 1 from θ = 0 and W = 0 for many seeds: θ after a step drawn uniformly, and after the last.

    A `prior` of the groups stands in for that of the rows.
    """
    d, n = rows.X.shape[1], len(rows.y)
    root = np.sqrt(rows.prior if prior is None else prior)
    theta, W = np.zeros((seeds, d, rows.m)), np.zeros((seeds, rows.k, rows.m))
    chosen, drawn = np.zeros_like(theta), rng.integers(1, plan.steps + 1, seeds)
    own, target, group = np.arange(seeds)[:, None], np.eye(rows.m)[rows.y], np.eye(rows.k)[rows.s] / root
    for t in range(1, plan.steps + 1):
        if plan.in_order:
            i = np.broadcast_to(np.arange((t - 1) * plan.batch, t * plan.batch) % n, (seeds, plan.batch))
        else:
            i = rng.integers(n, size=(seeds, plan.batch))
        X = rows.X[i]
        F = softmax(X @ theta)
        costs = (2.0 * W / root[:, None])[own, rows.s[i]] - (W**2).sum(axis=1)[:, None, :]
        slope = F - target[i] + rows.lam * F * (costs - (F * costs).sum(axis=2, keepdims=True))
        ascent = np.swapaxes(group[i], 1, 2) @ F / plan.batch - W * F.mean(axis=1)[:, None, :]
        theta = theta - plan.eta_theta(t) / plan.batch * (np.swapaxes(X, 1, 2) @ slope)
        W = W + 2.0 * rows.lam * plan.eta_w(t) * ascent
        chosen[drawn == t] = theta[drawn == t]
    return chosen, theta
