"""The step matrices H and D of SREDA: the curvature at the last full gradient, which says how far a step goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fermi._typing import Floats
from fermi.errors import DivergedError
from fermi.formulas.ermi import nonzero
from fermi.linear.solvers.anchor import Anchor

_RATE = 0.5  # of W towards its optimum
_RARE = 0.02  # a class predicted less often than this is averaged more slowly, lest its D⁻¹ be noise


@dataclass(frozen=True, eq=False)
class StepMatrices:
    """The step matrices H and D: how far one step goes in each direction."""

    diagonal: Floats
    J: Floats
    core: Floats  # (1 + J diagonal⁻¹ Jᵀ)⁻¹
    penalty: Floats
    ascent: tuple[Floats, ...]
    radius: float

    @classmethod
    def of(
        cls, diagonal: Floats, J: Floats, penalty: Floats, ascent: tuple[Floats, ...], radius: float
    ) -> StepMatrices:
        """Make the steps: H = diagonal + penalty + JᵀJ, inverted by the Woodbury identity; D⁻¹ of each term."""
        H = diagonal + penalty
        gram = np.eye(len(J)) + (J / H.ravel()) @ J.T
        if not np.isfinite(gram).all():
            raise DivergedError("The steps diverged: choose a smaller `lam`, or solver='lbfgs'.")
        try:
            core: Floats = np.linalg.inv(gram).astype(np.float64)
        except np.linalg.LinAlgError:  # it is at least the identity, but rounding says otherwise where λ is huge
            core = np.linalg.pinv(gram, hermitian=True).astype(np.float64)
        return cls(H, J, core, penalty, ascent, radius)

    def descend(self, theta: Floats, v: Floats) -> Floats:
        """The θ after a descent step, θ − H⁻¹ (v + ∇ penalty)."""
        x = (v + self.penalty * theta) / self.diagonal
        along = self.J.T @ (self.core @ (self.J @ x.ravel()))
        moved: Floats = theta - x + along.reshape(theta.shape) / self.diagonal
        return moved

    def ascend(self, duals: tuple[Floats, ...], u: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """The W after an ascent step, W + D⁻¹ u, in the ball."""
        return projected(tuple(W + a * g for W, a, g in zip(duals, self.ascent, u, strict=True)), self.radius)


def projected(duals: tuple[Floats, ...], radius: float) -> tuple[Floats, ...]:
    """Project W of all terms together onto the Frobenius ball."""
    norm = np.sqrt(sum(float((W**2).sum()) for W in duals))
    return tuple(W * (radius / norm) for W in duals) if norm > radius else duals


@dataclass(frozen=True, eq=False)
class Plan:
    """The settings of a run, which stay the same: `eta_theta` and `eta_w` are plain steps, None if automatic."""

    batch: int
    period: int
    curvature: float
    penalty: Floats
    radius: float
    eta_theta: float | None
    eta_w: float | None

    def steps(self, anchor: Anchor, size: float) -> StepMatrices:
        """The step matrices until the next full gradient."""
        if self.eta_theta is not None:
            diagonal, J = np.full_like(self.penalty, 1.0 / self.eta_theta), np.zeros((0, anchor.theta.size))
        else:
            diagonal, J = np.full_like(self.penalty, self.curvature / size), residual_slopes(anchor)
        return StepMatrices.of(diagonal, J, self.penalty, self.ascent(anchor), self.radius)

    def ascent(self, anchor: Anchor) -> tuple[Floats, ...]:
        """The D⁻¹ of each term: D = 2λ p̂_ŷ/rate, or its largest entry, lest a ball meet uneven steps at a slant."""
        if self.eta_w is not None:
            return tuple(np.full((1, 1, 1), self.eta_w) for _ in anchor.tables)
        masses = [T.sum(axis=1, keepdims=True) for T in anchor.tables]
        parts = zip(masses, anchor.objective.terms, strict=True)
        floors = [np.maximum(mass, _RARE * term.p_z[:, None, None]) for mass, term in parts]
        if np.isfinite(self.radius):
            largest = max((float(floor.max()) for floor in floors), default=1.0)
            floors = [np.full_like(floor, largest) for floor in floors]
        return tuple(_RATE / (2.0 * anchor.objective.lam * nonzero(floor)) for floor in floors)


def residual_slopes(anchor: Anchor) -> Floats:
    """The slopes J in θ of r = √(2λ) (P − p_s p_ŷ)/√(p_s p_ŷ), per cell and class, the divisor held fixed."""
    rows = [np.zeros((0, anchor.theta.size))]
    for term, T, A in zip(anchor.objective.terms, anchor.tables, anchor.slopes, strict=bool(anchor.slopes)):
        prior = term.prior[:, :, None]
        scale = np.sqrt(2.0 * anchor.objective.lam / nonzero(prior * T.sum(axis=1, keepdims=True)))
        slopes = A.reshape(*T.shape, -1)
        excess = slopes - prior[..., None] * slopes.sum(axis=1, keepdims=True)
        rows.append((excess * scale[..., None]).reshape(T.size, -1))
    return np.concatenate(rows)
