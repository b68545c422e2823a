"""What a colleague sees who has a minute: verdict, gain, price, one picture; and what can be kept of the page."""

from __future__ import annotations

import csv
import functools
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fermi.auditing import audit
from fermi.records import (
    AuditRecord,
    BoundRecord,
    Estimate,
    MoveRecord,
    Outcome,
    PointRecord,
    PriceRecord,
    ReportRecord,
    VerdictRecord,
)
from tests.report.browsing import Opened, Opener
from tests.report.samples import HOSTILE, SAMPLES, report

pytest.importorskip("playwright.sync_api", reason="the browser is driven with playwright")
pytestmark = pytest.mark.slow  # all of them drive a browser


@functools.cache
def judged(k: int, n: int, lean: float, notion: str = "demographic_parity", tiny: int = 0) -> AuditRecord:
    """An audit of drawn labels of `k` groups that lean apart, the last `tiny` of them with four rows each."""
    rng = np.random.default_rng([k, n])
    s = np.r_[rng.integers(k - tiny, size=n), np.repeat(np.arange(k - tiny, k), 4)]
    y = rng.random(len(s)) < 0.5
    given = rng.random(len(s)) < 0.2 + 0.4 * y + lean * s / k
    given[s >= k - tiny] = True
    names = np.array([f"P{i:03d}" for i in range(k)])[s]
    words = np.array(["0", "1"])
    return (
        audit(words[y.astype(int)], words[given.astype(int)], sensitive_features={"place": names}, notion=notion)
        .judged("1")
        .record
    )


def asked(after: AuditRecord, outcome: Outcome, bound: float) -> VerdictRecord:
    assert after.judged is not None
    found = BoundRecord("max_violation", bound, after.judged.gap, outcome, "a gap of at most", "test", bound)
    return VerdictRecord(outcome, (found,), "the sentence of the terminal")


def model_page(k: int, outcome: Outcome = "met", notion: str = "demographic_parity", tiny: int = 0) -> ReportRecord:
    """A plain model and one with fairness, as `fermi train` has them."""
    before, after = (judged(k, 6000 if k < 50 else 12_000, lean, notion, tiny) for lean in (0.3, 0.05))
    moves = (MoveRecord("everybody", 6000, 31.0, 12.0), MoveRecord("place=P000", 3000, 60.0, 2.0))
    return ReportRecord(
        "A title",
        {
            "Data": "places.csv",
            "Settings": "--seed 0 --max-violation 0.05",
            "Software": "fermi 0",
            "Date": "2026-01-02",
        },
        (PointRecord("λ = 0", 0.0, {"test": before}), PointRecord("λ = 3", 3.0, {"test": after})),
        chosen=1,
        verdict=asked(after, outcome, 0.05),
        price=PriceRecord("test", Estimate(0.021, 0.012, 0.034), 0.04, "1", moves),
        target="hired",
    )


PAIR = model_page(2)


def first(opened: Opened) -> str:
    return " ".join(opened.text("header").split())


def test_verdict_gain_price_and_picture_come_first_and_the_rest_is_folded(open_page: Opener) -> None:
    opened = open_page(PAIR, folded=True)
    before, after = (point.splits["test"].judged for point in PAIR.points)
    assert before is not None
    assert after is not None
    assert before.behind is not None
    assert after.behind is not None
    text = first(opened)
    assert f"✓ Met. Asked for: a gap between groups of at most 5.0 points. Found: {100 * after.gap.value:.1f}" in text
    assert f"falls from {100 * before.gap.value:.1f} points to {100 * after.gap.value:.1f} points" in text
    assert f"“hired = 1” went to {100 * before.behind.high.value:.1f}% of P001" in text, "codes have a name"
    assert f"now it goes to {100 * after.behind.high.value:.1f}% of P001" in text
    assert "2.1 points more errors [1.2, 3.4]" in text
    assert "Of 1,000 people 31 gain “hired = 1” and 12 lose it." in text
    assert "λ" not in opened.text("body"), "two models need no λ"
    assert opened.page.locator("details[open]").count() == 0
    bottom = opened.page.locator("#picture-section").bounding_box()
    assert bottom["y"] + bottom["height"] < 900, "a screen is enough for the minute"
    rows = opened.page.locator("#picture li:not(.axis)").all_inner_texts()
    assert [re.findall(r"[\d.]+% → [\d.]+%", row) != [] for row in rows] == [True, True]
    assert not opened.page.locator("#tradeoff-section").is_visible(), "two models are no curve"
    assert not opened.page.locator("#path-section").is_visible()
    foot = " ".join(opened.text("footer").split())
    assert all(word in foot for word in ("places.csv", "--max-violation 0.05", "fermi 0", "2026-01-02"))
    assert opened.said == []


@pytest.mark.parametrize(("outcome", "word"), [("missed", "✗ Missed."), ("undecided", "? Cannot be told")])
def test_a_sign_and_a_word_tell_the_outcome_without_colour(outcome: Outcome, word: str, open_page: Opener) -> None:
    opened = open_page(model_page(2, outcome), folded=True)
    assert first(opened).split("places.csv")[1].startswith(f" A title {word}")
    assert opened.page.locator(f"#verdict.{outcome}").count() == 1


