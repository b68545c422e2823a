"""Two predictions compared, and decisions followed over days."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, precision_score, recall_score, roc_auc_score

import fermi
from fermi import RunningAudit, compare, parity_difference
from fermi.auditing import follow
from tests.auditing.samples import rows


@pytest.mark.parametrize("weighted", [False, True])
def test_both_figures_are_scikit_learns_and_the_second_less_the_first(weighted: bool) -> None:
    data, other = rows(m=2), rows(m=2, seed=1)
    w = data["w"] if weighted else None
    first, second = data["F"], 0.5 * data["F"] + 0.5 * other["F"]
    found = compare(data["y"], first, second, sensitive_features=data["s"], sample_weight=w)
    for group, own in (("everybody", data["s"] >= 0), ("3", data["s"] == 3)):
        y, some = data["y"][own], None if w is None else w[own]
        peers = []
        for F in (first[own], second[own]):
            label = F.argmax(axis=1)
            figures = {f.__name__: f(y, label, sample_weight=some) for f in (precision_score, recall_score)}
            wrong = 1 - accuracy_score(y, label, sample_weight=some)
            peers.append([wrong, *figures.values(), roc_auc_score(y, F[:, 1], sample_weight=some)])
        for k, name in enumerate(("error", "precision_1", "tpr_1", "auc_1")):
            one = found.of(name, group)
            assert (one.first, one.second) == pytest.approx((peers[0][k], peers[1][k]))
            assert one.change.value == pytest.approx(peers[1][k] - peers[0][k])
            assert one.change.low <= one.change.value <= one.change.high
    gap = found.of("parity_difference")
    assert gap.first == pytest.approx(parity_difference(first.argmax(axis=1), data["s"], sample_weight=w))


def test_the_same_predictions_do_not_differ_and_pairs_tell_more_than_two_audits() -> None:
    data = rows(m=2, n=2000)
    same = compare(data["y"], data["labels"], data["labels"], sensitive_features=data["s"])
    assert not same.frame["beyond_noise"].any()
    flipped = np.where(np.arange(2000) % 40 == 0, 1 - data["y"], data["labels"])
    worse = compare(data["y"], data["labels"], flipped, sensitive_features=data["s"]).of("error")
    separate = fermi.audit(data["y"], flipped, sensitive_features=data["s"], n_boot=200).record.error
    assert separate is not None
    assert worse.change.high - worse.change.low < separate.high - separate.low
    assert worse.beyond_noise


def test_predictions_without_an_error_or_alike_for_everybody_can_be_compared() -> None:
    data = rows(m=2, n=800)
    same = np.zeros(800, dtype=int)
    for notion, first in (("equal_opportunity", data["y"]), ("demographic_parity", same)):
        found = compare(data["y"], first, data["labels"], sensitive_features=data["s"], notion=notion)
        gap = found.of("parity_difference")
        assert gap.first == 0.0
        assert gap.change.low <= gap.second <= gap.change.high


def day(seed: int, drift: float) -> RunningAudit:
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "west"], 800)
    granted = rng.random(800) < 0.5 - drift * (region == "west")
    return RunningAudit().add(None, np.where(granted, "yes", "no"), sensitive_features=region)


def test_a_day_on_which_the_gap_moved_is_named_and_no_other() -> None:
    quiet = follow({f"{k}": day(k, 0.0) for k in range(12)}, favourable="yes")
    assert not any(period.moves for period in quiet)
    found = follow({f"{k}": day(k, 0.25 * (k == 9)) for k in range(12)}, favourable="yes")
    moved = [period for period in found if period.moves]
    assert [period.period for period in moved] == ["9"]
    assert "the gap moved by +0." in moved[0].moves[0]
    assert "of west after" in moved[0].moves[1]
    assert moved[0].gap.low > 0.1
    since = follow({"today": day(40, 0.25)}, reference=day(41, 0.0), favourable="yes")
    assert since[0].moves
