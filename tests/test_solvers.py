"""The solvers on linear models: exact optima, any matrix, real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import fermi
from fermi.formulas.ermi import class_costs, tilt
from fermi.notions import as_notion
from fermi.objective import FairObjective, Term
from fermi.solvers import lbfgs, sgda
from fermi.solvers.design import Design


def problem(
    X: Any, y: Any, s: Any, *, lam: float, notion: str = "demographic_parity", intercept: bool = True
) -> tuple[Design, FairObjective]:
    n, classes = len(y), int(y.max()) + 1
    weight = np.full(n, 1.0 / n)
    conditions = as_notion(notion).conditions(y, n)
    shape = (len(conditions.values_of), int(s.max()) + 1)
    term = Term.from_codes(conditions.dense(), s, shape, np.ones(n))
    return Design.of(X, weight, intercept=intercept, n_classes=classes), FairObjective(y, weight, (term,), lam)


def rows(classes: int, seed: int = 0) -> tuple[Any, Any, Any]:
    data = fermi.datasets.synthetic(1500, classes, 3, bias=0.9, seed=seed).numeric()
    X = data.X_train.to_numpy() * np.linspace(0.01, 100, data.X_train.shape[1]) + 3.0  # raw scales
    return X, data.y_train.to_numpy(), fermi.GroupEncoder().fit_transform(data.s_train)


def fit(design: Design, objective: FairObjective, tol: float = 1e-6, l2: float = 1e-3) -> Any:
    history: list[dict[str, float]] = []
    theta, converged = lbfgs.solve(
        design, objective, np.zeros(design.shape), l2=l2, max_iter=2000, tol=tol, report=history.append
    )
    assert converged
    return theta, history


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


def literal_sgda(
    X: Any, y: Any, term: Term, order: Any, batch: int, schedule: sgda.Schedule, lam: float, l2: float, design: Design
) -> tuple[Any, Any, Any]:
    """Algorithm 1 as the paper writes it, on dense matrices and with no bookkeeping: a slow and obvious truth."""
    n, m, r = len(y), design.n_classes, design.n_logits
    a, b = np.zeros((r, X.shape[1])), np.zeros(r)
    Z, k = term.prior.shape
    W = np.zeros((Z, k, m))
    counted = (term.cells >= 0).mean()
    steps = -(-n // batch)
    eta, rate = schedule.steps(0, steps, steps)
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
        eta_w = rate[step] / (2.0 * lam)
        W = W + eta_w * lam * ascent / (len(rows) * counted)
        G = G[:, 1:] if r == 1 else G
        penalty = eta[step] * l2 / design.scale**2
        a = (a * (1.0 - penalty) if penalty.max() < 0.01 else a / (1.0 + penalty)) - eta[step] * G.T @ centred / len(
            rows
        ) / design.scale**2
        b = b - eta[step] * G.mean(axis=0)
    return a, b, W


@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_fast_loop_is_algorithm_1(classes: int, notion: str, batch: int) -> None:
    X, y, s = rows(classes)
    X, y, s = X[:150], y[:150], s[:150].copy()
    s[::11] = -1
    design, objective = problem(X, y, s, lam=3.0, notion=notion)
    schedule = sgda.Schedule(0.05, 0.3)
    theta, (W,) = sgda.solve(
        design, objective, np.zeros(design.shape), l2=1e-2, batch=batch, epochs=1, schedule=schedule,
        rng=np.random.default_rng(5), report=lambda record: None,
    )  # fmt: skip
    order = np.random.default_rng(5).permutation(len(y))
    a, b, expected = literal_sgda(X, y, objective.terms[0], order, batch, schedule, 3.0, 1e-2, design)
    weights, shift = design.coefficients(theta)
    assert weights == pytest.approx(a, rel=1e-8, abs=1e-10)
    assert shift == pytest.approx(b - a @ design.centre, rel=1e-8, abs=1e-7)
    assert pytest.approx(expected, rel=1e-8, abs=1e-8) == W


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("terms", [1, 2])
def test_sgda_lands_near_the_exact_optimum(classes: int, terms: int) -> None:
    X, y, s = rows(classes)
    for matrix in (X, csr_matrix(np.where(np.median(X, axis=0) < X, X - 3.0, 0.0))):
        design, objective = problem(matrix, y, s, lam=2.0)
        if terms == 2:
            other = Term.from_codes(np.zeros(len(y), dtype=np.int64), s % 2, (1, 2), np.ones(len(y)))
            objective = FairObjective(objective.target, objective.weight, (*objective.terms, other), 2.0)
        exact, _ = fit(design, objective, tol=1e-5)
        best = objective.evaluate(design.logits(exact)).objective + design.penalty(exact, 1e-3)[0]
        for batch in (1, 16):
            history: list[dict[str, float]] = []
            sgda.solve(
                design, objective, np.zeros(design.shape), l2=1e-3, batch=batch, epochs=60,
                schedule=sgda.automatic(design, objective, batch), rng=np.random.default_rng(0),
                report=history.append,
            )  # fmt: skip
            assert history[-1]["objective"] == pytest.approx(best, rel=0.02)
            assert 0.0 <= history[-1]["dual_gap"] < 0.02
            assert history[-1]["step"] == 60 * -(-len(y) // batch)


def test_the_mean_of_the_iterates_the_radius_and_the_seed() -> None:
    X, y, s = rows(3)
    design, objective = problem(X, y, s, lam=2.0)
    schedule = sgda.automatic(design, objective, 8)

    def run(seed: int = 0, **options: Any) -> Any:
        return sgda.solve(
            design, objective, np.zeros(design.shape), l2=1e-3, batch=8, epochs=3, schedule=schedule,
            rng=np.random.default_rng(seed), report=lambda record: None, **options,
        )  # fmt: skip

    theta, (W,) = run()
    assert np.array_equal(theta, run()[0])
    assert not np.array_equal(theta, run(seed=1)[0])
    mean, _ = run(averaged=True)
    assert not np.array_equal(theta, mean)
    assert objective.evaluate(design.logits(mean)).objective < objective.evaluate(design.logits(0 * mean)).objective
    assert np.linalg.norm(W) > 0.2
    _, (inside,) = run(radius=0.1)
    assert np.linalg.norm(inside) == pytest.approx(0.1)


def test_divergence_is_an_error_with_advice() -> None:
    X, y, s = rows(2)
    design, objective = problem(X, y, s, lam=2.0)
    with pytest.raises(fermi.FermiError, match="The steps diverged: choose a smaller `eta_theta`"):
        sgda.solve(
            design, objective, np.zeros(design.shape), l2=1e-3, batch=1, epochs=50,
            schedule=sgda.Schedule(1e200, 0.1), rng=np.random.default_rng(0), report=lambda record: None,
        )  # fmt: skip


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize(("lam", "batch"), [(0.1, 1), (5.0, 4), (20.0, 64)])
def test_adult_by_sgda_untuned_is_within_one_percent(adult_home: Path, notion: str, lam: float, batch: int) -> None:
    X, y, s = adult(adult_home)
    design, objective = problem(X, y, s, lam=lam, notion=notion)
    _, exact = fit(design, objective, tol=1e-5, l2=1e-4)
    history: list[dict[str, float]] = []
    sgda.solve(
        design, objective, np.zeros(design.shape), l2=1e-4, batch=batch, epochs=30,
        schedule=sgda.automatic(design, objective, batch), rng=np.random.default_rng(0), report=history.append,
    )  # fmt: skip
    assert history[-1]["objective"] <= 1.01 * exact[-1]["objective"]
