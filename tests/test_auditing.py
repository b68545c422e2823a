"""The audit against fairlearn, scipy, brute force and hand-made cases."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest, chi2_contingency
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, confusion_matrix

import fermi
from fermi import ConditionalParity, Contingency, EqualOpportunity, FermiError, audit
from fermi.auditing._independence import permutation_p_value
from fermi.auditing._measured import BOUNDS, value_of
from fermi.auditing._noise import Sums
from fermi.auditing._tally import N_BINS
from fermi.datasets import synthetic
from fermi.formulas.stacked import NAMES, measures

Rows = dict[str, Any]


def rows(n: int = 600, k: int = 4, m: int = 3, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    s = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    y = rng.integers(0, m, n)
    F = rng.dirichlet(np.ones(m), n) + np.eye(m)[y] * rng.random((n, 1)) + 0.3 * np.eye(m)[s % m]
    F /= F.sum(axis=1, keepdims=True)
    return {"y": y, "s": s, "F": F, "labels": F.argmax(axis=1), "w": rng.integers(1, 5, n).astype(float)}


def frame_of(found: fermi.Audit) -> Any:
    return found.frame  # of any type: the stubs of pandas know of every kind of entry


def estimates(found: fermi.Audit) -> dict[str, tuple[float, float, float]]:
    return {f"{m.name} {m.soft}": (m.estimate.value, m.estimate.low, m.estimate.high) for m in found.record.measures}


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
        y_true=data["y"], y_pred=data["labels"], sensitive_features=data["s"],
        sample_params=None if not weighted else dict.fromkeys(names, params),
    ).by_group  # fmt: skip
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


def test_measures_of_a_stack_are_those_of_its_tables() -> None:
    rng = np.random.default_rng(0)
    for shape in [(1, 2, 2), (2, 5, 3), (3, 2, 4), (1, 3, 6)]:
        stack = rng.poisson(2.0, (30, *shape)).astype(float)
        stack[:, 0, 0] += 1.0
        stack[3, :, -1] = 0.0  # an absent group
        stack[4, -1, :-1] = 0.0
        for found, table in zip(measures(stack).T, stack, strict=True):
            peer = [value_of(name, Contingency(table)) for name in NAMES]
            assert found == pytest.approx(peer, abs=1e-7)


def test_every_bound_is_one_of_the_measures_bounds() -> None:
    statements = {bound.statement for bound in fermi.bounds(Contingency(np.arange(1, 13).reshape(3, 4)))}
    assert set(BOUNDS.values()) <= statements
    assert set(BOUNDS) == {*NAMES} - {"parity_ratio"}
    plain = {name.partition("(")[0] for name in NAMES}
    assert plain == set(fermi.measures.MEASURES)


@pytest.mark.parametrize("violation", [0.0, 0.4])
@pytest.mark.parametrize("soft", [False, True])
def test_the_bias_of_ermi_is_taken_off(violation: float, soft: bool) -> None:
    """The mean of the plug-in value less its bias is the truth, at independence and far from it."""
    rng = np.random.default_rng(3)
    sizes = np.array([40, 60, 200])
    rates = np.array([0.5, 0.3, 0.2]) + violation * np.array([[-0.5, 0, 0.5], [0, 0.1, -0.1], [0.4, -0.2, -0.2]])
    rates = np.maximum(rates, 0.02)
    rates /= rates.sum(axis=1, keepdims=True)
    truth = fermi.ermi(Contingency(sizes[:, None] * rates))
    plain, corrected = [], []
    for _ in range(1500):
        if soft:
            F = [rng.dirichlet(3.0 * r, n) for r, n in zip(rates, sizes, strict=True)]
            sums = Sums(np.array([[f.sum(0) for f in F]]), np.array([[f.T @ f for f in F]]), soft=True)
        else:
            counts = rng.multinomial(sizes, rates)[None].astype(float)
            sums = Sums(counts, counts, soft=False)
        plain.append(fermi.ermi(Contingency(sums.table)))
        corrected.append(plain[-1] - sums.ermi_bias())
    error = np.std(corrected) / np.sqrt(len(corrected))
    assert abs(np.mean(corrected) - truth) < 4 * error + 0.02 * truth
    assert np.mean(plain) - truth > 8 * error


def test_independence_has_the_textbook_bias() -> None:
    counts = np.full((1, 3, 4), 1000.0)
    assert Sums(counts, counts, soft=False).ermi_bias() == pytest.approx(2 * 3 / 12_000, rel=1e-3)


def test_a_random_attribute_is_consistent_with_no_violation() -> None:
    """Intervals hold 0 (1 for the ratio) about as often as they should, with many small groups too."""
    rng = np.random.default_rng(11)
    held = np.zeros(len(NAMES))
    for _ in range(40):
        labels, s, y = rng.choice(3, 900, p=[0.6, 0.3, 0.1]), rng.integers(0, 8, 900), rng.integers(0, 2, 900)
        record = audit(y, labels, sensitive_features=s, notion="equalized_odds", n_boot=200).record
        truth = [float(name == "parity_ratio") for name in NAMES]
        held += [record.measure(n).low <= t <= record.measure(n).high for n, t in zip(NAMES, truth, strict=True)]
        assert record.corrected_ermi is not None
        assert record.corrected_ermi.value < record.measure("ermi").value
    assert (held >= 34).all(), dict(zip(NAMES, held, strict=True))


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_intervals_cover_on_the_synthetic_population(notion: str) -> None:
    """A small version of benchmarks/bench_coverage.py: 120 draws, so that nominal 95% may show as 89%."""
    population = synthetic(1, 3, 4, 0.8).population
    law = population.contingency("equalized_odds").table
    table = Contingency(law if notion == "equalized_odds" else law.sum(axis=0, keepdims=True))
    truth = {name: value_of(name, table) for name in NAMES}
    rng = np.random.default_rng(2)
    held, rates = dict.fromkeys(NAMES, 0), []
    for _ in range(120):
        y, s, v = np.unravel_index(rng.choice(law.size, 1500, p=law.ravel()), law.shape)
        found = audit(y, v, sensitive_features=s, notion=notion, n_boot=200, random_state=rng)
        for name in NAMES:
            estimate = found.record.measure(name)
            held[name] += estimate.low <= truth[name] <= estimate.high
        for group, true in zip(found.record.groups, population.unfair_rates, strict=True):
            rates += [e.low <= r <= e.high for e, r in zip(group.rates.values(), true, strict=True)]
    assert min(held.values()) >= 105, held
    assert 0.93 <= np.mean(rates) <= 0.97


def test_a_gap_that_is_there_is_found() -> None:
    """Intervals that cover everything would pass the tests above."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 3000)
    labels = (rng.random(3000) < 0.3 + 0.1 * s).astype(int)
    found = audit(None, labels, sensitive_features=s).record
    gap = found.measure("parity_difference")
    assert gap.low > 0.1
    assert gap.high - gap.low < 0.12
    assert found.measure("ermi").low > 0.005
    assert found.measure("parity_ratio").high < 0.8
    assert found.p_value is not None
    assert found.p_value < 0.001


