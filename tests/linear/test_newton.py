"""Newton's method ends where L-BFGS does, in few steps, whatever the rows."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning

import fermi
from fermi import FermiClassifier
from fermi.linear.solvers._metric import MOST_PARAMETERS
from tests.linear.samples import rows


def both(X: Any, y: Any, s: Any, weight: Any = None, **options: Any) -> list[FermiClassifier]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fermi.ConstantPredictionWarning)
        return [
            FermiClassifier(solver=solver, **options).fit(X, y, sensitive_features=s, sample_weight=weight)
            for solver in ("lbfgs", "newton")
        ]


def assert_same(models: list[FermiClassifier], abs_: float = 1e-6) -> None:
    first, second = (model.history_[-1] for model in models)
    assert second["objective"] == pytest.approx(first["objective"], abs=abs_)
    assert models[1].n_iter_ == len(models[1].history_) <= 15
    values = [record["objective"] for record in models[1].history_]
    assert all(after <= before + 1e-12 for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("lam", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_ends_where_lbfgs_does(classes: int, notion: str, lam: float) -> None:
    X, y, s = rows(classes)
    assert_same(both(X, y, s, fairness=notion, lam=lam, l2=1e-3, tol=1e-6))


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, np.float32])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("attributes", ["intersection", "each"])
def test_weights_unknown_groups_columns_and_matrices(attributes: str, intercept: bool, kind: Any) -> None:
    X, y, s = rows(2)
    rng = np.random.default_rng(0)
    groups = {
        "a": np.where(rng.random(len(y)) < 0.1, None, s.astype(object)),
        "b": rng.integers(0, 2, len(y)),
    }
    X = kind(np.where(np.median(X, axis=0) < X, X - 3.0, 0.0))
    weight = rng.integers(0, 4, len(y))
    models = both(X, y, groups, weight, attributes=attributes, fit_intercept=intercept, lam=5.0, l2=1e-3)
    assert_same(models)


def test_with_lambda_zero_it_needs_no_groups() -> None:
    X, y, _ = rows(2)
    with pytest.warns(fermi.UnfairTrainingWarning):
        model = FermiClassifier(solver="newton", l2=1e-2).fit(X, y)
    assert model.history_[-1]["grad_norm"] <= 1e-5


def test_a_good_start_needs_no_step_and_a_short_one_says_so() -> None:
    X, y, s = rows(2)
    model = FermiClassifier(solver="newton", warm_start=True, l2=1e-3).fit(X, y, sensitive_features=s)
    first = model.history_[-1]["objective"]
    model.fit(X, y, sensitive_features=s)
    assert [model.n_iter_, model.history_[-1]["objective"]] == [1, pytest.approx(first)]
    with pytest.warns(ConvergenceWarning, match="newton stopped after 2 iterations .* raise `max_iter` or `tol`"):
        FermiClassifier(solver="newton", max_iter=2).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_a_tolerance_of_zero_ends_where_rounding_begins(solver: str) -> None:
    X, y, s = rows(2)
    model = FermiClassifier(solver=solver, tol=0.0, lam=20.0, l2=1e-3).fit(X, y, sensitive_features=s)
    assert model.n_iter_ < 60
    assert model.history_[-1]["grad_norm"] < 1e-8


@pytest.mark.parametrize("lam", [0.0, 20.0])
def test_too_many_parameters_to_factorise_are_left_to_conjugate_gradients(lam: float) -> None:
    rng = np.random.default_rng(0)
    shape = 300, MOST_PARAMETERS + 1
    X = csr_matrix(rng.random(shape) * (rng.random(shape) < 0.02))
    y = (np.asarray(X[:, :40].sum(axis=1)).ravel() + 0.3 * rng.standard_normal(300) > 0.3).astype(int)
    s = np.where(rng.random(300) < 0.3, y, rng.integers(0, 3, 300))
    models = both(X, y, s, fairness="equalized_odds", lam=lam, l2=1e-2)
    assert_same(models)
    assert models[1].history_[-1]["grad_norm"] <= 1e-5
    assert np.abs(models[1].coef_ - models[0].coef_).max() < 1e-2 * np.abs(models[0].coef_).max()


def test_separable_rows_without_penalty_and_columns_that_repeat() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300)
    X = np.column_stack([x, x, np.ones(300), 1e6 + rng.standard_normal(300)])
    s = rng.integers(0, 2, 300)
    models = both(X, (x > 0).astype(int), s, l2=0.0, lam=0.1, tol=1e-4)
    assert all(np.isfinite(model.coef_).all() and model.history_[-1]["grad_norm"] <= 1e-4 for model in models)
