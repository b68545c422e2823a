"""Loops over rows, compiled. Codes come in as int64 and are trusted: no bounds are checked here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi._jit import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@compiled
def value_range(values: Ints) -> tuple[int, int]:
    """Smallest and largest entry in one pass; numpy takes two."""
    low = high = values[0]
    for i in range(values.shape[0]):
        low = min(low, values[i])
        high = max(high, values[i])
    return low, high


@compiled
def mark_seen(values: Ints, first: int, seen: NDArray[np.bool_]) -> None:
    """seen[v - first] = True for every entry v."""
    for i in range(values.shape[0]):
        seen[values[i] - first] = True


@compiled
def pair_codes(left: Ints, first_left: int, right: Ints, first_right: int, width: int, out: Ints) -> None:
    """Write left · width + right, -1 where either is -1."""
    for i in range(out.shape[0]):
        a, b = left[i] - first_left, right[i] - first_right
        out[i] = -1 if a < 0 or b < 0 else a * width + b


@compiled
def joint_rows(conditions: Ints, first_condition: int, groups: Ints, first_group: int, width: int) -> Ints:
    """(condition, group) as one number, in one pass; numpy takes four."""
    rows = np.empty_like(groups)
    for i in range(groups.shape[0]):
        rows[i] = (conditions[i] - first_condition) * width + groups[i] - first_group
    return rows


@compiled
def count_labels(rows: Ints, first_row: int, labels: Ints, first_label: int, table: Ints) -> None:
    """table[row, label] += 1, in integers: a float sum would wait for itself on a busy cell."""
    for i in range(rows.shape[0]):
        table[rows[i] - first_row, labels[i] - first_label] += 1


@compiled
def weigh_labels(rows: Ints, first_row: int, labels: Ints, first_label: int, weight: Floats, table: Floats) -> None:
    """table[row, label] += weight."""
    for i in range(rows.shape[0]):
        table[rows[i] - first_row, labels[i] - first_label] += weight[i]


@compiled
def add_probabilities(rows: Ints, first_row: int, F: Floats, weight: Floats, tolerance: float, table: Floats) -> Any:
    """table[row] += weight · F, and the first row of F that is not a probability vector, or -1.

    One weight stands for all rows when `weight` has length one.
    """
    weighted = weight.shape[0] > 1
    w = weight[0]
    for i in range(F.shape[0]):
        if weighted:
            w = weight[i]
        row = rows[i] - first_row
        total = 0.0
        smallest = 0.0
        for j in range(F.shape[1]):
            f = F[i, j]
            total += f
            smallest = min(smallest, f)
            table[row, j] += w * f
        # Written so that NaN, for which every comparison is false, is caught too.
        if not (abs(total - 1.0) <= tolerance and smallest >= 0.0):
            return i
    return -1
