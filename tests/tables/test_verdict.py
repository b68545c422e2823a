"""A request: met, missed or not to be told; what it cost whom; and which label people want."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fermi.auditing import audited_groups, audits_by_column
from fermi.errors import FermiError
from fermi.inputs.coded_groups import CodedGroups
from fermi.records import AuditRecord
from fermi.tables.asked import Asked
from fermi.tables.favourable import favourable_label, known_favourable
from fermi.tables.price import price
from fermi.tables.telling import summary, title, useless
from fermi.tables.verdict import judge


def audits(n: int, rates: tuple[float, ...], *, small: float | None = None, **options: Any) -> dict[str, AuditRecord]:
    """Audits of groups of `n` rows that are given 1 at these rates; and of a group of 20 rows."""
    sizes = [n] * len(rates) + ([20] if small is not None else [])
    parts = [*rates, *([small] if small is not None else [])]
    s = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.concatenate([np.arange(m) < round(rate * m) for m, rate in zip(sizes, parts, strict=True)]).astype(int)
    y = np.where(np.arange(len(labels)) % 4 == 0, 1 - labels, labels)
    found = audited_groups(s, "intersection")
    return audits_by_column("test", y, labels, found, classes=[0, 1], judge=True, favourable=1, n_boot=200, **options)


def outcome_of(asked: Asked, found: dict[str, AuditRecord], **options: bool) -> str:
    verdict = judge(asked, found, **options)
    assert verdict is not None
    return verdict.outcome


@pytest.mark.parametrize(
    ("n", "rates", "outcome"),
    [(4000, (0.5, 0.51), "met"), (4000, (0.5, 0.6), "missed"), (200, (0.5, 0.52), "undecided")],
)
def test_a_gap_is_met_missed_or_not_to_be_told(n: int, rates: tuple[float, ...], outcome: str) -> None:
    found = judge(Asked(0.05), audits(n, rates))
    assert found is not None
    assert found.outcome == outcome == found.bounds[0].outcome
    begin = {"met": "Met: ", "missed": "Missed: ", "undecided": "Cannot be told with these rows: "}[outcome]
    gap = rates[1] - rates[0]
    assert found.sentence.startswith(f"{begin}a gap between groups of at most 0.05 was asked for; it is {gap:.3f} [")
    assert f"{2 * n:,} rows" in found.sentence
    assert (" such rows would tell" in found.sentence) == (outcome == "undecided")


def test_how_many_rows_would_tell_and_who_kept_the_bound_where_nothing_was_done() -> None:
    found = judge(Asked(0.05), audits(200, (0.5, 0.52)), needless=True)
    assert found is not None
    half, away = found.bounds[0].reached.high - 0.02, 0.03
    rows = float(f"{(half / away) ** 2 * 400:.2g}")
    assert f" About {rows:,.0f} such rows would tell" in found.sentence
    assert "nothing had to be done" not in found.sentence, "where nothing can be told"
    assert found.sentence.endswith("kept it on the rows of the choice, and so it was left as it is.")


def test_nothing_asked_is_nothing_judged() -> None:
    assert judge(Asked(), audits(100, (0.5, 0.6))) is None


def test_small_groups_can_show_a_miss_and_no_more() -> None:
    assert outcome_of(Asked(0.1), audits(4000, (0.5, 0.51), small=0.55)) == "met"
    assert outcome_of(Asked(0.1), audits(4000, (0.5, 0.51), small=1.0)) == "missed"


def test_what_no_choice_kept_on_other_rows_is_missed_where_the_number_is_beyond_it() -> None:
    beyond, within = audits(200, (0.5, 0.6)), audits(200, (0.5, 0.52))
    assert [outcome_of(Asked(0.05), rows, kept=False) for rows in (beyond, within)] == [
        "missed",
        "undecided",
    ]


@pytest.mark.parametrize(
    ("asked", "outcome", "words"),
    [
        ({"min_ratio": 0.7}, "met", "a ratio of groups’ rates of “1” of at least 0.7"),
        ({"min_ratio": 0.95}, "missed", "it is 0.833 ["),
        ({"min_ratio": 0.84}, "undecided", "0.84"),
        ({"min_rate": 0.4}, "met", "a rate of “1” in every group of at least 0.4"),
        ({"min_rate": 0.6}, "missed", "it is 0.500 ["),
        ({"max_rate": 0.6}, "met", "a rate of “1” over all rows of at most 0.6"),
        ({"max_rate": 0.5}, "missed", "it is 0.550 ["),
        ({"max_rate": 0.6, "min_rate": 0.6}, "missed", "at least 0.6"),
        ({"max_violation": 0.05, "slack": 9.0}, "met", "at most 0.05, with its slack 0.213, was"),
    ],
)
def test_every_bound_has_its_verdict(asked: dict[str, float], outcome: str, words: str) -> None:
    found = judge(Asked(**asked), audits(3000, (0.5, 0.6)))
    assert found is not None
    assert found.outcome == outcome
    assert words in found.sentence


def test_titles_call_a_model_fair_only_where_it_is() -> None:
    seen = [(4000, (0.5, 0.51)), (4000, (0.5, 0.6)), (200, (0.5, 0.52))]
    verdicts = [judge(Asked(0.05), audits(n, rates)) for n, rates in seen]
    titles = [title("x", verdict, useful=True) for verdict in verdicts]
    assert titles[0] == "A fair model of x"
    assert not any("fair model" in words for words in titles[1:])
    assert "fair model" not in title("x", verdicts[0], useful=False)
    assert title("x", None, useful=True) == "A model of x"


def test_a_price_is_of_pairs_and_says_who_gains_and_who_loses() -> None:
    rng = np.random.default_rng(0)
    y, before = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    after = before.copy()
    after[:30] = 1 - after[:30]
    groups = {"": CodedGroups.read(np.arange(400) % 4)}
    found = price(y, before, after, groups, 1)
    assert found.error.value == pytest.approx((after != y).mean() - (before != y).mean())
    apart = math.sqrt(2 * 0.25 / 400) * 1.96
    assert 0.02 < found.error.high - found.error.low < apart, "narrower than if other people had been asked"
    assert found.changed == pytest.approx(30 / 400)
    everybody, first = found.moves[:2]
    assert (everybody.group, everybody.rows) == ("everybody", 400)
    assert everybody.gain == pytest.approx(1000 * ((before == 0) & (after == 1)).mean())
    own = np.arange(400) % 4 == 0
    assert first.lose == pytest.approx(1000 * ((before == 1) & (after == 0))[own].mean())
    assert price(y, before, before, groups, None).moves == ()


def test_sentences_name_the_rate_the_ratio_the_rest_and_the_price() -> None:
    before, after = audits(1000, (0.4, 0.6))["test"], audits(1000, (0.5, 0.55), small=0.0)["test"]
    y = np.arange(2020) % 2
    paid = price(y, np.zeros(2020, dtype=int), y, {"": CodedGroups.read(np.arange(2020) % 2)}, 1)
    told = " ".join(summary(before, after, paid))
    for words in (
        "“1” is given to 55.0% of 1 (1,000 rows) and 50.0% of 0 (1,000 rows). The gap of the plain model is 0.200.",
        "The four-fifths ratio, the lowest over the highest rate of “1”, is 0.909 [",
        "Not judged, having fewer than 30 rows: 2 (20).",
        "Price: -50.0 points of error [",
        "Of 1,000 people 500 gain and 0 lose “1”",
    ):
        assert words in told
    assert useless(after) == ""


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [
        ([0, 1], 1),
        ([False, True], True),
        (["no", "yes"], "yes"),
        (["N", "Y"], "Y"),
        (["approved", "denied"], "approved"),
        (["approved", "rejected"], "approved"),
        (["Bad", "Good"], "Good"),
        (["fail", "pass"], "pass"),
        (["<=50K", ">50K"], None),
        ([1, 2], None),
        (["no", "maybe", "yes"], None),
        (["blue", "green"], None),
    ],
)
def test_the_label_that_people_want_is_known_of_plain_pairs_alone(classes: list[Any], wanted: Any) -> None:
    assert known_favourable(classes) == wanted


@pytest.mark.parametrize("target", ["deny", "Loan denied", "arrest", "two_year_recid", "Readmitted", "default", "died"])
def test_yes_is_not_wanted_of_a_target_that_names_something_bad(target: str) -> None:
    assert known_favourable(["no", "yes"], target) is None
    assert known_favourable([0, 1], target) is None
    assert known_favourable(["approved", "denied"], target) == "approved", "words say it by themselves"


@pytest.mark.parametrize("target", ["hired", "admitted", "graduated", "identity", "studied", "skill", "Care program"])
def test_yes_is_wanted_of_other_targets(target: str) -> None:
    assert known_favourable(["no", "yes"], target) == "yes"


def test_a_label_that_cannot_be_known_is_asked_for() -> None:
    assert favourable_label([], ["blue", "green"]) is None
    assert favourable_label(["blue"], ["blue", "green"], "`min_ratio`") == "blue"
    assert favourable_label(["2"], [1, 2]) == 2
    with pytest.raises(FermiError, match="by `advantaged` 'blue' or `advantaged` 'green'"):
        favourable_label([], ["blue", "green"], "`min_ratio`")
    with pytest.raises(FermiError, match="is about one label"):
        favourable_label(["a", "b"], ["a", "b", "c"], "`min_ratio`")
