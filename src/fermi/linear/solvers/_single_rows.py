"""The loop of `_batches.py` for the case that is run most: two classes, one row at a time.

The arithmetic is the same, as a test checks step by step. It saves the time that a row's arrays of probabilities and
gradients take.
"""

from __future__ import annotations

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled.jit import compiled_reordered, inlined
from fermi.compiled.prefetch import prefetch
from fermi.linear.solvers._batches import TINY_SCALE, Features, Labels, Moving, both, rescale
from fermi.linear.solvers._row_access import WINDOW, fetch_row, load_rows, row_dot, row_step
from fermi.linear.solvers.reference import SMALL_PENALTY_STEP


@inlined
def fetch_cell(c: int, zone: Ints, inverse_root: Floats, V: Floats) -> None:
    """Ask the processor for what a step reads of a cell: with many groups it is far away."""
    if c >= 0:
        prefetch(zone, c, 0)
        prefetch(inverse_root, c, 0)
        prefetch(V, c, 0)


@compiled_reordered
def run_single_rows(
    rows: Features, labels: Labels, order: Ints, eta: Floats, rate: Floats, lam: float, at: Moving
) -> None:
    """Pass once over `order`, a row at a time: descend in (θ, b), ascend in W, both from the same point."""
    X, inverse_scale, l2 = rows.X, rows.inverse_scale, rows.l2
    target, weight, cells, counts, zone, inverse_root = labels
    theta, b, V, scale, norms = at
    window = np.empty((WINDOW, theta.shape[1]))
    largest_l2 = l2.max()
    for step in range(order.shape[0]):
        u = step % WINDOW
        if u == 0:
            load_rows(X, order, step, min(step + WINDOW, order.shape[0]), rows.centre, inverse_scale, window)
        if step + WINDOW < order.shape[0]:
            soon = order[step + WINDOW]
            fetch_row(X, soon)
            for t in range(cells.shape[0]):
                fetch_cell(cells[t, soon], zone, inverse_root, V)
        i = order[step]
        f0, f1 = both(row_dot(X, i, inverse_scale, window, u, theta, 0) + b[0])
        gradient = weight[i] * (f1 - target[i])
        for t in range(cells.shape[0]):
            c = cells[t, i]
            if c >= 0:
                z, root, count = zone[c], inverse_root[c], counts[t, i]
                scale0, scale1, norm0, norm1 = scale[z, 0], scale[z, 1], norms[z, 0], norms[z, 1]
                W0, W1 = scale0 * V[c, 0], scale1 * V[c, 1]
                gradient += lam * count * f1 * f0 * (2.0 * root * (W1 - W0) - norm1 + norm0)
                mass0, mass1 = rate[step] * count * f0, rate[step] * count * f1
                kept0, kept1 = 1.0 - mass0, 1.0 - mass1
                change0, change1 = mass0 * root, mass1 * root
                norms[z, 0] = kept0 * kept0 * norm0 + change0 * (2.0 * kept0 * W0 + change0)
                norms[z, 1] = kept1 * kept1 * norm1 + change1 * (2.0 * kept1 * W1 + change1)
                scale[z, 0], scale[z, 1] = kept0 * scale0, kept1 * scale1
                if min(abs(scale[z, 0]), abs(scale[z, 1])) < TINY_SCALE:
                    rescale(z, V, scale, zone)
                V[c, 0] += change0 / scale[z, 0]
                V[c, 1] += change1 / scale[z, 1]
        small = eta[step] * largest_l2 < SMALL_PENALTY_STEP
        row_step(X, i, inverse_scale, window, u, eta[step] * gradient, eta[step], l2, small, theta, 0)
        if rows.has_intercept:
            b[0] -= eta[step] * gradient