def test_the_order_of_rows_does_not_matter() -> None:
    data = rows()
    order = np.random.default_rng(1).permutation(600)
    plain = audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=data["w"], n_boot=200)
    mixed = audit(
        data["y"][order], data["F"][order], sensitive_features=data["s"][order], sample_weight=data["w"][order],
        n_boot=200,
    )  # fmt: skip
    pd.testing.assert_frame_equal(frame_of(plain), frame_of(mixed))
    for name, found in estimates(plain).items():
        assert estimates(mixed)[name] == pytest.approx(found, rel=1e-6, abs=1e-9)


def test_groups_named_otherwise_give_the_same_values() -> None:
    data = rows()
    plain = audit(data["y"], data["labels"], sensitive_features=data["s"], n_boot=200)
    other = audit(data["y"], data["labels"], sensitive_features=np.array(list("dcba"))[data["s"]], n_boot=200)
    assert list(frame_of(other).index) == list("abcd")
    columns = [c for c in frame_of(plain) if c != "note"]
    assert np.array_equal(frame_of(plain)[columns].to_numpy()[::-1], frame_of(other)[columns].to_numpy())
    for name in set(NAMES) - {"pearson_correlation"}:
        assert plain.record.measure(name).value == pytest.approx(other.record.measure(name).value)


