"""Bounds with confidence: rows of their own, what is certified, and how often that is wrong."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from fermi.errors import ConstantPredictionWarning
from tests.labels.samples import Rows, fair, fitted, gap, rows


def test_the_limit_is_within_the_bound_and_above_the_gap() -> None:
    some, new = rows(6000), rows(20000, seed=1)
    model = fitted(some, confidence=0.9, max_violation=0.12)
    assert model.reached_
    assert model.upper_limit_ <= 0.12
    assert gap(model.predict(new.X), new.s) < 0.12
    assert gap(model.estimator_.predict(new.X), new.s) > 0.2


def test_a_third_of_the_rows_has_no_part_in_training() -> None:
    some = rows(900)
    rest = fitted(some, confidence=0.8, max_violation=0.5)
    assert not np.allclose(rest.estimator_.coef_, LogisticRegression().fit(some.X, some.y).coef_)
    assert rest.figures_.error != fitted(some, max_violation=0.5).figures_.error


def test_too_few_rows_support_no_bound_and_that_is_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.warns(ConvergenceWarning, match=r"support max_violation=0.05 .*upper limit.* confidence 0.95"):
            model = fitted(rows(150), confidence=0.95, max_violation=0.05)
    assert not model.reached_
    assert model.upper_limit_ > 0.05


def test_a_looser_bound_costs_less() -> None:
    some = rows(6000)
    tight, loose = (fitted(some, confidence=0.9, max_violation=bound) for bound in (0.12, 0.2))
    assert tight.reached_
    assert loose.reached_
    assert loose.figures_.error < tight.figures_.error
    again = tight.at(0.2)
    assert again.upper_limit_ <= 0.2
    assert np.array_equal(again.predict(some.X), loose.predict(some.X))
    assert tight.upper_limit_ <= 0.12


def test_a_ratio_with_confidence() -> None:
    some, new = rows(6000), rows(20000, seed=1)
    model = fitted(some, confidence=0.9, max_violation=None, min_ratio=0.75)
    assert model.reached_
    by_group = [np.mean(model.predict(new.X)[new.s == group]) for group in model.groups_]
    assert min(by_group) >= 0.75 * max(by_group)
    plain = [np.mean(model.estimator_.predict(new.X)[new.s == group]) for group in model.groups_]
    assert min(plain) < 0.7 * max(plain)


def test_a_ratio_that_the_rows_do_not_support_is_said_with_the_one_that_they_do() -> None:
    with pytest.warns(ConvergenceWarning, match=r"cannot support min_ratio=0.8 \(the largest lower limit") as caught:
        model = fitted(rows(900), confidence=0.9, max_violation=0.9, min_ratio=0.8)
    assert "max_violation" not in str(caught[0].message)  # which they do support
    assert not model.reached_
    supported = float(str(caught[0].message).split("the ratio is ")[1].split(")")[0])
    assert model.at(0.9, min_ratio=supported - 1e-3).reached_


def test_a_rate_that_is_missed_is_not_said_to_be_kept_since_the_gap_is_certified() -> None:
    some = rows(600)
    alike = Rows(np.ones((600, 2)), some.y, some.s)
    with pytest.warns(ConvergenceWarning, match=r"No labels kept selection_rate=\(0.4, 0.6\) \(the nearest"):
        model = fitted(
            alike, DummyClassifier(strategy="most_frequent"), confidence=0.9, max_violation=0.5,
            selection_rate=(0.4, 0.6),
        )  # fmt: skip
    assert not model.reached_
    assert model.upper_limit_ < 0.5


def test_without_confidence_there_is_no_limit() -> None:
    assert not hasattr(fitted(rows(300), max_violation=0.5), "upper_limit_")


@pytest.mark.slow
def test_what_is_certified_is_seldom_false() -> None:
    truth, draws, confidence = rows(40000, seed=99), 16, 0.9
    false = certified = 0
    for seed in range(draws):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", ConstantPredictionWarning)
            some = rows(1500, seed=seed)
            model = fair(confidence=confidence, max_violation=0.15).fit(some.X, some.y, sensitive_features=some.s)
        certified += model.reached_
        false += model.reached_ and gap(model.predict(truth.X), truth.s) > 0.15
    assert certified > draws / 3
    assert false / draws <= 1.0 - confidence + 3.0 * np.sqrt(0.09 / draws)
