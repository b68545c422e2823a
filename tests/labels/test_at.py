"""Other bounds from one training: `at` and the curve of `frontier_`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from fermi.errors import FermiError
from fermi.labels import FairLabels
from tests.labels.samples import AtThreshold, fair, fitted, plain, rows

SOME = rows(2000, 3)
MODEL = fitted(SOME, max_violation=0.1)
COLUMNS = ["bound", "error", "violation", "standard_error", "beyond_noise", "ratio", "rate", "reached"]


@pytest.mark.parametrize("bound", [0.03, 0.06, 0.2, 1.0])
def test_another_bound_is_that_of_a_fresh_fit(bound: float) -> None:
    moved, fresh = MODEL.at(bound), fitted(SOME, max_violation=bound)
    assert moved.reached_
    assert moved.violation_ <= bound
    assert moved.max_violation == bound
    assert moved.figures_.error == pytest.approx(fresh.figures_.error, abs=0.01)
    assert np.mean(moved.predict(SOME.X) != fresh.predict(SOME.X)) < 0.05
    assert moved.estimator_ is MODEL.estimator_
    assert np.array_equal(moved.estimator_.coef_, fresh.estimator_.coef_)


def test_the_model_that_it_came_from_is_as_it_was() -> None:
    before = (MODEL.predict(SOME.X), MODEL.multipliers_.copy(), MODEL.figures_, MODEL.get_params(), MODEL.frontier_)
    other = MODEL.at(0.01, slack=1.0)
    other.multipliers_[:] = 7.0
    assert np.array_equal(MODEL.predict(SOME.X), before[0])
    assert np.array_equal(MODEL.multipliers_, before[1])
    assert (MODEL.figures_, MODEL.get_params()) == before[2:4]
    assert MODEL.frontier_.equals(before[4])


class Counting(AtThreshold):
    """Counts how often it is fitted and asked."""

    fits = 0
    asked = 0

    def fit(self, X: Any, y: Any) -> Counting:
        Counting.fits += 1
        super().fit(X, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        Counting.asked += 1
        return super().predict_proba(X)


def test_nothing_is_trained_or_predicted_for_another_bound_or_the_curve() -> None:
    some = rows(600)
    model = fitted(some, Counting(0.5), max_violation=0.1)
    assert Counting.fits == 4
    asked = Counting.asked
    model.at(0.05)
    model.at(None, min_ratio=0.9)
    assert len(model.frontier_)
    assert (Counting.fits, Counting.asked) == (4, asked)


def test_ratio_and_slack_stay_unless_they_are_given() -> None:
    model = fitted(rows(), max_violation=0.3, min_ratio=0.7, slack=0.5)
    same, other = model.at(0.1), model.at(0.1, min_ratio=0.9, slack=0.0)
    assert (same.min_ratio, same.slack) == (0.7, 0.5)
    assert (other.min_ratio, other.slack) == (0.9, 0.0)
    assert other.figures_.ratio >= 0.9
    assert model.figures_.ratio < 0.9


def test_another_ratio_is_that_of_a_fresh_fit() -> None:
    some = rows(3000)
    model = fitted(some, max_violation=None, min_ratio=0.7)
    for ratio in (0.8, 0.95):
        moved = model.at(None, min_ratio=ratio)
        fresh = fitted(some, max_violation=None, min_ratio=ratio)
        assert moved.reached_
        assert moved.figures_.error == pytest.approx(fresh.figures_.error, abs=0.006)
    bounded = model.at(0.04)
    assert bounded.violation_ <= 0.04


def test_bad_bounds_are_refused_and_nothing_changes() -> None:
    for bound in ("tight", -0.1, 2.0):
        with pytest.raises(FermiError, match="`max_violation` is"):
            MODEL.at(bound)  # type: ignore[arg-type]
    with pytest.raises(FermiError, match="nothing else is asked"):
        MODEL.at(None)
    with pytest.raises(FermiError, match="`slack` is"):
        MODEL.at(0.1, slack=-1.0)
    assert MODEL.max_violation == 0.1


def test_a_model_that_is_not_fitted_has_no_other_bounds() -> None:
    unfitted = fair()
    for ask in (lambda: unfitted.at(0.1), lambda: unfitted.frontier_, lambda: unfitted.predict(SOME.X)):
        with pytest.raises(NotFittedError):
            ask()


def test_the_curve_has_the_columns_that_are_promised_and_falls_up_to_noise() -> None:
    curve = MODEL.frontier_
    assert curve.columns.tolist() == COLUMNS
    assert curve["bound"].is_monotonic_increasing
    assert curve["bound"].is_unique
    assert 0.1 in curve["bound"].tolist()
    assert (np.diff(curve["error"]) < 0.01).all()
    assert curve["error"].iloc[0] > curve["error"].iloc[-1] + 0.02
    reached = curve[curve["reached"]]
    assert (reached["violation"] <= reached["bound"] + 1e-12).all()
    assert (curve["beyond_noise"] <= curve["violation"]).all()
    last = curve.iloc[-1]
    plain_labels = MODEL.at(1.0)
    assert last["violation"] == last["bound"] == plain_labels.violation_
    assert last["error"] == plain_labels.figures_.error


def test_the_curve_agrees_with_the_model_at_its_own_bound() -> None:
    row = MODEL.frontier_.set_index("bound").loc[0.1]
    assert row["reached"]
    assert row["error"] == pytest.approx(MODEL.figures_.error, abs=0.005)


def test_the_curve_is_that_of_what_the_model_was_asked() -> None:
    model = fitted(rows(), max_violation=0.05)
    curve = model.frontier_
    curve["error"] = 0.0  # a copy
    assert model.frontier_["error"].all()
    loose = model.at(0.07, slack=2.0)
    fresh = fitted(rows(), max_violation=0.07, slack=2.0)
    assert loose.frontier_["bound"].tolist() == fresh.frontier_["bound"].tolist()
    assert loose.frontier_["error"].to_numpy() == pytest.approx(fresh.frontier_["error"].to_numpy(), abs=0.01)
    assert loose.frontier_["violation"].iloc[0] > model.frontier_["violation"].iloc[0] + 0.02
    assert 0.07 not in model.frontier_["bound"].tolist()
    model.set_params(max_violation=0.9, slack=1.0)  # what comes next changes nothing of what was fitted
    assert 0.05 in model.frontier_["bound"].tolist()


def test_what_is_asked_besides_the_bound_holds_along_the_curve() -> None:
    model: FairLabels = fitted(rows(2000), plain(), max_violation=0.1, selection_rate=(0.2, 0.3))
    curve = model.frontier_
    held = curve[curve["reached"]]
    assert len(held) > 5
    assert held["rate"].between(0.2 - 1e-9, 0.3 + 1e-9).all()