def test_whole_weights_are_repeated_rows_in_value_and_one_observation_in_width() -> None:
    data = rows()
    times = data["w"].astype(int)
    weighted = audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=data["w"], n_boot=200)
    repeated = audit(
        *(np.repeat(data[c], times, axis=0) for c in ("y", "F")), sensitive_features=np.repeat(data["s"], times),
        n_boot=200,
    )  # fmt: skip
    values = [c for c in frame_of(weighted) if c != "rows" and not c.endswith(("_low", "_high", "note"))]
    assert frame_of(weighted)[values].to_numpy(float) == pytest.approx(frame_of(repeated)[values].to_numpy(float))
    for name, found in estimates(weighted).items():
        assert found[0] == pytest.approx(estimates(repeated)[name][0])
    width = [(f["rate_0_high"] - f["rate_0_low"]).to_numpy() for f in (frame_of(weighted), frame_of(repeated))]
    assert (width[0] > width[1]).all()
    assert list(frame_of(weighted)["rows"]) == np.bincount(data["s"]).tolist()


def test_constant_weights_change_nothing() -> None:
    data = rows()
    plain = audit(data["y"], data["F"], sensitive_features=data["s"], n_boot=200)
    weighted = audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=np.full(600, 0.25), n_boot=200)
    columns = [c for c in frame_of(plain) if c != "note"]
    assert frame_of(plain)[columns].to_numpy(float) == pytest.approx(frame_of(weighted)[columns].to_numpy(float))
    for name, found in estimates(plain).items():
        assert estimates(weighted)[name] == pytest.approx(found, rel=1e-9, abs=1e-12)


def test_a_row_without_weight_is_absent() -> None:
    data = rows(n=200)
    weight = np.r_[np.zeros(50), np.ones(150)]
    data["s"][:20] = 9
    found = audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=weight, n_boot=200)
    part = audit(data["y"][50:], data["F"][50:], sensitive_features=data["s"][50:], n_boot=200)
    columns = [c for c in frame_of(part) if c != "note"]
    assert list(frame_of(found).index) == list(frame_of(part).index)
    assert frame_of(found)[columns].to_numpy(float) == pytest.approx(frame_of(part)[columns].to_numpy(float))


def test_probabilities_and_their_labels_are_kept_apart() -> None:
    data = rows()
    both = audit(data["y"], data["F"], sensitive_features=data["s"], n_boot=200)
    hard = audit(data["y"], data["labels"], sensitive_features=data["s"], n_boot=200)
    assert [m for m in both.record.measures if not m.soft] == list(hard.record.measures)
    frame: Any = both.measures.set_index(["measure", "kind"])
    gap = frame.loc[("ermi", "soft"), "value"] - frame.loc[("ermi", "hard"), "value"]
    assert frame.loc[("ermi", "soft"), "gap"] == gap
    assert both.record.error_soft == pytest.approx(1 - data["F"][np.arange(600), data["y"]].mean())
    assert hard.record.error_soft is None
    assert hard.record.p_value_soft is None
    mean = data["F"][data["s"] == 2].mean(axis=0)
    assert frame_of(both).loc["2", ["soft_rate_0", "soft_rate_1", "soft_rate_2"]].to_numpy(float) == pytest.approx(mean)
    half = 1.959964 * data["F"][data["s"] == 2][:, 0].std(ddof=1) / np.sqrt((data["s"] == 2).sum())
    assert frame_of(both).loc["2", "soft_rate_0_high"] - mean[0] == pytest.approx(half, rel=1e-6)


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


def test_what_cannot_be_estimated_is_nan_with_its_reason() -> None:
    y, labels, s = [1, 0, 0, 0, 1], [1, 0, 0, 1, 1], list("aabbc")
    found = audit(y, labels, sensitive_features=s, notion="equalized_odds", n_boot=200)
    assert math.isnan(frame_of(found).loc["b", "tpr_1"])
    assert math.isnan(frame_of(found).loc["c", "fpr_1"])
    assert "no row is 1" in frame_of(found).loc["b", "note"]
    assert "fewer than 30 rows" in frame_of(found).loc["a", "note"]
    assert found.record.groups[1].tpr["1"].note == "no row is 1"
    assert any("'b under 1', 'c under 0'" in note or "'c under 0', 'b under 1'" in note for note in found.record.notes)
    one = audit(y, labels, sensitive_features=["a"] * 5)
    assert "nothing to compare" in one.record.measure("ermi").note
    assert math.isnan(one.record.measure("ermi").high)
    assert one.record.p_value is None
    same = audit(y, [1] * 5, sensitive_features=s)
    assert "every prediction is the same" in same.record.measure("ermi").note
    assert same.record.measure("ermi").value == 0.0


