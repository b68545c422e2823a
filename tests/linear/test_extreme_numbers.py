"""Numbers at the edge of what a float holds: a finite model without a stray warning, or one sentence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import fermi
from fermi import FermiClassifier

N = 200
GIANTS = r"^`X` holds \d(\.\d+)?e\+\d+; expected numbers of at most 1e\+140 in magnitude: use other units\.$"
SOLVERS: list[dict[str, Any]] = [
    {"solver": "lbfgs"},
    {"solver": "newton"},
    {"batch_size": 1, "max_iter": 3},
    {"batch_size": 20, "max_iter": 3},
    {"solver": "sreda", "max_iter": 5},
]


def rows() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    y, s = (X[:, 0] + 0.5 * rng.standard_normal(N) > 0).astype(int), (X[:, 1] + rng.standard_normal(N) > 0).astype(int)
    return X, y, s


def fitted(X: Any, **options: Any) -> FermiClassifier:
    """Fit and predict, in which nothing but warnings of our own may come up, and all is finite."""
    _, y, s = rows()
    given = {"sample_weight": options.pop("sample_weight", None)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        model = FermiClassifier(random_state=0, **options).fit(X, y, sensitive_features=s, **given)
        assert all(np.isfinite(part).all() for part in (model.coef_, model.intercept_, model.dual_))
        assert np.isfinite(model.predict_proba(X)).all()
    return model


@pytest.mark.parametrize("options", SOLVERS)
@pytest.mark.parametrize("sparse", [False, True])
def test_columns_in_giant_or_tiny_units(options: dict[str, Any], sparse: bool) -> None:
    X, _, _ = rows()
    for unit in (1e138, 1e154, 1e300, 1e-150, 1e-200, 5e-324):
        for l2 in (1e-4, 0.0):
            scaled = X * [unit, 1.0, 1.0]
            matrix = csr_matrix(scaled) if sparse else scaled
            if unit < 1e140:
                fitted(matrix, l2=l2, **options)
            else:
                with pytest.raises(
                    fermi.FermiError, match=r"^`X` holds \d\.\d+e\+\d+; expected numbers of at most 1e\+140"
                ):
                    fitted(matrix, l2=l2, **options)


def test_units_do_not_change_what_is_learned() -> None:
    X, _, _ = rows()
    plain, giant = (fitted(X * [unit, 1.0, 1.0], l2=0.0, tol=1e-8) for unit in (1.0, 1e138))
    np.testing.assert_allclose(giant.coef_ * [1e138, 1.0, 1.0], plain.coef_, rtol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_single_precision(sparse: bool) -> None:
    X, _, _ = rows()
    for unit in (1e19, 1e29, 1e-20, 1e-38, 1e-45):
        with np.errstate(under="ignore"):
            scaled = (X * [unit, 1.0, 1.0]).astype(np.float32)
        fitted(csr_matrix(scaled) if sparse else scaled, batch_size=20, max_iter=3)
    with pytest.raises(fermi.FermiError, match=r"expected numbers of at most 1e\+30"):
        fitted((X * 1e36).astype(np.float32))


def test_a_stream_refuses_giants_as_well() -> None:
    X, y, s = rows()
    model = FermiClassifier().partial_fit(X, y, sensitive_features=s, classes=[0, 1])
    for matrix in (X * 1e200, csr_matrix(X * 1e200)):
        with pytest.raises(fermi.FermiError, match=GIANTS):
            model.partial_fit(matrix, y, sensitive_features=s)
    with pytest.raises(fermi.FermiError, match="`X` holds numbers too large for this model"):
        model.predict(np.full((1, 3), 1.7e308) * np.sign(model.coef_))


@pytest.mark.parametrize("extra", [{}, {"max_violation": 0.1}])
def test_weights_whose_sum_is_at_the_edge(extra: dict[str, Any]) -> None:
    X, _, _ = rows()
    for weight in (1e300, 1e-300):
        with pytest.raises(
            fermi.FermiError, match=r"`sample_weight` has the sum 2e[+-]\d+; expected one from 1e-100 to"
        ):
            fitted(X, sample_weight=np.full(N, weight), **extra)
    mixed = np.where(np.arange(N) < N // 2, 1e-300, 1.0)
    fitted(X, sample_weight=mixed, **extra)


def test_whole_numbers_that_no_float_holds() -> None:
    X, _, _ = rows()
    for value in (10**400, 10**5000):
        for name in ("lam", "l2", "tol", "max_iter"):
            with pytest.raises(fermi.FermiError, match=rf"`{name}` is a whole number of more than 19 digits; expected"):
                fitted(X, **{name: value})


@pytest.mark.parametrize("options", SOLVERS)
def test_a_huge_weight_of_fairness_and_features_that_say_nothing(options: dict[str, Any]) -> None:
    X, y, s = rows()
    ones = np.ones((N, 2))
    cases: list[tuple[Any, dict[str, Any]]] = [
        (X, {"lam": 1e300}),
        (X, {"lam": 1e100, "l2": 0.0}),
        (X, {"l2": 1e300}),
        (ones, {"l2": 0.0, "lam": 100.0}),
        (0.0 * ones, {"l2": 0.0, "lam": 100.0, "fit_intercept": False}),
        (np.column_stack([X] * 4), {"l2": 0.0, "lam": 1e3}),
        ((2.0 * y[:, None] - 1.0) * ones, {"l2": 0.0, "lam": 0.0}),
        ((2.0 * s[:, None] - 1.0) * ones, {"l2": 0.0, "lam": 1e4}),
        (csr_matrix((N, 3)), {"l2": 0.0}),
    ]
    for matrix, more in cases:
        try:
            fitted(matrix, **options, **more)
        except fermi.errors.DivergedError as error:
            assert str(error).startswith("The steps diverged")  # noqa: PT017
