"""Bad input: one sentence each that names the argument, before anything is trained, and nothing is lost."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from fermi.errors import FermiError
from fermi.labels import FairLabels
from tests.labels.samples import AtThreshold, OnlyPredicts, Rows, fair, fitted, plain, rows

SOME = rows(200)

WRONG: list[tuple[str, Any, str]] = [
    ("max_violation", "0.1", "expected a number from 0 to 1, or None"),
    ("max_violation", -0.01, "expected a number from 0 to 1, or None"),
    ("max_violation", 1.5, "expected a number from 0 to 1, or None"),
    ("max_violation", float("nan"), "expected a number from 0 to 1, or None"),
    ("max_violation", None, "nothing else is asked of the labels"),
    ("min_ratio", 1.2, "expected a number from 0 to 1, or None"),
    ("min_rate", "half", "expected a number from 0 to 1, or None"),
    ("selection_rate", 0.3, "expected a pair of numbers"),
    ("selection_rate", (0.5, 0.2), "the least rate first"),
    ("selection_rate", (0.5, "x"), "expected a pair of numbers"),
    ("slack", -1, "at least 0"),
    ("slack", None, "at least 0"),
    ("attributes", "all", "'intersection', 'each'"),
    ("attributes", 3, "'intersection', 'each'"),
    ("fairness", "equal", "one of 'demographic_parity'"),
    ("fairness", 7, "one of 'demographic_parity'"),
    ("cv", 1, "a whole number of at least 2"),
    ("cv", 3.0, "a whole number of at least 2"),
    ("cv", "three", "a whole number of at least 2"),
    ("cv", 500, "at most as many folds as rows"),
    ("confidence", 0.5, "above 0.5 and below 1"),
    ("confidence", 1.0, "above 0.5 and below 1"),
    ("confidence", "sure", "above 0.5 and below 1"),
    ("prefit", "yes", "True or False"),
    ("prefit", None, "True or False"),
    ("random_state", "seed", "a whole number or a generator"),
    ("n_jobs", "two", "a whole number other than 0"),
    ("n_jobs", 0, "a whole number other than 0"),
    ("n_jobs", 1.5, "a whole number other than 0"),
    ("verbose", "loud", "0 or 1"),
    ("verbose", -1, "0 or 1"),
    ("costs", "cheap", "2 × 2 finite numbers"),
    ("costs", [[0, 1], [1]], "2 × 2 finite numbers"),
    ("costs", [[0, 1, 2], [1, 0, 2]], "2 × 2 finite numbers"),
    ("costs", [0, 1], "2 × 2 finite numbers"),
    ("costs", [[0, np.nan], [1, 0]], "holds NaN or inf"),
    ("costs", [[0, np.inf], [1, 0]], "holds NaN or inf"),
    ("group_estimator", LinearSVC(), "is a LinearSVC, without `predict_proba`"),
    ("group_estimator", LogisticRegression, "is the class LogisticRegression"),
    ("group_estimator", "trees", "is a str, without `predict_proba`"),
    ("estimator", LogisticRegression, "is the class LogisticRegression"),
    ("estimator", LinearSVC(), "is a LinearSVC, without `predict_proba`"),
    ("estimator", None, "is a NoneType, without `predict_proba`"),
    ("estimator", "lightgbm", "is a str, without `predict_proba`"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG, ids=lambda value: str(value)[:30])
def test_every_wrong_option_is_named_in_one_sentence(name: str, value: Any, sentence: str) -> None:
    model = fair(Untrainable()).set_params(**{name: value})
    with pytest.raises(FermiError, match=rf"^`{name}`.*{re.escape(sentence)}") as caught:
        model.fit(SOME.X, SOME.y, sensitive_features=SOME.s)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "estimator_")


class Untrainable(AtThreshold):
    """Fails if it is trained before the options are checked."""

    def fit(self, X: Any, y: Any) -> Untrainable:
        raise AssertionError


def test_options_that_exclude_each_other_are_refused_together() -> None:
    with pytest.raises(FermiError, match=r"`min_rate` is 0.5 with `selection_rate` of at most 0.3"):
        fitted(SOME, min_rate=0.5, selection_rate=(0.1, 0.3))
    with pytest.raises(FermiError, match=r"`confidence` is 0.9 without `max_violation` or `min_ratio`"):
        fitted(SOME, max_violation=None, min_rate=0.5, confidence=0.9)
    with pytest.raises(FermiError, match=r"`slack` is 1 without `max_violation`, `min_ratio` or `min_rate`"):
        fitted(SOME, max_violation=None, selection_rate=(0.1, 0.3), slack=1)  # which has no slack


def test_the_options_are_checked_when_fitting_and_not_before() -> None:
    model = FairLabels("no classifier", max_violation="no number", cv="none")  # type: ignore[arg-type]
    assert model.get_params()["cv"] == "none"


NO_ROWS: list[tuple[str, dict[str, Any], str]] = [
    ("no groups", {"s": None}, "`sensitive_features` is None"),
    ("unknown groups", {"s": [None] * 200}, "`sensitive_features` is unknown in every row"),
    ("NaN groups", {"s": np.full(200, np.nan)}, "`sensitive_features` is unknown in every row"),
    ("fewer groups", {"s": SOME.s[:-1]}, "`sensitive_features` has 199 rows"),
    ("a name", {"s": "sex"}, "`sensitive_features` is 'sex'"),
    ("one class", {"y": np.zeros(200, dtype=int)}, "`y` holds one class only"),
    ("fewer labels", {"y": SOME.y[:-1]}, "`y` has 199 rows"),
    ("missing labels", {"y": np.where(SOME.y == 1, np.nan, 0.0)}, "missing entries"),
    ("fewer weights", {"weight": np.ones(5)}, "`sample_weight` has 5 rows"),
    ("negative weights", {"weight": -np.ones(200)}, "`sample_weight` holds negative"),
    ("no weight", {"weight": np.zeros(200)}, "`sample_weight` is zero in every row"),
    ("other index", {"s": pd.Series(SOME.s, index=np.arange(200)[::-1])}, "has another index than"),
    ("no rows", {"X": SOME.X[:0], "y": SOME.y[:0], "s": SOME.s[:0]}, "`y` is empty"),
]


@pytest.mark.parametrize(("what", "changed", "sentence"), NO_ROWS, ids=[what for what, *_ in NO_ROWS])
def test_rows_that_cannot_be_used_are_refused_in_one_sentence(
    what: str, changed: dict[str, Any], sentence: str
) -> None:
    given = {"X": SOME.X, "y": pd.Series(SOME.y) if what == "other index" else SOME.y, "s": SOME.s, "weight": None}
    given |= changed
    with pytest.raises(ValueError, match=sentence):
        fair().fit(given["X"], given["y"], sensitive_features=given["s"], sample_weight=given["weight"])


def test_a_notion_that_looks_where_every_group_is_unknown_is_refused() -> None:
    s = SOME.s.astype(object)
    s[SOME.y == 1] = None
    with pytest.raises(FermiError, match="`sensitive_features` is unknown in every row that the notion compares"):
        fair(fairness="equal_opportunity").fit(SOME.X, SOME.y, sensitive_features=s)


def test_folds_that_leave_one_class_to_train_on_are_refused() -> None:
    once = np.zeros(200, dtype=int)
    once[7] = 1
    with pytest.raises(FermiError, match="`cv` leaves folds with one class to train on"):
        fair().fit(SOME.X, once, sensitive_features=SOME.s)
    order = np.argsort(SOME.y)
    with pytest.raises(FermiError, match="`cv` leaves folds with one class to train on"):
        fitted(Rows(SOME.X[order], SOME.y[order], SOME.s[order]), cv=KFold(2))


def test_a_fold_without_one_of_three_classes_is_no_obstacle() -> None:
    some = rows(300)
    y = some.y.copy()
    y[5] = 2
    model = fair(max_violation=0.2).fit(some.X, y, sensitive_features=some.s)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(some.X).shape == (300, 3)


def test_what_is_said_to_be_fitted_must_be() -> None:
    with pytest.raises(FermiError, match="`estimator` is not fitted"):
        fitted(SOME, prefit=True)


def test_a_fitted_classifier_of_other_classes_is_refused() -> None:
    own = plain().fit(SOME.X, np.array(["a", "b"])[SOME.y])
    with pytest.raises(FermiError, match="`estimator` knows the class 'a', which `y` does not hold"):
        fitted(SOME, own, prefit=True)


def test_a_fitted_classifier_need_not_be_trainable_here() -> None:
    own, new = OnlyPredicts(plain().fit(SOME.X, SOME.y)), rows(600, seed=2)
    with pytest.warns(UserWarning, match="was trained on these rows was not checked"):
        assert fitted(new, own, prefit=True).reached_
    with pytest.raises(FermiError, match="`estimator` is a OnlyPredicts, without `fit`"):
        fitted(new, own)


class NoProbabilities(AtThreshold):
    def predict_proba(self, X: Any) -> Any:
        return 2.0 * super().predict_proba(X)


class Missing(AtThreshold):
    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), np.nan)


@pytest.mark.parametrize("estimator", [NoProbabilities(), Missing()])
def test_numbers_that_are_no_probabilities_are_refused(estimator: Any) -> None:
    with pytest.raises(FermiError, match="`estimator` gives numbers that are no probabilities"):
        fitted(SOME, estimator)


REFITS: list[tuple[dict[str, Any], bool, str]] = [
    ({"max_violation": 7}, True, "`max_violation`"),
    ({}, False, "`sensitive_features`"),
    ({"estimator": Missing()}, True, "`estimator`"),
]


@pytest.mark.parametrize(("changed", "known", "named"), REFITS, ids=["option", "groups", "training"])
def test_a_refit_that_fails_leaves_the_model_as_it_was(changed: dict[str, Any], known: bool, named: str) -> None:
    some = rows(500)
    model = fitted(some, max_violation=0.1)
    before, attributes = model.predict(some.X), set(vars(model))
    curve = model.frontier_
    model.set_params(**changed)
    with pytest.raises(FermiError, match=named):
        model.fit(some.X, some.y, sensitive_features=some.s if known else [None] * 500)
    assert np.array_equal(model.predict(some.X), before)
    assert set(vars(model)) == attributes
    assert model.frontier_.equals(curve)
