"""scikit-learn's own checks of an estimator, on FermiBoostingClassifier."""

from __future__ import annotations

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from fermi.boosting import FermiBoostingClassifier
from tests.boosting.samples import BOOSTERS, THREADS

# A leaf needs a number of rows, whatever they weigh, and bins are quantiles of rows.
COUNTING = {"check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"}


@pytest.mark.slow
@pytest.mark.parametrize("booster", BOOSTERS)
def test_scikit_learns_own_checks(booster: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they fit without sensitive features, on a handful of rows
        model = FermiBoostingClassifier(booster, n_estimators=20, learning_rate=0.3, booster_params=THREADS[booster])
        results = check_estimator(model, on_fail=None, on_skip=None)
    assert len(results) > 50
    assert {result["check_name"] for result in results if result["status"] == "failed"} <= COUNTING
