"""The compiled loop of Algorithm 1: any number of classes, any batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled.exponential import both, exponential
from fermi.compiled.jit import compiled_bare, inlined
from fermi.linear.solvers._row_access import WINDOW, fetch_row, load_rows, row_add, row_dot, row_step
from fermi.linear.solvers.reference import SMALL_PENALTY_STEP

TINY_SCALE = 1e-100


class Features(NamedTuple):
    """The standardised rows that a loop runs over: X, its centre and scale, and the penalty on each column."""

    X: Any  # an array, or (data, indices, indptr) of a CSR matrix
    sparse: bool
    centre: Floats
    inverse_scale: Floats
    l2: Floats  # in the solver's units; dense columns, as those of θ, are padded with zeros to whole blocks
    has_intercept: bool


class Labels(NamedTuple):
    """What the loss and the terms know of each row: class, weight, and cell and weight in each term."""

    target: Ints
    weight: Floats
    cells: Ints  # terms × rows, or -1
    counts: Floats  # terms × rows
    zone: Ints  # of each cell
    inverse_root: Floats  # 1/√p of each cell


class Moving(NamedTuple):
    """What the steps change: θ with one row per logit, b, W[c] = scale[z] ∘ V[c] and norms[z] = Σ_s W²."""

    theta: Floats
    b: Floats
    V: Floats
    scale: Floats
    norms: Floats


class Limits(NamedTuple):
    """What keeps W small: the radius of its ball, and remark 1's penalty l2 ‖W‖² within Ψ."""

    radius: float
    l2: float


TWO, MANY = (0, 0), ()  # a tuple's length is known to the compiler, which unrolls loops over two classes


class Scratch(NamedTuple):
    """Room for what a batch computes, since the loops make no arrays: predictions, gradients, masses, slopes, rows."""

    classes: tuple[int, ...]  # TWO or MANY
    F: Floats
    G: Floats
    mass: Floats  # zero between the steps, as are slopes
    slope: Floats
    window: Floats

    @classmethod
    def of(cls, batch: int, at: Moving, sparse: bool) -> Scratch:
        """Make room for batches of so many rows."""
        window = np.zeros((0 if sparse else WINDOW, at.theta.shape[1]))
        classes, (F, G) = TWO if len(at.theta) == 1 else MANY, np.empty((2, batch, at.V.shape[1]))
        return cls(classes, F, G, np.zeros_like(at.scale), np.zeros_like(at.theta), window)


# Rows are passed as an array and an index: taking a slice inside the loop would cost more than the arithmetic.


@inlined
def width(classes: tuple[int, ...], F: Floats) -> int:
    """The number of classes."""
    return len(classes) if len(classes) > 0 else F.shape[1]


@inlined
def predict_row(rows: Features, i: int, v: int, at: Moving, scratch: Scratch, u: int) -> None:
    """Predict a row: F[u] = softmax of its logits; one weight vector stands for two classes, the first with logit 0."""
    F, window, theta, b = scratch.F, scratch.window, at.theta, at.b
    m = width(scratch.classes, F)
    if m == 2:
        F[u, 0], F[u, 1] = both(row_dot(rows.X, i, rows.inverse_scale, window, v, theta, 0) + b[0])
        return
    top = -np.inf
    for j in range(m):
        F[u, j] = row_dot(rows.X, i, rows.inverse_scale, window, v, theta, j) + b[j]
        top = max(top, F[u, j])
    total = 0.0
    for j in range(m):
        F[u, j] = exponential(F[u, j] - top)
        total += F[u, j]
    for j in range(m):
        F[u, j] /= total


@inlined
def row_gradient(u: int, labels: Labels, i: int, lam: float, at: Moving, scratch: Scratch) -> None:
    """The gradient G[u] of weight · loss + λ Σ_t count_t ψ_t in row i's logits; C = 2 W[s]/√p − ‖W‖² per column."""
    F, G, weight = scratch.F, scratch.G, labels.weight[i]
    m = width(scratch.classes, F)
    V, scale, norms = at.V, at.scale, at.norms
    for j in range(m):
        G[u, j] = weight * F[u, j]
    G[u, labels.target[i]] -= weight
    for t in range(labels.cells.shape[0]):
        c = labels.cells[t, i]
        if c >= 0:
            z, root = labels.zone[c], 2.0 * labels.inverse_root[c]
            charge = 0.0
            for j in range(m):
                charge += F[u, j] * (scale[z, j] * V[c, j] * root - norms[z, j])
            for j in range(m):
                C = scale[z, j] * V[c, j] * root - norms[z, j]
                G[u, j] += lam * labels.counts[t, i] * F[u, j] * (C - charge)


@compiled_bare
def rescale(z: int, V: Floats, scale: Floats, zone: Ints) -> None:
    """Put the scales of zone z into V. Rarely needed, so a step costs the same for any number of groups."""
    for c in range(V.shape[0]):
        if zone[c] == z:
            for j in range(V.shape[1]):
                V[c, j] *= scale[z, j]
    for j in range(V.shape[1]):
        scale[z, j] = 1.0


