"""The solvers on linear models: exact optima, any matrix, real data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import fermi
from fermi.compiled.permutation import shuffled
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.linear.solvers import lbfgs, sgda
from fermi.linear.solvers._loop import Loop
from fermi.linear.solvers.contract import Solution
from fermi.linear.solvers.reference import descend_ascend
from fermi.notions import as_notion


def problem(
    X: Any, y: Any, s: Any, *, lam: float, notion: str = "demographic_parity", intercept: bool = True
) -> tuple[Design, FairObjective]:
    n, classes = len(y), int(y.max()) + 1
    weight = np.full(n, 1.0 / n)
    conditions = as_notion(notion).conditions(y, n)
    shape = (len(conditions.values_of), int(s.max()) + 1)
    term = Term.of(Cells.of(conditions.dense(), s, shape, np.ones(n)))
    return Design.of(X, weight, intercept=intercept, n_classes=classes), FairObjective(y, weight, (term,), lam)


def rows(classes: int, seed: int = 0) -> tuple[Any, Any, Any]:
    data = fermi.datasets.synthetic(1500, classes, 3, bias=0.9, seed=seed).numeric()
    X = data.X_train.to_numpy() * np.linspace(0.01, 100, data.X_train.shape[1]) + 3.0  # raw scales
    return X, data.y_train.to_numpy(), fermi.GroupEncoder().fit_transform(data.s_train)


def fit(design: Design, objective: FairObjective, tol: float = 1e-6, l2: float = 1e-3) -> Any:
    history: list[dict[str, float]] = []
    found = lbfgs.solve(design, objective, np.zeros(design.shape), l2=l2, max_iter=2000, tol=tol, report=history.append)
    assert found.converged
    assert found.n_iter == len(history)
    return found.theta, history


@pytest.mark.parametrize("classes", [2, 3])
def test_without_lambda_it_is_logistic_regression(classes: int) -> None:
    X, y, s = rows(classes)
    design, objective = problem(X, y, s, lam=0.0)
    theta, _ = fit(design, objective, l2=1e-2)
    weights, shift = design.coefficients(theta)
    reference = LogisticRegression(C=1 / (1e-2 * len(y)), max_iter=20_000, tol=1e-10, solver="newton-cholesky").fit(
        X, y
    )
    probabilities = np.exp(objective._predict(design.logits(theta))[0])
    assert probabilities == pytest.approx(np.exp(reference.predict_proba(X)), abs=2e-4)
    assert weights.shape == reference.coef_.shape
    assert shift.shape == reference.intercept_.shape


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("classes", [2, 3])
def test_ermi_falls_as_lambda_grows(classes: int, notion: str) -> None:
    X, y, s = rows(classes)
    found = []
    for lam in (0.0, 0.5, 5.0, 50.0):
        design, objective = problem(X, y, s, lam=lam, notion=notion)
        theta, history = fit(design, objective, tol=1e-5)
        found.append(objective.evaluate(design.logits(theta)).ermi)
        assert [record["step"] for record in history] == list(range(1, len(history) + 1))
        assert history[-1]["objective"] <= history[0]["objective"]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.1 * found[0]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_and_single_precision_reach_the_same_optimum(classes: int, intercept: bool) -> None:
    X, y, s = rows(classes)
    X = np.where(np.median(X, axis=0) < X, X - 3.0, 0.0)
    optima = []
    for matrix, tol in ((X, 1e-6), (csr_matrix(X), 1e-6), (X.astype(np.float32), 2e-4)):
        design, objective = problem(matrix, y, s, lam=2.0, intercept=intercept)
        theta, _ = fit(design, objective, tol=tol)
        optima.append(objective.evaluate(design.logits(theta)).objective + design.penalty(theta, 1e-3)[0])
    assert optima == pytest.approx([optima[0]] * 3, abs=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_design_is_linear_and_its_pull_back_the_transpose(classes: int) -> None:
    X, y, s = rows(classes)
    rng = np.random.default_rng(0)
    for matrix in (X, csr_matrix(X)):
        for intercept in (True, False):
            design, _ = problem(matrix, y, s, lam=1.0, intercept=intercept)
            theta, G = rng.standard_normal(design.shape), rng.standard_normal((len(y), classes))
            assert (design.logits(theta) * G).sum() == pytest.approx((theta * design.pull_back(G)).sum(), rel=1e-9)
            weights, shift = design.coefficients(theta)
            columns = design.logits(theta)[:, 1:] if classes == 2 else design.logits(theta)
            assert columns == pytest.approx(X @ weights.T + shift, rel=1e-9, abs=1e-9)
            penalty, gradient = design.penalty(theta, 0.3)
            assert penalty == pytest.approx(0.15 * (weights**2).sum())
            nudge = rng.standard_normal(theta.shape)
            slope = (design.penalty(theta + 1e-6 * nudge, 0.3)[0] - design.penalty(theta - 1e-6 * nudge, 0.3)[0]) / 2e-6
            assert (gradient * nudge).sum() == pytest.approx(slope, rel=1e-5)


def test_constant_and_rare_columns_are_harmless() -> None:
    X, y, s = rows(2)
    timestamps = 1.6e9 + 1e4 * np.random.default_rng(0).standard_normal(len(X))
    X = np.column_stack([X, np.full(len(X), 7.1), np.arange(len(X)) == 3, timestamps])
    design, objective = problem(X, y, s, lam=1.0)
    theta, _ = fit(design, objective)
    assert np.isfinite(theta).all()
    assert np.abs((X - design.centre) / design.scale).max() <= 10.0 + 1e-6
    assert design.scale[-3:] == pytest.approx([1.0, 0.1, 1e4], rel=0.1)


def adult(home: Path) -> tuple[Any, Any, Any]:
    data = fermi.datasets.load("adult", data_home=home)
    y = (data.y_train == ">50K").to_numpy().astype(np.int64)
    return data.numeric().X_train.to_numpy(), y, fermi.GroupEncoder().fit_transform(data.s_train)


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("lam", [0.1, 1.0, 5.0, 20.0])
def test_adult_converges(adult_home: Path, notion: str, lam: float) -> None:
    X, y, s = adult(adult_home)
    design, objective = problem(X, y, s, lam=lam, notion=notion)
    _, history = fit(design, objective, tol=1e-5, l2=1e-4)
    assert history[-1]["grad_norm"] <= 1e-5
    assert len(history) < 200


def run(design: Design, objective: FairObjective, **options: Any) -> tuple[Solution, list[sgda.Record]]:
    """sgda with automatic steps and the defaults that most tests want."""
    history: list[sgda.Record] = []
    settings: dict[str, Any] = {"l2": 1e-3, "batch": 1, "epochs": 3, "tol": 0.0, "seed": 0, **options}
    total = settings["epochs"] * -(-len(objective.target) // settings["batch"])
    steps = settings.pop("steps", None) or sgda.automatic(design, objective, settings["batch"], total)
    rng = np.random.default_rng(settings.pop("seed"))
    start = settings.pop("theta", np.zeros(design.shape))
    return sgda.solve(design, objective, start, steps=steps, rng=rng, report=history.append, **settings), history


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
    batches = np.split(order, np.arange(batch, len(y), batch))
    sizes = [sizes_of(np.arange(1, 1 + len(batches))) for sizes_of in (steps.eta, steps.eta_w)]
    Z, k = objective.terms[0].prior.shape
    theta, (expected,) = descend_ascend(
        replace(design, X=X.astype(np.float64)), objective, np.zeros(design.shape), [np.zeros((Z, k, classes))],
        batches, *sizes, l2,
    )  # fmt: skip
    (weights, shift), (a, b) = design.coefficients(found.theta), design.coefficients(theta)
    assert weights == pytest.approx(a, rel=1e-8, abs=1e-10)
    assert shift == pytest.approx(b, rel=1e-8, abs=1e-7)
    assert pytest.approx(expected, rel=1e-8, abs=1e-8) == found.duals[0]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("terms", [1, 2])
def test_sgda_lands_near_the_exact_optimum(classes: int, terms: int) -> None:
    X, y, s = rows(classes)
    for matrix in (X, csr_matrix(np.where(np.median(X, axis=0) < X, X - 3.0, 0.0))):
        design, objective = problem(matrix, y, s, lam=2.0)
        if terms == 2:
            other = Term.of(Cells.of(np.zeros(len(y), dtype=np.int64), s % 2, (1, 2), np.ones(len(y))))
            objective = FairObjective(objective.target, objective.weight, (*objective.terms, other), 2.0)
        exact, _ = fit(design, objective, tol=1e-5)
        best = objective.evaluate(design.logits(exact)).objective + design.penalty(exact, 1e-3)[0]
        for batch in (1, 16):
            _, history = run(design, objective, batch=batch, epochs=60)
            assert history[-1]["objective"] == pytest.approx(best, rel=0.02)
            assert 0.0 <= history[-1]["dual_gap"] < 0.02
            assert history[-1]["step"] == 60 * -(-len(y) // batch)


def test_the_radius_and_the_seed() -> None:
    X, y, s = rows(3)
    design, objective = problem(X, y, s, lam=2.0)
    found, _ = run(design, objective, batch=8)
    assert np.array_equal(found.theta, run(design, objective, batch=8)[0].theta)
    assert not np.array_equal(found.theta, run(design, objective, batch=8, seed=1)[0].theta)
    assert np.linalg.norm(found.duals[0]) > 0.2
    inside, _ = run(design, objective, batch=8, radius=0.1)
    assert np.linalg.norm(inside.duals[0]) == pytest.approx(0.1)


def iterates(design: Design, objective: FairObjective, order: Any, batch: int, steps: sgda.Steps) -> list[Any]:
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
    steps, total = sgda.linear(0.02, 0.05, 80 // batch), 80 // batch
    rng = np.random.default_rng(0)
    every = iterates(design, objective, np.concatenate([shuffled(40, rng), shuffled(40, rng)]), batch, steps)
    last, _ = run(design, objective, batch=batch, epochs=2, steps=steps)
    assert last.theta == pytest.approx(every[-1][0], rel=1e-10)
    mean, history = run(design, objective, batch=batch, epochs=2, steps=steps, output="average")
    assert mean.theta == pytest.approx(np.mean([theta for theta, _ in every], axis=0), rel=1e-8)
    assert history[-1]["loss"] == pytest.approx(objective.evaluate(design.logits(mean.theta)).loss)
    seen = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        seen.append(int(rng.integers(1, total + 1)))
        every = iterates(design, objective, np.concatenate([shuffled(40, rng), shuffled(40, rng)]), batch, steps)
        drawn, history = run(design, objective, batch=batch, epochs=2, steps=steps, output="random", seed=seed, tol=1e9)
        assert drawn.theta == pytest.approx(every[seen[-1] - 1][0], rel=1e-10)
        assert drawn.duals[0] == pytest.approx(every[seen[-1] - 1][1], rel=1e-10)
        assert history[-1]["step"] == total
        assert not drawn.converged
    assert {1, 10} <= set(seen) if batch == 8 else len(set(seen)) > 40


def test_rows_drawn_with_replacement() -> None:
    X, y, s = rows(2)
    design, objective = problem(X[:40], y[:40], s[:40], lam=2.0)
    steps = sgda.constant(0.02, 0.05)
    for batch in (1, 8, 40):
        order = np.random.default_rng(0).integers(40, size=40)
        found, _ = run(design, objective, batch=batch, epochs=1, steps=steps, replace=True)
        assert found.theta == pytest.approx(iterates(design, objective, order, batch, steps)[-1][0], rel=1e-10)


def test_w_can_start_anywhere() -> None:
    X, y, s = rows(3)
    design, objective = problem(X, y, s, lam=2.0, notion="equalized_odds")
    theta = 0.1 * np.random.default_rng(0).standard_normal(design.shape)
    W = objective.optimal_duals(design.logits(theta))
    barely = sgda.constant(1e-12, 1e-12)
    kept, history = run(design, objective, theta=theta, duals=W, steps=barely, epochs=1, batch=5)
    assert kept.duals[0] == pytest.approx(W[0], abs=1e-6)
    assert history[-1]["dual_gap"] == pytest.approx(0.0, abs=1e-6)
    assert run(design, objective, theta=theta, steps=barely, epochs=1)[1][-1]["dual_gap"] > 0.1
    one, _ = run(
        design, objective, theta=theta, duals=W, epochs=1, batch=len(y), l2=0.0, steps=sgda.constant(0.1, 0.05)
    )
    slope = design.pull_back(objective.saddle_gradient(design.logits(theta), W))
    assert one.theta == pytest.approx(theta - 0.1 * slope, rel=1e-9, abs=1e-12)


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


@pytest.mark.parametrize("batch", [1, 8, 1500])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bare", [True, False])
def test_without_terms_or_lambda_it_is_plain_sgd(classes: int, batch: int, bare: bool) -> None:
    X, y, s = rows(classes)
    design, objective = problem(X, y, s, lam=0.0)
    if bare:
        objective = FairObjective(objective.target, objective.weight, (), 0.0 if classes == 2 else 5.0)
    _, history = fit(design, objective, l2=1e-2)
    for output in ("last", "average", "random"):
        found, records = run(
            design, objective, l2=1e-2, batch=batch, epochs=1500 if batch == 1500 else 40, output=output
        )
        assert records[-1]["objective"] <= 1.02 * history[-1]["objective"]
        assert records[-1]["dual_gap"] == 0.0
        assert [W.shape for W in found.duals] == [(1, 3, classes)] * (not bare)
        assert not any(W.any() for W in found.duals)


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

    def make(eta_theta: Any, eta_w: Any) -> sgda.Steps:
        return sgda.make_steps(eta_theta, eta_w, design=design, objective=objective, batch=3, total=500)

    untuned = sgda.automatic(design, objective, 3, 500)
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
            run(design, objective, epochs=50, steps=sgda.constant(eta, eta_w))


def test_automatic_steps_that_diverge_are_tried_again_at_a_tenth(caplog: pytest.LogCaptureFixture) -> None:
    X, y, s = rows(2)
    design, objective = problem(X, y, s, lam=2.0)
    caplog.set_level("INFO", logger="fermi")
    wild = sgda.linear(1e200, 0.05, 1500, automatic=True)
    with pytest.raises(fermi.FermiError, match="The steps diverged"):
        run(design, objective, epochs=1, steps=wild)
    assert len(caplog.records) == 4
    caplog.clear()
    found, history = run(design, objective, epochs=1, steps=sgda.linear(300.0, 0.05, 1500, automatic=True))
    assert 1 <= len(caplog.records) <= 3
    assert np.isfinite(found.theta).all()
    assert history[-1]["step"] == 1500


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize(("lam", "batch"), [(0.1, 1), (5.0, 4), (20.0, 64)])
def test_adult_by_sgda_untuned_is_within_one_percent(adult_home: Path, notion: str, lam: float, batch: int) -> None:
    X, y, s = adult(adult_home)
    design, objective = problem(X, y, s, lam=lam, notion=notion)
    _, exact = fit(design, objective, tol=1e-5, l2=1e-4)
    _, history = run(design, objective, l2=1e-4, batch=batch, epochs=30)
    assert history[-1]["objective"] <= 1.01 * exact[-1]["objective"]
