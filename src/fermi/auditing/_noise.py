"""How far the sums of a table may be off: their second moments, from which other tables like it are drawn.

Rows are taken to be drawn independently, their number included, so that a sum Σ w x has the variance Σ w² x². A table
of labels is drawn as Poisson counts in units of the mean weight, one of probabilities as normal sums. Neither touches a
row: ten million rows cost no more than ten thousand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fermi._typing import Floats
from fermi.formulas.ermi import nonzero
from fermi.formulas.stacked import ermi_bias


@dataclass(frozen=True, eq=False)
class Sums:
    """A table of weights, conditions × groups × classes, with the second moments of its cells.

    `squares` holds Σ w² x² of every cell, or Σ w² x xᵀ over the classes of every group.
    """

    table: Floats
    squares: Floats
    soft: bool

    @cached_property
    def weight(self) -> Floats:
        """The weight of every group under every condition."""
        total: Floats = self.table.sum(axis=2)
        return total

    @cached_property
    def effective(self) -> Floats:
        """The effective number of rows, (Σw)²/Σw², of every group under every condition."""
        squares = self.squares.sum(axis=(2, 3)) if self.squares.ndim == 4 else self.squares.sum(axis=2)
        rows: Floats = self.weight**2 / nonzero(squares)
        return rows

    @cached_property
    def rates(self) -> Floats:
        """The rates p(ŷ|s, z) of the table, 0 where there is no row."""
        found: Floats = self.table / nonzero(self.weight)[..., None]
        return found

    @cached_property
    def pooled(self) -> Floats:
        """The rates p(ŷ|z) of all groups together, repeated for every group."""
        total = self.table.sum(axis=1, keepdims=True)
        return np.broadcast_to(total / nonzero(total.sum(axis=2, keepdims=True)), self.table.shape)

    @cached_property
    def variance(self) -> Floats:
        """The variance of every rate, estimated without bias for rows of equal weight."""
        if self.squares.ndim == 4:
            own, cross = np.einsum("zsyy->zsy", self.squares), self.squares.sum(axis=3)
        else:
            own = cross = self.squares
        r = self.rates
        about = own - 2.0 * r * cross + r**2 * cross.sum(axis=2, keepdims=True)
        n = self.effective[..., None]
        found: Floats = np.maximum(about, 0.0) / nonzero(self.weight)[..., None] ** 2 * n / np.maximum(n - 1.0, 1.0)
        return found

    def ermi_bias(self) -> float:
        """How much too large the plug-in ERMI of the table is on average."""
        return ermi_bias(self.weight, self.pooled, self.variance)

    def spread(self, gradient: Floats) -> Floats:
        """The standard deviation of a quantity with this gradient in the cells, one per entry of the last axis."""
        if self.squares.ndim == 4:
            variance: Floats = np.einsum("zsyg,zsyh,zshg->g", gradient, self.squares, gradient, optimize=True)
        else:
            variance = np.einsum("zsyg,zsy->g", gradient**2, self.squares)
        return np.sqrt(np.maximum(variance, 0.0))

    def draw(self, rates: Floats, size: int, rng: np.random.Generator) -> Floats:
        """Draw tables as they would come out if the rates were these."""
        mean = self.weight[..., None] * rates
        if not self.soft:
            return rng.poisson(mean / self._unit, (size, *mean.shape)) * self._unit
        noise = rng.standard_normal((size, *mean.shape))
        if self._root.ndim == 4:
            noise = np.einsum("zsyh,bzsh->bzsy", self._root, noise, optimize=True)
        else:
            noise *= self._root
        return np.maximum(mean + noise, 0.0)

    @cached_property
    def _unit(self) -> Floats:
        """The mean weight of a row, Σw²/Σw, of each cell, or of its group where the cell is empty."""
        by_group = self.weight / nonzero(self.effective)
        filled = np.where(self.table > 0, self.squares / nonzero(self.table), by_group[..., None])
        return np.where(filled > 0, filled, 1.0)

    @cached_property
    def _root(self) -> Floats:
        """A square root of the second moments, to draw normal sums with."""
        if self.squares.ndim == 3:
            return np.sqrt(self.squares)
        values, vectors = np.linalg.eigh(self.squares)
        root: Floats = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
        return root
