"""The compiled loop of Algorithm 1 against the algorithm and the gradient written out on plain matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from fermi.compiled.permutation import shuffled
from fermi.fitting.objective import FairObjective, Term
from fermi.formulas.ermi import class_costs, tilt
from fermi.linear.design import Design
from fermi.linear.solvers import sgda
from fermi.linear.solvers._loop import Loop
from tests.linear.samples import problem, rows, run


def literal_sgda(
    X: Any, y: Any, term: Term, order: Any, batch: int, sizes: sgda.Steps, lam: float, l2: float, design: Design
) -> tuple[Any, Any, Any]:
    """Algorithm 1 as the paper writes it, on dense matrices and with no bookkeeping: a slow and obvious truth."""
    n, m, r = len(y), design.n_classes, design.n_logits
    a, b = np.zeros((r, X.shape[1])), np.zeros(r)
    Z, k = term.prior.shape
    W = np.zeros((Z, k, m))
    counted = (term.cells >= 0).mean()
    steps = -(-n // batch)
    eta, eta_w = sizes.eta(np.arange(1, steps + 1)), sizes.eta_w(np.arange(1, steps + 1))
    for step in range(steps):
        rows = order[step * batch : (step + 1) * batch]
        centred = X[rows] - design.centre
        margin = centred @ a.T + b
        logits = np.column_stack([np.zeros(len(rows)), margin]) if r == 1 else margin
        F = np.exp(logits - logits.max(axis=1, keepdims=True))
        F /= F.sum(axis=1, keepdims=True)
        G = F - np.eye(m)[y[rows]]
        ascent = np.zeros_like(W)
        for u, i in enumerate(rows):
            if term.cells[i] >= 0:
                z, s = divmod(int(term.cells[i]), k)
                G[u] += lam * tilt(F[u][None], class_costs(W[z], term.prior[z])[s][None])[0] / counted
                ascent[z] -= 2.0 * W[z] * F[u]
                ascent[z, s] += 2.0 * F[u] / np.sqrt(term.prior[z, s])
        W = W + eta_w[step] * lam * ascent / (len(rows) * counted)
        G = G[:, 1:] if r == 1 else G
        penalty = eta[step] * l2 / design.scale**2
        a = (a * (1.0 - penalty) if penalty.max() < 0.01 else a / (1.0 + penalty)) - eta[step] * G.T @ centred / len(
            rows
        ) / design.scale**2
        b = b - eta[step] * G.mean(axis=0)
    return a, b, W


@pytest.mark.parametrize("kind", ["float64", "float32", "sparse"])
@pytest.mark.parametrize("batch", [1, 7, 64, 100, 150])
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_fast_loop_is_algorithm_1(classes: int, notion: str, batch: int, kind: str) -> None:
    X, y, s = rows(classes)
    X, y, s = X[:150], y[:150], s[:150].copy()
    s[::11] = -1
    X = X.astype(np.float32) if kind == "float32" else X
    design, objective = problem(csr_matrix(X) if kind == "sparse" else X, y, s, lam=3.0, notion=notion)
    steps = sgda.linear(0.05, 0.05, -(-150 // batch))
    # Sparse rows take the penalty one by one, which is the same only without one or row by row.
    l2 = 0.0 if kind == "sparse" and batch > 1 else 1e-2
    found, _ = run(design, objective, l2=l2, batch=batch, epochs=1, steps=steps, seed=5)
    order = np.arange(len(y)) if batch == len(y) else shuffled(len(y), np.random.default_rng(5))
    a, b, expected = literal_sgda(X.astype(np.float64), y, objective.terms[0], order, batch, steps, 3.0, l2, design)
    weights, shift = design.coefficients(found.theta)
    assert weights == pytest.approx(a, rel=1e-8, abs=1e-10)
    assert shift == pytest.approx(b - a @ design.centre, rel=1e-8, abs=1e-7)
    assert pytest.approx(expected, rel=1e-8, abs=1e-8) == found.duals[0]


@pytest.mark.parametrize("batch", [1, 4, 150])
@pytest.mark.parametrize("classes", [2, 3])
def test_class_weights_change_the_loss_and_not_the_groups(classes: int, batch: int) -> None:
    """The mean of all rows' steps from one point is the gradient of the weighted objective there."""
    X, y, s = rows(classes)
    X, y, s = X[:150], y[:150], s[:150].copy()
    s[::7] = -1
    rng = np.random.default_rng(0)
    sample, by_class = rng.random(150), np.array([1.0, 4.0, 0.3])[y]
    design, plain = problem(X, y, s, lam=3.0)
    terms = tuple(Term.from_codes(np.zeros(150, dtype=np.int64), g, (1, 3), sample) for g in (s, rng.permutation(s)))
    objective = FairObjective(y, sample * by_class / (sample * by_class).sum(), terms, 3.0)
    theta = 0.1 * rng.standard_normal(design.shape)
    W = objective.optimal_duals(design.logits(theta))
    loop = Loop(design, objective, l2=0.0, batch=batch, radius=np.inf, averaged=False)
    moved, risen = np.zeros_like(theta), [np.zeros_like(w) for w in W]
    for first in range(0, 150, batch):
        rows_of = np.arange(first, min(first + batch, 150))
        state = loop.start(theta, W)
        loop.advance(state, rows_of, np.array([1.0]), np.array([0.01]))
        moved += (theta - loop.theta(state)) * len(rows_of) / 150
        for total, after, before in zip(risen, loop.duals(state), W, strict=True):
            total += (after - before) * len(rows_of) / 150
    expected = design.pull_back(objective.saddle_gradient(design.logits(theta), W))
    assert moved == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert np.abs(risen).max() < 1e-12  # W is optimal for the groups' own weights
    assert np.abs(expected - design.pull_back(plain.saddle_gradient(design.logits(theta), W[:1]))).max() > 0.01
