"""Scorers: what scikit-learn hands them, and what they make of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate

import fermi
from fermi import FermiClassifier, scorers
from fermi.datasets import synthetic


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def rows(n: int = 1500) -> tuple[Any, Any, Any]:
    data = synthetic(n, bias=0.9, rated=False).numeric()
    return data.X_train, data.y_train, data.s_train.iloc[:, 0]


def test_scores_are_measures_with_a_minus() -> None:
    X, y, s = rows()
    model = LogisticRegression().fit(X, y)
    for notion in ("demographic_parity", "equalized_odds", "equal_opportunity"):
        gap = fermi.parity_difference(model.predict(X), s, y_true=y, notion=notion)
        ready = getattr(scorers, notion)
        assert ready(model, X, y, sensitive_features=s) == pytest.approx(-gap)
        soft = scorers.violation("ermi", notion, soft=True)(model, X, y, sensitive_features=s)
        assert soft == pytest.approx(-fermi.ermi(model.predict_proba(X), s, y_true=y, notion=notion, classes=[0, 1]))
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    weighed = scorers.demographic_parity(model, X, y, sensitive_features=s, sample_weight=weight)
    assert weighed == pytest.approx(-fermi.parity_difference(model.predict(X), s, sample_weight=weight))
    assert pickle.loads(pickle.dumps(scorers.accuracy_within(0.1))) == scorers.accuracy_within(0.1)


def test_accuracy_counts_within_the_bound_alone() -> None:
    X, y, s = rows()
    model = LogisticRegression().fit(X, y)
    gap = fermi.parity_difference(model.predict(X), s)
    assert scorers.accuracy_within(gap + 0.01)(model, X, y, sensitive_features=s) == model.score(X, y)
    assert scorers.accuracy_within(gap - 0.01)(model, X, y, sensitive_features=s) == pytest.approx(-gap)


@pytest.mark.usefixtures("routing")
def test_a_search_hands_every_fold_its_groups() -> None:
    X, y, s = rows()
    model = FermiClassifier().set_fit_request(sensitive_features=True)
    search = GridSearchCV(model, {"lam": [0.0, 5.0, 50.0]}, scoring=scorers.accuracy_within(0.1), cv=3)
    search.fit(X, y, sensitive_features=s)
    assert search.best_params_["lam"] > 0.0
    found = search.cv_results_["mean_test_score"]
    assert found[0] < 0.0 < found.max()
    several = {"parity": scorers.demographic_parity, "ermi": scorers.violation("ermi", soft=True), "plain": "accuracy"}
    result = cross_validate(model, X, y, params={"sensitive_features": s}, scoring=several, cv=3)
    assert (result["test_ermi"] < 0.0).all()
    assert (result["test_plain"] > 0.5).all()


@pytest.mark.slow
@pytest.mark.usefixtures("routing")
def test_labels_within_a_bound_are_scored_as_labels() -> None:
    X, y, s = rows(3000)
    model = fermi.FairLabels(LogisticRegression(max_iter=3000), max_violation=0.05, cv=2, slack=0.5, random_state=0)
    bounds = [0.05, 1.0]
    search = GridSearchCV(model, {"max_violation": bounds}, scoring=scorers.accuracy_within(0.15), cv=3)
    search.fit(X, y, sensitive_features=s)
    assert search.best_params_ == {"max_violation": 0.05}
    kept, own = search.cv_results_["mean_test_score"]
    assert own < 0.0 < kept  # the plain model is beyond the bound in some fold
    several = {"parity": scorers.demographic_parity, "soft": scorers.violation("ermi", soft=True), "plain": "accuracy"}
    adjusted, plain = (
        cross_validate(model.set_params(max_violation=b), X, y, params={"sensitive_features": s}, scoring=several, cv=3)
        for b in bounds
    )
    assert adjusted["test_parity"].mean() > 0.5 * plain["test_parity"].mean()
    assert adjusted["test_soft"] == pytest.approx(plain["test_soft"])  # probabilities stay as they are
    fitted = search.best_estimator_
    seen = fermi.audit(y, fitted.predict(X), sensitive_features=s)
    gap = fermi.parity_difference(fitted.predict(X), s)
    assert seen.record.measure("parity_difference").value == pytest.approx(gap)
    assert gap < 0.1


def test_without_routing_one_sentence_says_what_to_do() -> None:
    X, y, _ = rows()
    with pytest.raises(fermi.FermiError, match=r"`sensitive_features` did not reach the scorer; expected sklearn.set_"):
        cross_validate(LogisticRegression(), X, y, scoring=scorers.demographic_parity, cv=3, error_score="raise")
    with pytest.raises(fermi.FermiError, match="`measure` is 'gap'; expected one of"):
        scorers.violation("gap")
    with pytest.raises(fermi.FermiError, match="`max_violation` is 2; expected a number from 0 to 1"):
        scorers.accuracy_within(2)
    with pytest.raises(fermi.FermiError, match=r"`(fairness|notion)` is"):
        scorers.accuracy_within(0.1, "parity")


def test_a_scorer_refuses_at_once_what_it_could_not_measure() -> None:
    with pytest.raises(fermi.FermiError, match="`measure` is 'x'; expected one of 'ermi'"):
        scorers.Scorer(measure="x")
    with pytest.raises(fermi.FermiError, match="`measure` is 'parity_ratio'"):
        scorers.Scorer("parity_ratio")
    with pytest.raises(fermi.FermiError, match="notion"):
        scorers.Scorer(notion="parity")
    with pytest.raises(fermi.FermiError, match="`max_violation` is -1"):
        scorers.Scorer(max_violation=-1)
