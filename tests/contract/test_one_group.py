"""Where there is one group there is nothing to compare: λ then changes nothing, whatever trains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fermi
from fermi import FermiClassifier


def rows(n: int = 600) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return X, (X[:, 0] + 0.3 * rng.standard_normal(n) > 0).astype(int), rng.integers(0, 2, n)


def boosted(**options: Any) -> Any:
    pytest.importorskip("lightgbm", reason="the extra with lightgbm is not installed")
    from fermi.boosting import FermiBoostingClassifier

    return FermiBoostingClassifier(n_estimators=30, random_state=0, **options)


def network(**options: Any) -> Any:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    from fermi.torch import FermiNet, models

    return FermiNet(models.logistic, max_epochs=5, lr=0.02, random_state=0, **options)


def steps(**options: Any) -> Any:
    return FermiClassifier(batch_size=20, max_iter=20, random_state=0, **options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [boosted, network, steps, FermiClassifier])
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_one_group_is_no_penalty(make: Any, notion: str) -> None:
    X, y, s = rows()
    free, penalised = (make(lam=lam, fairness=notion).fit(X, y, sensitive_features=0 * s) for lam in (0.0, 50.0))
    assert np.array_equal(free.predict_proba(X), penalised.predict_proba(X))


def test_a_condition_of_one_group_is_as_one_outside_the_notion() -> None:
    """Equalized odds with one group among the negatives is equal opportunity, at λ times the positives' share."""
    X, y, s = rows()
    s = np.where(y == 1, s, 0)
    X[:, 3] = s + 0.1 * X[:, 3]
    both = boosted(lam=40.0, fairness="equalized_odds").fit(X, y, sensitive_features=s)
    one = boosted(lam=40.0 * y.mean(), fairness=fermi.EqualOpportunity({1})).fit(X, y, sensitive_features=s)
    np.testing.assert_allclose(both.predict_proba(X), one.predict_proba(X), atol=1e-9)
