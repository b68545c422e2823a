"""The exact solver on linear models: optima, any matrix, any column."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from tests.linear.samples import fit, problem, rows


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
