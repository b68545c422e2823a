"""A small min-max problem written out as the paper has it: a softmax of a linear map, with ψ_i as traces of matrices.

Every sum is over explicit matrices, slow and plain, so that the checks have something independent of the solvers.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import softmax

from fermi._typing import Floats, Ints
from fermi.formulas.theory import Model, Setting, linear_model


class SmallProblem:
    """Rows X with labels y and groups s, λ, and F(θ, W) = mean of ℓ_i + λ ψ_i with its derivatives.

    Parameters
    ----------
    rows, columns, groups, classes : int
        N, d, k and m. The first rows have each group and class once, so that none is empty.
    size : float, optional
        The norm of every row of X; standard normal rows without it.
    rare : float, optional
        The share of the last group; all groups are as frequent without it.
    """

    def __init__(
        self,
        seed: int,
        *,
        rows: int = 40,
        columns: int = 3,
        groups: int = 3,
        classes: int = 3,
        lam: float = 1.0,
        size: float | None = None,
        rare: float | None = None,
    ) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.X = rng.standard_normal((rows, columns))
        if size is not None:
            self.X *= size / np.linalg.norm(self.X, axis=1, keepdims=True)
        p = np.full(groups, 1.0 / groups)
        if rare is not None:
            p[:], p[-1] = (1.0 - rare) / (groups - 1), rare
        self.s: Ints = np.concatenate([np.arange(groups), rng.choice(groups, rows - groups, p=p)])
        self.y: Ints = np.concatenate([np.arange(classes), rng.integers(0, classes, rows - classes)])
        self.n, self.k, self.m, self.lam = rows, groups, classes, lam
        self.p_s: Floats = np.bincount(self.s, minlength=groups) / rows

    def theta(self, size: float = 1.0) -> Floats:
        """A random θ, one column per class."""
        return size * self.rng.standard_normal((self.X.shape[1], self.m))

    def dual(self, radius: float) -> Floats:
        """A random W on the sphere of a radius, spread over few entries as often as over all."""
        W = self.rng.standard_normal((self.k, self.m)) * (self.rng.random((self.k, self.m)) < self.rng.random())
        W[self.rng.integers(self.k), self.rng.integers(self.m)] += 1e-3
        return W * (radius / np.linalg.norm(W))

    def probabilities(self, theta: Floats) -> Floats:
        """The rows' 𝓕(θ, x_i)."""
        return np.asarray(softmax(self.X @ theta, axis=1))

    def law(self, theta: Floats) -> Floats:
        """The law of (S, Ŷ), groups in rows."""
        return np.asarray(np.eye(self.k)[self.s].T @ self.probabilities(theta) / self.n)

    def loss(self, theta: Floats) -> Floats:
        """The cross-entropy of each row."""
        return -np.log(self.probabilities(theta)[np.arange(self.n), self.y])

    def psi(self, theta: Floats, W: Floats, p_s: Floats | None = None) -> Floats:
        """The ψ_i of each row as in corollary 1, with a prior of the groups other than that of all rows if given."""
        root = np.diag(1.0 / np.sqrt(self.p_s if p_s is None else p_s))
        values = []
        for F_i, s_i in zip(self.probabilities(theta), np.eye(self.k)[self.s], strict=True):
            first, second = np.trace(W @ np.diag(F_i) @ W.T), np.trace(W @ np.outer(F_i, s_i) @ root)
            values.append(-first + 2.0 * second - 1.0)
        return np.array(values)

    def row_gradients(self, theta: Floats, W: Floats) -> tuple[Floats, Floats]:
        """The gradients of ℓ_i + λ ψ_i in θ and in W, flat, a row each."""
        F = self.probabilities(theta)
        costs = 2.0 * W[self.s] / np.sqrt(self.p_s[self.s])[:, None] - (W**2).sum(axis=0)
        slope = F - np.eye(self.m)[self.y] + self.lam * F * (costs - (F * costs).sum(axis=1, keepdims=True))
        in_W = -2.0 * W[None] * F[:, None, :]
        in_W[np.arange(self.n), self.s] += 2.0 * F / np.sqrt(self.p_s[self.s])[:, None]
        in_theta = self.X[:, :, None] * slope[:, None, :]
        return in_theta.reshape(self.n, -1), self.lam * in_W.reshape(self.n, -1)

    def value(self, theta: Floats, W: Floats) -> float:
        """The saddle function F(θ, W)."""
        return float((self.loss(theta) + self.lam * self.psi(theta, W)).mean())

    def gradient(self, point: Floats) -> Floats:
        """The gradient of F at a flat (θ, W)."""
        theta, W = self.split(point)
        return np.concatenate([part.mean(axis=0) for part in self.row_gradients(theta, W)])

    def split(self, point: Floats) -> tuple[Floats, Floats]:
        """A flat (θ, W) as two matrices."""
        size = self.X.shape[1] * self.m
        return point[:size].reshape(-1, self.m), point[size:].reshape(self.k, self.m)

    def hessian(self, point: Floats, step: float = 1e-5) -> Floats:
        """The Hessian of F at a flat (θ, W), by central differences of the gradient."""
        unit = np.eye(len(point))
        columns = [(self.gradient(point + step * e) - self.gradient(point - step * e)) / (2.0 * step) for e in unit]
        return np.array(columns)

    def model(self) -> Model:
        """The constants of assumption 1 for this model."""
        return linear_model(float((self.X**2).sum(axis=1).max()), self.m)

    def setting(self, p_y_min: float) -> Setting:
        """What the theorem's constants depend on, given the least p(ŷ)."""
        return Setting(
            lam=self.lam, n_groups=self.k, n_classes=self.m, n_terms=1, n_blocks=1, sum_groups=self.k, p_y_min=p_y_min,
            p_zy_min=p_y_min, p_s_min=float(self.p_s.min()), sampling=1.0, gap=math.log(self.m),
        )  # fmt: skip
