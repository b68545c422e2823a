"""The figures of README and pages are those that benchmarks have kept."""

from __future__ import annotations

import pytest

from tests.pages.blocks import ROOT, tool


@pytest.mark.slow
def test_tables_are_those_of_the_kept_results() -> None:
    figures = tool("figures")
    for page in figures.PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.count("<!-- end -->") >= 1
        assert figures.filled(text) == text, f"{page.name}: run `python tools/figures.py`"


@pytest.mark.slow
def test_a_number_changed_by_hand_is_noticed() -> None:
    figures = tool("figures")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "**0.022**" in text
    assert figures.filled(text.replace("**0.022**", "**0.012**")) == text
