"""A small saddle problem written out on plain matrices, and its smoothness as measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fermi import theory
from fermi.fitting.objective import FairObjective, Term
from fermi.formulas import theory as formula
from fermi.formulas.ermi import dual_gradient
from fermi.inputs.cells import Cells
from fermi.linear import constants
from fermi.linear.design import Design
from fermi.notions import as_notion

Floats = NDArray[np.float64]
Duals = tuple[Floats, ...]
N = 120


class Saddle:
    """A small problem with F(θ, W), its gradient and the gradient of each row, written out on plain matrices."""

    def __init__(
        self,
        *,
        classes: int,
        groups: tuple[int, ...],
        lam: float,
        notion: str = "demographic_parity",
        seed: int = 0,
        weighted: bool = False,
        size: float | None = None,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        X = self.rng.standard_normal((N, 3)) * self.rng.exponential(1.0, (N, 1))
        y = np.concatenate([np.arange(classes), self.rng.integers(0, classes, N - classes)])
        weight = self.rng.exponential(1.0, N) if weighted else np.ones(N)
        weight /= weight.sum()
        z = as_notion(notion).conditions(y, N)
        self.shapes = [(len(z.values_of), k) for k in groups]
        self.codes = [self.rng.integers(-1 if weighted else 0, k, N) for k in groups]
        terms = [Term.of(Cells.of(z.dense(), s, c, weight)) for s, c in zip(self.codes, self.shapes, strict=True)]
        self.objective = FairObjective(y, weight, tuple(terms), lam)
        if size is None:
            self.design = Design.of(X, weight, intercept=True, n_classes=classes)
        else:  # rows of a given size, not standardised
            rows = size * X / np.linalg.norm(X, axis=1, keepdims=True)
            self.design = Design(rows, np.zeros(3), np.ones(3), False, classes, np.ones(3))
        self.l2, self.classes, self.lam = 0.01, classes, lam
        rows = (self.design.X - self.design.centre) / self.design.scale
        self.rows = np.column_stack([rows, np.ones(N)]) if self.design.intercept else rows

    def theory(self, probabilities: Floats) -> theory.Theory:
        return constants.of_problem(
            self.design, self.objective, batch=1, epsilon=0.1, l2=self.l2, probabilities=probabilities
        )

    def setting(self, F: Floats) -> formula.Setting:
        return constants._setting(self.objective, [F], self.classes)

    def model(self) -> formula.Model:
        """Of the mean square norm of the worst group."""
        square = (self.rows**2).sum(axis=1)
        means = [self.objective.weight @ square]
        for term in self.objective.terms:
            means += [np.average(square, weights=term.share * (term.cells == c)) for c in set(term.cells) - {-1}]
        return formula.linear_model(
            float(max(means)), self.design.n_logits, self.l2 / float(self.design.scale.min()) ** 2
        )

    def probabilities(self, theta: Floats) -> Floats:
        e = np.exp(self.design.logits(theta))
        F: Floats = e / e.sum(axis=1, keepdims=True)
        return F

    def theta(self, size: float = 1.0) -> Floats:
        return size * self.rng.standard_normal(self.design.shape)

    def duals(self, radius: float) -> Duals:
        """All W together on the sphere, spread over few entries as often as over all."""
        parts = [self.rng.standard_normal((*shape, self.classes)) for shape in self.shapes]
        parts = [part * (self.rng.random(part.shape) < self.rng.random()) for part in parts]
        norm = math.sqrt(sum(float((part**2).sum()) for part in parts)) or 1.0
        return tuple(radius / norm * part for part in parts)

    def gradient(self, theta: Floats, W: Duals) -> Floats:
        """∇F in (θ, W), flat."""
        slope = self.design.pull_back(self.objective.saddle_gradient(self.design.logits(theta), W))
        parts = [(slope + self.design.penalty(theta, self.l2)[1]).ravel()]
        F = self.probabilities(theta)
        for term, w in zip(self.objective.terms, W, strict=True):
            per_condition = zip(term.p_z, w, term.laws(F), strict=True)
            parts += [self.lam * p * dual_gradient(v, P).ravel() for p, v, P in per_condition]
        return np.concatenate(parts)

    def slope(self, theta: Floats, W: Duals, v: Floats, step: float = 1e-5) -> Floats:
        """The derivative of ∇F along v."""
        like = (theta, *W)
        parts = np.split(v, np.cumsum([a.size for a in like])[:-1])
        ahead, *W1 = (a + step * d.reshape(a.shape) for a, d in zip(like, parts, strict=True))
        behind, *W0 = (a - step * d.reshape(a.shape) for a, d in zip(like, parts, strict=True))
        change: Floats = (self.gradient(ahead, tuple(W1)) - self.gradient(behind, tuple(W0))) / (2 * step)
        return change

    def row_gradients(self, theta: Floats, W: Duals) -> Floats:
        """One row's ∇(loss + λψ) in (θ, W) each, scaled so that their plain mean is ∇F without the penalty."""
        F = self.probabilities(theta)
        columns = slice(1, None) if self.classes == 2 else slice(None)
        in_logits = N * self.objective.saddle_gradient(self.design.logits(theta), W)[:, columns]
        parts = [(self.rows[:, :, None] * in_logits[:, None, :]).reshape(N, -1)]
        for term, w in zip(self.objective.terms, W, strict=True):
            Z, k = term.prior.shape
            out = np.zeros((N, Z, k, self.classes))
            i = np.flatnonzero(term.cells >= 0)
            z, s = np.divmod(term.cells[i], k)
            out[i, z] = -2 * w[z] * F[i, None]
            out[i, z, s] += 2 * F[i] / np.sqrt(term.prior[z, s])[:, None]
            parts.append((N * self.lam * term.share)[:, None] * out.reshape(N, -1))
        return np.concatenate(parts, axis=1)

    def variance(self, theta: Floats, W: Duals) -> Floats:
        """Variance of a row's gradient in θ and in W."""
        rows = self.row_gradients(theta, W)
        spread = ((rows - rows.mean(axis=0)) ** 2).mean(axis=0)
        size = int(np.prod(self.design.shape))
        return np.array([spread[:size].sum(), spread[size:].sum()])


