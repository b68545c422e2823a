"""Dense columns that mostly repeat one value, seen as a sparse matrix: the same model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fermi import FermiClassifier
from fermi.linear.design import Design
from fermi.linear.sparse_view import sparse_view


def one_hot(n: int = 6000, width: int = 30) -> Any:
    rng = np.random.default_rng(0)
    X = np.zeros((n, width))
    X[np.arange(n), rng.integers(0, width - 2, n)] = 1.0
    X[:, -2] = 40.0 + 10.0 * rng.standard_normal(n)
    X[:, -1] = np.where(rng.random(n) < 0.1, 5000.0 * rng.random(n), 0.0)
    return X


def standardised(X: Any) -> Any:
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("change", [np.asarray, standardised, np.float32])
def test_logits_and_gradients_are_those_of_the_dense_rows(change: Any, intercept: bool, order: Any) -> None:
    X = np.asarray(change(one_hot()), order=order)
    weight = np.full(len(X), 1.0 / len(X))
    design = Design.of(X, weight, intercept=intercept, n_classes=3)
    view = sparse_view(design)
    assert view.X.nnz <= 0.15 * X.size
    rng = np.random.default_rng(1)
    theta, G = rng.standard_normal(design.shape), rng.standard_normal((len(X), 3)) * weight[:, None]
    digits = 1e-4 if X.dtype == np.float32 else 1e-10
    assert view.logits(theta) == pytest.approx(design.logits(theta), rel=digits, abs=digits)
    assert view.pull_back(G) == pytest.approx(design.pull_back(G), rel=digits, abs=digits)


def test_rows_that_do_not_repeat_or_are_few_or_sparse_already_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    for X in (rng.standard_normal((5000, 30)), one_hot(100)):
        design = Design.of(X, np.full(len(X), 1.0 / len(X)), intercept=True, n_classes=2)
        assert sparse_view(design) is design
    view = sparse_view(Design.of(one_hot(), np.full(6000, 1.0 / 6000), intercept=True, n_classes=2))
    assert sparse_view(view) is view


def test_coefficients_are_in_the_units_of_the_dense_rows() -> None:
    X = one_hot()
    rng = np.random.default_rng(2)
    y, s = (X[:, -2] + 10.0 * rng.standard_normal(6000) > 40.0).astype(int), (X[:, 0] + X[:, 1] > 0).astype(int)
    model = FermiClassifier(lam=2.0).fit(X, y, sensitive_features=s)
    assert model.history_[-1]["grad_norm"] <= 1e-5
    F = model.predict_proba(X)
    loss = -np.log(F[np.arange(6000), y]).mean() + 0.5 * 1e-4 * (model.coef_**2).sum()
    assert loss + 2.0 * model.history_[-1]["ermi"] == pytest.approx(model.history_[-1]["objective"], abs=1e-12)
