"""The report, read and used in a browser."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fermi.records import AuditRecord, Estimate
from fermi.report import render
from fermi.report._json import fitted_json
from tests.report.browsing import Opened, Opener
from tests.report.samples import (
    HOSTILE,
    SAMPLES,
    audit_of,
    error,
    gap,
    hit_rate,
    luminance,
    percent,
    report,
    selection_rate,
    with_interval,
)

playwright = pytest.importorskip("playwright.sync_api", reason="the browser is driven with playwright")
SHOW = "(e, v) => {e.value = v; e.dispatchEvent(new Event('input')); return document.getElementById('words').innerText}"
pytestmark = pytest.mark.slow  # all of them drive a browser


def shoot(opened: Opened, name: str) -> None:
    """Keep a picture of the whole page, for the eye, in the folder that FERMI_SCREENSHOTS names; without it, none."""
    if folder := os.environ.get("FERMI_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        opened.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_is_silent_and_asks_for_nothing(name: str, open_page: Opener) -> None:
    record = SAMPLES[name]()
    opened = open_page(record)
    shoot(opened, name)
    assert opened.said == []
    assert len(opened.asked) == 1
    assert opened.text("h1") == opened.page.title() == record.title
    charts = opened.page.locator(".chart[role=graphics-document]:visible")
    told = charts.evaluate_all("all => all.map(e => e.ariaLabel)")
    assert len(told) == opened.page.locator("svg:visible").count() >= 4
    assert all(told)
    check_structure(opened)
    assert opened.page.locator("#rule-table").inner_text().count("−0.35") == (len(record.rule) > 0)
    verdicts = r"\b(pass(es|ed)?|fail(s|ed|ure)?|unfair|compliant|acceptable|violates)\b"
    assert not re.search(verdicts, opened.text("body").lower())
    assert len(render(record).encode()) < 2_000_000


def check_structure(opened: Opened) -> None:
    """Headings in order, a label on every control, every id once."""
    heads = opened.page.locator("h1:visible, h2:visible, h3:visible")
    levels = heads.evaluate_all("all => all.map(e => Number(e.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    labels = opened.page.locator("input, select").evaluate_all("all => all.map(e => e.labels[0]?.textContent)")
    assert all(labels)
    ids = opened.page.locator("[id]").evaluate_all("all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert opened.page.locator("html").get_attribute("lang") == "en"


@pytest.mark.parametrize("name", SAMPLES)
def test_every_model_and_split_can_be_shown(name: str, open_page: Opener) -> None:
    record = SAMPLES[name]()
    opened = open_page(record)
    for split in list(record.points[0].splits):
        if len(record.points[0].splits) > 1:
            opened.page.get_by_label(split.capitalize(), exact=True).check()
        for model in range(len(record.points)):
            words = opened.page.locator("#slider").evaluate(SHOW, model)
            assert with_interval(error(record, model, split)) in words
    opened.page.wait_for_timeout(300)
    assert opened.said == []


def test_a_click_chooses_a_model_and_all_follows(open_page: Opener) -> None:
    record = report(chosen=3)
    opened = open_page(record)
    opened.chosen(3)
    before = {part: opened.text(f"#{part}") for part in ("words", "groups-table", "confusion", "measures")}
    opened.page.locator("#tradeoff").scroll_into_view_if_needed()
    opened.page.mouse.click(*opened.mark("λ = 7.02"))
    opened.chosen(7)
    assert opened.text("#now") == "λ = 7.02"
    words = opened.text("#words")
    assert with_interval(error(record, 7)) in words
    assert with_interval(error(record, 0)) in words, "the price is told against the model without fairness"
    assert f"{gap(record, 7)} points [" in words
    assert f"{gap(record, 0)} points [" in words
    group = audit_of(record, 7, "test").groups[0]
    assert percent(group.rates[">50K"]) in opened.text("#groups-table")
    assert f"{group.confusion[0][1]:,.0f}" in opened.text("#confusion")
    for part, text in before.items():
        assert opened.text(f"#{part}") != text
    label = opened.page.locator("#tradeoff")
    playwright.expect(label).to_have_attribute(
        "aria-label", re.compile(re.escape(f"Chosen: λ = 7.02, error {percent(error(record, 7))}"))
    )
    opened.page.locator("#go-back").click()
    opened.chosen(3)
    assert opened.text("#words") == before["words"]


def test_a_click_on_the_path_chooses_too(open_page: Opener) -> None:
    opened = open_page(report(chosen=3))
    opened.page.locator("#path-gap").scroll_into_view_if_needed()
    opened.page.mouse.click(*opened.mark("λ = 119, test", "path-gap"))
    opened.chosen(11)


def test_the_keyboard_does_the_same(open_page: Opener) -> None:
    record = report(chosen=3)
    opened = open_page(record)
    keyboard = opened.page.keyboard
    opened.page.locator("#slider").focus()
    keyboard.press("ArrowRight")
    opened.chosen(4)
    assert with_interval(error(record, 4)) in opened.text("#words")
    assert opened.page.locator("#slider").get_attribute("aria-valuetext") == "λ = 0.838, model 5 of 15"
    keyboard.press("End")
    opened.chosen(14)
    opened.page.locator("#tradeoff").focus()
    keyboard.press("ArrowLeft")
    opened.chosen(13)
    assert opened.page.locator("#tradeoff").evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    opened.page.get_by_label("Test", exact=True).focus()
    keyboard.press("ArrowLeft")
    assert with_interval(error(record, 13, "validation")) in opened.text("#words")


def test_hovering_tells_error_and_violation_with_intervals(open_page: Opener) -> None:
    record = report()
    opened = open_page(record)
    opened.page.locator("#tradeoff").scroll_into_view_if_needed()
    opened.page.mouse.move(*opened.mark("λ = 7.02"))
    opened.page.wait_for_function("document.getElementById('tip').style.visibility == 'visible'")
    tip = opened.text("#tip")
    assert tip.startswith("λ = 7.02")
    assert with_interval(error(record, 7)) in tip
    assert f"{gap(record, 7)} points [" in tip


def test_measure_and_class_can_be_changed(open_page: Opener) -> None:
    record = SAMPLES["four groups, three classes"]()
    opened = open_page(record)
    opened.page.locator("#measure").select_option(label="ERMI (soft)")
    opened.page.locator("#tradeoff").get_by_text("ERMI (soft)").wait_for()
    opened.page.locator("#outcome").select_option("maybe")
    rates = audit_of(record, record.chosen, "test").groups[0].rates
    assert percent(rates["maybe"]) in opened.text("#groups-table")
    opened.page.locator("#group-panels").get_by_text("True positive rate of “maybe”").wait_for()
    assert opened.said == []


def test_no_fairness_at_all_is_on_every_axis(open_page: Opener) -> None:
    opened = open_page(report())
    for chart in ("path-error", "path-gap", "search"):
        axis = opened.page.locator(f"#{chart} .role-axis-label text").all_text_contents()
        assert "0" in axis
    marks = opened.page.locator("#tradeoff [aria-roledescription=point]").evaluate_all(
        "all => all.map(e => e.ariaLabel)"
    )
    assert len(marks) == 15
    assert any(mark.startswith("λ = 0\n") for mark in marks)


def test_names_from_the_data_are_text(open_page: Opener) -> None:
    record = report(
        3, (f"{HOSTILE}=a", "\u2028]]><img src=x onerror=alert(2)>"), (HOSTILE, "&amp;"), title=HOSTILE, column=HOSTILE
    )
    hostile = replace(record, facts={HOSTILE: HOSTILE}, notes=(HOSTILE,), reason=HOSTILE, strength=HOSTILE)
    opened = open_page(hostile)
    assert opened.page.title() == opened.text("h1") == HOSTILE
    for part in ("facts", "notes", "words", "groups-table", "confusion", "group-panels", "path-title"):
        assert HOSTILE in opened.text(f"#{part}"), part
    assert "&amp;" in opened.text("#confusion")
    opened.page.locator("#path-gap").scroll_into_view_if_needed()
    opened.page.mouse.move(*opened.mark(HOSTILE, "path-gap"))
    opened.page.wait_for_function("document.getElementById('tip').style.visibility == 'visible'")
    assert HOSTILE in opened.text("#tip")
    assert opened.page.locator("script").count() == 3
    assert opened.page.locator("img").count() == 0
    assert opened.said == []


def test_the_browser_runs_no_other_script(open_page: Opener) -> None:
    opened = open_page(report(1))
    opened.page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
    )
    assert opened.page.evaluate("window.ran") is None
    assert "Content Security Policy" in " ".join(opened.said)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_phone_needs_no_sideways_scrolling(name: str, open_page: Opener) -> None:
    opened = open_page(SAMPLES[name](), width=390, phone=True)
    shoot(opened, f"{name}, phone")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert (
        opened.page.locator("svg:visible").evaluate_all(
            "all => Math.max(...all.map(e => e.getBoundingClientRect().right))"
        )
        <= 390
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(scheme: str, open_page: Opener) -> None:
    opened = open_page(report(), color_scheme=scheme)
    shoot(opened, scheme)
    paper = luminance(opened.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (paper < 0.1) == (scheme == "dark")
    parts = ["p", "dt", "td", ".interval", "label", "button", "summary"]
    inks = opened.page.evaluate("parts => parts.map(s => getComputedStyle(document.querySelector(s)).color)", parts)
    inks += opened.page.locator("svg text").evaluate_all("all => all.map(e => getComputedStyle(e).fill)")
    for ink in map(luminance, set(inks)):
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5


def test_a_change_of_scheme_reaches_the_charts(open_page: Opener) -> None:
    opened = open_page(report(3), color_scheme="light")
    of_text = "getComputedStyle(document.querySelector('#tradeoff svg text')).fill"
    light = opened.page.evaluate(of_text)
    opened.page.emulate_media(color_scheme="dark")
    assert opened.page.evaluate(of_text) != light


def test_paper_has_every_section_and_table(open_page: Opener, tmp_path: Path) -> None:
    opened = open_page(report(), color_scheme="dark", width=700, folded=True)
    opened.page.emulate_media(media="print")
    shoot(opened, "print")
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    absent = ":not(#rule-section):not(#moves-section)"  # the sample has no rule, and no price
    sections = opened.page.locator(f"main > section, main > details{absent}")
    assert all(sections.nth(i).is_visible() for i in range(sections.count()))
    assert opened.text("#now") == "λ = 119"
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.locator("#tradeoff-table").is_visible()
    assert opened.page.locator("#path-table").is_visible()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 700
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.locator("details[open]").count() == 1, "the trade-off alone is open on a screen"
    opened.page.pdf(path=Path(os.environ.get("FERMI_SCREENSHOTS") or tmp_path) / "print.pdf", format="A4")


def test_what_could_not_be_estimated_says_why(open_page: Opener) -> None:
    def spoil(audit: AuditRecord) -> AuditRecord:
        small = replace(
            audit.groups[1],
            error=Estimate(float("nan"), note="withheld: fewer than 10 rows"),
            tpr={">50K": Estimate(float("nan"), note="no row of this class")},
            confusion=(),
            note="only 7 rows",
        )
        return replace(audit, groups=(audit.groups[0], small), error=Estimate(float("nan"), note="no true labels"))

    record = report(2)
    points = tuple(replace(p, splits={s: spoil(a) for s, a in p.splits.items()}) for p in record.points)
    opened = open_page(replace(record, points=points))
    table = opened.text("#groups-table")
    assert "–\nwithheld: fewer than 10 rows" in table
    assert "–\nno row of this class" in table
    assert "– only 7 rows" in opened.text("#confusion")
    assert "sex=Male: only 7 rows" in opened.text("#notes")
    assert "no true labels" in opened.text("#figures")
    assert "NaN" not in opened.text("body")
    assert "sex=Male" in opened.text("#group-panels"), "a group without a rate keeps its place"
    assert opened.said == []


def test_an_audit_without_true_labels(open_page: Opener) -> None:
    record = report(1, splits=("test",))
    found = audit_of(record, 0, "test")
    groups = tuple(replace(g, error=None, tpr={}, fpr={}, confusion=(), calibration=()) for g in found.groups)
    bare = replace(found, groups=groups, error=None, error_soft=None, corrected_ermi=None, p_value=None)
    opened = open_page(replace(record, facts={}, points=(replace(record.points[0], splits={"test": bare}),)))
    assert opened.text(".kicker") == "Audit of predictions"
    hidden = (
        "controls",
        "facts-section",
        "tradeoff-section",
        "path-section",
        "confusion-section",
        "calibration-section",
    )
    assert not any(opened.page.locator(f"#{part}").is_visible() for part in hidden)
    assert opened.page.locator("#group-panels svg").count() == 1
    assert opened.said == []


def test_many_groups_and_classes_stay_small(open_page: Opener) -> None:
    record = report(8, tuple(f"place={i}" for i in range(40)), tuple(f"class {i}" for i in range(8)))
    assert len(fitted_json(record, 10**9)) > 2_000_000
    assert len(render(record).encode()) < 2_000_000
    opened = open_page(record)
    assert "To keep this page small" in opened.text("#notes")
    opened.page.locator("#slider").focus()
    opened.page.keyboard.press("Home")
    opened.chosen(0)
    opened.page.wait_for_timeout(300)
    assert opened.said == []


def test_the_page_says_what_is_asked_and_the_rate_that_shows_it(open_page: Opener) -> None:
    record = report(1, splits=("test",))
    found = audit_of(record, 0, "test")

    def words(**changed: Any) -> str:
        point = replace(record.points[0], splits={"test": replace(found, **changed)})
        return open_page(replace(record, points=(point,))).text("#words")

    selected, hits = ([with_interval(of(group)) for group in found.groups] for of in (selection_rate, hit_rate))
    text = words()
    assert f"“>50K” is predicted for {selected[1]} of sex=Male and {selected[0]} of sex=Female" in text
    assert f"What is asked for is {found.asks}." in text
    text = words(rate="true_positive", asks="equal chances")
    assert f"Of the rows that are truly “>50K”, that class is predicted for {hits[1]} of sex=Male" in text
    assert "What is asked for is equal chances." in text
    assert "predicted for" not in words(label=None)
    assert "What is asked for is demographic_parity." in words(asks="")
