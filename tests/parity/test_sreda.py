"""SREDA's recursion and estimators against sums over single rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from fermi.fitting.objective import FairObjective
from fermi.formulas.ermi import class_costs, tilt
from fermi.linear.design import Design
from fermi.linear.solvers import anchor as anchors
from fermi.linear.solvers.anchor import Anchor, Point
from tests.linear.samples import problem, rows
from tests.linear.sreda_samples import run, somewhere, tiny


def row_gradients(design: Design, objective: FairObjective, at: Point) -> tuple[Any, Any]:
    """What each row alone contributes to ∇_θ and to ∇_W of each term, row by row from the paper's ψ."""
    X = (design.X - design.centre) / design.scale
    X = np.column_stack([X, np.ones(len(X))])
    margin = X @ at.theta
    z = np.column_stack([np.zeros(len(X)), margin]) if design.n_logits == 1 else margin
    F = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    v, u = [], []
    for i, (x, f) in enumerate(zip(X, F, strict=True)):
        G = objective.weight[i] * (f - np.eye(len(f))[objective.target[i]])
        ascents = [np.zeros_like(W) for W in at.duals]
        for term, W, ascent in zip(objective.terms, at.duals, ascents, strict=True):
            if term.cells[i] >= 0:
                c, s = divmod(int(term.cells[i]), term.prior.shape[1])
                weight = objective.lam * term.share[i]
                G = G + weight * tilt(f[None], class_costs(W[c], term.prior[c])[[s]])[0]
                ascent[c] -= 2.0 * weight * W[c] * f
                ascent[c, s] += 2.0 * weight * f / np.sqrt(term.prior[c, s])
        v.append(np.outer(x, G[1:] if design.n_logits == 1 else G))
        u.append(ascents)
    return np.array(v), u


def full(design: Design, objective: FairObjective, at: Point) -> Point:
    v, u = row_gradients(design, objective, at)
    return Point(v.sum(axis=0), tuple(np.sum([each[t] for each in u], axis=0) for t in range(len(at.duals))))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_full_gradient_is_the_sum_over_rows(classes: int) -> None:
    design, objective = tiny(classes)
    at = somewhere(design, objective, 0)
    expected = full(design, objective, at)
    found = Anchor.at(design, objective, at.theta).gradient(at.duals)
    assert found.theta == pytest.approx(expected.theta, abs=1e-12)
    for a, b in zip(found.duals, expected.duals, strict=True):
        assert a == pytest.approx(b, abs=1e-12)


@pytest.mark.parametrize("leaning", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_batch_is_unbiased(classes: int, leaning: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that share out the rows have the mean of all rows: also where some rows do not count."""
    if not leaning:
        monkeypatch.setattr(anchors, "_MOST_SLOPES", 0)
    design, objective = tiny(classes)
    new, old = somewhere(design, objective, 0), somewhere(design, objective, 1)
    anchor = Anchor.at(design, objective, somewhere(design, objective, 2).theta)
    assert bool(anchor.slopes) == leaning
    after, before = full(design, objective, new), full(design, objective, old)
    for size in (1, 4):
        batches = np.random.default_rng(0).permutation(60).reshape(-1, size)
        found = [anchor.difference(batch, new, old) for batch in batches]
        mean = np.mean([each.theta for each in found], axis=0)
        assert mean == pytest.approx(after.theta - before.theta, abs=1e-10)
        for t in range(2):
            mean = np.mean([each.duals[t] for each in found], axis=0)
            assert mean == pytest.approx(after.duals[t] - before.duals[t], abs=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_recursion_is_the_written_one(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anchors, "_MOST_SLOPES", 0)  # the plain estimators, as the authors have them
    design, objective = tiny(classes)
    l2, eta, eta_w, batch, period = 1e-2, 0.1, 0.02, 3, 5
    found, history = run(design, objective, l2=l2, batch=batch, epochs=1, eta_theta=eta, eta_w=eta_w)
    assert history[-1]["step"] == 1  # one step is the least
    found, history = run(design, objective, l2=l2, batch=batch, epochs=6, eta_theta=eta, eta_w=eta_w)
    steps = int(history[-1]["step"])
    assert [entry["step"] for entry in history] == [0, period, steps]

    rng = np.random.default_rng(0)
    theta = np.zeros(design.shape)
    W = objective.optimal_duals(design.logits(theta))
    penalty = np.vstack([np.full((len(theta) - 1, 1), l2) / design.scale[:, None] ** 2, [[0.0]]])
    for step in range(steps):
        if step % period == 0:
            v, u = full(design, objective, Point(theta, W))
        path = [(theta, W)]
        theta = (theta - eta * v) / (1.0 + eta * penalty)
        path.append((theta, W))
        for move in range(2):
            if move == 1:
                W = tuple(w + eta_w * g for w, g in zip(W, u, strict=True))
                path.append((theta, W))
            B = rng.choice(60, batch, replace=False, shuffle=False)
            (v1, u1), (v0, u0) = (row_gradients(design, objective, Point(*at)) for at in (path[-1], path[-2]))
            v = v + 20.0 * (v1[B] - v0[B]).sum(axis=0)
            u = tuple(g + 20.0 * sum(u1[i][t] - u0[i][t] for i in B) for t, g in enumerate(u))
    assert found.theta == pytest.approx(theta, rel=1e-8, abs=1e-10)
    for a, b in zip(found.duals, W, strict=True):
        assert a == pytest.approx(b, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("matrix", [np.asarray, csr_matrix])
def test_with_all_rows_it_is_descent_ascent(matrix: Any) -> None:
    X, y, s = rows(3)
    design, objective = problem(matrix(X[:200]), y[:200], s[:200], lam=2.0)
    found, history = run(design, objective, l2=0.0, batch=500, epochs=30, eta_theta=0.2, eta_w=0.1)
    theta = np.zeros(design.shape)
    W = objective.optimal_duals(design.logits(theta))
    assert history[-1]["step"] >= 4
    for _ in range(int(history[-1]["step"])):
        theta = theta - 0.2 * design.pull_back(objective.saddle_gradient(design.logits(theta), W))
        ascent = Anchor.at(design, objective, theta).gradient(W).duals
        W = tuple(w + 0.1 * g for w, g in zip(W, ascent, strict=True))
    assert found.theta == pytest.approx(theta, abs=1e-9)
    assert found.duals[0] == pytest.approx(W[0], abs=1e-9)
