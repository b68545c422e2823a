"""Algorithm 1 on linear models: what it returns, its steps, its seeds, its records."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import fermi
from fermi.compiled.permutation import shuffled
from fermi.fitting.objective import FairObjective
from fermi.linear.design import Design
from fermi.linear.solvers._loop import Loop
from fermi.linear.solvers.step_sizes import Steps, automatic, make_steps
from tests.linear.samples import constant, linear, problem, rows, run


def test_the_radius_and_the_seed() -> None:
    X, y, s = rows(3)
    design, objective = problem(X, y, s, lam=2.0)
    found, _ = run(design, objective, batch=8)
    assert np.array_equal(found.theta, run(design, objective, batch=8)[0].theta)
    assert not np.array_equal(found.theta, run(design, objective, batch=8, seed=1)[0].theta)
    assert np.linalg.norm(found.duals[0]) > 0.2
    inside, _ = run(design, objective, batch=8, radius=0.1)
    assert np.linalg.norm(inside.duals[0]) == pytest.approx(0.1)


def iterates(design: Design, objective: FairObjective, order: Any, batch: int, steps: Steps) -> list[Any]:
    """θ and W after every step, taken one by one."""
    loop = Loop(design, objective, l2=1e-3, batch=batch, radius=np.inf, averaged=False)
    state, found = loop.start(np.zeros(design.shape), None), []
    for t in range(len(order) // batch):
        number = np.array([t + 1])
        loop.advance(state, order[t * batch : (t + 1) * batch], steps.eta(number), steps.eta_w(number))
        found.append((loop.theta(state), loop.duals(state)[0]))
    return found


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("batch", [1, 8])
def test_the_output_is_the_last_the_mean_or_a_random_iterate(classes: int, batch: int) -> None:
    X, y, s = rows(classes)
    design, objective = problem(X[:40], y[:40], s[:40], lam=2.0)
    steps, total = linear(0.02, 0.05, 80 // batch), 80 // batch
    rng = np.random.default_rng(0)
    every = iterates(design, objective, np.concatenate([shuffled(40, rng), shuffled(40, rng)]), batch, steps)
    last, _ = run(design, objective, batch=batch, epochs=2, steps=steps)
    assert last.theta == pytest.approx(every[-1][0], rel=1e-10)
    mean, history = run(design, objective, batch=batch, epochs=2, steps=steps, output="average")
    assert mean.theta == pytest.approx(np.mean([theta for theta, _ in every], axis=0), rel=1e-8)
    assert history[-1]["loss"] == pytest.approx(objective.evaluate(design.logits(mean.theta)).loss)
    seen = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        seen.append(int(rng.integers(1, total + 1)))
        every = iterates(design, objective, np.concatenate([shuffled(40, rng), shuffled(40, rng)]), batch, steps)
        drawn, history = run(design, objective, batch=batch, epochs=2, steps=steps, output="random", seed=seed, tol=1e9)
        assert drawn.theta == pytest.approx(every[seen[-1] - 1][0], rel=1e-10)
        assert drawn.duals[0] == pytest.approx(every[seen[-1] - 1][1], rel=1e-10)
        assert history[-1]["step"] == total
        assert not drawn.converged
    assert {1, 10} <= set(seen) if batch == 8 else len(set(seen)) > 20


def test_rows_drawn_with_replacement() -> None:
    X, y, s = rows(2)
    design, objective = problem(X[:40], y[:40], s[:40], lam=2.0)
    steps = constant(0.02, 0.05)
    for batch in (1, 8, 40):
        order = np.random.default_rng(0).integers(40, size=40)
        found, _ = run(design, objective, batch=batch, epochs=1, steps=steps, replacing=True)
        assert found.theta == pytest.approx(iterates(design, objective, order, batch, steps)[-1][0], rel=1e-10)


def test_w_can_start_anywhere() -> None:
    X, y, s = rows(3)
    design, objective = problem(X, y, s, lam=2.0, notion="equalized_odds")
    theta = 0.1 * np.random.default_rng(0).standard_normal(design.shape)
    W = objective.optimal_duals(design.logits(theta))
    barely = constant(1e-12, 1e-12)
    kept, history = run(design, objective, theta=theta, duals=W, steps=barely, epochs=1, batch=5)
    assert kept.duals[0] == pytest.approx(W[0], abs=1e-6)
    assert history[-1]["dual_gap"] == pytest.approx(0.0, abs=1e-6)
    assert run(design, objective, theta=theta, steps=barely, epochs=1)[1][-1]["dual_gap"] > 0.1
    one, _ = run(design, objective, theta=theta, duals=W, epochs=1, batch=len(y), l2=0.0, steps=constant(0.1, 0.05))
    slope = design.pull_back(objective.saddle_gradient(design.logits(theta), W))
    assert one.theta == pytest.approx(theta - 0.1 * slope, rel=1e-9, abs=1e-12)


def test_rows_are_shuffled_fairly() -> None:
    rng = np.random.default_rng(0)
    assert sorted(shuffled(1000, rng)) == list(range(1000))
    drawn = [tuple(shuffled(4, rng)) for _ in range(24_000)]
    counts = np.array(list(Counter(drawn).values()))
    assert len(counts) == 24
    assert ((counts - 1000) ** 2 / 1000).sum() < 50  # χ² with 23 degrees of freedom, p = 0.001


def test_records_are_few_and_stop_the_run_at_the_tolerance() -> None:
    X, y, s = rows(2)
    design, objective = problem(X[:100], y[:100], s[:100], lam=1.0)
    for epochs, recorded in ((3, [3]), (12, [10, 12]), (100, range(10, 101, 10)), (250, [*range(13, 250, 13), 250])):
        found, history = run(design, objective, epochs=epochs, batch=10)
        assert [record["step"] for record in history] == [10 * done for done in recorded]
        assert found.n_iter == epochs
        assert not found.converged
        assert set(history[0]) == {"step", "seconds", "loss", "ermi", "objective", "dual_gap", "grad_norm"}
    _, everything = run(design, objective, epochs=100, batch=10)
    tol = everything[5]["grad_norm"]
    first = next(record["step"] for record in everything if record["grad_norm"] <= tol)
    reached, history = run(design, objective, epochs=100, batch=10, tol=tol)
    assert reached.converged
    assert reached.n_iter * 10 == history[-1]["step"] == first <= 6 * 100


def test_steps_of_every_kind() -> None:
    X, y, s = rows(2)
    design, objective = problem(X, y, s, lam=4.0)
    numbers = np.array([1, 2, 500])

    def make(eta_theta: Any, eta_w: Any) -> Steps:
        return make_steps(eta_theta, eta_w, design=design, objective=objective, batch=3, total=500)

    untuned = automatic(design, objective, 3, 500)
    mixed = make("auto", 0.25)
    assert mixed.eta(numbers) == pytest.approx(untuned.eta(numbers))
    assert mixed.eta_w(numbers) == pytest.approx([0.25] * 3)
    assert not mixed.automatic
    assert make("auto", "auto").automatic
    assert make("auto", "auto").eta_w(numbers) == pytest.approx(untuned.eta_w(numbers))
    own = make(lambda t: 1.0 / t, "auto")
    assert own.eta(numbers) == pytest.approx([1.0, 0.5, 0.002])
    for wrong in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(fermi.FermiError, match=r"`eta_w` is .*; expected a positive number"):
            make("auto", wrong)
        with pytest.raises(fermi.FermiError, match=r"`eta_theta` is .* at step 2; expected a positive number"):
            make(lambda t: wrong if t == 2 else 1.0, "auto").eta(numbers)  # noqa: B023


def test_steps_of_ones_own_that_diverge_are_an_error_with_advice() -> None:
    X, y, s = rows(2)
    design, objective = problem(X, y, s, lam=2.0)
    for eta, eta_w in ((1e200, 0.1), (1e4, 0.1), (0.01, 1e6)):
        with pytest.raises(fermi.FermiError, match="The steps diverged: choose a smaller `eta_theta`"):
            run(design, objective, epochs=50, steps=constant(eta, eta_w))


def test_automatic_steps_that_diverge_are_tried_again_at_a_tenth(caplog: pytest.LogCaptureFixture) -> None:
    X, y, s = rows(2)
    design, objective = problem(X, y, s, lam=2.0)
    caplog.set_level("INFO", logger="fermi")
    wild = linear(1e200, 0.05, 1500, automatic=True)
    with pytest.raises(fermi.FermiError, match="The steps diverged"):
        run(design, objective, epochs=1, steps=wild)
    assert len(caplog.records) == 3
    caplog.clear()
    found, history = run(design, objective, epochs=1, steps=linear(300.0, 0.05, 1500, automatic=True))
    assert 1 <= len(caplog.records) <= 3
    assert np.isfinite(found.theta).all()
    assert history[-1]["step"] == 1500
