"""Warnings, interruptions, fits that fail, and mistakes."""

from __future__ import annotations

import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from fermi import ConstantPredictionWarning, FermiClassifier, FermiError, baselines
from fermi.tradeoff import tradeoff_curve
from fermi.tradeoff._grid import Place, between, first_values
from fermi.tradeoff._knob import Knob
from tests.tradeoff.samples import LAMS, curve, rows, same


class Toy(ClassifierMixin, BaseEstimator):
    """Labels by the sign of the first feature, constant from λ = 5 on; no probabilities."""

    def __init__(self, lam: float = 1.0, max_violation: Any = None, fail: Any = None) -> None:
        self.lam, self.max_violation, self.fail = lam, max_violation, fail

    def fit(self, X: Any, y: Any, *, sensitive_features: Any) -> Toy:
        self.classes_ = np.unique(y)
        warnings.warn(f"gradient {self.lam / 7:.3f}", ConvergenceWarning, stacklevel=2)
        warnings.warn("the same for all", UserWarning, stacklevel=2)
        warnings.warn("constant", ConstantPredictionWarning, stacklevel=2)
        if self.fail is not None and self.lam > 0:
            raise self.fail
        return self

    def predict(self, X: Any) -> Any:
        first = np.asarray(X)[:, 0]
        return np.where((first > 0) & (self.lam < 5), self.classes_[1], self.classes_[0])


def test_warnings_come_once_and_a_constant_model_is_named_when_it_is_picked() -> None:
    X, y, s = rows()
    y = (y == "high").astype(int)
    for n_jobs, backend in ((1, "loky"), (2, "loky"), (2, "threading")):
        with joblib.parallel_config(backend=backend), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = tradeoff_curve(
                Toy(), X, y, sensitive_features=s, lams=[0, 2, 7], cv=2, n_jobs=n_jobs, progress=False
            )
        texts = sorted(str(entry.message) for entry in caught if entry.category in (ConvergenceWarning, UserWarning))
        start = "gradient 0.000" if backend == "threading" else "At λ = 0 to 7 (9 fits), the first: gradient 0.000"
        assert texts == [start, "the same for all"]
        assert not [entry for entry in caught if issubclass(entry.category, ConstantPredictionWarning)]
        assert all(entry.filename == __file__ for entry in caught)
    assert found.frame["constant"].tolist() == [False] * 4 + [True] * 2
    assert found.frame["ermi"].isna().all()
    assert found.frame["ermi_hard"].notna().all()
    with pytest.warns(ConstantPredictionWarning, match="at λ = 7, predicts 0 for every validation row"):
        assert found.pick(0.0).lam == 7


def test_an_interruption_ends_it_and_the_estimator_is_never_changed() -> None:
    X, y, s = rows()
    toy = Toy(fail=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        tradeoff_curve(toy, X, y, sensitive_features=s, lams=[0, 1])
    assert vars(toy) == vars(Toy(fail=toy.fail))
    model = FermiClassifier(lam=7.0, verbose=1)
    before = vars(model).copy()
    found = curve(model)
    assert vars(model) == before
    assert [own.lam for own in found.models] == LAMS
    assert found.models[1].verbose == 1
    assert not found.models[1].warm_start


class Breaks(FermiClassifier):
    """Fails where λ is in a range."""

    low, high = 0.5, 2.0

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, **options: Any) -> Breaks:
        if self.low <= self.lam <= self.high:
            warnings.warn("before the end", UserWarning, stacklevel=2)
            raise ZeroDivisionError(f"λ is {self.lam}\nand more")
        super().fit(X, y, sensitive_features=sensitive_features, **options)
        return self


class BreaksLate(Breaks):
    low, high = 5.0, np.inf


