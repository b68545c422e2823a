"""The loops of Algorithm 1 for the case that is run most: two classes, one row at a time.

The steps are those of `_batches.py`, as a test checks. With x_t the row, g_t the gradient in its logit and η_t l2 the
penalty's step, θ_{t+1} = (1 − η_t l2) θ_t − η_t g_t x_t =: θ̃_t − η_t g_t x_t. Only g_t is late: it waits for the row's
logit, an exponential and a division. So the logit of the next dense row is taken as

    θ_{t+1} · x_{t+1} = θ̃_t · x_{t+1} − η_t g_t (x_t · x_{t+1}),

whose products know nothing of g_t, and the processor computes them while it waits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled.exponential import both
from fermi.compiled.jit import compiled_bare, inlined
from fermi.compiled.prefetch import prefetch
from fermi.linear.solvers._batches import TINY_SCALE, Features, Labels, Moving, largest, rescale
from fermi.linear.solvers._row_access import fetch_row, load_row
from fermi.linear.solvers.reference import SMALL_PENALTY_STEP

_AHEAD = 16  # rows, from asking the memory for one to its step
unsigned: Any = np.uint64  # numbers from the end are negative, and an index that cannot be needs no look at its sign


@inlined
def fetch_labels(i: int, labels: Labels, V: Floats) -> None:
    """Ask the processor for what a step reads of row i's labels and cells: with many groups they are far away."""
    target, weight, cells, counts, zone, inverse_root = labels
    prefetch(target, i, 0)
    prefetch(weight, i, 0)
    for t in range(cells.shape[0]):
        prefetch(counts, t, i)
        c = cells[t, i]
        if c >= 0:
            prefetch(zone, c, 0)
            prefetch(inverse_root, c, 0)
            prefetch(V, c, 0)


@inlined
def charge(f0: float, f1: float, i: int, labels: Labels, lam: float, rate: float, at: Moving) -> float:
    """The gradient of row i's loss and terms in its logit; W ascends, from the same point."""
    target, weight, cells, counts, zone, inverse_root = labels
    _, _, V, scale, norms = at
    gradient = weight[i] * (f1 - target[i])
    for t in range(cells.shape[0]):
        c = cells[t, i]
        if c >= 0:
            z, root, count = zone[c], inverse_root[c], counts[t, i]
            scale0, scale1, norm0, norm1 = scale[z, 0], scale[z, 1], norms[z, 0], norms[z, 1]
            W0, W1 = scale0 * V[c, 0], scale1 * V[c, 1]
            gradient += (lam * count * (2.0 * root * (W1 - W0) - norm1 + norm0)) * (f1 * f0)
            mass0, mass1 = rate * count * f0, rate * count * f1
            kept0, kept1 = 1.0 - mass0, 1.0 - mass1
            change0, change1 = mass0 * root, mass1 * root
            norms[z, 0] = kept0 * kept0 * norm0 + change0 * (2.0 * kept0 * W0 + change0)
            norms[z, 1] = kept1 * kept1 * norm1 + change1 * (2.0 * kept1 * W1 + change1)
            scale[z, 0], scale[z, 1] = kept0 * scale0, kept1 * scale1
            if min(abs(scale[z, 0]), abs(scale[z, 1])) < TINY_SCALE:
                rescale(z, V, scale, zone)
            V[c, 0] += change0 / scale[z, 0]
            V[c, 1] += change1 / scale[z, 1]
    return float(gradient)


@inlined
def advance(
    theta: Floats, l2: Floats, three: Floats, before: int, now: int, after: int, step: float, penalty: float
) -> tuple[float, float]:
    """Make θ̃ from the last θ̃ and its row's step; the products of θ̃ and of the present row with the row after it."""
    along = overlap = 0.0
    for j in range(theta.shape[1]):
        moved = theta[0, j] - step * three[before, j]
        shrunk = moved - penalty * l2[j] * moved
        theta[0, j] = shrunk
        along += shrunk * three[after, j]
        overlap += three[now, j] * three[after, j]
    return along, overlap


@inlined
def shrink(theta: Floats, l2: Floats, three: Floats, before: int, step: float, penalty: float) -> None:
    """Make θ̃ as `advance` does where the penalty's step is not small: no step makes θ / (1 + penalty · l2) unstable."""
    for j in range(theta.shape[1]):
        theta[0, j] = (theta[0, j] - step * three[before, j]) / (1.0 + penalty * l2[j])


