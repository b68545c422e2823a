"""Loops over rows, compiled, with arrays class by class (m × n): there numpy's exp and log are fast, and so are these.

`cells` holds the cell of every row in every term, 0 for rows that do not count; `share` and the costs are 0 there.
Where a result has room for one class less than F, it is without the first.
"""

from __future__ import annotations

from fermi._typing import Floats, Ints
from fermi.compiled.exponential import both
from fermi.compiled.jit import compiled_bare, compiled_reordered


@compiled_bare
def predict_two(logit: Floats, F: Floats) -> None:
    """The probabilities F of two classes, 2 × n, from the logit of the second."""
    for i in range(logit.shape[0]):
        F[0, i], F[1, i] = both(logit[i])


@compiled_reordered
def add_laws(F: Floats, cells: Ints, share: Floats, tables: Floats) -> None:
    """Add up laws: tables[i % 4, cell_i, j] += share_i · F_ji, in four places, as one would wait for itself."""
    m, n = F.shape
    for j in range(m):
        for i in range(n):
            tables[i & 3, cells[i], j] += share[i] * F[j, i]


@compiled_reordered
def loss_derivatives(F: Floats, target: Ints, weight: Floats, factor: float, gradient: Floats, hessian: Floats) -> None:
    """Write w_i (F_ji − [j = y_i]) and factor · w_i F_ji (1 − F_ji): the boosters' own derivatives of the log-loss."""
    m, n = F.shape
    first = m - gradient.shape[0]
    for j in range(first, m):
        for i in range(n):
            f, w = F[j, i], weight[i]
            gradient[j - first, i] = w * (f - (target[i] == j))
            hessian[j - first, i] = factor * w * f * (1.0 - f)


@compiled_reordered
def charge_rows(F: Floats, cells: Ints, costs: Floats, charge: Floats) -> None:
    """What the adversary charges each row: charge_i = F_i · C with C = costs[:, cell_i]."""
    charge[:] = 0.0
    for j in range(F.shape[0]):
        for i in range(F.shape[1]):
            charge[i] += F[j, i] * costs[j, cells[i]]


@compiled_reordered
def add_tilt(F: Floats, cells: Ints, share: Floats, costs: Floats, charge: Floats, gradient: Floats) -> None:
    """Add a term's gradient: share_i F_ji (C_j − charge_i) with C = costs[:, cell_i], as `formulas.ermi.tilt`."""
    m, n = F.shape
    first = m - gradient.shape[0]
    for j in range(first, m):
        for i in range(n):
            gradient[j - first, i] += share[i] * F[j, i] * (costs[j, cells[i]] - charge[i])


@compiled_reordered
def add_stiffness(
    F: Floats, cells: Ints, share: Floats, costs: Floats, charge: Floats, stiffness: Floats, h: Floats
) -> None:
    """Add to bounds: h_ji += share_i ((C_j − charge_i)₊ + B_j F_ji), C = costs[:, cell_i], B = stiffness[:, cell_i]."""
    for j in range(F.shape[0]):
        for i in range(F.shape[1]):
            above = costs[j, cells[i]] - charge[i]
            h[j, i] += share[i] * (0.5 * (above + abs(above)) + stiffness[j, cells[i]] * F[j, i])


@compiled_reordered
def raise_hessian(F: Floats, h: Floats, rate: float, total: Floats, hessian: Floats) -> None:
    """Make the Hessian at least rate · F_j (h_j (1 − F_j)² + Σ_{l≠j} F_l (1 − F_l) h_l); `total` is room for sums."""
    m, n = F.shape
    first = m - hessian.shape[0]
    total[:] = 0.0
    for j in range(m):
        for i in range(n):
            total[i] += F[j, i] * (1.0 - F[j, i]) * h[j, i]
    for j in range(first, m):
        for i in range(n):
            f = F[j, i]
            bound = rate * f * (total[i] + (1.0 - 2.0 * f) * (1.0 - f) * h[j, i])
            hessian[j - first, i] = max(hessian[j - first, i], bound)
