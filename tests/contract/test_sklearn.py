"""FermiClassifier among scikit-learn's tools."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import fermi
from fermi import ConditionalParity, FermiClassifier

# Checks that scikit-learn itself skips here, and why.
SKIPPED = {"check_array_api_input": "needs SCIPY_ARRAY_API in the environment, and array libraries we do not take"}


@pytest.mark.parametrize("options", [{}, pytest.param({"batch_size": 2, "random_state": 0}, marks=pytest.mark.long)])
def test_scikit_learns_own_checks(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they fit without sensitive features, on a handful of rows
        results = check_estimator(FermiClassifier(**options), on_fail=None, on_skip=None)
    assert len(results) > 50
    failed = [result["check_name"] for result in results if result["status"] == "failed"]
    assert failed == ([] if not options else STOCHASTIC)
    assert {result["check_name"] for result in results if result["status"] == "skipped"} <= set(SKIPPED)


# With shuffled batches of two, repeated rows are not the same steps as weighted ones: only the objective is the same.
STOCHASTIC = ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"]


@pytest.fixture
def routed() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def rows() -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    data = fermi.datasets.synthetic(900, groups={"sex": ["F", "M"], "age": 2}, bias=0.9, rated=False)
    return data.X_train, data.y_train, data.s_train


def pipeline(**options: Any) -> Pipeline:
    words = ["purpose", "district"]
    encoder = make_column_transformer((OneHotEncoder(), words), remainder=StandardScaler())
    return make_pipeline(encoder, FermiClassifier(**options))


@pytest.mark.usefixtures("routed")
def test_groups_reach_the_classifier_by_routing_unasked() -> None:
    X, y, s = rows()
    model = pipeline(lam=20).fit(X, y, sensitive_features=s)
    assert len(model[-1].groups_) == 4
    scores = cross_validate(model, X, y, params={"sensitive_features": s}, cv=3, return_estimator=True)
    assert all(len(fold[-1].groups_) == 4 for fold in scores["estimator"])
    search = GridSearchCV(model, {"fermiclassifier__lam": [0.0, 20.0]}, cv=3).fit(X, y, sensitive_features=s)
    assert len(search.best_estimator_[-1].groups_) == 4
    predicted = cross_val_predict(model, X, y, params={"sensitive_features": s}, cv=3)
    assert len(predicted) == len(y)


@pytest.mark.usefixtures("routed")
def test_a_search_can_score_fairness_on_each_fold() -> None:
    X, y, s = rows()

    def gap(y_true: Any, y_pred: Any, sensitive_features: Any) -> float:
        return fermi.parity_difference(y_pred, sensitive_features, classes=[0, 1])

    scorer = make_scorer(gap, greater_is_better=False).set_score_request(sensitive_features=True)
    search = GridSearchCV(pipeline(), {"fermiclassifier__lam": [0.0, 50.0]}, scoring=scorer, cv=3)
    search.fit(X, y, sensitive_features=s)
    assert search.best_params_ == {"fermiclassifier__lam": 50.0}
    unfair, fair = -search.cv_results_["mean_test_score"]
    assert fair < 0.7 * unfair


def test_groups_reach_the_classifier_by_the_steps_name_without_routing() -> None:
    with sklearn.config_context(enable_metadata_routing=False):  # whatever another test of this process has set
        X, y, s = rows()
        model = pipeline(lam=20).fit(X, y, fermiclassifier__sensitive_features=s)
        assert len(model[-1].groups_) == 4
        search = GridSearchCV(model, {"fermiclassifier__lam": [0.0, 20.0]}, cv=3)
        search.fit(X, y, fermiclassifier__sensitive_features=s)
        assert len(search.best_estimator_[-1].groups_) == 4


@pytest.mark.usefixtures("routed")
def test_a_column_of_conditions_is_matched_by_its_index_in_every_fold() -> None:
    X, y, s = rows()
    notion = ConditionalParity(X["purpose"])
    scores = cross_validate(
        pipeline(fairness=notion, lam=5), X, y, params={"sensitive_features": s}, cv=3, return_estimator=True
    )
    for fold in scores["estimator"]:
        assert fold[-1].dual_.shape == (4, 4, 2)
    shuffled = X.sample(frac=0.5, random_state=0).index
    model = pipeline(fairness=notion, lam=5, tol=1e-7).fit(
        X.loc[shuffled], y[shuffled], sensitive_features=s.loc[shuffled]
    )
    own = pipeline(fairness=ConditionalParity(X["purpose"][shuffled]), lam=5, tol=1e-7)
    own.fit(X.loc[shuffled], y[shuffled], sensitive_features=s.loc[shuffled])
    assert model[-1].coef_ == pytest.approx(own[-1].coef_, abs=1e-6)
    with pytest.raises(fermi.FermiError, match="`fairness` has 900 rows; expected 450"):
        pipeline(fairness=ConditionalParity(X["purpose"].tolist())).fit(
            X.loc[shuffled], y[shuffled], sensitive_features=s.loc[shuffled]
        )


def test_rows_of_another_order_are_refused() -> None:
    X, y, s = rows()
    X = X[["income", "age"]]
    for name, arguments in {
        "y": (X, y[::-1], s),
        "sensitive_features\\['sex'\\]": (X, y, s[::-1]),
        "sample_weight": (X, y, s),
    }.items():
        weight = pd.Series(np.ones(len(y)), index=y.index[::-1]) if name == "sample_weight" else None
        with pytest.raises(fermi.FermiError, match=f"`{name}` has another index than `X`"):
            FermiClassifier().fit(*arguments[:2], sensitive_features=arguments[2], sample_weight=weight)
