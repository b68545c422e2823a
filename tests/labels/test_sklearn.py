"""`FairLabels` inside scikit-learn: parameters, pipelines, searches, metadata routing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fermi
from fermi.labels import FairLabels
from tests.labels.samples import fair, fitted, gap, plain, rows

SOME = rows(600)


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_it_is_a_public_classifier() -> None:
    assert fermi.FairLabels is FairLabels
    assert is_classifier(fair())
    assert repr(FairLabels(plain())) == "FairLabels(estimator=LogisticRegression())"


def test_parameters_are_kept_cloned_and_set() -> None:
    costs = np.array([[0.0, 1.0], [2.0, 0.0]])
    model = FairLabels(
        LogisticRegression(C=0.5), "equalized_odds", 0.1, min_ratio=0.8, selection_rate=(None, 0.4), attributes="each",
        group_estimator=LogisticRegression(), cv=4, slack=1.0, confidence=0.9, costs=costs, min_rate=0.1,
        random_state=3, n_jobs=1, verbose=1,
    )  # fmt: skip
    again = clone(model)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert again.estimator is not model.estimator
    assert again.set_params(estimator__C=2.0, slack=0.0).estimator.C == 2.0
    assert (model.estimator.C, model.slack) == (0.5, 1.0)
    assert np.array_equal(again.costs, costs)


def test_a_clone_of_a_fitted_model_is_not_fitted() -> None:
    model = fitted(SOME)
    again = clone(model)
    assert not hasattr(again, "classes_")
    again.fit(SOME.X, SOME.y, sensitive_features=SOME.s)
    assert np.array_equal(again.predict(SOME.X), model.predict(SOME.X))


def test_the_last_step_of_a_pipeline() -> None:
    inside = make_pipeline(StandardScaler(), fair())
    inside.fit(SOME.X, SOME.y, fairlabels__sensitive_features=SOME.s)
    assert gap(inside.predict(SOME.X), SOME.s) < 0.12


@pytest.mark.usefixtures("routing")
def test_groups_are_routed_through_pipelines_and_searches() -> None:
    inside = make_pipeline(StandardScaler(), fair())
    inside.fit(SOME.X, SOME.y, sensitive_features=SOME.s)
    scores = cross_validate(inside, SOME.X, SOME.y, cv=3, params={"sensitive_features": SOME.s}, error_score="raise")
    assert (scores["test_score"] > 0.5).all()
    options = {"estimator__C": [0.1, 1.0], "max_violation": [0.1, 0.5]}
    search = GridSearchCV(fair(), options, cv=2, error_score="raise").fit(SOME.X, SOME.y, sensitive_features=SOME.s)
    assert search.best_params_["max_violation"] == 0.5
    assert search.best_estimator_.reached_


def test_cross_validation_without_routing() -> None:
    scores = cross_validate(fair(), SOME.X, SOME.y, cv=3, params={"sensitive_features": SOME.s}, error_score="raise")
    assert (scores["test_score"] > 0.5).all()
    predicted = cross_val_predict(fair(), SOME.X, SOME.y, cv=3, params={"sensitive_features": SOME.s})
    assert gap(predicted, SOME.s) < 0.15


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("inside", [False, True])
def test_weights_reach_both_models_under_routing(inside: bool) -> None:
    weight = np.where(SOME.y == 1, 4.0, 1.0)
    own = LogisticRegression()
    steps = [StandardScaler().set_fit_request(sample_weight=False), own.set_fit_request(sample_weight=True)]
    model = fair(make_pipeline(*steps) if inside else own, max_violation=0.1)
    model.fit(SOME.X, SOME.y, sensitive_features=SOME.s, sample_weight=weight)
    last = model.estimator_[-1] if inside else model.estimator_
    X = StandardScaler().fit_transform(SOME.X) if inside else SOME.X
    assert last.coef_ == pytest.approx(LogisticRegression().fit(X, SOME.y, sample_weight=weight).coef_)


@pytest.mark.usefixtures("routing")
def test_ours_gets_its_groups_under_routing_too() -> None:
    for own in (fermi.FermiClassifier(lam=30.0), make_pipeline(StandardScaler(), fermi.FermiClassifier(lam=30.0))):
        model = fitted(SOME, own, max_violation=1.0)
        assert model.violation_ < 0.5 * fitted(SOME, max_violation=1.0).violation_


def test_a_frozen_classifier_is_not_trained_again() -> None:
    own = LogisticRegression().fit(SOME.X[:300], SOME.y[:300])
    model = fitted(rows(600, seed=2), FrozenEstimator(own))
    assert np.array_equal(model.predict_proba(SOME.X), own.predict_proba(SOME.X))
