"""The terms of an objective side by side, numbered as the compiled loops want them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fermi._typing import Floats, Ints
from fermi.fitting.objective import FairObjective


@dataclass(frozen=True, eq=False)
class Zones:
    """Zones and zones (a condition of a term) of all terms, numbered through.

    Attributes
    ----------
    cells : (T, n) int64
        The cell of each row in each term, or -1.
    counts : (T, n) float64
        The row's weight in the term's Ψ, one on average over all rows.
    zone, inverse_root : (cells,)
        The zone and 1/√p of each cell.
    shapes : list of (Z, k)
        Of each term.
    """

    cells: Ints
    counts: Floats
    zone: Ints
    inverse_root: Floats
    shapes: list[tuple[int, int]]

    @classmethod
    def of(cls, objective: FairObjective) -> Zones:
        """Number the cells and zones of all terms through."""
        n, T = len(objective.target), len(objective.terms)
        cells, counts = np.empty((T, n), dtype=np.int64), np.empty((T, n))
        zones, roots, shapes = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], []
        first_cell = first_zone = 0
        for t, term in enumerate(objective.terms):
            Z, k = term.prior.shape
            cells[t] = np.where(term.cells >= 0, term.cells + first_cell, -1)
            counts[t] = n * term.share
            zones.append(first_zone + np.repeat(np.arange(Z), k))
            prior = term.prior.ravel()
            roots.append(np.where(prior > 0, 1.0 / np.sqrt(np.where(prior > 0, prior, 1.0)), 0.0))
            shapes.append((Z, k))
            first_cell, first_zone = first_cell + Z * k, first_zone + Z
        return cls(cells, counts, np.concatenate(zones), np.concatenate(roots), shapes)

    def split(self, W: Floats) -> tuple[Floats, ...]:
        """The W of each term, Z × k × m, from one row per cell."""
        duals, first = [], 0
        for Z, k in self.shapes:
            duals.append(W[first : first + Z * k].reshape(Z, k, W.shape[1]))
            first += Z * k
        return tuple(duals)

    def join(self, duals: tuple[Floats, ...], m: int) -> Floats:
        """One row of W per cell, from the W of each term; always a copy."""
        return np.concatenate([np.zeros((0, m)), *(W.reshape(-1, m) for W in duals)])

    def squares(self, W: Floats) -> Floats:
        """The column norms Σ_s W² of W, per zone and class."""
        total = np.zeros((sum(Z for Z, _ in self.shapes), W.shape[1]))
        np.add.at(total, self.zone, W**2)
        return total
