"""The gradients of F(θ, W) on a few rows, held close to those on all rows by what the last full gradient saw.

F sees the predictions through one table per term, T[c, j] = Σ share_i F_ij over the rows of cell c, and through the
slopes A[c, j] = ∂T[c, j]/∂θ. A full gradient at θ̃, the anchor, computes both exactly. A batch B then estimates

    T(θ)   = T_B(θ) − [T̃_B + Ã_B (θ − θ̃)]      + T̃ + Ã (θ − θ̃)
    ∇_θ Ψ  = Σ C(W) A_B(θ) − Σ C(W) Ã_B         + Σ C(W) Ã

where the brackets have the mean of what follows them: unbiased, as without them, but the noise that the step of θ
brings into W, and that of W into θ, is of second order. Without this, λ above about a hundred allows tiny steps alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled.parallel import chunks
from fermi.fitting.objective import FairObjective, Term
from fermi.formulas.ermi import dual_gradient, tilt
from fermi.linear.design import Design

_MOST_SLOPES = 20_000_000  # numbers in A; beyond, batches do without the anchor


class Point(NamedTuple):
    """A point (θ, W of each term), or the gradients there."""

    theta: Floats
    duals: tuple[Floats, ...]


def ascent(term: Term, lam: float, W: Floats, table: Floats) -> Floats:
    """∇_W λΨ of every condition, from an estimate of the table Σ share_i F_i."""
    return np.stack([lam * dual_gradient(w, P, p) for w, P, p in zip(W, table, term.prior, strict=True)])


def slopes_of(design: Design, term: Term, F: Floats) -> Floats:
    """The slopes A[c, j] = Σ over the rows of cell c of share_i x_i ⊗ F_ij (e_j − F_i), Z × k × m × the shape of θ."""
    (Z, k), m = term.prior.shape, F.shape[1]
    A = np.zeros((Z * k, m, *design.shape))
    order = np.argsort(term.cells, kind="stable")
    edges = np.searchsorted(term.cells[order], np.arange(Z * k + 1))
    for c in range(Z * k):
        for part in chunks(slice(int(edges[c]), int(edges[c + 1]))):
            rows = order[part]
            few = replace(design, X=design.X[rows])
            for j in range(1, m):
                A[c, j] += few.pull_back(tilt(F[rows], np.eye(m)[[j]]) * term.share[rows, None])
    A[:, 0] = -A[:, 1:].sum(axis=1)  # probabilities sum to one
    return A.reshape(Z, k, m, *design.shape)


@dataclass(frozen=True, eq=False)
class Anchor:
    """A point θ̃ where everything was computed on all rows; `slopes` is empty where A would be too large."""

    design: Design
    objective: FairObjective
    theta: Floats
    logits: Floats
    F: Floats
    tables: tuple[Floats, ...]
    slopes: tuple[Floats, ...]

    @classmethod
    def at(cls, design: Design, objective: FairObjective, theta: Floats) -> Anchor:
        """Make an anchor, with one pass for the predictions and one for the slopes."""
        logits = design.logits(theta)
        F = objective.predictions(logits)
        tables = tuple(term.rows.soft(F) for term in objective.terms)
        fits = sum(table.size for table in tables) * theta.size <= _MOST_SLOPES
        slopes = tuple(slopes_of(design, term, F) for term in objective.terms) if fits else ()
        return cls(design, objective, theta, logits, F, tables, slopes)

    def gradient(self, duals: tuple[Floats, ...]) -> Point:
        """The gradient ∇F at (θ̃, W) from all rows, without the penalty."""
        v = self.design.pull_back(self.objective.saddle_gradient(self.logits, duals))
        parts = zip(self.objective.terms, duals, self.tables, strict=True)
        return Point(v, tuple(ascent(term, self.objective.lam, W, T) for term, W, T in parts))

    def difference(self, rows: Ints, new: Point, old: Point) -> Point:
        """The difference ∇F(new) − ∇F(old), both estimated from the same rows."""
        batch, few = self._restricted(rows), replace(self.design, X=self.design.X[rows])
        z_new = few.logits(new.theta)
        z_old = z_new if new.theta is old.theta else few.logits(old.theta)
        G = batch.row_gradient(z_new, new.duals) - batch.row_gradient(z_old, old.duals)
        v = few.pull_back(G) + self._mean_slope(new.duals) - self._mean_slope(old.duals)
        u_new, u_old = batch.ascents(self, z_new, new), batch.ascents(self, z_old, old)
        return Point(v, tuple(a - b for a, b in zip(u_new, u_old, strict=True)))

    def _mean_slope(self, duals: tuple[Floats, ...]) -> Floats:
        """The slope λ Σ C(W) Ã: what the anchor's predictions charge θ, from all rows."""
        total = np.zeros_like(self.theta)
        for term, W, A in zip(self.objective.terms, duals, self.slopes, strict=bool(self.slopes)):
            total += self.objective.lam * np.tensordot(term.costs(W).reshape(W.shape), A, 3)
        return total

    def _restricted(self, rows: Ints) -> Batch:
        """The objective of some rows, weighted so that their sums are unbiased for those over all rows."""
        whole = self.objective
        factor = len(whole.target) / len(rows)
        terms = tuple(replace(t, rows=t.rows.take(rows).weighed(factor * t.share[rows])) for t in whole.terms)
        objective = FairObjective(whole.target[rows], factor * whole.weight[rows], terms, whole.lam)
        return Batch(objective, self.logits[rows], self.F[rows], anchored=bool(self.slopes))


@dataclass(frozen=True, eq=False)
class Batch:
    """The objective of a few rows, and the anchor's logits and predictions for them."""

    objective: FairObjective
    logits: Floats
    F: Floats
    anchored: bool

    def row_gradient(self, logits: Floats, duals: tuple[Floats, ...]) -> Floats:
        """The gradient in the logits, less the part Σ C(W) Ã_B that the anchor adds back from all rows."""
        G = self.objective.saddle_gradient(logits, duals)
        if self.anchored:
            for term, W in zip(self.objective.terms, duals, strict=True):
                term.add_gradient(self.F, W, -self.objective.lam, G)
        return G

    def ascents(self, anchor: Anchor, logits: Floats, point: Point) -> tuple[Floats, ...]:
        """The gradient ∇_W of each term, from the batch's estimate of T."""
        F = self.objective.predictions(logits)
        if not self.anchored:
            tables = [term.rows.soft(F) for term in self.objective.terms]
        else:
            rest = F - self.F - tilt(self.F, logits - self.logits)
            tables = [
                term.rows.soft(rest) + T + np.tensordot(A, point.theta - anchor.theta, 2)
                for term, T, A in zip(self.objective.terms, anchor.tables, anchor.slopes, strict=True)
            ]
        parts = zip(self.objective.terms, point.duals, tables, strict=True)
        return tuple(ascent(term, self.objective.lam, W, T) for term, W, T in parts)
