"""SREDA: the recursion, its estimators, and the exact optimum for every λ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import fermi
from fermi.fitting.objective import FairObjective, Term
from fermi.formulas.ermi import class_costs, tilt
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.linear.solvers import anchor as anchors
from fermi.linear.solvers import lbfgs, sreda
from fermi.linear.solvers.anchor import Anchor, Point
from fermi.linear.solvers.contract import Solution
from tests.linear.test_solvers import adult, problem, rows

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]


def optimum(design: Design, objective: FairObjective, l2: float) -> float:
    history: list[dict[str, float]] = []
    lbfgs.solve(
        design, objective, np.zeros(design.shape), l2=l2, max_iter=2000, tol=1e-4, report=history.append
    )  # fmt: skip
    return history[-1]["objective"]


def run(design: Design, objective: FairObjective, **options: Any) -> tuple[Solution, list[dict[str, float]]]:
    history: list[dict[str, float]] = []
    settings: dict[str, Any] = {"l2": 1e-3, "batch": None, "epochs": 100, "tol": 0.0, **options}
    rng = np.random.default_rng(settings.pop("seed", 0))
    found = sreda.solve(design, objective, np.zeros(design.shape), rng=rng, report=history.append, **settings)
    assert np.isfinite(found.theta).all()
    return found, history


def two_terms(objective: FairObjective, s: Any) -> FairObjective:
    other = Term.of(Cells.of(np.zeros(len(s), dtype=np.int64), s % 2, (1, 2), np.ones(len(s))))
    return replace(objective, terms=(*objective.terms, other))


def tiny(classes: int, lam: float = 3.0) -> tuple[Design, FairObjective]:
    """Few rows, some of an unknown group, uneven weights, two terms."""
    X, y, s = rows(classes)
    X, y, s = X[:60], y[:60], s[:60].copy()
    s[::7] = -1
    weight = np.random.default_rng(1).random(60)
    codes = np.where(s >= 0, y % 2, -1)
    terms = (
        Term.of(Cells.of(codes, s, (2, 3), weight)),
        Term.of(Cells.of(np.zeros(60, dtype=np.int64), np.where(s >= 0, s % 2, -1), (1, 2), weight)),
    )
    design = Design.of(X, weight / weight.sum(), intercept=True, n_classes=classes)
    return design, FairObjective(y, weight / weight.sum(), terms, lam)


def somewhere(design: Design, objective: FairObjective, seed: int) -> Point:
    rng = np.random.default_rng(seed)
    m = design.n_classes
    return Point(
        0.3 * rng.standard_normal(design.shape),
        tuple(rng.standard_normal((*term.prior.shape, m)) for term in objective.terms),
    )


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
def test_the_anchor_makes_noise_second_order(classes: int) -> None:
    """A tenth of the distance between the points and the anchor leaves a hundredth of the noise in W."""
    design, objective = tiny(classes)
    start, away = somewhere(design, objective, 0), somewhere(design, objective, 1)
    anchor = Anchor.at(design, objective, start.theta)
    noise = []
    for distance in (0.1, 0.01):
        new = Point(start.theta + distance * away.theta, start.duals)
        found = [anchor.difference(np.array([i]), new, start).duals[0] for i in range(60)]
        noise.append(float(np.std(found, axis=0).max()))
    assert noise[1] < 0.02 * noise[0]


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


@pytest.mark.parametrize("terms", [1, 2])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("classes", [2, 3])
def test_it_lands_on_the_exact_optimum(classes: int, notion: str, terms: int) -> None:
    X, y, s = rows(classes)
    sparse = csr_matrix(np.where(np.median(X, axis=0) < X, X - 3.0, 0.0))
    for matrix in (X, X.astype(np.float32), sparse):
        design, objective = problem(matrix, y, s, lam=2.0, notion=notion)
        objective = two_terms(objective, s) if terms == 2 else objective
        found, history = run(design, objective, epochs=40)
        assert history[-1]["objective"] == pytest.approx(optimum(design, objective, 1e-3), rel=0.01)
        assert abs(history[-1]["dual_gap"]) < 0.01
        assert 1 <= found.n_iter <= 40
        values = [entry["objective"] for entry in history]
        assert np.all(np.diff(values) <= 1e-8 * values[0])


@pytest.mark.parametrize("lam", [0.0, 1.0, 20.0, 200.0, 1000.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_lands_there_for_any_lambda(classes: int, lam: float) -> None:
    X, y, s = rows(classes)
    for notion in NOTIONS:
        design, objective = problem(X, y, s, lam=lam, notion=notion)
        _, history = run(design, objective, epochs=60 if lam < 1000.0 else 120)
        assert history[-1]["objective"] <= 1.01 * optimum(design, objective, 1e-3), notion


def test_it_does_without_terms_and_without_the_anchor(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s = rows(3)
    design, objective = problem(X, y, s, lam=2.0)
    bare = replace(objective, terms=())
    found, history = run(design, bare, epochs=60, tol=1e-4)
    assert found.converged
    assert found.duals == ()
    assert history[-1]["objective"] == pytest.approx(optimum(design, bare, 1e-3), rel=1e-3)
    unfair = replace(objective, lam=0.0)
    found, _ = run(design, unfair, epochs=10)
    assert np.array_equal(found.duals[0], unfair.optimal_duals(design.logits(found.theta))[0])
    monkeypatch.setattr(anchors, "_MOST_SLOPES", 0)
    _, history = run(design, objective, epochs=60)
    assert history[-1]["objective"] == pytest.approx(optimum(design, objective, 1e-3), rel=0.01)


def test_tolerance_seed_radius_and_warm_start() -> None:
    X, y, s = rows(3)
    design, objective = problem(X, y, s, lam=2.0)
    found, history = run(design, objective, epochs=300, tol=1e-3)
    assert found.converged
    assert history[-1]["grad_norm"] <= 1e-3 < history[-2]["grad_norm"]
    assert np.array_equal(found.theta, run(design, objective, epochs=300, tol=1e-3)[0].theta)
    assert not np.array_equal(found.theta, run(design, objective, epochs=300, tol=1e-3, seed=1)[0].theta)
    again = sreda.solve(
        design, objective, found.theta, l2=1e-3, batch=None, epochs=50, tol=1e-3, rng=np.random.default_rng(0),
        duals=found.duals, report=lambda record: None,
    )  # fmt: skip
    assert again.converged
    assert again.n_iter <= 10  # the passes that judge the start, no steps
    assert not run(design, objective, epochs=5)[0].converged
    inside, _ = run(design, objective, epochs=20, radius=0.1)
    assert np.linalg.norm(inside.duals[0]) == pytest.approx(0.1)


def test_divergence_is_an_error_with_advice() -> None:
    X, y, s = rows(2)
    design, objective = problem(X, y, s, lam=2.0)
    with pytest.raises(fermi.FermiError, match="The steps diverged: choose a smaller `eta_theta`, or leave"):
        run(design, objective, eta_theta=1e200)
    with pytest.raises(fermi.FermiError, match="The steps diverged: choose a smaller `eta_w`, or leave"):
        run(design, objective, eta_w=1e3)


def test_automatic_steps_recover_from_a_wild_start(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, s = rows(2)
    design, objective = problem(X, y, s, lam=20.0)
    monkeypatch.setattr(sreda, "largest_curvature", lambda *_: 1e-2)
    _, history = run(design, objective, epochs=150)
    assert history[1]["objective"] == history[0]["objective"]  # undone
    assert history[-1]["objective"] == pytest.approx(optimum(design, objective, 1e-3), rel=0.01)


@pytest.mark.parametrize("notion", NOTIONS)
def test_adult_untuned_is_within_one_percent(adult_home: Path, notion: str) -> None:
    X, y, s = adult(adult_home)
    for lam, passes in ((5.0, 20), (200.0, 30)):
        design, objective = problem(X, y, s, lam=lam, notion=notion)
        _, history = run(design, objective, l2=1e-4, epochs=passes)
        assert history[-1]["objective"] <= 1.01 * optimum(design, objective, 1e-4), lam
