"""A linear trainer tells kinds of its rows, as a logistic regression does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from fermi import DemographicParity, FermiClassifier
from fermi.fitting.problem import Source, read_problem
from fermi.linear.options import Settings
from fermi.linear.trainer import LinearTrainer


def trainer(X: Any, y: Any, s: Any, **options: Any) -> LinearTrainer:
    source = Source(X, y, s, None)
    problem = read_problem(source, X, y, y, [0, 1], None, DemographicParity(), "intersection")
    return LinearTrainer(problem, Settings.read(FermiClassifier(**options)))


@pytest.fixture(params=["dense", "sparse", "without intercept"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("k", [2, 4])
def test_kinds_are_told_as_by_a_logistic_regression_of_the_known_rows(kind: str, k: int) -> None:
    rng = np.random.default_rng(k)
    X = rng.standard_normal((800, 5)) * [1.0, 3.0, 0.2, 1.0, 1.0] + [0.0, 5.0, 0.0, 0.0, 0.0]
    kinds = np.digitize(X[:, 0] + rng.standard_normal(800), np.linspace(-0.7, 0.7, k - 1))
    kinds[kinds == 1] = 7  # kinds need not follow each other
    seen = np.unique(kinds)
    kinds[::5] = -1
    known = kinds >= 0
    y, s = (rng.random(800) > 0.5).astype(np.int64), np.where(known, "a", "b")
    l2 = 0.01
    options = {"l2": l2, "fit_intercept": kind != "without intercept"}
    rows: Any = csr_matrix(X) if kind == "sparse" else X
    found = trainer(rows, y, s, **options).tell_kinds(kinds, seen)
    theirs = LogisticRegression(C=1.0 / (l2 * known.sum()), tol=1e-10, max_iter=10_000).fit(X[known], kinds[known])
    np.testing.assert_array_equal(found.classes_, theirs.classes_)
    np.testing.assert_allclose(found.predict_proba(rows), theirs.predict_proba(X), atol=0.01)


def test_few_rows_are_not_learnt_by_heart() -> None:
    rng = np.random.default_rng(0)
    X, kinds = rng.standard_normal((20, 30)), np.repeat([0, 1], 10)
    own = trainer(X, kinds, kinds, l2=0.0)
    assert own.tell_kinds(kinds, np.array([0, 1])).predict_proba(X).max() < 0.995