def test_few_rows_of_a_true_class_are_pointed_out() -> None:
    y = [1] * 3 + [0] * 97
    assert frame_of(audit(y, y, sensitive_features=["a"] * 60 + ["b"] * 40)).loc["a", "note"].startswith("few rows")


def test_withheld_groups_enter_no_figure() -> None:
    data = rows(n=400)
    least = 60
    sizes = np.bincount(data["s"])
    hidden = np.flatnonzero(sizes < least)
    assert len(hidden) == 1
    found = audit(data["y"], data["F"], sensitive_features=data["s"], min_group_size=least, n_boot=200)
    changed = {c: data[c].copy() for c in ("y", "F")}
    mine = data["s"] == hidden[0]
    changed["y"][mine] = 0
    changed["F"][mine] = [0.2, 0.5, 0.3]
    other = audit(changed["y"], changed["F"], sensitive_features=data["s"], min_group_size=least, n_boot=200)
    assert found.record == other.record or repr(found.record) == repr(other.record)
    kept = ~mine
    alone = audit(data["y"][kept], data["F"][kept], sensitive_features=data["s"][kept], n_boot=200)
    assert estimates(found) == estimates(alone)
    assert (found.record.rows, found.record.error) == (alone.record.rows, alone.record.error)
    row = frame_of(found).loc[str(hidden[0])]
    assert row.drop("note").isna().all()
    assert row["note"] == "withheld: fewer than 60 rows"
    assert "withheld" in repr(found)


def test_unknown_groups_are_counted_and_left_out() -> None:
    data = rows()
    s = data["s"].astype(object)
    s[:100] = None
    found = audit(data["y"], data["labels"], sensitive_features=s).record
    assert (found.rows, found.unknown) == (600, 100)
    assert sum(group.rows for group in found.groups) == 500
    part = audit(data["y"][100:], data["labels"][100:], sensitive_features=data["s"][100:]).record
    assert found.measures == part.measures
    assert found.error is not None
    assert found.error.value == pytest.approx(np.mean(data["y"] != data["labels"]))


def test_several_columns_are_their_combinations() -> None:
    data = rows()
    sex, age = np.where(data["s"] % 2, "F", "M"), data["s"] // 2
    frame = pd.DataFrame({"sex": sex, "age": age})
    joint = audit(data["y"], data["labels"], sensitive_features=frame)
    merged = audit(data["y"], data["labels"], sensitive_features=[f"{a} {b}" for a, b in zip(sex, age, strict=True)])
    assert joint.record.measures == merged.record.measures
    assert joint.record.columns == ("sex", "age")
    assert frame_of(joint).index[0] == "sex=F, age=0"


def test_any_library_and_any_labels() -> None:
    data = rows(n=200)
    words = np.array(["low", "mid", "top"])
    plain = audit(words[data["y"]], words[data["labels"]], sensitive_features=data["s"], n_boot=200)
    for make in (pd.Series, pl.Series, list):
        other = audit(
            make(words[data["y"]]), make(words[data["labels"]]), sensitive_features=make(data["s"]), n_boot=200
        )
        assert other.record.measures == plain.record.measures
    F = pd.DataFrame(data["F"], columns=words)
    named = audit(words[data["y"]], F, sensitive_features=data["s"], n_boot=200)
    bare = audit(words[data["y"]], data["F"], sensitive_features=data["s"], n_boot=200)  # the sorted labels
    assert named.record == bare.record or repr(named.record) == repr(bare.record)
    assert [m for m in named.record.measures if not m.soft] == list(plain.record.measures)


def test_true_classes_never_predicted() -> None:
    found = audit([0, 1, 2, 2], [0, 1, 1, 0], sensitive_features=list("abab"), n_boot=200)
    assert found.record.classes == ("0", "1", "2")
    assert frame_of(found).loc["a", "tpr_2"] == 0.0
    assert found.record.error is not None
    assert found.record.error.value == 0.5


