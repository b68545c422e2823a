"""Algorithm 1 of the paper: stochastic gradient descent in θ and ascent in W, with any batch size. Read this first.

    θ ← θ − η_θ · mean over the batch of ∇_θ (loss_i + λ ψ_i(θ, W))
    W ← W + η_w · mean over the batch of ∇_W λ ψ_i(θ, W),    W⁰ = 0

ψ_i is weighted so that the mean over all rows is Ψ: a row that does not count contributes nothing, and the batch is
divided by its size times the fraction of the data that counts, never by its own count. The loop is in `_steps.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi._kernels import Floats, Ints
from fermi.errors import FermiError
from fermi.objective import FairObjective
from fermi.solvers._single import run_single_rows
from fermi.solvers._steps import run_steps
from fermi.solvers.design import Design

Record = dict[str, float]

_EXPLODED = 10.0  # times the objective at the start

# The compiled loops, called with tuples of arrays whose types there is no use in spelling out again.
_SINGLE: Callable[..., None] = run_single_rows
_BATCHES: Callable[..., None] = run_steps


@dataclass(frozen=True)
class Schedule:
    """Step sizes: a start for θ and an averaging rate 2 λ η_w for W, both falling linearly to zero over all steps."""

    eta: float
    rate: float

    def steps(self, first: int, count: int, total: int) -> tuple[Floats, Floats]:
        """The sizes of some steps."""
        left = 1.0 - np.arange(first, first + count) / total
        return self.eta * left, self.rate * left


def automatic(design: Design, objective: FairObjective, batch: int) -> Schedule:
    """Steps that work untuned up to λ of about 20 (measured on Adult; larger λ is left to L-BFGS for now).

    θ: a fraction of one over the curvature that a batch sees, a quarter of E‖x‖² over the batch size plus one, in the
    units of the design. W: its step is that of a running mean with weight `rate` on the batch; longer memory means
    less noise, which larger batches lessen by themselves and larger λ amplifies.
    """
    mean_square = float((design.mean_square / design.scale**2).sum())
    curvature = 0.25 * mean_square / batch + 1.0
    rate = 6e-4 * batch**0.65 * max(objective.lam, 1.0) ** -0.35
    return Schedule(0.3 / curvature, min(rate, 0.2))


@dataclass(frozen=True, eq=False)
class Cells:
    """The terms of an objective side by side, as the loop wants them: cells, zones (a condition of a term), priors."""

    cells: Ints
    factor: Floats
    zone: Ints
    inverse_root: Floats
    shapes: list[tuple[int, int]]

    @classmethod
    def of(cls, objective: FairObjective) -> Cells:
        """Number the cells and zones of all terms through."""
        cells, zones, roots, factors, shapes = [], [], [], [], []
        first_cell = first_zone = 0
        for term in objective.terms:
            Z, k = term.prior.shape
            cells.append(np.where(term.cells >= 0, term.cells + first_cell, -1))
            zones.append(first_zone + np.repeat(np.arange(Z), k))
            prior = term.prior.ravel()
            roots.append(np.where(prior > 0, 1.0 / np.sqrt(np.where(prior > 0, prior, 1.0)), 0.0))
            counted = term.cells >= 0
            factors.append(1.0 / objective.weight[counted].sum())
            shapes.append((Z, k))
            first_cell, first_zone = first_cell + Z * k, first_zone + Z
        return cls(np.stack(cells), np.array(factors), np.concatenate(zones), np.concatenate(roots), shapes)

    def split(self, W: Floats) -> tuple[Floats, ...]:
        """W of each term, Z × k × m."""
        edges = np.cumsum([Z * k for Z, k in self.shapes])[:-1]
        return tuple(w.reshape(Z, k, -1) for w, (Z, k) in zip(np.split(W, edges), self.shapes, strict=True))


def solve(
    design: Design,
    objective: FairObjective,
    theta: Floats,
    *,
    l2: float,
    batch: int,
    epochs: int,
    schedule: Schedule,
    rng: np.random.Generator,
    radius: float = np.inf,
    averaged: bool = False,
    report: Callable[[Record], None],
) -> tuple[Floats, tuple[Floats, ...]]:
    """Run Algorithm 1 over shuffled passes; θ (the last, or the mean of all steps) and W of each term."""
    began = time.perf_counter()
    n, m = len(objective.target), design.n_classes
    terms = Cells.of(objective)
    features, labels = _constants(design, objective, terms, l2)
    a = np.ascontiguousarray((theta[: design.X.shape[1]] / design.scale[:, None]).T)
    b = theta[-1].copy() if design.intercept else np.zeros(design.n_logits)
    V = np.zeros((len(terms.zone), m))
    scale, norms = np.ones((int(terms.zone.max()) + 1, m)), np.zeros((int(terms.zone.max()) + 1, m))
    mean_a, mean_b = a.copy(), b.copy()
    steps = -(-n // batch)
    single = batch == 1 and design.n_logits == 1 and not averaged and np.isinf(radius)
    W = terms.split(V)
    start = _record(design, objective, theta, W, l2)
    for epoch in range(epochs):
        eta, rate = schedule.steps(epoch * steps, steps, epochs * steps)
        rows = rng.permutation(n)
        if single:
            _SINGLE(*features, *labels, rows, eta, rate, objective.lam, a, b, V, scale, norms)
        else:
            _BATCHES(
                *features, *labels, rows, batch, eta, rate, objective.lam, radius, hasattr(design.X, "tocsr"),
                a, b, V, scale, norms, averaged, epoch * steps, mean_a, mean_b,
            )  # fmt: skip
        theta = _theta(design, mean_a, mean_b) if averaged else _theta(design, a, b)
        W = terms.split(V * scale[terms.zone])
        with np.errstate(over="ignore", invalid="ignore"):
            record = _record(design, objective, theta, W, l2)
        if not record["objective"] <= _EXPLODED * start["objective"]:
            raise FermiError("The steps diverged: choose a smaller `eta_theta` or `eta_w`, or leave them automatic.")
        report({"step": (epoch + 1) * steps, "seconds": time.perf_counter() - began, **record})
    return theta, W


def _constants(
    design: Design, objective: FairObjective, terms: Cells, l2: float
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What the loops read and never change: of the features, and of the labels and groups."""
    sparse = hasattr(design.X, "tocsr")
    X = (design.X.data, design.X.indices, design.X.indptr) if sparse else design.X
    penalty = l2 * design.inverse_presence() / design.scale**2
    weight = len(objective.target) * objective.weight
    return (
        (X, design.centre, 1.0 / design.scale**2, penalty, design.intercept),
        (objective.target, weight, terms.cells, terms.factor, terms.zone, terms.inverse_root),
    )


def _theta(design: Design, a: Floats, b: Floats) -> Floats:
    weights = a.T * design.scale[:, None]
    return np.vstack([weights, b]) if design.intercept else weights


def _record(design: Design, objective: FairObjective, theta: Floats, W: tuple[Floats, ...], l2: float) -> Record:
    """The objective at θ, and how far W is from its optimum there."""
    logits = design.logits(theta)
    value, gradient = objective.value_and_gradient(logits)
    penalty, slope = design.penalty(theta, l2)
    return {
        "loss": value.loss,
        "ermi": value.ermi,
        "objective": value.objective + penalty,
        "dual_gap": value.objective - objective.saddle_value(logits, W),
        "grad_norm": float(np.abs(design.pull_back(gradient) + slope).max()),
    }
