"""Rivals that repair the features or the labels around a plain model, each against something independent."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fermi
from fermi import baselines
from fermi.baselines.common.linear_models import L2
from fermi.baselines.feldman import learn_repair
from fermi.baselines.kamiran import relabelled
from tests.baselines.samples import NOTIONS, Floats, conditions, draw, fit


def test_feldman_equalises_the_quantiles() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=50), rng.exponential(size=50), 3.0 + rng.normal(size=50)]
    repaired = [x + np.interp(x, *repair) for x, repair in zip(groups, learn_repair(groups, 1.0), strict=True)]
    median = np.median(np.sort(groups, axis=1), axis=0)
    for x, before in zip(repaired, groups, strict=True):
        assert np.sort(x) == pytest.approx(median)
        assert (np.argsort(x) == np.argsort(before)).all()
    half = [x + np.interp(x, *repair) for x, repair in zip(groups, learn_repair(groups, 0.5), strict=True)]
    assert np.array(half) == pytest.approx(0.5 * (np.array(groups) + np.array(repaired)))


def test_feldman_on_groups_of_other_sizes_and_on_indicators() -> None:
    model, X, y, s = fit("feldman", 1.0)
    repaired = model._repaired(X, s)
    levels = np.linspace(0.05, 0.95, 10)
    for column, before in zip(repaired.T, X.T, strict=True):
        quantiles, old = (
            np.array([np.quantile(x[s == group], levels) for group in range(3)]) for x in (column, before)
        )
        assert np.ptp(quantiles, axis=0).max() < 0.1
        assert np.ptp(old, axis=0).max() > 0.3
    indicator = np.random.default_rng(1).random(len(s)) < 0.2 + 0.2 * s
    model = baselines.make("feldman", 1.0).fit(indicator[:, None].astype(float), y, sensitive_features=s)
    values = model._repaired(indicator[:, None], s)[:, 0]
    assert np.ptp([values[s == group].mean() for group in range(3)]) < 1e-12
    assert values.std() > 0.2


def test_feldman_leaves_rows_of_unknown_groups_alone() -> None:
    model, X, _, _ = fit("feldman", 1.0)
    unknown = np.full(len(X), np.nan)
    assert model.predict_proba(X, unknown) == pytest.approx(model.model_.predict_proba(X))


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.7, 1.0])
def test_kamiran_keeps_its_promise(strength: float) -> None:
    plain, *_ = fit("kamiran", 0.0, n=2000, k=2)
    model, X, y, s = fit("kamiran", strength, n=2000, k=2)
    gaps = [m.predict(X)[s == 1].mean() - m.predict(X)[s == 0].mean() for m in (plain, model)]
    assert gaps[0] > 0.2
    assert gaps[1] <= (1.0 - strength) * gaps[0] + 1e-12
    assert gaps[1] >= (1.0 - strength) * gaps[0] - 0.1  # and no leaf more than it takes
    assert np.mean(model.predict(X) == y) <= np.mean(plain.predict(X) == y)


def discrimination(counts: Floats, labels: Any) -> float:
    rates = (counts.sum(axis=1) * labels[:, None]).sum(axis=0) / counts.sum(axis=(0, 1))
    return float(rates[1] - rates[0])


def errors(counts: Floats, labels: Any) -> float:
    return float(counts.sum(axis=2)[np.arange(len(labels)), 1 - labels].sum())


def test_kamiran_against_all_subsets_of_leaves() -> None:
    rng = np.random.default_rng(0)
    matched = 0
    for _ in range(40):
        counts = rng.integers(1, 30, (7, 2, 2)).astype(float)
        labels = counts.sum(axis=2).argmax(axis=1)
        start = discrimination(counts, labels)
        turned = relabelled(counts, labels, 0.6)
        chosen = np.where(turned, 1 - labels, labels)
        left = abs(discrimination(counts, chosen))
        assert left <= abs(start)
        if np.sign(start) * discrimination(counts, chosen) > 0.4 * abs(start) + 1e-9:
            # Every leaf that is left would turn the discrimination round and make it larger.
            for leaf in np.flatnonzero(~turned):
                other = np.where(np.arange(7) == leaf, 1 - chosen, chosen)
                assert abs(discrimination(counts, other)) >= left - 1e-12
            continue
        subsets = (np.where(np.array(subset), 1 - labels, labels) for subset in product([False, True], repeat=7))
        fair = [
            errors(counts, subset)
            for subset in subsets
            if np.sign(start) * discrimination(counts, subset) <= 0.4 * abs(start) + 1e-9
        ]
        # Filling a knapsack by price per weight is off by the last item at most.
        prices = np.abs(counts.sum(axis=2) @ [1.0, -1.0])[turned]
        assert errors(counts, chosen) <= min(fair) + prices.max(initial=0.0)
        matched += errors(counts, chosen) == min(fair)
    assert matched >= 15


def test_kamiran_is_optimal_where_leaves_weigh_the_same() -> None:
    margins = np.array([9.0, 2.0, 7.0, 4.0, 1.0, 6.0])
    counts = np.zeros((7, 2, 2))  # six positive leaves of 10 more rows of group 1, one of group 0 alone
    counts[:6, 1] = np.stack([20.0 + margins / 2, 30.0 + margins / 2], axis=1)
    counts[:6, 0] = np.stack([20.0 - margins / 2, 30.0 - margins / 2], axis=1)
    counts[6, 0, 0] = 60.0
    labels = np.array([1, 1, 1, 1, 1, 1, 0])
    assert np.flatnonzero(relabelled(counts, labels, 0.5)).tolist() == [1, 3, 4]  # the three cheapest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("notion", "theirs"),
    [
        ("demographic_parity", "demographic_parity"),
        ("equalized_odds", "equalized_odds"),
        ("equal_opportunity", "true_positive_rate_parity"),
        (fermi.EqualOpportunity(0), "false_positive_rate_parity"),
    ],
)
def test_hardt_is_fairlearns(notion: Any, theirs: str) -> None:
    pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
    from fairlearn.postprocessing import ThresholdOptimizer

    X, y, s = draw(n=1500)
    base = LogisticRegression(C=1.0 / (L2 * len(y)), max_iter=2000)
    direct = ThresholdOptimizer(estimator=base, constraints=theirs, predict_method="predict_proba")
    direct.fit(X, y, sensitive_features=s)
    rate = np.mean([direct.predict(X, sensitive_features=s, random_state=seed) for seed in range(200)], axis=0)
    model = baselines.make("hardt", 1.0, notion).fit(X, y, sensitive_features=s)
    assert model.predict_proba(X, s)[:, 1] == pytest.approx(rate, abs=5 * 0.5 / np.sqrt(200))
    half = baselines.make("hardt", 0.5, notion).fit(X, y, sensitive_features=s)
    plain = base.fit(X, y).predict(X)
    assert half.predict_proba(X, s)[:, 1] == pytest.approx(0.5 * plain + 0.5 * model.predict_proba(X, s)[:, 1])
    assert np.abs(rate - plain).mean() > 0.01


def test_hardt_refuses_a_group_of_one_class_and_knows_unknown_groups() -> None:
    pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
    X, y, s = draw()
    with pytest.raises(
        fermi.FermiError, match="`sensitive_features` holds the group '1' with one class only; expected"
    ):
        baselines.make("hardt").fit(X, np.where(s == 1, 1, y), sensitive_features=s)
    model = baselines.make("hardt", 1.0, random_state=0).fit(X, y, sensitive_features=s)
    plain = model.model_.predict(X)
    assert (model.predict(X, np.full(len(X), np.nan)) == plain).all()
    assert (model.predict(X, s) != plain).any()


@pytest.mark.parametrize(
    "notion", [NOTIONS[0], *(pytest.param(notion, marks=pytest.mark.long) for notion in NOTIONS[1:])]
)
def test_agarwal_is_fairlearns(notion: str) -> None:
    pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
    from fairlearn.metrics import MetricFrame, selection_rate
    from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient, TruePositiveRateParity

    X, y, s = draw(n=600)
    base = LogisticRegression(C=1.0 / (L2 * len(y)), max_iter=2000)
    plain = base.fit(X, y).predict(X)
    distances = []
    for rows in conditions(notion, y):
        frame = MetricFrame(metrics=selection_rate, y_true=y[rows], y_pred=plain[rows], sensitive_features=s[rows])
        distances.append(np.abs(frame.by_group - frame.overall).max())
    moment = dict(zip(NOTIONS, (DemographicParity, EqualizedOdds, TruePositiveRateParity), strict=True))[notion]
    direct = ExponentiatedGradient(base, moment(difference_bound=0.3 * max(distances)), max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        direct.fit(X, y, sensitive_features=s)
    rate = np.mean([direct.predict(X, random_state=seed) for seed in range(200)], axis=0)
    model = baselines.make("agarwal", 0.7, notion).fit(X, y, sensitive_features=s)
    assert model.predict_proba(X)[:, 1] == pytest.approx(rate, abs=5 * 0.5 / np.sqrt(200))
    assert np.abs(rate - plain).mean() > 0.01