def test_seeds_and_draws() -> None:
    data = rows()
    one, same, other = (
        audit(data["y"], data["F"], sensitive_features=data["s"], random_state=r, n_boot=200) for r in (0, 0, 1)
    )
    assert estimates(one) == estimates(same)
    assert estimates(one) != estimates(other)
    wide = audit(data["y"], data["F"], sensitive_features=data["s"], confidence=0.99, n_boot=200)
    for name, (_, low, high) in estimates(one).items():
        assert estimates(wide)[name][1] <= low + 1e-9
        assert estimates(wide)[name][2] >= high - 1e-9


BAD: dict[str, tuple[Rows, str]] = {
    "no rows": ({"y_true": [], "y_pred": [], "sensitive_features": []}, "is empty"),
    "lengths": ({"y_pred": [1, 0, 1]}, "`sensitive_features` has 4 rows; expected 3"),
    "indexes": ({"y_true": pd.Series([1, 0, 1, 0], [3, 2, 1, 0]), "y_pred": pd.Series([1, 0, 1, 0])}, "another index"),
    "NaN predictions": ({"y_pred": [1, None, 1, 0]}, "`y_pred` has 1 missing"),
    "NaN probabilities": ({"y_pred": np.array([[0.5, 0.5], [np.nan, 0.5], [1, 0], [0, 1]])}, "has the row 1"),
    "NaN labels": ({"y_true": [1.0, np.nan, np.nan, 0.0]}, "`y_true` has 2 missing"),
    "no labels": ({"y_true": None, "notion": "equalized_odds"}, "conditions on it"),
    "other labels": ({"y_true": ["1", "0", "1", "0"]}, "labels such as those of `y_true`"),
    "labels outside": ({"y_true": [1, 0, 2, 0], "classes": [0, 1]}, "`y_true` holds 2"),
    "predictions outside": ({"y_pred": [1, 0, 2, 0], "classes": [0, 1]}, "`y_pred` holds 2"),
    "no such column": ({"y_true": [1, 0, 5, 0], "y_pred": np.full((4, 2), 0.5)}, "`y_true` holds 5"),
    "confidence": ({"confidence": 1.0}, "`confidence` is 1.0"),
    "size": ({"min_group_size": 2.5}, "`min_group_size` is 2.5"),
    "all withheld": ({"min_group_size": 3}, "more rows than any group has"),
    "draws": ({"n_boot": 10}, "`n_boot` is 10"),
    "no groups": ({"sensitive_features": [None] * 4}, "unknown in every row"),
    "weights": ({"sample_weight": [1e-200, 1, 1, 1]}, "can be squared"),
    "advantaged": ({"notion": EqualOpportunity("yes")}, "does not occur"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case: str) -> None:
    changes, words = BAD[case]
    given: Rows = {"y_true": [1, 0, 1, 0], "y_pred": [1, 1, 0, 0], "sensitive_features": list("aabb")} | changes
    with pytest.raises(FermiError) as caught:
        audit(given.pop("y_true"), given.pop("y_pred"), **given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_text_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    data = rows()
    names = np.array(["a very long name of a group that goes on and on", "北海道の人々", "x\ny", "z"])
    s = pd.DataFrame({"place": names[data["s"]]})
    text = repr(audit(data["y"], data["F"], sensitive_features=s, notion="equalized_odds", n_boot=200))
    assert max(len(line) for line in text.splitlines()) <= max(columns, 75)
    assert "parity_difference" in text
    for word in ("pass", "fail", "unfair", "discriminat"):
        assert word not in text.lower()


def test_html(tmp_path: Path) -> None:
    data = rows(n=200)
    s = np.array(["<script>alert(1)</script>", "b", "c", "d"])[data["s"]]
    found = audit(data["y"], data["F"], sensitive_features=s, min_group_size=25, n_boot=200)
    assert "<script>" not in found._repr_html_()
    path = found.to_html(tmp_path / "audit.html")
    assert path.exists()
    assert "<script>alert" not in path.read_text(encoding="utf-8")


def test_many_groups_are_drawn_less_often_but_still_measured() -> None:
    rng = np.random.default_rng(0)
    s, labels = rng.integers(0, 1000, 20_000), rng.integers(0, 2, 20_000)
    found = audit(None, labels, sensitive_features=s, n_boot=200).record
    ermi = found.measure("ermi")
    assert ermi.value > 0.04  # all of it noise: 999 / 20,000
    assert ermi.low == 0.0
    assert found.corrected_ermi is not None
    assert found.corrected_ermi.value < 0.005
    assert found.p_value is not None
    assert found.p_value > 0.01
