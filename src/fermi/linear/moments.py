"""Centre, spread and extremes of columns whose rows arrive in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.linear.design import LARGEST, Design, refuse_giants, scale_of, sparse_squares


@dataclass(eq=False)
class Moments:
    """The weighted moments of each column so far; `square` sums the squared deviations from `mean`.

    Sparse columns, and those of a model without intercept, are not centred: their mean stays 0.
    """

    weight: float
    mean: Floats
    square: Floats
    low: Floats
    high: Floats

    @classmethod
    def empty(cls, width: int) -> Moments:
        """The moments of no rows."""
        return cls(0.0, np.zeros(width), np.zeros(width), np.full(width, np.inf), np.full(width, -np.inf))

    @classmethod
    def of(cls, design: Design, weight: float) -> Moments:
        """The moments of the rows that a design was measured on; of their extremes it knows only a bound, its scale."""
        low, high = design.centre - LARGEST * design.scale, design.centre + LARGEST * design.scale
        return cls(weight, design.centre, design.mean_square * weight, low, high)

    def add(self, X: Any, weight: Floats, *, centred: bool) -> None:
        """Take some rows into the moments (Chan, Golub and LeVeque's update)."""
        total = float(weight.sum())
        if hasattr(X, "tocsr"):
            refuse_giants(np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64), X.dtype)
            square = sparse_squares(X, weight)
            mean = np.zeros_like(square)
            high = np.asarray(X.max(axis=0).todense(), dtype=np.float64).ravel()
            low = np.asarray(X.min(axis=0).todense(), dtype=np.float64).ravel()
        else:
            low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
            refuse_giants(np.maximum(np.abs(low), np.abs(high)), X.dtype)
            mean = weight @ X / (total or 1.0) if centred else np.zeros(X.shape[1])
            square = weight @ (X - mean) ** 2
        both = self.weight + total
        if both > 0.0:
            shift = mean - self.mean
            self.square = self.square + square + shift**2 * self.weight * total / both
            self.mean = self.mean + shift * total / both
        self.weight = both
        self.low, self.high = np.minimum(self.low, low), np.maximum(self.high, high)

    def design(self, *, intercept: bool, n_classes: int, l2: float = 0.0) -> Design:
        """A design without rows that standardises by these moments."""
        square = self.square / (self.weight or 1.0)
        largest = np.maximum(self.high - self.mean, self.mean - self.low)
        scale = scale_of(square, largest, np.maximum(np.abs(self.low), np.abs(self.high)), l2)
        return Design(np.zeros((0, len(scale))), self.mean, scale, intercept, n_classes, square)
