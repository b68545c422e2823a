"""A feature matrix as the linear map from parameters to logits, standardised without a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.compiled import kernels
from fermi.errors import bad_argument

# A feature is divided by its standard deviation, or by a tenth of its largest deviation where that is more, so that a
# rare category or a heavy tail does not turn single rows into giants that no step size suits.
LARGEST = 10.0
_NEARBY = 1000
# Beyond, squares overflow; below, they underflow.
_LARGEST_ENTRY = {"float32": 1e30, "float64": 1e140}
_SMALLEST_SCALE = 1e-140


@dataclass(frozen=True, eq=False)
class Design:
    """A feature matrix X with the centre and scale under which the solvers see it.

    Parameters θ have one column per logit: the standardised weights and, if there is an intercept, a last row for it.
    A binary model has one logit, that of the second class; the first class has the logit 0.
    """

    X: Any
    centre: Floats
    scale: Floats
    intercept: bool
    n_classes: int
    mean_square: Floats  # of each column around its centre

    @classmethod
    def of(cls, X: Any, weight: Floats, *, intercept: bool, n_classes: int, l2: float = 0.0) -> Design:
        """Make a design by measuring the columns; sparse ones, or those without an intercept, are not centred."""
        if hasattr(X, "tocsr"):
            largest = magnitude = np.asarray(abs(X).max(axis=0).todense(), dtype=np.float64).ravel()
            refuse_giants(magnitude, X.dtype)
            centre, square = np.zeros(X.shape[1]), sparse_squares(X, weight)
        else:
            low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
            magnitude = np.maximum(np.abs(low), np.abs(high))
            refuse_giants(magnitude, X.dtype)
            centre, square = column_moments(X, weight)
            if not intercept:
                centre, square = np.zeros_like(centre), square + centre**2
            largest = np.maximum(high - centre, centre - low)
        return cls(X, centre, scale_of(square, largest, magnitude, l2), intercept, n_classes, square)

    @property
    def n_logits(self) -> int:
        """The number of logits: one for two classes, else one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of θ."""
        return self.X.shape[1] + self.intercept, self.n_logits

    def coefficients(self, theta: Floats) -> tuple[Floats, Floats]:
        """Weights and intercepts in the units of X, classes in rows as in scikit-learn."""
        weights: Floats = (theta[: self.X.shape[1]] / self.scale[:, None]).T
        shift = theta[-1] if self.intercept else np.zeros(self.n_logits)
        return weights, shift - weights @ self.centre

    def parameters(self, weights: Floats, shift: Floats) -> Floats:
        """The parameters θ for weights and intercepts in the units of X: the inverse of `coefficients`."""
        theta = weights.T * self.scale[:, None]
        return np.vstack([theta, shift + weights @ self.centre]) if self.intercept else theta

    def logits(self, theta: Floats) -> Floats:
        """The logits of all rows, n × m, whatever the number of parameters."""
        weights, shift = self.coefficients(theta)
        margin = np.asarray(self.X @ weights.T.astype(self.X.dtype)) + shift
        return np.column_stack([np.zeros(len(margin)), margin]) if self.n_logits == 1 else margin

    def pull_back(self, gradient: Floats) -> Floats:
        """The gradient in θ from the gradient in the logits."""
        G = gradient[:, 1:] if self.n_logits == 1 else gradient
        total = G.sum(axis=0)
        slopes = np.asarray(self.X.T @ G.astype(self.X.dtype), dtype=np.float64)
        slopes = (slopes - self.centre[:, None] * total) / self.scale[:, None]
        return np.vstack([slopes, total]) if self.intercept else slopes

    def inverse_presence(self) -> Floats:
        """One over the fraction of rows that have an entry in a column, per column: 1 for dense columns."""
        if not hasattr(self.X, "tocsr"):
            return np.ones(self.X.shape[1])
        present = np.bincount(self.X.indices, minlength=self.X.shape[1])
        return np.asarray(self.X.shape[0] / np.maximum(present, 1))

    def penalty(self, theta: Floats, l2: float) -> tuple[float, Floats]:
        """The penalty ½ l2 ‖weights‖² in the units of X, and its gradient in θ."""
        weights = theta[: self.X.shape[1]] / self.scale[:, None]
        gradient = np.zeros_like(theta)
        gradient[: self.X.shape[1]] = l2 * weights / self.scale[:, None]
        return 0.5 * l2 * float((weights**2).sum()), gradient


def refuse_giants(magnitude: Floats, dtype: Any) -> None:
    """Refuse columns whose squares, or products with them, cannot be numbers any more."""
    most, found = _LARGEST_ENTRY[np.dtype(dtype).name], float(magnitude.max(initial=0.0))
    if found > most:
        raise bad_argument("X", f"holds {found:.3g}", f"numbers of at most {most:.0e} in magnitude: use other units")


def sparse_squares(X: Any, weight: Floats) -> Floats:
    """The sums Σ weight · x² of the columns of a CSR matrix, in double precision."""
    squares = X.astype(np.float64)  # a copy where it is double already, since what is squared must not be X
    squares = squares.copy() if squares is X or np.shares_memory(squares.data, X.data) else squares
    squares.data **= 2
    return np.asarray(squares.T @ weight).ravel()


def column_moments(X: Any, weight: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each column, for weights that sum to one, without a copy of X."""
    near = X[:_NEARBY].mean(axis=0, dtype=np.float64)  # close to the mean, so that hardly any digit is lost below
    first, second = np.zeros_like(near), np.zeros_like(near)
    kernels.column_sums(X, weight, near, first, second)
    return near + first, np.maximum(second - first**2, 0.0)


def scale_of(square: Floats, largest: Floats, magnitude: Floats, l2: float) -> Floats:
    """What each column is divided by, from its mean square and largest deviation and its largest magnitude.

    At least √l2: the curvature of the penalty, l2/scale², then never exceeds that of the loss by far. And never so
    little that its square is nothing: a column of such numbers has no say.
    """
    scale = np.maximum(np.sqrt(square), largest / LARGEST)
    # A constant column differs from its mean by rounding alone.
    least = max(float(np.sqrt(l2)), _SMALLEST_SCALE)
    return np.maximum(np.where(scale > 1e-12 * magnitude, scale, 1.0), least)
