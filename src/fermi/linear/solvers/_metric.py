"""The Hessian at some θ, factorised: coordinates in which the objective is nearly round there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotrs

from fermi._typing import Floats
from fermi.linear.hessian import hessian, root_entries
from fermi.linear.solvers.contract import Task

MOST_PARAMETERS = 1000  # a factorisation is worth it up to here
_MOST_ENTRIES = 10_000_000  # of the matrices that it is made of
# The loss bends by at most 1/4 along a standardised column. What rounding makes of a direction without curvature is
# less than this, in single precision too; and along such a direction a gradient of rounding errors leads nowhere far.
_FLOOR = 2.5e-7


def fits(task: Task) -> bool:
    """Whether the Hessian of a task is small enough to be factorised again and again."""
    small = task.design.shape[0] * task.design.n_logits <= MOST_PARAMETERS
    return small and root_entries(task.design, task.objective) <= _MOST_ENTRIES


@dataclass(frozen=True, eq=False)
class Metric:
    """The lower Cholesky factor L of a Hessian H: with θ = L⁻ᵀ u the objective bends by one in all directions of u."""

    factor: Floats

    @classmethod
    def at(cls, task: Task, logits: Floats) -> Metric:
        """The metric at some logits: of the exact Hessian, or of its Gauss–Newton part where that is not positive."""
        for exact in (True, False) if task.objective.lam > 0.0 else (True,):
            H = hessian(task.design, task.objective, logits, task.l2, exact=exact)
            try:
                return cls(_factorised(H, _FLOOR))
            except np.linalg.LinAlgError:
                pass
        return cls(_factorised(H, 1e-3 * float(H.diagonal().max())))  # rows so uneven that rounding decides

    def white(self, gradient: Floats) -> Floats:
        """The gradient in u of a gradient in θ: L⁻¹ g."""
        return np.asarray(solve_triangular(self.factor, gradient, lower=True, check_finite=False))

    def coloured(self, u: Floats) -> Floats:
        """The step in θ of a step in u: L⁻ᵀ u."""
        return np.asarray(solve_triangular(self.factor, u, lower=True, trans=1, check_finite=False))

    def newton(self, gradient: Floats) -> Floats:
        """Newton's step: −H⁻¹ g."""
        return np.asarray(-dpotrs(self.factor, gradient, lower=1)[0])


class Identity:
    """The metric of the standardised columns, where there are too many to factorise a Hessian."""

    def white(self, gradient: Floats) -> Floats:
        """The gradient as it is."""
        return gradient

    def coloured(self, u: Floats) -> Floats:
        """The step as it is."""
        return u


def _factorised(H: Floats, floor: float) -> Floats:
    H = H.copy()
    H[np.diag_indices_from(H)] += floor
    return np.asfortranarray(cholesky(H, lower=True, check_finite=False))
