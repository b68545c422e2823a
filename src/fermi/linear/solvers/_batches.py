"""The compiled loop of Algorithm 1: any number of classes, any batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled.jit import compiled_reordered, inlined
from fermi.linear.solvers._row_access import WINDOW, fetch_row, load_rows, row_add, row_dot, row_step

TINY_SCALE = 1e-100
SMALL_PENALTY_STEP = 0.01


# Rows are passed as an array and an index: taking a slice inside the loop would cost more than the arithmetic.


@inlined
def both(logit: float) -> tuple[float, float]:
    """The probabilities of two classes, accurate however small, from the logit of the second."""
    e = np.exp(-abs(logit))
    likely = 1.0 / (1.0 + e)
    unlikely = e * likely
    return (unlikely, likely) if logit > 0.0 else (likely, unlikely)


@inlined
def predict_row(
    X: Any, i: int, inverse_scale: Floats, window: Floats, v: int, theta: Floats, b: Floats, F: Floats, u: int
) -> None:
    """Predict a row: F[u] = softmax of its logits; one weight vector stands for two classes, the first with logit 0."""
    m = F.shape[1]
    if theta.shape[0] == 1:
        F[u, 0], F[u, 1] = both(row_dot(X, i, inverse_scale, window, v, theta, 0) + b[0])
        return
    top = -np.inf
    for j in range(m):
        F[u, j] = row_dot(X, i, inverse_scale, window, v, theta, j) + b[j]
        top = max(top, F[u, j])
    total = 0.0
    for j in range(m):
        F[u, j] = np.exp(F[u, j] - top)
        total += F[u, j]
    for j in range(m):
        F[u, j] /= total


@inlined
def row_gradient(
    F: Floats, u: int, target: int, weight: float, cells: Ints, counts: Floats, i: int, lam: float,
    V: Floats, scale: Floats, norms: Floats, zone: Ints, inverse_root: Floats, G: Floats,
) -> None:  # fmt: skip
    """The gradient G[u] of weight · loss + λ Σ_t count_t ψ_t in row i's logits; C = 2 W[s]/√p − ‖W‖² per column."""
    m = F.shape[1]
    for j in range(m):
        G[u, j] = weight * F[u, j]
    G[u, target] -= weight
    for t in range(cells.shape[0]):
        c = cells[t, i]
        if c >= 0:
            z, root = zone[c], 2.0 * inverse_root[c]
            charge = 0.0
            for j in range(m):
                charge += F[u, j] * (scale[z, j] * V[c, j] * root - norms[z, j])
            for j in range(m):
                C = scale[z, j] * V[c, j] * root - norms[z, j]
                G[u, j] += lam * counts[t, i] * F[u, j] * (C - charge)


@compiled_reordered
def rescale(z: int, V: Floats, scale: Floats, zone: Ints) -> None:
    """Put the scales of zone z into V. Rarely needed, so a step costs the same for any number of groups."""
    for c in range(V.shape[0]):
        if zone[c] == z:
            for j in range(V.shape[1]):
                V[c, j] *= scale[z, j]
    for j in range(V.shape[1]):
        scale[z, j] = 1.0


@inlined
def ascend(
    F: Floats, order: Ints, start: int, stop: int, cells: Ints, counts: Floats, rate: float,
    V: Floats, scale: Floats, norms: Floats, zone: Ints, inverse_root: Floats, mass: Floats,
) -> None:  # fmt: skip
    """Take the ascent step W ← W + rate/2 · ∇_W Ψ of the batch, with W[c] = scale[z] ∘ V[c], and update norms[z].

    The decay W (1 − rate · p̂_ŷ) touches the scales alone, so a step costs the same for any number of groups.
    """
    m, share = F.shape[1], rate / (stop - start)
    for t in range(cells.shape[0]):
        for u in range(stop - start):
            i = order[start + u]
            c = cells[t, i]
            if c >= 0:
                for j in range(m):
                    mass[zone[c], j] += share * counts[t, i] * F[u, j]
    for z in range(scale.shape[0]):
        for j in range(m):
            if mass[z, j] > 0.0:
                kept = 1.0 - mass[z, j]
                scale[z, j] *= kept
                norms[z, j] *= kept * kept
                mass[z, j] = 0.0
                if abs(scale[z, j]) < TINY_SCALE:
                    rescale(z, V, scale, zone)
    for t in range(cells.shape[0]):
        for u in range(stop - start):
            i = order[start + u]
            c = cells[t, i]
            if c >= 0:
                z = zone[c]
                for j in range(m):
                    change = share * counts[t, i] * F[u, j] * inverse_root[c]
                    norms[z, j] += change * (2.0 * scale[z, j] * V[c, j] + change)
                    V[c, j] += change / scale[z, j]