@inlined
def ascend(order: Ints, start: int, stop: int, labels: Labels, rate: float, at: Moving, scratch: Scratch) -> None:
    """Take the ascent step W ← W + rate/2 · ∇_W Ψ of the batch, with W[c] = scale[z] ∘ V[c], and update norms[z].

    The decay W (1 − rate · p̂_ŷ) touches the scales alone, so a step costs the same for any number of groups.
    """
    F, mass, share = scratch.F, scratch.mass, rate / (stop - start)
    m = width(scratch.classes, F)
    cells, counts, zone = labels.cells, labels.counts, labels.zone
    V, scale, norms = at.V, at.scale, at.norms
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
                    change = share * counts[t, i] * F[u, j] * labels.inverse_root[c]
                    norms[z, j] += change * (2.0 * scale[z, j] * V[c, j] + change)
                    V[c, j] += change / scale[z, j]


@inlined
def largest(values: Floats) -> float:
    """The largest of numbers that are not negative."""
    top = 0.0
    for j in range(values.shape[0]):
        top = max(top, values[j])
    return top


@inlined
def project(radius: float, scale: Floats, norms: Floats) -> None:
    """Project W onto the Frobenius ball."""
    total = 0.0
    for z in range(norms.shape[0]):
        for j in range(norms.shape[1]):
            total += norms[z, j]
    if total > radius * radius:
        shrink = radius / np.sqrt(total)
        for z in range(norms.shape[0]):
            for j in range(norms.shape[1]):
                scale[z, j] *= shrink
                norms[z, j] *= shrink * shrink


@inlined
def descend(
    rows: Features,
    largest_l2: float,
    order: Ints,
    start: int,
    stop: int,
    eta: float,
    at: Moving,
    scratch: Scratch,
) -> None:
    """(θ, b) ← (θ, b) − η · mean of the batch's gradients, and the step of the penalty.

    A batch of dense rows takes the penalty once; a sparse row takes its share for the columns it has, with l2 over the
    column's frequency, which is the same on average.
    """
    per_row, theta, b, G, slope = eta / (stop - start), at.theta, at.b, scratch.G, scratch.slope
    m = width(scratch.classes, G)
    logits = 1 if m == 2 else m
    shift = m - logits
    if rows.sparse:
        small = per_row * largest_l2 < SMALL_PENALTY_STEP
        for u in range(stop - start):
            for r in range(logits):
                i, step = order[start + u], per_row * G[u, r + shift]
                row_step(rows.X, i, rows.inverse_scale, slope, 0, step, per_row, rows.l2, small, theta, r)
    else:
        small = eta * largest_l2 < SMALL_PENALTY_STEP
        for r in range(logits):
            row_step(rows.X, 0, rows.inverse_scale, slope, r, per_row, eta, rows.l2, small, theta, r)
            for j in range(slope.shape[1]):
                slope[r, j] = 0.0
    if rows.has_intercept:
        for u in range(stop - start):
            for r in range(logits):
                b[r] -= per_row * G[u, r + shift]


@compiled_bare
def run_steps(
    rows: Features,
    labels: Labels,
    order: Ints,
    batch: int,
    eta: Floats,
    rate: Floats,
    lam: float,
    limits: Limits,
    at: Moving,
    averaged: bool,
    sums: tuple[Floats, Floats],
    scratch: Scratch,
) -> None:
    """One pass over `order`, a batch at a time: descend in (θ, b), ascend in W, both from the same point.

    `sums` are those of θ and b over all steps, kept where the mean is wanted.
    """
    theta, n, window = at.theta, order.shape[0], scratch.window
    m = width(scratch.classes, scratch.F)
    logits = 1 if m == 2 else m
    largest_l2 = largest(rows.l2)
    for step in range(eta.shape[0]):
        start, stop = step * batch, min((step + 1) * batch, n)
        for u in range(stop - start):
            if u % WINDOW == 0:
                last = min(start + u + WINDOW, stop)
                load_rows(rows.X, order, start + u, last, rows.centre, rows.inverse_scale, window)
            if start + u + WINDOW < n:
                fetch_row(rows.X, order[start + u + WINDOW])
            i, v = order[start + u], u % WINDOW
            predict_row(rows, i, v, at, scratch, u)
            row_gradient(u, labels, i, lam, at, scratch)
            for r in range(logits):
                row_add(rows.X, window, v, scratch.G[u, r + m - logits], scratch.slope, r)
        if limits.l2 > 0.0:
            for z in range(at.scale.shape[0]):
                for j in range(m):
                    scratch.mass[z, j] = rate[step] * limits.l2  # decays with what the batch adds
        ascend(order, start, stop, labels, rate[step], at, scratch)
        if limits.radius < np.inf:
            project(limits.radius, at.scale, at.norms)
        descend(rows, largest_l2, order, start, stop, eta[step], at, scratch)
        if averaged:
            for r in range(logits):
                sums[1][r] += at.b[r]
                for j in range(sums[0].shape[1]):
                    sums[0][r, j] += theta[r, j]
