"""Loops over rows, compiled. Codes come in as int64 and are trusted: no bounds are checked here."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats, Ints
from fermi.compiled.jit import compiled, compiled_reordered


@compiled
def value_range(values: Ints) -> tuple[int, int]:
    """The smallest and the largest entry in one pass; numpy takes two."""
    low = high = values[0]
    for i in range(values.shape[0]):
        low = min(low, values[i])
        high = max(high, values[i])
    return low, high


@compiled
def mark_seen(values: Ints, first: int, seen: NDArray[np.bool_]) -> None:
    """Mark what occurs: seen[v - first] = True for every entry v."""
    for i in range(values.shape[0]):
        seen[values[i] - first] = True


@compiled
def pair_codes(left: Ints, first_left: int, right: Ints, first_right: int, width: int, out: Ints) -> None:
    """Code pairs of codes: write left · width + right, or -1 where either is -1."""
    for i in range(out.shape[0]):
        a, b = left[i] - first_left, right[i] - first_right
        out[i] = -1 if a < 0 or b < 0 else a * width + b


# Below, z and s are the condition and the group of each row. A z of length one stands for all rows: its step is 0.


@compiled
def cell_of(z: Ints, z0: int, width: int, s: Ints, s0: int, i: int, step: int) -> int:
    """The row of a table, (condition, group) numbered through, that row i of the data is counted in."""
    cell: int = (z[i * step] - z0) * width + s[i] - s0
    return cell


@compiled
def count_labels(z: Ints, z0: int, width: int, s: Ints, s0: int, labels: Ints, first_label: int, table: Ints) -> None:
    """Count labels: table[row, label] += 1, in integers, since a float sum would wait for itself on a busy cell."""
    step = 1 if z.shape[0] > 1 else 0
    for i in range(s.shape[0]):
        table[cell_of(z, z0, width, s, s0, i, step), labels[i] - first_label] += 1


@compiled
def weigh_labels(
    z: Ints, z0: int, width: int, s: Ints, s0: int, labels: Ints, first_label: int, weight: Floats, table: Floats
) -> None:
    """Add up the weights of labels: table[row, label] += weight."""
    step = 1 if z.shape[0] > 1 else 0
    for i in range(s.shape[0]):
        table[cell_of(z, z0, width, s, s0, i, step), labels[i] - first_label] += weight[i]


@compiled
def add_probabilities(
    z: Ints, z0: int, width: int, s: Ints, s0: int, F: Floats, weight: Floats, tolerance: float, table: Floats
) -> int:
    """Add up probabilities, table[row] += weight · F; return the first row that is no probability vector, or -1.

    A weight of length one stands for all rows.
    """
    step = 1 if z.shape[0] > 1 else 0
    weight_step = 1 if weight.shape[0] > 1 else 0
    for i in range(F.shape[0]):
        w = weight[i * weight_step]
        row = cell_of(z, z0, width, s, s0, i, step)
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


@compiled
def add_by_cell(cells: Ints, values: Floats, weight: Floats, table: Floats) -> None:
    """table[cell] += weight · values, for the rows that have a cell."""
    for i in range(values.shape[0]):
        c = cells[i]
        if c >= 0:
            for j in range(values.shape[1]):
                table[c, j] += weight[i] * values[i, j]


@compiled
def add_products(z: Ints, z0: int, width: int, s: Ints, s0: int, F: Floats, weight: Floats, table: Floats) -> None:
    """Add up second moments: table[row] += weight · F Fᵀ. A weight of length one stands for all rows."""
    step = 1 if z.shape[0] > 1 else 0
    weight_step = 1 if weight.shape[0] > 1 else 0
    for i in range(F.shape[0]):
        row = cell_of(z, z0, width, s, s0, i, step)
        for j in range(F.shape[1]):
            f = weight[i * weight_step] * F[i, j]
            for h in range(F.shape[1]):
                table[row, j, h] += f * F[i, h]


@compiled
def add_bins(s: Ints, s0: int, F: Floats, y: Ints, y0: int, class_of: Ints, weight: Floats, table: Floats) -> None:
    """Add up what calibration needs, by group, class and bin of F.

    In this order: rows, Σw, Σ w F, Σw of the rows that are of the class, Σw² of all rows, Σw² of those of the class.
    Of two classes only the second: the other follows. A weight of length one stands for all rows.
    """
    weight_step = 1 if weight.shape[0] > 1 else 0
    n_bins = table.shape[2]
    first = F.shape[1] - table.shape[1]
    for i in range(F.shape[0]):
        w = weight[i * weight_step]
        if w > 0.0:
            own = class_of[y[i] - y0]
            for j in range(table.shape[1]):
                f = F[i, first + j]
                cell = table[s[i] - s0, j, min(int(f * n_bins), n_bins - 1)]
                cell[0] += 1.0
                cell[1] += w
                cell[2] += w * f
                cell[4] += w * w
                if own == first + j:
                    cell[3] += w
                    cell[5] += w * w


@compiled
def softmax_rows(logits: Floats, target: Ints, weight: Floats) -> float:
    """Turn logits into probabilities in place, and return the weighted cross-entropy."""
    loss = 0.0
    if logits.shape[1] == 2:  # one exponential is enough
        for i in range(logits.shape[0]):
            apart = logits[i, 1] - logits[i, 0]
            likely = 1 if apart > 0.0 else 0
            e = np.exp(-abs(apart))
            logits[i, likely] = 1.0 / (1.0 + e)
            logits[i, 1 - likely] = e / (1.0 + e)
            loss += weight[i] * (np.log1p(e) + (0.0 if target[i] == likely else abs(apart)))
        return loss
    for i in range(logits.shape[0]):
        top = logits[i, 0]
        for j in range(1, logits.shape[1]):
            top = max(top, logits[i, j])
        own = logits[i, target[i]] - top
        total = 0.0
        for j in range(logits.shape[1]):
            e = np.exp(logits[i, j] - top)
            logits[i, j] = e
            total += e
        for j in range(logits.shape[1]):
            logits[i, j] /= total
        loss += weight[i] * (np.log(total) - own)
    return loss


@compiled
def loss_gradient(F: Floats, target: Ints, weight: Floats, gradient: Floats) -> None:
    """Write the gradient of the weighted cross-entropy in the logits: w_i (F_i − e_i) for a row of class i."""
    for i in range(F.shape[0]):
        for j in range(F.shape[1]):
            gradient[i, j] = weight[i] * F[i, j]
        gradient[i, target[i]] -= weight[i]


@compiled
def add_tilt(F: Floats, cells: Ints, costs: Floats, share: Floats, lam: float, gradient: Floats) -> None:
    """Add the gradient of ERMI: λ · share_i · F_i ∘ (C − F_i · C) with C = costs[cells_i], as `formulas.ermi.tilt`."""
    for i in range(F.shape[0]):
        c = cells[i]
        if c >= 0:
            charge = 0.0
            for j in range(F.shape[1]):
                charge += F[i, j] * costs[c, j]
            for j in range(F.shape[1]):
                gradient[i, j] += lam * share[i] * F[i, j] * (costs[c, j] - charge)


@compiled_reordered
def column_sums(X: NDArray[Any], weight: Floats, near: Floats, first: Floats, second: Floats) -> None:
    """Add up moments of columns: Σ w_i (x_ij − near_j) and Σ w_i (x_ij − near_j)², in the order of X's memory."""
    n, d = X.shape
    if X.strides[0] >= X.strides[1]:
        for i in range(n):
            for j in range(d):
                away = X[i, j] - near[j]
                first[j] += weight[i] * away
                second[j] += weight[i] * away * away
    else:
        for j in range(d):
            total, squares = 0.0, 0.0
            for i in range(n):
                away = X[i, j] - near[j]
                total += weight[i] * away
                squares += weight[i] * away * away
            first[j] += total
            second[j] += squares