def test_the_rate_that_decides_is_in_the_sentence_and_in_the_picture(open_page: Opener) -> None:
    record = model_page(3, "undecided", "equalized_odds")
    told = record.points[1].splits["test"].judged
    assert told is not None
    assert told.behind is not None
    opened = open_page(record, folded=True)
    text = first(opened)
    assert f"the {told.behind.called}" in text
    assert f"of people who are truly “hired = {told.behind.condition}”" in text
    assert f"(the {told.behind.called}), by place" in opened.text("#picture-title")
    rate = f"→ {100 * told.behind.high.value:.1f}%"
    line = opened.page.locator("#picture li", has_text=told.behind.highest.removeprefix("place="))
    assert rate in line.inner_text()


def test_tiny_groups_make_no_headline_and_stand_last(open_page: Opener) -> None:
    record = model_page(8, "undecided", tiny=2)
    opened = open_page(record, folded=True)
    assert not re.search("P006|P007|100.0", first(opened)), "four rows that are all alike would be the gap"
    names = opened.page.locator("#picture li:not(.axis) .who").all_inner_texts()
    assert [name.startswith(("P006", "P007")) for name in names] == [False] * 6 + [True] * 2
    assert all("4 rows, too few to judge" in name for name in names[6:])
    curve = replace(record, points=tuple(replace(record.points[i > 0], lam=float(i)) for i in range(4)))
    opened = open_page(curve)
    assert opened.page.locator("#measure").input_value() == "told_gap hard"
    axis = opened.page.locator("#tradeoff .role-axis-label text").all_text_contents()
    assert all(float(x.strip("%")) < 60 for x in axis), "the axis does not reach to what four rows make"


def test_120_groups_are_sorted_and_can_be_searched(open_page: Opener) -> None:
    opened = open_page(model_page(120, "missed"))
    shown = opened.page.locator("#picture li:not(.axis):not(.between)")
    assert shown.count() == 12
    rates = [float(text.split("→")[1].strip("% \n")) for text in shown.locator(".numbers").all_inner_texts()]
    assert rates == sorted(rates, reverse=True)
    assert opened.page.locator("#group-panels svg").first.bounding_box()["height"] < 700
    find = opened.page.locator("#picture-tools .find")
    find.fill("p11")
    assert opened.text("#picture-tools .found") == "10 of 120 groups"
    assert shown.count() == 10
    assert opened.page.locator("#groups-table tbody tr").count() == 10, "the sections below follow"
    opened.page.locator("#group-tools .sort").select_option("name")
    names = shown.locator(".who").evaluate_all("all => all.map(e => e.firstChild.textContent)")
    assert names == [f"P{i}" for i in range(110, 120)]
    find.fill("")
    opened.page.get_by_role("button", name="Show all 120").click()
    assert shown.count() == 120
    assert opened.said == []


def test_shares_have_one_unit(open_page: Opener) -> None:
    opened = open_page(PAIR)
    parts = ("header", "#picture-section", "#figures", "#groups-table", "#confusion", "#moves-table")
    text = " ".join(opened.text(part) for part in parts)
    gap = PAIR.points[1].splits["test"].measure("parity_difference").value
    assert f"{gap:.3f}" not in text
    assert not re.search(r"(?<![\d.,])0\.\d{3}", text.replace(opened.text("#figures"), "")), (
        "no part of 1 beside percentages"
    )
    row = opened.page.locator("#measures tr", has_text="Parity difference").first.inner_text()
    assert f"{100 * gap:.1f} points" in row


def test_a_table_says_that_it_goes_on_beyond_a_phone(open_page: Opener) -> None:
    opened = open_page(SAMPLES["four groups, three classes"](), width=390, phone=True)
    hint = "getComputedStyle(document.querySelector('#measures'), '::before').content"
    assert "goes on to the right" in opened.page.evaluate(hint)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    opened.page.set_viewport_size({"width": 1200, "height": 900})
    opened.page.wait_for_function(f"{hint} == 'none'")


def test_figures_and_model_card_can_be_kept(open_page: Opener) -> None:
    record = replace(PAIR, title="=1+1", points=PAIR.points)
    groups = tuple(
        replace(group, group=name)
        for group, name in zip(
            record.points[1].splits["test"].groups, ("=HYPERLINK(1)", f'a "b", {HOSTILE}'), strict=True
        )
    )
    splits = {"test": replace(record.points[1].splits["test"], groups=groups)}
    opened = open_page(replace(record, points=(record.points[0], replace(record.points[1], splits=splits))))
    texts = []
    for button in ("#save-csv", "#save-card"):
        with opened.page.expect_download() as download:
            opened.page.locator(button).click()
        texts.append(Path(download.value.path()).read_bytes().decode("utf-8-sig"))
    rows = list(csv.DictReader(io.StringIO(texts[0])))
    assert {row["group"] for row in rows} >= {"'=HYPERLINK(1)", f'a "b", {HOSTILE}', "place=P000"}
    rate = next(
        row for row in rows if row["group"] == "'=HYPERLINK(1)" and row["figure"] == "rate" and row["label"] == "1"
    )
    assert float(rate["value"]) == pytest.approx(groups[0].rates["1"].value, rel=1e-5)
    assert {row["model"] for row in rows} == {"the plain model", "this model"}
    assert texts[1].startswith("---\nlibrary_name: fermi\n")
    assert "<script>" not in texts[1]
    assert len(opened.asked) == 1 + sum(url.startswith("blob:") for url in opened.asked), "nothing is fetched or sent"
    assert opened.said == []


def test_λ_is_explained_where_there_are_several(open_page: Opener) -> None:
    text = open_page(report()).text("main")
    assert text.count("λ is the weight of fairness in training") == 1
