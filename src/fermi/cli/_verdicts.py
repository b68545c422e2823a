"""What the commands print of a verdict, for people and for machines, and how they end on a missed one."""

from __future__ import annotations

import dataclasses
from typing import Any

from fermi.cli._console import Console
from fermi.cli._ending import RequestMissedError
from fermi.cli._summaries import numbers
from fermi.records import BoundRecord, PriceRecord, ReportRecord, VerdictRecord
from fermi.tables.reporting import Said

_STYLES = {"met": "bold green", "missed": "bold red", "undecided": "bold yellow"}


def require(verdict: VerdictRecord | None, *, required: bool) -> None:
    """End the command where a bound was missed and must not be."""
    if required and verdict is not None and verdict.outcome == "missed":
        raise RequestMissedError(verdict.sentence)


def said_of(record: ReportRecord) -> Said:
    """What a report says first."""
    return Said(record.verdict, record.summary, record.warnings)


def show_verdict(said: Said, console: Console) -> None:
    """Print the verdict, what must not be overlooked, and the sentences that follow."""
    if said.verdict is not None:
        console.print(said.verdict.sentence, markup=False, highlight=False, style=_STYLES[said.verdict.outcome])
    for warning in said.warnings:
        console.print(warning, markup=False, highlight=False, style="bold red")
    for sentence in said.summary:
        console.print(sentence, markup=False, highlight=False)


def verdict_summary(said: Said, price: PriceRecord | None) -> dict[str, Any]:
    """A verdict as JSON, with what the labels are worth and what they cost."""
    verdict = said.verdict
    return {
        "verdict": None
        if verdict is None
        else {
            "outcome": verdict.outcome,
            **_flags(verdict.outcome),
            "nothing_had_to_be_done": verdict.needless,
            "sentence": verdict.sentence,
            "bounds": [_bound(bound) for bound in verdict.bounds],
        },
        "useful": not said.warnings,
        "warnings": list(said.warnings),
        "summary": list(said.summary),
        "price": None if price is None else _price(price),
    }


def _flags(outcome: str) -> dict[str, bool]:
    return {name: outcome == name for name in ("met", "missed", "undecided")}


def _bound(bound: BoundRecord) -> dict[str, Any]:
    at_most = bound.option in ("max_violation", "max_rate")
    value = bound.reached.value
    within = value <= bound.limit if at_most else value >= bound.limit
    return {
        "option": bound.option,
        "rows": bound.rows,
        "asked": bound.asked,
        "with_slack": bound.limit,
        "reached": numbers(bound.reached),
        "outcome": bound.outcome,
        **_flags(bound.outcome),
        "number_is_within": bool(within),
    }


def _price(price: PriceRecord) -> dict[str, Any]:
    moves = [dataclasses.asdict(move) for move in price.moves]
    return {
        "rows": price.rows,
        "error": numbers(price.error),
        "changed": price.changed,
        "label": price.label,
        "per_1000": moves,
    }