@compiled
def add_rows_by_cell(cells: Ints, weight: Floats, X: NDArray[Any], table: Floats) -> None:
    """table[cell] += weight · row of X, for the rows that have a cell."""
    for i in range(X.shape[0]):
        c = cells[i]
        if c >= 0:
            for j in range(X.shape[1]):
                table[c, j] += weight[i] * X[i, j]


@compiled
def add_sparse_rows_by_cell(
    cells: Ints, weight: Floats, indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], table: Floats
) -> None:
    """table[cell] += weight · row of a CSR matrix, for the rows that have a cell."""
    for i in range(cells.shape[0]):
        c = cells[i]
        if c >= 0:
            for a in range(indptr[i], indptr[i + 1]):
                table[c, indices[a]] += weight[i] * data[a]


@compiled
def add_sparse_gram(indptr: NDArray[Any], indices: NDArray[Any], data: NDArray[Any], r: Floats, half: Floats) -> None:
    """Add up Σ r_i x_ij x_ik over the rows of a CSR matrix, each pair of its entries once, whichever comes first."""
    for i in range(r.shape[0]):
        for a in range(indptr[i], indptr[i + 1]):
            j, x = indices[a], r[i] * data[a]
            for b in range(indptr[i], a + 1):
                half[j, indices[b]] += x * data[b]


@compiled_reordered
def count_apart(X: NDArray[Any], base: NDArray[Any], turned: bool, counts: Ints) -> None:
    """Count the entries of each row of X that differ from the base of their column, or of their row if X is turned."""
    for i in range(X.shape[0]):
        total = 0
        for j in range(X.shape[1]):
            total += X[i, j] != base[i if turned else j]
        counts[i] = total


@compiled
def fill_apart(
    X: NDArray[Any], base: NDArray[Any], turned: bool, ends: Ints, indices: NDArray[Any], data: NDArray[Any]
) -> None:
    """Write the entries that differ, less their base, and their columns, row by row from each of `ends`.

    What does not differ is written too, where the next entry goes: that takes less time than a branch that is guessed
    wrong. So there must be room for one entry more.
    """
    for i in range(X.shape[0]):
        p = ends[i]
        for j in range(X.shape[1]):
            x, b = X[i, j], base[i if turned else j]
            indices[p] = j
            data[p] = x - b
            p += x != b
