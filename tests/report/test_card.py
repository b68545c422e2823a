"""The model card: front matter that YAML reads, sections, and names from the data as text."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from fermi.records import VerdictRecord
from fermi.report import model_card
from tests.report.samples import HOSTILE, audit_of, report

yaml = pytest.importorskip("yaml", reason="front matter is read with PyYAML")


def front_of(card: str) -> Any:
    _, front, _ = card.split("---\n", 2)
    return yaml.safe_load(front)


def test_front_matter_has_the_figures_of_the_chosen_model() -> None:
    record = replace(report(4, chosen=2), title="A model: of #1 “pay”\n- x")
    front = front_of(model_card(record))
    assert front["library_name"] == "fermi"
    assert front["pipeline_tag"] == "tabular-classification"
    (index,) = front["model-index"]
    assert index["name"] == record.title
    (result,) = index["results"]
    found = {metric["type"]: metric["value"] for metric in result["metrics"]}
    chosen = audit_of(record, 2, "test")
    assert chosen.error is not None
    assert math.isclose(found["accuracy"], 1 - chosen.error.value, rel_tol=1e-5)
    assert math.isclose(found["parity_difference"], chosen.measure("parity_difference").value, rel_tol=1e-5)


def test_sections_of_a_hub_s_card_and_the_verdict() -> None:
    record = report(2, chosen=1)
    card = model_card(replace(record, verdict=VerdictRecord("missed", (), "Missed: it is 0.3."), target="pay"))
    heads = [line[3:] for line in card.splitlines() if line.startswith("## ")]
    assert heads == [
        "Model details",
        "Uses",
        "Bias, risks and limitations",
        "How to get started with the model",
        "Training details",
        "Evaluation",
    ]
    assert "**Missed.** it is 0.3." in card
    rates = [audit_of(record, model, "test").groups[1].rates[">50K"].value for model in (1, 0)]
    line = next(line for line in card.splitlines() if line.startswith("| sex=Male"))
    assert [f"{100 * rate:.1f}%" in line for rate in rates] == [True, True]


def test_names_are_text_in_markdown() -> None:
    groups = (f"{HOSTILE}|x", "[a](javascript:b)")
    record = report(2, groups, ("no", "`yes`"), title=HOSTILE)
    body = model_card(record).split("---\n", 2)[2]
    assert "<script" not in body
    assert "[a](" not in body
    for line in body.splitlines():
        if line.startswith("| ") and "alert" in line:
            assert line.replace("\\|", "").count("|") == 8
