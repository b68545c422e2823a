"""The option `weights` of the notions that have several conditions."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import fermi
from fermi import (
    ConditionalParity,
    EqualizedOdds,
    EqualOpportunity,
    FairLabels,
    FermiClassifier,
    FermiError,
    baselines,
)
from fermi.formulas.condition_weights import balanced, mean_one


def rows(n: int = 1500) -> tuple[Any, Any, Any]:
    """Few positives, and groups whose rates differ within both classes."""
    rng = np.random.default_rng(0)
    s, x = rng.integers(0, 2, n), rng.standard_normal((n, 3))
    x[:, 0] += 0.8 * s
    y = np.where(x[:, 0] + x[:, 1] + rng.standard_normal(n) > 2.2, "yes", "no")
    return x, y, s


def gap_of_positives(model: FermiClassifier) -> float:
    x, y, s = rows()
    return fermi.parity_difference(model.predict_proba(x), s, y_true=y, notion=EqualOpportunity("yes"))


@pytest.mark.parametrize(
    "notion",
    [EqualizedOdds("balanced"), EqualizedOdds({"yes": 3}), EqualOpportunity({"no", "yes"}, "balanced")],
    ids=repr,
)
def test_a_notion_with_weights_is_a_value(notion: Any) -> None:
    same = [copy.deepcopy(notion), pickle.loads(pickle.dumps(notion)), clone(FermiClassifier(notion)).fairness]
    assert all(other == notion and hash(other) == hash(notion) and repr(other) == repr(notion) for other in same)
    assert notion != type(notion)()
    assert "weights=" in repr(notion)
    assert FermiClassifier(notion).get_params()["fairness"] is notion
    assert notion.describe(["no", "yes"]) == notion.__class__(**{**vars(notion), "weights": None}).describe(
        ["no", "yes"]
    )


def test_without_weights_nothing_is_said_of_them() -> None:
    found = [repr(notion) for notion in (EqualizedOdds(), EqualOpportunity(1), ConditionalParity([1, 2]))]
    assert found == ["EqualizedOdds()", "EqualOpportunity(advantaged={1})", "ConditionalParity(within=None)"]
    given = {1: 2.0}
    notion = EqualizedOdds(given)
    given[1] = 9.0
    assert notion.weights == {1: 2.0}


def test_factors_are_one_on_average() -> None:
    p = np.array([0.75, 0.05, 0.0, 0.2])
    assert mean_one(balanced(p), p) == pytest.approx([1 / 2.25, 1 / 0.15, 0.0, 1 / 0.6])
    for scale in (1e-90, 1.0, 1e90):
        factors = mean_one(scale * np.array([1.0, 2.0, 3.0, 4.0]), 1e3 * p)
        assert factors == pytest.approx(np.array([1.0, 2.0, 3.0, 4.0]) / 1.65)


def test_the_heavier_condition_gets_the_smaller_gap() -> None:
    x, y, s = rows()
    models = {
        name: FermiClassifier(EqualizedOdds(weights), 3.0).fit(x, y, sensitive_features=s)
        for name, weights in {
            "none": None,
            "even": {"no": 2.0, "yes": 2.0},
            "yes": {"yes": 50.0},
            "all": "balanced",
        }.items()
    }
    assert np.array_equal(models["even"].coef_, models["none"].coef_)  # weights that are all the same are none
    gaps = {name: gap_of_positives(model) for name, model in models.items()}
    assert gaps["none"] > gaps["all"] > gaps["yes"]


def test_measures_do_not_ask_for_weights() -> None:
    x, y, s = rows()
    labels = np.where(x[:, 0] > 1, "yes", "no")
    for measure in (fermi.ermi, fermi.parity_difference, fermi.linf_violation):
        plain = measure(labels, s, y_true=y, notion=EqualizedOdds())
        assert measure(labels, s, y_true=y, notion=EqualizedOdds("balanced")) == plain


@pytest.mark.parametrize("weights", [3, "even", {"yes": 0}, {"yes": -1.0}, {"yes": "2"}, {"yes": np.nan}, ["yes"]])
def test_what_are_no_weights_is_refused(weights: Any) -> None:
    for make in (EqualizedOdds, lambda w: EqualOpportunity("yes", w), lambda w: ConditionalParity(["yes"], weights=w)):
        with pytest.raises(FermiError, match="`weights` is"):
            make(weights)


def test_a_weight_of_no_condition_is_refused() -> None:
    x, y, s = rows(200)
    with pytest.raises(FermiError, match=r"`weights` names 'perhaps'; expected one of the conditions 'no', 'yes'"):
        FermiClassifier(EqualizedOdds({"perhaps": 2.0})).fit(x, y, sensitive_features=s)
    with pytest.raises(FermiError, match=r"`weights` names 'no'; expected one of the conditions 'yes'"):
        FermiClassifier(EqualOpportunity("yes", {"no": 2.0})).fit(x, y, sensitive_features=s)
    with pytest.raises(FermiError, match=r"`weights` names 3; expected one of the conditions 1, 2"):
        ConditionalParity([1, 2], weights={3: 1.0})


def test_those_who_cannot_use_weights_refuse_them() -> None:
    x, y, s = rows(200)
    with pytest.raises(FermiError, match=r"`fairness` has weights, which are for training with λ; expected"):
        FairLabels(FermiClassifier(), EqualizedOdds("balanced")).fit(x, y, sensitive_features=s)
    with pytest.raises(FermiError, match=r"`notion` has weights, which .* does not know; expected 'equalized_odds'"):
        baselines.make("hardt", notion=EqualizedOdds("balanced")).fit(x, y, sensitive_features=s)


def test_part_of_the_rows_may_show_few_conditions() -> None:
    x, y, s = rows(300)
    model = FermiClassifier(EqualizedOdds({"yes": 3.0}), 1.0)
    only = y == "no"
    model.partial_fit(x[only], y[only], sensitive_features=s[only], classes=["no", "yes"])
    model.partial_fit(x, y, sensitive_features=s)
    assert np.isfinite(model.coef_).all()
    region = ConditionalParity(np.where(x[:, 2] > 0, "a", "b"), weights="balanced")
    assert np.isfinite(FermiClassifier(region, 1.0).fit(x, y, sensitive_features=s).coef_).all()
