"""The paper's statements: propositions, theorems, lemmas, remarks, bounds and rates, each with a numerical check."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from fermi.experiments.figure import Cell, CellRecord, Figure
from fermi.experiments.judging.claims import HEADER
from fermi.experiments.statements.listed import PARTS, STATEMENTS
from fermi.experiments.statements.statement import Measured, Statement, half_width, judge

PRINTED, CONTROL = "printed", "control"
INTRODUCTION = """Every statement is judged by a check that can come out either way. *Held*: no counterexample was
found, or the interval lies on the statement's side. *Refuted*: there is a counterexample, or the interval lies on the
other side. *Not shown*: the interval holds both. A search without a counterexample is no proof; where the paper has
one, it was read too, and its gaps have lines of their own ([corrections](../../corrections.md)).

What an upper bound such as 𝒪(ε^-5) says of a measured slope is that it may not be slower: so a slope can refute a rate,
and a faster one is "held" in the sense that the rate was not refuted on the problem measured. Half-widths are of 95%.

The same check judges a control: a false statement where the paper's holds, a corrected one where the paper's does not.
It says the other word there, which shows that the check can."""


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of the page: each statement as printed, and its control with few draws."""
    for name in STATEMENTS:
        yield {"statement": name, "variant": PRINTED, "quick": quick}
        yield {"statement": name, "variant": CONTROL, "quick": True}


def run(cell: Cell) -> CellRecord:
    """Measure what a statement, or its control, says."""
    statement = STATEMENTS[cell["statement"]]
    claim = statement.claim if cell["variant"] == PRINTED else statement.control
    return {"measured": statement.measure(claim, cell["quick"])}


def measured(records: pd.DataFrame, name: str, variant: str) -> Measured | None:
    """What was measured about a statement or its control, from the records; none where it was not run."""
    some = records[(records["statement"] == name) & (records["variant"] == variant)]
    return None if some.empty else some["measured"].iloc[0]


def line(statement: Statement, records: pd.DataFrame) -> str | None:
    """The line of a statement: its words, place, verdict and figures, and what the control came to."""
    own, control = (measured(records, statement.name, variant) for variant in (PRINTED, CONTROL))
    if own is None:
        return None
    word, figures = judge(own)
    width = half_width(own)
    figures += f". Control, {statement.control_text}: {judge(control)[0]}" if control else ""
    spread = "" if math.isnan(width) else f"± {width:.2g}"
    return f"| {literal(statement.text)} | {statement.place} | {word} | {spread} | {literal(figures)} |"


def literal(text: str) -> str:
    """A text in which Markdown takes no * or _ of a formula for emphasis; code between backticks is as it was."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def summarise(records: pd.DataFrame) -> str:
    """The page: one table of all statements, then how many of each word, by part."""
    lines = [text for statement in STATEMENTS.values() if (text := line(statement, records)) is not None]
    table = ["## What the paper claims", "", HEADER, "|---|---|---|---|---|", *lines]
    counted = [
        "## By part",
        "",
        "| part | held | refuted | not shown | could not be tested here |",
        "|---|---|---|---|---|",
    ]
    for part, statements in PARTS.items():
        words = [judge(own)[0] for s in statements if (own := measured(records, s.name, PRINTED)) is not None]
        shares = (str(words.count(word)) for word in ("held", "refuted", "not shown", "could not be tested here"))
        counted.append(f"| {part} | " + " | ".join(shares) + " |")
    seconds = f"Seconds of all checks: {_seconds(records):.0f}, on one core each."
    return "\n\n".join([INTRODUCTION, "\n".join(table), "\n".join(counted), seconds])


def _seconds(records: Any) -> float:
    return float(records["cell_seconds"].sum())


FIGURE = Figure("Theory: the paper's statements, each with a numerical check", cells, run, summarise, way="theory")
