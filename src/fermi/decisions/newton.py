r"""Solves the convex stage: an interior-point method over one multiplier per limit, annealed in τ.

With R(Ψ) the rates of `Program` and limits L R + M t ≤ b, where t are free centres, the dual is

    min over μ of  f_τ(Ψ) + b·μ,   Ψ = Lᵀμ,   Mᵀμ = 0,   0 ≤ μ ≤ cap.

The cap is what a limit may cost at most, per unit of rate: a limit that cannot be kept, or only at the price of
everything else, is then exceeded instead of making the multipliers run away. Both ends of μ have a logarithmic barrier
of weight ν. Each step is Newton's for the primal and dual conditions together, and a line search on the convex barrier
function makes it safe from any start. ν falls with τ, so that there is one path to follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from fermi._typing import Floats
from fermi.decisions.program import Expansion, Program

PATH = (0.05, 0.02, 0.008, 0.003, 0.001, 0.0004, 0.0002)
"""Values of τ from a first start; scores are of the order of one."""
AGAIN = (0.0004, 0.0002)
"""Values of τ from the multipliers of a problem nearby."""
_BARRIER = 0.02  # ν / τ
_STEPS = 40  # at one τ; three or four are usual
_ENOUGH = 1e-8  # of the barrier function: what a step must promise
_SHORTEST = 1e-10
_LEAST_CUT, _MOST_CUT = 0.02, 0.5  # of a step that is too long, what is tried next
_ROUNDING = 1e-13
_AWAY = 0.95  # of the way to the nearest end of μ
_NEAR_ENDS = 1e-3  # of the cap: no start is nearer to the ends
_BALANCED = 1e-6  # of the multipliers: what rounding leaves of Mᵀμ


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits on rates: L R + M t ≤ b.

    Attributes
    ----------
    L : (K, C·J) array
        What each limit takes of the rates, cell by cell and class by class.
    M : (K, T) array
        What it takes of the free centres.
    b : (K,) array
        Its right-hand side.
    cap : (K,) array
        What it may cost at most.
    start : (K,) array
        Positive multipliers with Mᵀμ = 0.
    """

    L: Floats
    M: Floats
    b: Floats
    cap: Floats
    start: Floats

    def at_price(self, price: float) -> Limits:
        """Limits that may cost so many times as much, and are else unchanged."""
        return replace(self, cap=price * self.cap)

    def admit(self, mu: Floats) -> bool:
        """Whether multipliers are some of these limits: as many, below the caps, and in balance, Mᵀμ = 0.

        Those of another ratio are out of balance, and no step would bring them back, since steps keep Mᵀμ.
        """
        if len(mu) != len(self.b) or not bool((mu < self.cap).all()):
            return False
        return bool((np.abs(self.M.T @ mu) <= _BALANCED * (np.abs(self.M).T @ mu)).all())


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the path ended: multipliers μ of the limits, Ψ = Lᵀμ in the shape of the program, and the drawn rates."""

    mu: Floats
    psi: Floats
    rates: Floats
    steps: int


def solve(program: Program, limits: Limits, path: tuple[float, ...] = PATH, start: Floats | None = None) -> Optimum:
    """Follow the path of τ to the multipliers of the limits.

    Parameters
    ----------
    program : Program
        The rows.
    limits : Limits
        What the rates must keep.
    path : tuple of float
        The values of τ, falling.
    start : (K,) array, optional
        Multipliers to start from, of the same limits with other right-hand sides: such as they `admit`.
    """
    mu = _inner_start(limits, start)
    steps = 0
    for tau in path:
        mu, made = _centre(program, limits, mu, tau)
        steps += made
    psi = (limits.L.T @ mu).reshape(program.shape)
    return Optimum(mu, psi, program.expand(psi, path[-1]).rates, steps)


def _inner_start(limits: Limits, start: Floats | None) -> Floats:
    """Multipliers well between zero and the cap with Mᵀμ = 0: a mixture with the first start keeps that."""
    first = limits.start * float((0.5 * limits.cap / limits.start).min().clip(max=0.05))
    if start is None:
        return first
    mixed: Floats = (1.0 - _NEAR_ENDS) * start + _NEAR_ENDS * first
    return mixed


def _centre(program: Program, limits: Limits, mu: Floats, tau: float) -> tuple[Floats, int]:
    """Minimise the barrier function at one τ."""
    L, b, cap = limits.L, limits.b, limits.cap
    nu = _BARRIER * tau
    low, high = nu / mu, nu / (cap - mu)  # the slacks of both ends, iterates of their own

    def at(mu: Floats) -> tuple[float, Expansion]:
        found = program.expand((L.T @ mu).reshape(program.shape), tau)
        return found.value + float(b @ mu) - nu * float(np.log(mu * (cap - mu)).sum()), found

    here, found = at(mu)
    for made in range(1, _STEPS):
        residual = _residual(limits, mu, found.rates, nu)
        theta = 1.0 / (low / mu + high / (cap - mu))
        direction = _direction(limits, found.curvature, residual, np.sqrt(theta))
        promised = float(residual @ direction)
        if not promised > _ENOUGH:
            return mu, made
        with np.errstate(divide="ignore"):
            room = np.where(direction < 0, -mu, cap - mu) / np.where(direction == 0, np.nan, direction)
        step = min(1.0, _AWAY * float(np.nanmin(room)))
        there, found = at(mu + step * direction)
        while there > here - 1e-4 * step * promised:
            # The slope here and there says where it is none, were it straight in between.
            slope = -float(_residual(limits, mu + step * direction, found.rates, nu) @ direction)
            step *= float(np.clip(promised / (promised + slope), _LEAST_CUT, _MOST_CUT)) if slope > 0.0 else _MOST_CUT
            if step < _SHORTEST:  # rounding hides what is left to gain
                return mu, made
            there, found = at(mu + step * direction)
        low += step * (nu / mu - low - low / mu * direction)
        high += step * (nu / (cap - mu) - high + high / (cap - mu) * direction)
        mu, here = mu + step * direction, there
        low = np.clip(low, 0.1 * nu / mu, 10.0 * nu / mu)
        high = np.clip(high, 0.1 * nu / (cap - mu), 10.0 * nu / (cap - mu))
    return mu, _STEPS


def _residual(limits: Limits, mu: Floats, rates: Floats, nu: float) -> Floats:
    """Minus the gradient of the barrier function."""
    found: Floats = nu / mu - nu / (limits.cap - mu) - (limits.b - limits.L @ rates.ravel())
    return found


def _direction(limits: Limits, H: Floats, residual: Floats, root: Floats) -> Floats:
    """Newton's step of μ: (L H Lᵀ + Θ⁻¹) dμ + M t = residual with Mᵀ dμ = 0, where `root` is √Θ.

    In units of √Θ the matrix is at least the identity, however far apart the slacks are; what rounding takes away
    from a large one is put back. A little more of it makes the step shorter, and leaves it one that descends.
    """
    scaled = root[:, None] * limits.L
    matrix = scaled @ H @ scaled.T
    factor = cho_factor(matrix + (1.0 + _ROUNDING * np.trace(matrix)) * np.eye(len(root)), overwrite_a=True)
    free = cho_solve(factor, root * residual)
    if limits.M.shape[1]:
        sides = root[:, None] * limits.M
        solved = cho_solve(factor, sides)
        free = free - solved @ np.linalg.lstsq(sides.T @ solved, sides.T @ free, rcond=None)[0]
    step: Floats = root * free
    return step