def problems() -> list[Any]:
    options: list[dict[str, Any]] = [
        {"classes": 2, "groups": (3,)},
        {"classes": 3, "groups": (2,)},
        {"classes": 3, "groups": (5,), "weighted": True},
        {"classes": 2, "groups": (4, 2), "notion": "equalized_odds"},
        {"classes": 4, "groups": (2, 3), "notion": "equal_opportunity", "weighted": True},
        {"classes": 3, "groups": (2,), "size": 0.01},
    ]
    return [pytest.param(o, id="-".join(map(str, o.values()))) for o in options]


def flat(theta: Floats, W: Duals) -> Floats:
    return np.concatenate([theta.ravel(), *(w.ravel() for w in W)])


def blocks(p: Saddle, radius: float, points: int = 12) -> Floats:
    """The largest norms of the Hessian found in the ball: all of it, the θ block, the cross block, the W block."""
    found = []
    for _ in range(points):
        theta, W = p.theta(10 ** p.rng.uniform(-2, 0.5)), p.duals(radius)
        H = np.array([p.slope(theta, W, v) for v in np.eye(flat(theta, W).size)])
        assert pytest.approx(H.T, abs=1e-5 * np.abs(H).max()) == H
        d = theta.size
        found.append([np.linalg.norm(block, 2) for block in (H, H[:d, :d], H[d:, :d], H[d:, d:])])
    worst: Floats = np.max(found, axis=0)
    return worst


def lipschitz(p: Saddle, radius: float) -> float:
    """The largest ratio ‖∇F − ∇F'‖ / ‖(θ, W) − (θ', W')‖ found."""
    return float(blocks(p, radius)[0])
