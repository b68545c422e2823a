"""The compiled loop of Algorithm 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._jit import compiled_reordered
from fermi._kernels import Floats, Ints
from fermi.solvers._rows import row_add, row_dot

_TINY_SCALE = 1e-9


@compiled_reordered
def predict_row(X: Any, i: int, centre: Floats, a: Floats, b: Floats, F: Floats) -> None:
    """F = softmax of the row's logits; one weight vector stands for two classes, the first with the logit 0."""
    top = 0.0 if a.shape[0] == 1 else -np.inf
    F[0] = 0.0
    shift = F.shape[0] - a.shape[0]
    for r in range(a.shape[0]):
        F[r + shift] = row_dot(X, i, centre, a[r]) + b[r]
        top = max(top, F[r + shift])
    total = 0.0
    for j in range(F.shape[0]):
        F[j] = np.exp(F[j] - top)
        total += F[j]
    for j in range(F.shape[0]):
        F[j] /= total


@compiled_reordered
def row_gradient(
    F: Floats, target: int, weight: float, cells: Ints, i: int, factor: Floats, lam: float,
    V: Floats, scale: Floats, norms: Floats, zone: Ints, inverse_root: Floats, G: Floats,
) -> None:  # fmt: skip
    """G = ∇ of weight · (loss + λ Σ_t factor_t ψ) in the row's logits, with C = 2 W[s]/√p − ‖W‖² column by column."""
    for j in range(F.shape[0]):
        G[j] = weight * F[j]
    G[target] -= weight
    for t in range(cells.shape[0]):
        c = cells[t, i]
        if c < 0:
            continue
        z = zone[c]
        charge = 0.0
        for j in range(F.shape[0]):
            charge += F[j] * (2.0 * scale[z, j] * V[c, j] * inverse_root[c] - norms[z, j])
        for j in range(F.shape[0]):
            C = 2.0 * scale[z, j] * V[c, j] * inverse_root[c] - norms[z, j]
            G[j] += lam * weight * factor[t] * F[j] * (C - charge)


@compiled_reordered
def ascend(
    F: Floats, rows: Ints, weight: Floats, cells: Ints, factor: Floats, rate: float, radius: float,
    V: Floats, scale: Floats, norms: Floats, zone: Ints, inverse_root: Floats, mass: Floats,
) -> None:  # fmt: skip
    """W ← W + rate/2 · ∇_W of the batch's Ψ, with W[c] = scale[z] ∘ V[c] and norms[z] = Σ_s W² kept up to date.

    The decay W (1 − rate · p̂_ŷ) touches the scales alone, so a step costs the same for any number of groups.
    """
    B, m = rows.shape[0], F.shape[1]
    for t in range(cells.shape[0]):
        mass[:] = 0.0
        for u in range(B):
            c = cells[t, rows[u]]
            if c >= 0:
                for j in range(m):
                    mass[zone[c], j] += weight[rows[u]] * factor[t] * F[u, j] / B
        for z in range(scale.shape[0]):
            for j in range(m):
                if mass[z, j] > 0.0:
                    kept = 1.0 - rate * mass[z, j]
                    scale[z, j] *= kept
                    norms[z, j] *= kept * kept
                    if abs(scale[z, j]) < _TINY_SCALE:
                        for c in range(V.shape[0]):
                            if zone[c] == z:
                                V[c, j] *= scale[z, j]
                        scale[z, j] = 1.0
        for u in range(B):
            c = cells[t, rows[u]]
            if c >= 0:
                z = zone[c]
                for j in range(m):
                    change = rate * weight[rows[u]] * factor[t] * F[u, j] * inverse_root[c] / B
                    norms[z, j] += change * (2.0 * scale[z, j] * V[c, j] + change)
                    V[c, j] += change / scale[z, j]
    total = norms.sum()
    if total > radius * radius:  # project onto the Frobenius ball
        shrink = radius / np.sqrt(total)
        scale *= shrink
        norms *= shrink * shrink


@compiled_reordered
def run_steps(
    X: Any, sparse: bool, centre: Floats, inverse_square: Floats, l2: Floats, has_intercept: bool,
    target: Ints, weight: Floats, cells: Ints, factor: Floats, zone: Ints, inverse_root: Floats,
    order: Ints, batch: int, eta: Floats, rate: Floats, lam: float, radius: float,
    a: Floats, b: Floats, V: Floats, scale: Floats, norms: Floats,
    averaged: bool, done: int, mean_a: Floats, mean_b: Floats,
) -> None:  # fmt: skip
    """One pass over `order`, a batch at a time: descend in (a, b), ascend in W, both from the same point.

    `l2` is the penalty per column in the solver's units. Its step is implicit, a / (1 + η l2), which no size of η makes
    unstable. A batch of dense rows takes it once; a sparse row takes its share for the columns it has, with l2 over
    the column's frequency, which is the same on average.
    """
    n, m = order.shape[0], V.shape[1]
    shift = m - a.shape[0]
    F = np.empty((batch, m))
    G = np.empty((batch, m))
    mass = np.empty_like(scale)
    shrink = np.empty_like(l2)
    untouched = np.ones_like(l2)
    for step in range(eta.shape[0]):
        rows = order[step * batch : min((step + 1) * batch, n)]
        B = rows.shape[0]
        for u in range(B):
            predict_row(X, rows[u], centre, a, b, F[u])
            row_gradient(
                F[u], target[rows[u]], weight[rows[u]], cells, rows[u], factor, lam,
                V, scale, norms, zone, inverse_root, G[u],
            )  # fmt: skip
        if lam > 0.0:
            ascend(F[:B], rows, weight, cells, factor, rate[step], radius, V, scale, norms, zone, inverse_root, mass)
        for j in range(l2.shape[0]):
            shrink[j] = 1.0 / (1.0 + eta[step] * l2[j] / (B if sparse else 1))
        for u in range(B):
            for r in range(a.shape[0]):
                descent = eta[step] * G[u, r + shift] / B
                row_add(X, rows[u], centre, descent, inverse_square, shrink if sparse or u == 0 else untouched, a[r])
                if has_intercept:
                    b[r] -= descent
        if averaged:
            share = 1.0 / (done + step + 1)
            mean_a += share * (a - mean_a)
            mean_b += share * (b - mean_b)