@inlined
def project(radius: float, scale: Floats, norms: Floats) -> None:
    """Project W onto the Frobenius ball."""
    total = norms.sum()
    if total > radius * radius:
        shrink = radius / np.sqrt(total)
        scale *= shrink
        norms *= shrink * shrink


@inlined
def descend(
    X: Any, sparse: bool, inverse_scale: Floats, l2: Floats, largest_l2: float, has_intercept: bool,
    G: Floats, slope: Floats, order: Ints, start: int, stop: int, eta: float, theta: Floats, b: Floats,
) -> None:  # fmt: skip
    """Take the descent step (θ, b) ← (θ, b) − η · mean of the batch's gradients, and the step of the penalty.

    `l2` is the penalty per column in the solver's units. A batch of dense rows takes it once; a sparse row takes its
    share for the columns it has, with l2 over the column's frequency, which is the same on average.
    """
    per_row = eta / (stop - start)
    shift = G.shape[1] - theta.shape[0]
    if sparse:
        small = per_row * largest_l2 < SMALL_PENALTY_STEP
        for u in range(stop - start):
            for r in range(theta.shape[0]):
                i, step = order[start + u], per_row * G[u, r + shift]
                row_step(X, i, inverse_scale, slope, 0, step, per_row, l2, small, theta, r)
    else:
        small = eta * largest_l2 < SMALL_PENALTY_STEP
        for r in range(theta.shape[0]):
            row_step(X, 0, inverse_scale, slope, r, per_row, eta, l2, small, theta, r)
            slope[r] = 0.0
    if has_intercept:
        for u in range(stop - start):
            for r in range(theta.shape[0]):
                b[r] -= per_row * G[u, r + shift]


@compiled_reordered
def run_steps(
    X: Any, sparse: bool, centre: Floats, inverse_scale: Floats, l2: Floats, has_intercept: bool,
    target: Ints, weight: Floats, cells: Ints, counts: Floats, zone: Ints, inverse_root: Floats,
    order: Ints, batch: int, eta: Floats, rate: Floats, lam: float, radius: float,
    theta: Floats, b: Floats, V: Floats, scale: Floats, norms: Floats,
    averaged: bool, theta_sum: Floats, b_sum: Floats,
) -> None:  # fmt: skip
    """Pass once over `order`, a batch at a time: descend in (θ, b), ascend in W, both from the same point."""
    n, m, shift = order.shape[0], V.shape[1], V.shape[1] - theta.shape[0]
    F, G = np.empty((batch, m)), np.empty((batch, m))
    mass, slope = np.zeros_like(scale), np.zeros_like(theta)
    window = np.empty((WINDOW, theta.shape[1]))
    largest_l2 = l2.max()
    for step in range(eta.shape[0]):
        start, stop = step * batch, min((step + 1) * batch, n)
        for u in range(stop - start):
            if u % WINDOW == 0:
                load_rows(X, order, start + u, min(start + u + WINDOW, stop), centre, inverse_scale, window)
            if start + u + WINDOW < n:
                fetch_row(X, order[start + u + WINDOW])
            i, v = order[start + u], u % WINDOW
            predict_row(X, i, inverse_scale, window, v, theta, b, F, u)
            row_gradient(
                F, u, target[i], weight[i], cells, counts, i, lam, V, scale, norms, zone, inverse_root, G
            )  # fmt: skip
            for r in range(theta.shape[0]):
                row_add(X, window, v, G[u, r + shift], slope, r)
        ascend(F, order, start, stop, cells, counts, rate[step], V, scale, norms, zone, inverse_root, mass)
        if radius < np.inf:
            project(radius, scale, norms)
        descend(
            X, sparse, inverse_scale, l2, largest_l2, has_intercept, G, slope, order, start, stop, eta[step],
            theta, b,
        )  # fmt: skip
        if averaged:
            theta_sum += theta
            b_sum += b
