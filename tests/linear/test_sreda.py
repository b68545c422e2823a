"""SREDA: its anchor, its options, and what it does without terms or with wild steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fermi
from fermi.linear.solvers import anchor as anchors
from fermi.linear.solvers import sreda
from fermi.linear.solvers.anchor import Anchor, Point
from tests.linear.samples import problem, rows
from tests.linear.sreda_samples import optimum, run, somewhere, tiny


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
    again, _ = run(design, objective, theta=found.theta, duals=found.duals, epochs=50, tol=1e-3)
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
