"""The audit against fairlearn, scipy, scikit-learn and the measures themselves."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, chi2_contingency
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, confusion_matrix

import fermi
from fermi import ConditionalParity, Contingency, audit
from fermi.auditing._independence import permutation_p_value
from fermi.auditing._measured import BOUNDS, value_of
from fermi.auditing._tally import N_BINS
from fermi.formulas.stacked import NAMES
from tests.auditing.samples import frame_of, rows


@pytest.mark.heart
@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_fairlearns(weighted: bool) -> None:
    peers: Any = pytest.importorskip("fairlearn.metrics", reason="the extra `baselines` is not installed")
    data = rows(m=2)
    weight = data["w"] if weighted else None
    params = {"sample_weight": weight} if weighted else {}
    names = ["rate_1", "tpr_1", "fpr_1", "acc"]
    functions = [peers.selection_rate, peers.true_positive_rate, peers.false_positive_rate, accuracy_score]
    peer = peers.MetricFrame(
        metrics=dict(zip(names, functions, strict=True)),
        y_true=data["y"],
        y_pred=data["labels"],
        sensitive_features=data["s"],
        sample_params=None if not weighted else dict.fromkeys(names, params),
    ).by_group
    found = audit(data["y"], data["labels"], sensitive_features=data["s"], sample_weight=weight)
    for column in ("rate_1", "tpr_1", "fpr_1"):
        assert frame_of(found)[column].to_numpy() == pytest.approx(peer[column].to_numpy(dtype=float))
    assert frame_of(found)["error"].to_numpy() == pytest.approx(1 - peer["acc"].to_numpy(dtype=float))
    assert found.record.error is not None
    assert found.record.error.value == pytest.approx(
        1 - accuracy_score(data["y"], data["labels"], sample_weight=weight)
    )


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_of_rates_are_scipys(confidence: float) -> None:
    data = rows(n=300)
    found = frame_of(audit(data["y"], data["labels"], sensitive_features=data["s"], confidence=confidence))
    for s in range(4):
        mine = data["s"] == s
        counts = {f"rate_{j}": (mine & (data["labels"] == j), mine) for j in range(3)}
        counts |= {
            f"tpr_{j}": (mine & (data["labels"] == j) & (data["y"] == j), mine & (data["y"] == j)) for j in range(3)
        }
        counts |= {
            f"fpr_{j}": (mine & (data["labels"] == j) & (data["y"] != j), mine & (data["y"] != j)) for j in range(3)
        }
        counts["error"] = (mine & (data["labels"] != data["y"]), mine)
        for column, (hits, of) in counts.items():
            peer = binomtest(int(hits.sum()), int(of.sum())).proportion_ci(confidence, method="wilson")
            row = found.loc[str(s)]
            assert (row[f"{column}_low"], row[f"{column}_high"]) == pytest.approx((peer.low, peer.high), abs=1e-12)


def test_confusion_by_group_is_scikit_learns() -> None:
    data = rows()
    for s, group in enumerate(audit(data["y"], data["labels"], sensitive_features=data["s"]).record.groups):
        mine = data["s"] == s
        assert np.array_equal(group.confusion, confusion_matrix(data["y"][mine], data["labels"][mine]))


@pytest.mark.heart
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_the_measures(notion: str, weighted: bool) -> None:
    data = rows()
    weight = data["w"] if weighted else None
    found = audit(data["y"], data["F"], sensitive_features=data["s"], notion=notion, sample_weight=weight, n_boot=200)
    for soft, predicted in ((False, data["labels"]), (True, data["F"])):
        table = Contingency.from_predictions(
            predicted, data["s"], y_true=data["y"], notion=notion, sample_weight=weight, classes=range(3)
        )
        assert found.record.notion == table.notion
        for name in NAMES:
            assert found.record.measure(name, soft=soft).value == pytest.approx(value_of(name, table), abs=1e-12)


def test_a_condition_of_the_users_own() -> None:
    data = rows()
    z = [None if i % 7 == 0 else "north" if i % 2 else "south" for i in range(600)]
    notion = ConditionalParity(z)
    found = audit(data["y"], data["labels"], sensitive_features=data["s"], notion=notion, n_boot=200)
    for name in ("ermi", "parity_difference"):
        peer = value_of(name, Contingency.from_predictions(data["labels"], data["s"], notion=notion))
        assert found.record.measure(name).value == pytest.approx(peer)
    plain = audit(data["y"], data["labels"], sensitive_features=data["s"], n_boot=200)
    pd.testing.assert_frame_equal(
        frame_of(found), frame_of(plain)
    )  # rates of groups are of all rows, whatever the notion


def test_chi_squared_is_scipys() -> None:
    data = rows()
    counts = pd.crosstab(data["s"], data["labels"]).to_numpy()
    peer = chi2_contingency(counts, correction=False)
    found = audit(None, data["labels"], sensitive_features=data["s"]).record
    assert 600 * found.measure("ermi").value == pytest.approx(peer.statistic)
    data["labels"] = np.random.default_rng(5).permutation(data["labels"])
    counts = pd.crosstab(data["s"], data["labels"]).to_numpy()
    found = audit(None, data["labels"], sensitive_features=data["s"]).record
    assert found.p_value == pytest.approx(chi2_contingency(counts, correction=False).pvalue, abs=0.03)


def test_the_permutation_p_value_is_that_of_all_permutations() -> None:
    s, labels = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 2, 2, 0])
    seen = fermi.ermi(labels, s)
    every = [fermi.ermi(list(order), s) >= seen - 1e-12 for order in set(permutations(labels.tolist()))]
    table = Contingency.from_predictions(labels, s).table
    found = permutation_p_value(table, 20_000, 0)
    assert found == pytest.approx(np.mean(every), abs=0.015)


def test_permutations_stay_within_conditions() -> None:
    """Labels almost equal the condition: dependent on the group over all rows, not within either condition."""
    z = np.repeat([0, 1], 50)
    s = np.r_[np.zeros(40), np.ones(10), np.zeros(10), np.ones(40)].astype(int)
    labels = np.where(np.arange(100) % 10 == 9, 1 - z, z)
    parity = audit(z, labels, sensitive_features=s, n_boot=200).record
    odds = audit(z, labels, sensitive_features=s, notion="equalized_odds", n_boot=200).record
    assert parity.p_value is not None
    assert parity.p_value < 0.01
    assert odds.measure("ermi").value == pytest.approx(0.0, abs=1e-30)
    assert odds.p_value == 1.0
    assert odds.measure("parity_difference").high > 0.05  # no violation seen, yet not none for certain
    same = audit(z, z, sensitive_features=s, notion="equalized_odds").record
    assert "every prediction is the same under each condition" in same.measure("ermi").note


def test_every_bound_is_one_of_the_measures_bounds() -> None:
    statements = {bound.statement for bound in fermi.bounds(Contingency(np.arange(1, 13).reshape(3, 4)))}
    assert set(BOUNDS.values()) <= statements
    assert set(BOUNDS) == {*NAMES} - {"parity_ratio"}
    plain = {name.partition("(")[0] for name in NAMES}
    assert plain == set(fermi.measures.MEASURES)


def test_calibration_is_scikit_learns() -> None:
    data = rows(m=2)
    for s, group in enumerate(audit(data["y"], data["F"], sensitive_features=data["s"], n_boot=200).record.groups):
        mine = data["s"] == s
        p, y = data["F"][mine, 1], data["y"][mine]
        observed, predicted = calibration_curve(y, p, n_bins=N_BINS)
        assert [b.observed.value for b in group.calibration] == pytest.approx(observed)
        assert [b.predicted for b in group.calibration] == pytest.approx(predicted)
        assert {b.outcome for b in group.calibration} == {"1"}
        sizes = np.array([b.rows for b in group.calibration])
        assert sizes.sum() == mine.sum()
        assert group.calibration_error == pytest.approx(sizes @ np.abs(observed - predicted) / mine.sum())
        first = group.calibration[0].observed
        peer = binomtest(round(first.value * sizes[0]), int(sizes[0])).proportion_ci(method="wilson")
        assert (first.low, first.high) == pytest.approx((peer.low, peer.high), abs=1e-12)
