"""The loop of `_steps.py` for the case that is run most: two classes, one row at a time.

The arithmetic is the same, as a test checks step by step; without a row's arrays of probabilities and gradients it
takes a third of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._jit import compiled_reordered
from fermi._kernels import Floats, Ints
from fermi.solvers._rows import WINDOW, load_rows, row_dot, row_step
from fermi.solvers._steps import SMALL_PENALTY_STEP, decay


@compiled_reordered
def run_single_rows(
    X: Any, sparse: bool, centre: Floats, inverse_scale: Floats, l2: Floats, has_intercept: bool,
    target: Ints, weight: Floats, cells: Ints, counts: Floats, zone: Ints, inverse_root: Floats,
    order: Ints, eta: Floats, rate: Floats, lam: float,
    theta: Floats, b: Floats, V: Floats, scale: Floats, norms: Floats,
) -> None:  # fmt: skip
    """One pass over `order`: descend in (θ, b), ascend in W, both from the same point."""
    window = np.empty((WINDOW, theta.shape[1]))
    largest_l2 = l2.max()
    for step in range(order.shape[0]):
        u = step % WINDOW
        if u == 0:
            load_rows(X, order, step, min(step + WINDOW, order.shape[0]), centre, inverse_scale, window)
        i = order[step]
        logit = row_dot(X, i, inverse_scale, window, u, theta, 0) + b[0]
        e = np.exp(-abs(logit))
        likely = 1.0 / (1.0 + e)
        f1 = likely if logit > 0.0 else e * likely
        f0 = e * likely if logit > 0.0 else likely
        gradient = weight[i] * (f1 - target[i])
        for t in range(cells.shape[0]):
            c = cells[t, i]
            if c >= 0:
                z, root = zone[c], inverse_root[c]
                C1 = 2.0 * scale[z, 1] * V[c, 1] * root - norms[z, 1]
                C0 = 2.0 * scale[z, 0] * V[c, 0] * root - norms[z, 0]
                gradient += lam * counts[t, i] * f1 * f0 * (C1 - C0)
                share = rate[step] * counts[t, i]
                for j in range(2):
                    mass = share * (f1 if j == 1 else f0)
                    decay(z, j, 1.0 - mass, V, scale, norms, zone)
                    change = mass * root
                    norms[z, j] += change * (2.0 * scale[z, j] * V[c, j] + change)
                    V[c, j] += change / scale[z, j]
        small = eta[step] * largest_l2 < SMALL_PENALTY_STEP
        row_step(X, i, inverse_scale, window, u, eta[step] * gradient, eta[step], l2, small, theta, 0)
        if has_intercept:
            b[0] -= eta[step] * gradient
