"""The loop of `_steps.py` for the case that is run most: two classes, one row at a time.

The arithmetic is the same, as a test checks step by step; without a row's arrays of probabilities and gradients it
takes a third of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._jit import compiled_reordered
from fermi._kernels import Floats, Ints
from fermi.solvers._rows import row_add, row_dot
from fermi.solvers._steps import SMALL_PENALTY_STEP, decay


@compiled_reordered
def run_single_rows(
    X: Any, centre: Floats, inverse_square: Floats, l2: Floats, has_intercept: bool,
    target: Ints, weight: Floats, cells: Ints, factor: Floats, zone: Ints, inverse_root: Floats,
    order: Ints, eta: Floats, rate: Floats, lam: float,
    a: Floats, b: Floats, V: Floats, scale: Floats, norms: Floats,
) -> None:  # fmt: skip
    """One pass over `order`: descend in (a, b), ascend in W, both from the same point."""
    shrink = np.empty_like(l2)
    largest_l2 = l2.max()
    for step in range(order.shape[0]):
        i = order[step]
        logit = row_dot(X, i, centre, a, 0) + b[0]
        e = np.exp(-abs(logit))
        likely = 1.0 / (1.0 + e)
        f1 = likely if logit > 0.0 else e * likely
        f0 = e * likely if logit > 0.0 else likely
        gradient = f1 - target[i]
        for t in range(cells.shape[0]):
            c = cells[t, i]
            if c >= 0 and lam > 0.0:
                z, root = zone[c], inverse_root[c]
                C1 = 2.0 * scale[z, 1] * V[c, 1] * root - norms[z, 1]
                C0 = 2.0 * scale[z, 0] * V[c, 0] * root - norms[z, 0]
                gradient += lam * factor[t] * f1 * f0 * (C1 - C0)
                share = rate[step] * weight[i] * factor[t]
                for j in range(2):
                    mass = share * (f1 if j == 1 else f0)
                    decay(z, j, 1.0 - mass, V, scale, norms, zone)
                    change = mass * root
                    norms[z, j] += change * (2.0 * scale[z, j] * V[c, j] + change)
                    V[c, j] += change / scale[z, j]
        small = eta[step] * largest_l2 < SMALL_PENALTY_STEP
        for j in range(l2.shape[0]):
            shrink[j] = 1.0 - eta[step] * l2[j] if small else 1.0 / (1.0 + eta[step] * l2[j])
        descent = eta[step] * weight[i] * gradient
        row_add(X, i, centre, descent, inverse_square, shrink, a, 0)
        if has_intercept:
            b[0] -= descent
