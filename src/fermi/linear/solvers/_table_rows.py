"""The loop of `_batches.py` for rows in compact form, as tables have them: numbers, and the places of what is 1.

The arithmetic is that of dense rows, as a test checks. θ is in the units of the features, and a step is divided by the
scale twice, which is the same descent. It saves what rows spend on columns that are 0, and takes plain arrays,
since what a tuple holds costs each time that it is used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats, Ints
from fermi.compiled.exponential import both, exponential
from fermi.compiled.jit import compiled_bare, inlined
from fermi.linear.solvers._batches import Labels, Moving, Scratch, ascend, largest, project, row_gradient
from fermi.linear.solvers.reference import SMALL_PENALTY_STEP

Codes = NDArray[np.int32]


@inlined
def predict_table_row(numbers: Floats, codes: Codes, i: int, theta: Floats, b: Floats, F: Floats, u: int) -> None:
    """Predict a row: F[u] = softmax of its logits; one weight vector stands for two classes."""
    m, L, top = F.shape[1], theta.shape[0], -np.inf
    for r in range(L):
        logit = b[r]
        for j in range(numbers.shape[1]):
            logit += theta[r, j] * numbers[i, j]
        for j in range(codes.shape[1]):
            logit += theta[r, codes[i, j]]
        F[u, r] = logit
        top = max(top, logit)
    if m > L:
        F[u, 0], F[u, 1] = both(F[u, 0])
    else:
        total = 0.0
        for j in range(m):
            F[u, j] = exponential(F[u, j] - top)
            total += F[u, j]
        for j in range(m):
            F[u, j] /= total


@inlined
def add_table_row(numbers: Floats, codes: Codes, i: int, u: int, G: Floats, slope: Floats, slope_b: Floats) -> None:
    """Add a row to the slopes of its batch, times its gradient in the logits."""
    shift = G.shape[1] - slope.shape[0]
    for r in range(slope.shape[0]):
        g = G[u, r + shift]
        for j in range(numbers.shape[1]):
            slope[r, j] += g * numbers[i, j]
        for j in range(codes.shape[1]):
            slope[r, codes[i, j]] += g
        slope_b[r] += g


@inlined
def descend_table(
    inverse_square: Floats, l2: Floats, has_intercept: bool, eta: float, small: bool, n: int, at: Moving,
    slope: Floats, slope_b: Floats,
) -> None:  # fmt: skip
    """(θ, b) ← (θ, b) − η · mean of the batch's gradients, and the step of the penalty; slopes are zero after."""
    theta, per_row = at.theta, eta / n
    for r in range(theta.shape[0]):
        for j in range(theta.shape[1]):
            kept = 1.0 - eta * l2[j] if small else 1.0 / (1.0 + eta * l2[j])
            theta[r, j] = theta[r, j] * kept - per_row * inverse_square[j] * slope[r, j]
            slope[r, j] = 0.0
        if has_intercept:
            at.b[r] -= per_row * slope_b[r]
        slope_b[r] = 0.0


@compiled_bare
def run_table_steps(
    numbers: Floats,
    codes: Codes,
    order: Ints,
    inverse_square: Floats,
    l2: Floats,
    has_intercept: bool,
    labels: Labels,
    batch: int,
    eta: Floats,
    rate: Floats,
    lam: float,
    radius: float,
    at: Moving,
    scratch: Scratch,
    slope_b: Floats,
    averaged: bool,
    sums: tuple[Floats, Floats],
) -> None:
    """One pass over `order`, a batch at a time: descend in (θ, b), ascend in W, both from the same point."""
    n, largest_l2, slope = order.shape[0], largest(l2), scratch.slope
    for step in range(eta.shape[0]):
        start, stop = step * batch, min((step + 1) * batch, n)
        for u in range(stop - start):
            i = order[start + u]
            predict_table_row(numbers, codes, i, at.theta, at.b, scratch.F, u)
            row_gradient(u, labels, i, lam, at, scratch)
            add_table_row(numbers, codes, i, u, scratch.G, slope, slope_b)
        ascend(order, start, stop, labels, rate[step], at, scratch)
        if radius < np.inf:
            project(radius, at.scale, at.norms)
        small = eta[step] * largest_l2 < SMALL_PENALTY_STEP
        descend_table(inverse_square, l2, has_intercept, eta[step], small, stop - start, at, slope, slope_b)
        if averaged:
            for r in range(slope.shape[0]):
                sums[1][r] += at.b[r]
                for j in range(slope.shape[1]):
                    sums[0][r, j] += at.theta[r, j]
