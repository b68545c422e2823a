"""The page and its JSON without a browser: what is written, what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fermi.errors import FermiError
from fermi.report import _bundle, render, write
from fermi.report._json import by_strength, fitted_json, page_json
from fermi.report._page import inert
from tests.report.samples import HOSTILE, adjusted, audit_of, report


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)


def test_only_the_page_s_own_scripts_are_elements() -> None:
    plain, hostile = Tags(render(report(1))), Tags(render(report(1, title=HOSTILE, column="<b>")))
    assert plain.found == hostile.found
    assert plain.found.count("script") == 3


def test_a_script_cannot_end_its_element() -> None:
    assert not re.search(r"</?script|<!--", inert("'</SCRIPT>' + '<!--' + \"<script>\""), re.IGNORECASE)


def test_json_says_the_same_without_markup() -> None:
    value = {"a": "</script><!-- & \u2028\u2029 λ", "b": [1, None, "\ud800"]}
    text = page_json(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert not set("<>&") & set(text)


def test_models_are_in_the_order_of_their_strength() -> None:
    record = report(3, chosen=2)
    turned = by_strength(replace(record, points=record.points[::-1], chosen=0))
    assert [point.lam for point in turned.points] == [point.lam for point in record.points]
    assert turned.chosen == 2


def test_the_rule_is_on_the_page_and_its_words_are_no_markup() -> None:
    page = render(adjusted())
    found = json.loads(fitted_json(adjusted(), 10**9))
    assert [charge["charges"] for charge in found["rule"]] == [[[">50K", x]] for x in (-0.351, 0.351, 0.0389)]
    assert found["rule"][0]["features"] == [[HOSTILE, -0.9], ["hours", 0.2]]
    assert found["rule"][2]["likely"] is None
    assert [point["adjusted"] for point in found["points"]] == [False, True]
    assert HOSTILE not in page
    assert Tags(page).found == Tags(render(report(1))).found


def test_a_long_history_keeps_its_ends() -> None:
    record = report(2)
    history = [{"step": float(i), "objective": 1 / (1 + i)} for i in range(10_000)]
    long = replace(record, points=tuple(replace(point, history=history) for point in record.points))
    steps = dict(json.loads(fitted_json(long, 10**9))["points"][0]["history"])["step"]
    assert (steps[0], steps[-1]) == (0, 9999)
    assert len(steps) <= 150


def test_a_record_that_cannot_be_drawn(tmp_path: Path) -> None:
    record = report(2)
    apart = (record.points[0], replace(record.points[1], splits={"other": audit_of(record, 1, "test")}))
    for wrong, words in [
        (replace(record, points=()), "`record` has no model; expected at least one"),
        (replace(record, chosen=2), "`record` chooses model 2; expected one from 0 to 1"),
        (replace(record, points=apart), "`record` has no split that all its models share; expected at least one"),
    ]:
        file = tmp_path / "report.html"
        file.write_text("older")
        with pytest.raises(FermiError, match=re.escape(words)):
            write(wrong, file)
        assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
        assert file.read_text() == "older"


def test_a_page_replaces_an_older_one(tmp_path: Path) -> None:
    file = tmp_path / "new folder" / "report.html"
    for record in (report(2), report(1)):
        assert write(record, str(file)) == file
        assert file.read_text(encoding="utf-8") == render(record)
    assert [path.name for path in file.parent.iterdir()] == ["report.html"]


def test_the_charting_library_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vl_convert = pytest.importorskip("vl_convert")
    calls = []

    def bundle(snippet: str) -> str:
        calls.append(snippet)
        return "the bundle"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setattr(_bundle, "_folder", lambda: tmp_path / "cache")
    assert [_bundle.charting_script.__wrapped__() for _ in range(3)] == ["the bundle"] * 3
    assert len(calls) == 1
    (tmp_path / "file").touch()
    monkeypatch.setattr(_bundle, "_folder", lambda: tmp_path / "file")
    assert _bundle.charting_script.__wrapped__() == "the bundle", "a cache that cannot be written is done without"
