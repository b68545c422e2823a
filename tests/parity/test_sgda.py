"""The compiled loop of Algorithm 1 against the algorithm and the gradient written out on plain matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from fermi.compiled.permutation import shuffled
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.solvers._loop import Loop
from fermi.linear.solvers.reference import descend_ascend
from tests.linear.samples import linear, problem, rows, run


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
    steps = linear(0.05, 0.05, -(-150 // batch))
    # Sparse rows take the penalty one by one, which is the same only without one or row by row.
    l2 = 0.0 if kind == "sparse" and batch > 1 else 1e-2
    found, _ = run(design, objective, l2=l2, batch=batch, epochs=1, steps=steps, seed=5)
    order = np.arange(len(y)) if batch == len(y) else shuffled(len(y), np.random.default_rng(5))
    batches = np.split(order, np.arange(batch, len(y), batch))
    eta, eta_w = (sizes(np.arange(1, 1 + len(batches))) for sizes in (steps.eta, steps.eta_w))
    precise, W = replace(design, X=X.astype(np.float64)), np.zeros((*objective.terms[0].prior.shape, classes))
    theta, (expected,) = descend_ascend(precise, objective, np.zeros(design.shape), [W], batches, eta, eta_w, l2)
    (weights, shift), (a, b) = design.coefficients(found.theta), design.coefficients(theta)
    assert weights == pytest.approx(a, rel=1e-8, abs=1e-10)
    assert shift == pytest.approx(b, rel=1e-8, abs=1e-7)
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
    terms = tuple(Term.of(Cells.of(np.zeros(150, dtype=np.int64), g, (1, 3), sample)) for g in (s, rng.permutation(s)))
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
