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
from fermi.compiled.jit import compiled_bare
from fermi.linear.solvers._batches import Labels, Moving, Scratch, ascend, largest, project
from fermi.linear.solvers.reference import SMALL_PENALTY_STEP


@compiled_bare
def run_table_steps(
    numbers: Floats,
    codes: NDArray[np.int32],
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
    theta_sum: Floats,
    b_sum: Floats,
) -> None:
    """One pass over `order`, a batch at a time: descend in (θ, b), ascend in W, both from the same point."""
    theta, b, V, scale, norms = at
    target, weight, cells, counts, zone, inverse_root = labels
    n, m, L = order.shape[0], V.shape[1], theta.shape[0]
    p, q, shift = numbers.shape[1], codes.shape[1], m - L
    F, G, slope, largest_l2 = scratch.F, scratch.G, scratch.slope, largest(l2)
    for step in range(eta.shape[0]):
        start, stop = step * batch, min((step + 1) * batch, n)
        for u in range(stop - start):
            i = order[start + u]
            top = -np.inf
            for r in range(L):
                logit = b[r]
                for j in range(p):
                    logit += theta[r, j] * numbers[i, j]
                for j in range(q):
                    logit += theta[r, codes[i, j]]
                F[u, r] = logit
                top = max(top, logit)
            if shift:
                F[u, 0], F[u, 1] = both(F[u, 0])
            else:
                total = 0.0
                for j in range(m):
                    F[u, j] = exponential(F[u, j] - top)
                    total += F[u, j]
                for j in range(m):
                    F[u, j] /= total
            w = weight[i]
            for j in range(m):
                G[u, j] = w * F[u, j]
            G[u, target[i]] -= w
            for t in range(cells.shape[0]):
                c = cells[t, i]
                if c >= 0:
                    z, root, charge = zone[c], 2.0 * inverse_root[c], 0.0
                    for j in range(m):
                        charge += F[u, j] * (scale[z, j] * V[c, j] * root - norms[z, j])
                    for j in range(m):
                        C = scale[z, j] * V[c, j] * root - norms[z, j]
                        G[u, j] += lam * counts[t, i] * F[u, j] * (C - charge)
            for r in range(L):
                g = G[u, r + shift]
                for j in range(p):
                    slope[r, j] += g * numbers[i, j]
                for j in range(q):
                    slope[r, codes[i, j]] += g
                slope_b[r] += g
        ascend(order, start, stop, labels, rate[step], at, scratch)
        if radius < np.inf:
            project(radius, scale, norms)
        per_row = eta[step] / (stop - start)
        small = eta[step] * largest_l2 < SMALL_PENALTY_STEP
        for r in range(L):
            for j in range(theta.shape[1]):
                kept = 1.0 - eta[step] * l2[j] if small else 1.0 / (1.0 + eta[step] * l2[j])
                theta[r, j] = theta[r, j] * kept - per_row * inverse_square[j] * slope[r, j]
                slope[r, j] = 0.0
            if has_intercept:
                b[r] -= per_row * slope_b[r]
            slope_b[r] = 0.0
        if averaged:
            for r in range(L):
                b_sum[r] += b[r]
                for j in range(theta.shape[1]):
                    theta_sum[r, j] += theta[r, j]
