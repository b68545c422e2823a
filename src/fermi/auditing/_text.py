"""An audit as text for a terminal."""

from __future__ import annotations

import math
import shutil
import textwrap
import unicodedata
from collections.abc import Sequence

from fermi.records import AuditRecord, Estimate, GroupRecord

_MOST_GROUPS = 20
_NAME = 24
_MORE_TABLES = 3  # for figures that do not fit beside the first ones


def as_text(record: AuditRecord) -> str:
    """An audit as text: groups, then measures, then what to know about them, no wider than the terminal."""
    width = max(min(shutil.get_terminal_size((80, 24)).columns, 120), 40)
    closing = [line for sentence in _closing(record) for line in textwrap.wrap(sentence, width)]
    return "\n".join(
        [*textwrap.wrap(_head(record), width), *_groups(record, width), *_measures(record, width), *closing]
    )


def _head(record: AuditRecord) -> str:
    known = f"{record.rows - record.unknown:,.0f} rows in {len(record.groups)} groups"
    error = "" if record.error is None else f"; error {_interval(record.error)}"
    soft = "" if record.error_soft is None else f", of drawn labels {_short(record.error_soft)}"
    return f"Audit, {record.called or record.notion}: {known}{error}{soft}. Intervals at {record.confidence:.0%}."


def _groups(record: AuditRecord, width: int) -> list[str]:
    """The table of groups, with as many figures as fit the terminal; the rest is in `.frame`."""
    shown = record.groups[:_MOST_GROUPS]
    favoured = record.classes[-1:] if len(record.classes) == 2 else record.classes
    columns: list[tuple[str, list[str]]] = []

    def add(name: str, found: Sequence[Estimate | None]) -> None:
        if any(estimate is not None for estimate in found):
            columns.append((name, ["" if e is None else _interval(e) for e in found]))

    for c in favoured:
        add(f"rate {c}", [g.rates[c] for g in shown])
    add("error", [g.error for g in shown])
    for c in favoured:
        add(f"tpr {c}", [g.tpr.get(c) for g in shown])
        add(f"fpr {c}", [g.fpr.get(c) for g in shown])
    for c in favoured:
        add(f"precision {c}", [g.precision.get(c) for g in shown])
        add(f"auc {c}", [g.auc.get(c) for g in shown])
    if any(g.calibration_error is not None for g in shown):
        off = [math.nan if g.calibration_error is None else g.calibration_error for g in shown]
        columns.append(("miscalibration", [_short(value) for value in off]))
    head = [
        ("group", [_cut(g.group) for g in shown]),
        ("rows", ["withheld" if math.isnan(g.rows) else f"{g.rows:,.0f}" for g in shown]),
    ]
    lines, rest = _beside(head, columns, width)
    for _ in range(_MORE_TABLES):
        if rest:
            more, rest = _beside(head[:1], rest, width)
            lines += ["", *more]
    if rest:
        lines += textwrap.wrap(f"Not shown: {', '.join(name for name, _ in rest)}", width)
    if len(record.groups) > len(shown):
        lines.append(f"and {len(record.groups) - len(shown)} more groups in .frame")
    return ["", *lines, *_group_notes(shown, width), ""]


def _beside(
    head: list[tuple[str, list[str]]], columns: list[tuple[str, list[str]]], width: int
) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """A table of as many columns as fit beside the first ones, and the columns that are left; at least one goes in."""
    used = sum(_width(column) for column in head)
    n = 0
    while n < len(columns) and (n == 0 or used + _width(columns[n]) <= width):
        used += _width(columns[n])
        n += 1
    return _table([*head, *columns[:n]]), columns[n:]


def _group_notes(shown: Sequence[GroupRecord], width: int) -> list[str]:
    notes = [f"{_cut(g.group)}: {g.note}" for g in shown if g.note and not g.note.startswith("withheld")]
    return [line for note in notes for line in textwrap.wrap(note, width, subsequent_indent="  ")]


def _measures(record: AuditRecord, width: int) -> list[str]:
    names = [m.name for m in record.measures if not m.soft]
    columns = [("measure", names), ("of labels", [_interval(record.measure(name)) for name in names])]
    if any(m.soft for m in record.measures):
        columns.append(("of probabilities", [_interval(record.measure(name, soft=True)) for name in names]))
    return [*_table(columns), ""]


def _closing(record: AuditRecord) -> list[str]:
    lines = []
    kinds = [
        ("labels", record.corrected_ermi, record.p_value),
        ("probabilities", record.corrected_ermi_soft, record.p_value_soft),
    ]
    for kind, corrected, p_value in kinds:
        if corrected is not None:
            chance = "" if p_value is None else f"; p-value of independence {_short(p_value)}"
            lines.append(f"ERMI of {kind} less its bias: {_short(corrected.value)}{chance}.")
    reasons = dict.fromkeys(m.estimate.note for m in record.measures if m.estimate.note)
    return [*lines, *(f"No intervals: {reason}." for reason in reasons), *(f"Note: {note}" for note in record.notes)]


def _short(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.3f}" if value == 0.0 or abs(value) >= 0.001 else f"{value:.1e}"


def _interval(found: Estimate) -> str:
    if math.isnan(found.low):
        return _short(found.value)
    return f"{_short(found.value)} ({_short(found.low)}–{_short(found.high)})"


def _columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: wide letters take two, combining marks none."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _cut(name: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in name)
    while _columns_of(plain) > _NAME:
        plain = f"{plain.removesuffix('…')[:-1]}…"
    return plain


def _width(column: tuple[str, list[str]]) -> int:
    return 2 + max(_columns_of(text) for text in (column[0], *column[1]))


def _table(columns: list[tuple[str, list[str]]]) -> list[str]:
    """Lay out columns of text as lines, names to the left and figures to the right."""
    rows = []
    for line in zip(*([name, *values] for name, values in columns), strict=True):
        cells = []
        for j, (text, column) in enumerate(zip(line, columns, strict=True)):
            space = " " * (_width(column) - 2 - _columns_of(text))
            cells.append(text + space if j == 0 else space + text)
        rows.append("  ".join(cells).rstrip())
    return rows