@pytest.mark.parametrize("cv", [None, 3])
def test_a_fit_that_fails_is_left_out_and_costs_no_other(cv: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = curve(Breaks(), cv=cv, lams=[0.0, 0.6, 1.0, 30.0])
    fits = 2 if cv is None else 8
    assert [(entry.category, str(entry.message)) for entry in caught] == [
        (UserWarning, "before the end"),
        (
            FitFailedWarning,
            f"At λ = 0.6, 1 ({fits} fits), the first: training or predicting failed, so that the curve goes on without "
            "(ZeroDivisionError: λ is 0.6)",
        ),
    ]
    assert found.lams == [0.0, 30.0]
    same(found, curve(FermiClassifier(), cv=cv, lams=[0.0, 30.0]))
    for lams in ([1.0, 30.0], [0.6]):  # the first of all
        with pytest.raises(ZeroDivisionError):
            curve(Breaks(), cv=cv, lams=lams)
    with pytest.raises(FermiError, match=r"at every λ but 0 training or predicting failed.*ZeroDivisionError: λ is 10"):
        curve(BreaksLate(), cv=cv, lams=[0.0, 10.0, 30.0])


def test_refining_goes_on_around_what_failed() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = curve(Breaks(), lams=None)
    (told,) = (str(entry.message) for entry in caught if entry.category is FitFailedWarning)
    assert told.startswith("At λ = 1: ")  # not again at the middle of its neighbours, 0.99991
    kept = {value for value in first_values(Knob.find(FermiClassifier())) if value != 1.0}
    assert kept < set(found.lams)

    knob = Knob.find(FermiClassifier())
    places = [Place(lam, 0.3 - 0.02 * i, 0.1 + 0.01 * i, 0.001, 0.001) for i, lam in enumerate((1.0, 4.0, 16.0))]
    assert between(places, knob) == [2.0, 8.0]
    assert between(places, knob, {2.01}) == [8.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"estimator": LogisticRegression()}, "`estimator` is a LogisticRegression, without `lam` or `strength`; exp"),
        ({"estimator": FermiClassifier}, "`estimator` is the class FermiClassifier, without `lam`"),
        ({"estimator": FermiClassifier(max_violation=0.1)}, "`max_violation` is 0.1, which chooses λ itself; expected"),
        ({"estimator": FermiClassifier(checkpoint="x")}, "`checkpoint` is 'x', which is one file for many fits"),
        ({"estimator": make_pipeline(FermiClassifier(), FermiClassifier())}, "`estimator` has 'fermiclassifier-1__lam"),
        ({"lams": [-1]}, "`lams` is -1; expected numbers of at least 0, at least one of them."),
        ({"lams": []}, "`lams` is empty"),
        ({"lams": 3}, "`lams` is 3"),
        ({"lams": [2], "estimator": baselines.make("naive")}, "expected numbers of at least 0 and at most 1"),
        ({"sensitive_features": None}, "`sensitive_features` is None"),
        ({"progress": pd.NA}, "`progress` is <NA>; expected True or False"),
        ({"cv": 1}, "`cv` is 1; expected a whole number of at least 2"),
        ({"cv": "x"}, "`cv` is 'x'; expected"),
        ({"X_test": 1}, "`y_test` is None; expected test rows with all of"),
        ({"X_test": [[0.0] * 4], "y_test": ["none"], "sensitive_test": ["F"]}, "`y_test` holds 'none'; expected one"),
        ({"X_test": [[0.0] * 4], "y_test": ["low"], "sensitive_test": ["F", "M"]}, "`sensitive_test` has 2 rows; exp"),
        ({"sensitive_features": rows(7)[2]}, "has 7 rows; expected 1200"),
        ({"sensitive_features": [None] * 1200}, "`sensitive_features` is unknown in every row"),
        ({"sensitive_features": ["a", *[None] * 1199]}, r"`X` has too few rows to hold some out \(1200\)"),
    ],
)
def test_mistakes_get_one_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(FermiError, match=words) as caught:
        curve(**change)
    assert "\n" not in str(caught.value)
