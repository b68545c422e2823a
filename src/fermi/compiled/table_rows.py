"""Loops over the rows of a table in compact form: standardised numbers, and for each category the feature that is 1.

A row is `numbers[i]`, whose j-th entry belongs to feature j, and `codes[i]`, the features that are 1 in it. Where a
column has none, its code is the feature after the last, which no sum reads. After that comes the intercept.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats, Ints
from fermi.compiled.addresses import pointer
from fermi.compiled.jit import compiled, compiled_reordered, inlined

Codes = NDArray[np.int32]
_carray: Any = numba.carray  # type: ignore[attr-defined]
_TOGETHER = 64  # rows that are turned from columns into rows at a time: they stay in the nearest cache


@compiled
def number_moments(values: Floats) -> tuple[int, float, float, float, float]:
    """Count, mean, sum of squared deviations, smallest and largest of the finite numbers, in one pass."""
    count, near, first, second, low, high = 0, 0.0, 0.0, 0.0, np.inf, -np.inf
    for i in range(values.shape[0]):
        x = values[i]
        if math.isfinite(x):
            if count == 0:
                near = x  # close to the others, so that hardly any digit is lost
            count += 1
            away = x - near
            first += away
            second += away * away
            low = min(low, x)
            high = max(high, x)
    if count == 0:
        return 0, 0.0, 0.0, low, high
    return count, near + first / count, max(second - first * first / count, 0.0), low, high


@compiled
def fill_numbers(addresses: Ints, places: Ints, mean: Floats, inverse: Floats, out: Floats, absent: Ints) -> None:
    """Write columns of doubles as standardised rows, each at its place; what is not finite becomes 0 and is counted."""
    n = places.shape[0]
    for first in range(0, n, _TOGETHER):
        last = min(first + _TOGETHER, n)
        for j in range(addresses.shape[0]):
            column = _carray(pointer(addresses[j]), (n,), np.float64)
            for i in range(first, last):
                x = (column[i] - mean[j]) * inverse[j]
                if math.isfinite(x):
                    out[places[i], j] = x
                else:
                    out[places[i], j] = 0.0
                    absent[j] += 1


@compiled
def fill_codes(addresses: Ints, places: Ints, starts: Ints, features: Codes, out: Codes) -> int:
    """Write columns of dictionary indices as features, `features[starts[j] + index]`; how many of them are below 0."""
    strange, n = 0, places.shape[0]
    for first in range(0, n, _TOGETHER):
        last = min(first + _TOGETHER, n)
        for j in range(addresses.shape[0]):
            column = _carray(pointer(addresses[j]), (n,), np.int32)
            for i in range(first, last):
                found = features[starts[j] + column[i]]
                out[places[i], j] = found
                strange += found < 0
    return strange


@compiled
def mark_absent(values: Floats, places: Ints, feature: int, otherwise: int, out: Codes) -> None:
    """Write the feature that says a number is missing, or the one that says nothing."""
    for i in range(values.shape[0]):
        out[places[i]] = otherwise if math.isfinite(values[i]) else feature


@compiled
def uniforms(seed: int, file: int, first: int, out: Floats) -> None:
    """Write a number in [0, 1) for each row of a file from its place alone (the finalizer of splitmix64)."""
    start = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(file) * np.uint64(0xD1B54A32D192ED03)
    for i in range(out.shape[0]):
        z = start + np.uint64(first + i) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        out[i] = np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def predict(numbers: Floats, codes: Codes, i: int, weights: Floats, shift: Floats, y: int, F: Floats) -> float:
    """Predict row i: F = softmax of its logits, the first of two being 0; return its cross-entropy."""
    m, L = F.shape[0], weights.shape[0]
    top = -np.inf if m == L else 0.0
    F[0] = 0.0
    for r in range(L):
        logit = shift[r]
        for j in range(numbers.shape[1]):
            logit += weights[r, j] * numbers[i, j]
        for j in range(codes.shape[1]):
            logit += weights[r, codes[i, j]]
        F[r + m - L] = logit
        top = max(top, logit)
    own, total = F[y] - top, 0.0
    for j in range(m):
        F[j] = np.exp(F[j] - top)
        total += F[j]
    for j in range(m):
        F[j] /= total
    loss: float = np.log(total) - own
    return loss


@inlined
def add_row(numbers: Floats, codes: Codes, i: int, factor: float, out: Floats, r: int) -> None:
    """Add a row times a factor: out_r ← out_r + factor · (row i, and 1 for the intercept, which is last)."""
    for j in range(numbers.shape[1]):
        out[r, j] += factor * numbers[i, j]
    for j in range(codes.shape[1]):
        out[r, codes[i, j]] += factor
    out[r, out.shape[1] - 1] += factor


@inlined
def add_to_cell(
    numbers: Floats, codes: Codes, i: int, c: int, F: Floats, costs: Floats, table: Floats, pairs: Floats, G: Floats
) -> None:
    """Add a row to the sums of its cell, and what costs make of its gradient in the logits."""
    m = F.shape[0]
    for j in range(m):
        table[c, j] += F[j]
    if costs.shape[0] > 0:
        charge = 0.0
        for j in range(m):
            charge += F[j] * costs[c, j]
        for j in range(m):
            G[j] += F[j] * (costs[c, j] - charge)
    if pairs.shape[0] > 0:
        h = c * (m * (m - 1) // 2)
        for j in range(m):
            for k in range(j + 1, m):
                add_row(numbers, codes, i, F[j] * F[k], pairs, h)
                h += 1


@compiled_reordered
def add_pass(
    numbers: Floats,
    codes: Codes,
    target: Ints,
    cells: Ints,
    weights: Floats,
    shift: Floats,
    class_weight: Floats,
    costs: Floats,
    table: Floats,
    pairs: Floats,
    slopes: Floats,
) -> float:
    """Add some rows to the sums that an evaluation is made of, and return their weighted cross-entropy.

    Of the rows of a cell, `table[cell]` is the sum of F; `pairs`, whose rows are the cells' pairs of classes j < l, the
    sums of F_j F_l x, from which the gradient of ERMI follows when all rows are known. `slopes` is the gradient of the
    loss in the weights, and of Σ F · costs[cell] where costs are given. Two classes have the logit of the second alone.
    The last column of `pairs` and `slopes` is the intercept's. Without `pairs` or `costs` those have no rows.
    """
    m, L = class_weight.shape[0], weights.shape[0]
    F, G, total = np.empty(m), np.empty(m), 0.0
    for i in range(numbers.shape[0]):
        y = target[i]
        w = class_weight[y]
        total += w * predict(numbers, codes, i, weights, shift, y, F)
        for j in range(m):
            G[j] = w * F[j]
        G[y] -= w
        for t in range(cells.shape[0]):
            if cells[t, i] >= 0:
                add_to_cell(numbers, codes, i, cells[t, i], F, costs, table, pairs, G)
        for r in range(L):
            add_row(numbers, codes, i, G[r + m - L], slopes, r)
    return total