@compiled_bare
def run_dense_rows(
    rows: Features, labels: Labels, order: Ints, eta: Floats, rate: Floats, lam: float, at: Moving, three: Floats
) -> None:
    """Pass once over `order`, a dense row at a time: descend in (θ, b), ascend in W, both from the same point.

    `three` is room for three rows, filled with zeros.
    """
    X, centre, inverse_scale, l2, n = rows.X, rows.centre, rows.inverse_scale, rows.l2, order.shape[0]
    theta, largest_l2, b, step = at.theta, largest(l2), at.b[0], 0.0
    before, now, after = unsigned(0), unsigned(1), unsigned(2)
    load_row(X, unsigned(order[0]), centre, inverse_scale, three, after)
    along, overlap = advance(theta, l2, three, before, now, after, 0.0, 0.0)
    for t in range(n):
        before, now, after = now, after, before
        if t + _AHEAD < n:
            soon = unsigned(order[t + _AHEAD])
            fetch_row(X, soon)
            fetch_labels(soon, labels, at.V)
        f0, f1 = both(along - step * overlap + b)
        if t + 1 < n:
            load_row(X, unsigned(order[t + 1]), centre, inverse_scale, three, after)
        gradient = charge(f0, f1, unsigned(order[t]), labels, lam, rate[t], at)
        if eta[t] * largest_l2 < SMALL_PENALTY_STEP:
            along, overlap = advance(theta, l2, three, before, now, after, step, eta[t])
        else:
            shrink(theta, l2, three, before, step, eta[t])
            along, overlap = advance(theta, l2, three, before, now, after, 0.0, 0.0)
        step = eta[t] * gradient
        if rows.has_intercept:
            b -= step
    for j in range(theta.shape[1]):
        theta[0, j] -= step * three[now, j]
    at.b[0] = b


@inlined
def sparse_dot(X: Any, first: int, last: int, columns: Floats) -> float:
    """The product of the weights columns[:, 0] with the entries from first to last, in four sums at once."""
    data, indices, _ = X
    sum0 = sum1 = sum2 = sum3 = 0.0
    entry = first
    while entry + 4 <= last:
        sum0 += columns[unsigned(indices[entry]), 0] * data[entry]
        sum1 += columns[unsigned(indices[entry + 1]), 0] * data[entry + 1]
        sum2 += columns[unsigned(indices[entry + 2]), 0] * data[entry + 2]
        sum3 += columns[unsigned(indices[entry + 3]), 0] * data[entry + 3]
        entry += 4
    if entry < last:
        sum0 += columns[unsigned(indices[entry]), 0] * data[entry]
    if entry + 1 < last:
        sum1 += columns[unsigned(indices[entry + 1]), 0] * data[entry + 1]
    if entry + 2 < last:
        sum2 += columns[unsigned(indices[entry + 2]), 0] * data[entry + 2]
    return (sum0 + sum1) + (sum2 + sum3)


@inlined
def sparse_step(X: Any, first: int, last: int, columns: Floats, step: float, penalty: float, small: bool) -> None:
    """Step along a sparse row: its columns' weights, shrunk by the penalty, − step · row / scale²."""
    data, indices, _ = X
    if small:
        for entry in range(first, last):
            j = unsigned(indices[entry])
            columns[j, 0] -= columns[j, 0] * (penalty * columns[j, 2]) + step * (columns[j, 1] * data[entry])
    else:
        for entry in range(first, last):
            j = unsigned(indices[entry])
            columns[j, 0] = columns[j, 0] / (1.0 + penalty * columns[j, 2]) - step * (columns[j, 1] * data[entry])


@compiled_bare
def run_sparse_rows(
    rows: Features, labels: Labels, order: Ints, eta: Floats, rate: Floats, lam: float, at: Moving, columns: Floats
) -> None:
    """Pass once over `order`, a sparse row at a time; a row takes its share of the penalty for the columns it has.

    `columns` is room for what a step needs of a column, side by side: its weight in the units of X, which is θ / scale,
    1 / scale² and l2.
    """
    X, n, largest_l2, b = rows.X, order.shape[0], largest(rows.l2), at.b[0]
    data, indices, ends = X
    for j in range(columns.shape[0]):
        inverse = rows.inverse_scale[j]
        columns[j, 0], columns[j, 1], columns[j, 2] = at.theta[0, j] * inverse, inverse * inverse, rows.l2[j]
    for t in range(n):
        i = unsigned(order[t])
        if t + _AHEAD < n:
            soon = unsigned(order[t + _AHEAD])
            prefetch(data, ends[soon], 0)
            prefetch(data, ends[soon + unsigned(1)] - 1, 0)
            prefetch(indices, ends[soon], 0)
            fetch_labels(soon, labels, at.V)
        first, last = ends[i], ends[i + unsigned(1)]
        f0, f1 = both(sparse_dot(X, first, last, columns) + b)
        step = eta[t] * charge(f0, f1, i, labels, lam, rate[t], at)
        sparse_step(X, first, last, columns, step, eta[t], eta[t] * largest_l2 < SMALL_PENALTY_STEP)
        if rows.has_intercept:
            b -= step
    for j in range(columns.shape[0]):
        at.theta[0, j] = columns[j, 0] / rows.inverse_scale[j]
    at.b[0] = b
