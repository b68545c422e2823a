"""`fermi follow`: the gap between groups day by day, and the days on which it moved by more than noise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd

from fermi.cli._console import Console
from fermi.cli._ending import RequestMissedError
from fermi.cli._flags import in_options
from fermi.cli._summaries import numbers, plain, simple_table
from fermi.cli.audit import check_outputs
from fermi.inputs.arguments import chosen
from fermi.tables.followed import EVERY, follow_files
from fermi.tables.formats import write_table
from fermi.tables.question import Question

if TYPE_CHECKING:
    from fermi.auditing import PeriodRecord


def run(
    source: str,
    question: Question,
    *,
    by: str | None,
    every: str,
    reference: str | None,
    csv: str | None,
    as_json: bool,
    required: bool,
) -> None:
    """Follow decisions over periods, print the table, and name the periods in which something moved."""
    chosen("--every", every, list(EVERY))
    written = check_outputs({"--csv": csv}, [source])
    found, notes = follow_files(source, question, by, every, reference)
    notes = [in_options(note) for note in notes]
    for path in written:
        write_table(pd.DataFrame([_line(period) for period in found]), path)
    if as_json:
        print(json.dumps({"periods": [_period(p) for p in found], "notes": notes}, ensure_ascii=False, indent=2))
    else:
        _show(found, "the reference" if reference is not None else "all periods before", Console())
        for note in (*notes, *(f"Written: {path}" for path in written)):
            Console().print(note, markup=False, highlight=False)
    if required and found[-1].moves:
        raise RequestMissedError(f"{found[-1].period}: {'; '.join(found[-1].moves)}.")


def _show(found: tuple[PeriodRecord, ...], since: str, console: Console) -> None:
    moved = [period for period in found if period.moves]
    if not moved:
        console.print(f"In none of {len(found):,} periods did the gap or a rate move beyond noise.", highlight=False)
    for period in moved:
        words = f"{period.period}: {'; '.join(period.moves)}, compared with {since}."
        console.print(words, markup=False, highlight=False, style="bold red")
    table = simple_table("period", "rows", "gap", "highest", "lowest", "")
    for period in found:
        line = _line(period)
        low, high = (f"{line[end]:.2f}" if line[end] is not None else "–" for end in ("low", "high"))
        gap = "–" if line["gap"] is None else f"{line['gap']:.3f} [{low}, {high}]"
        ends, b = ("–", "–"), period.behind
        if b is not None:
            ends = (f"{b.highest} {100 * b.high.value:.1f}%", f"{b.lowest} {100 * b.low.value:.1f}%")
        table.add_row(plain(period.period), f"{period.rows:,.0f}", gap, *map(plain, ends), "*" if period.moves else "")
    console.print(table)


def _line(period: PeriodRecord) -> dict[str, object]:
    """A period as a line of a table."""
    gap, behind = numbers(period.gap) or {}, period.behind
    return {
        "period": period.period,
        "rows": period.rows,
        "gap": gap.get("value"),
        "low": gap.get("low"),
        "high": gap.get("high"),
        "highest": None if behind is None else behind.highest,
        "highest_rate": None if behind is None else behind.high.value,
        "lowest": None if behind is None else behind.lowest,
        "lowest_rate": None if behind is None else behind.low.value,
        "error": None if period.error is None else period.error.value,
        "moved": "; ".join(period.moves),
    }


def _period(period: PeriodRecord) -> dict[str, object]:
    about = {"gap_p_value": period.gap_p_value, "rates_p_value": period.rates_p_value}
    return {**_line(period), "moves": list(period.moves), **about, "error": numbers(period.error)}
