"""What the commands print of columns and audits, for people and for machines."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from rich import box
from rich.table import Table

from fermi.cli._console import Console, printable
from fermi.inputs.table_encoder import TableEncoder
from fermi.records import AuditRecord, ChargeRecord, Estimate, GroupRecord, PointRecord, ReportRecord
from fermi.tables.task import describe

_SHOWN_COLUMNS = 40
_SHOWN_CLASSES = 3


def simple_table(*columns: str) -> Table:
    """A table for the terminal without rules, its numbers to the right."""
    table = Table(box=box.SIMPLE)
    for j, column in enumerate(columns):
        table.add_column(plain(column), justify="right" if j else "left", overflow="fold")
    return table


def show_columns(encoder: TableEncoder, console: Console) -> None:
    """Print what every column of the file was taken for."""
    table = simple_table("column", "taken as")
    table.columns[1].justify = "left"
    shown = encoder.columns[:_SHOWN_COLUMNS]
    for column in shown:
        table.add_row(plain(column.name), plain(describe(column)))
    console.print(table)
    rest = len(encoder.columns) - len(shown)
    if rest:
        console.print(f"... and {rest:,} more columns.")


def plain(text: str) -> Any:
    """Text of the user's for rich, in which brackets are no markup."""
    from rich.text import Text

    return Text(printable(text))


def written(estimate: Estimate | None) -> str:
    """A number with its interval, as text."""
    if estimate is None or math.isnan(estimate.value):
        return "–"
    return f"{estimate.value:.3f}" + ("" if math.isnan(estimate.low) else f" [{estimate.low:.3f}, {estimate.high:.3f}]")


def show_points(record: ReportRecord, console: Console) -> None:
    """Print error and violation of every model on every split."""
    table = simple_table(record.strength, "rows", "error", "parity difference", "(soft)")
    for point in record.points:
        for split, audit in point.splits.items():
            gap, soft = (audit.measure("parity_difference", soft=soft) for soft in (False, True))
            strength = f"{point.lam:.4g}" + (", labels" if point.adjusted else "")
            table.add_row(strength, plain(split), written(audit.error), written(gap), f"{soft.value:.3f}")
    console.print(table)


def without_splits(record: ReportRecord, splits: set[str], labels: set[str] | None = None) -> ReportRecord:
    """A report without some splits, of all models or only of those with some labels."""
    points = [
        # With an audit per column, splits are called "test: sex" and the like.
        replace(point, splits={k: audit for k, audit in point.splits.items() if k.partition(":")[0] not in splits})
        for point in record.points
        if labels is None or point.label in labels
    ]
    return replace(record, points=tuple(points))


def show_groups(audit: AuditRecord, console: Console) -> None:
    """Print each group's size, how often each class is predicted, and how often wrongly."""
    labels = audit.classes[1:] if len(audit.classes) == 2 else audit.classes[:_SHOWN_CLASSES]
    table = simple_table("group (test rows)", "rows", *(f"predicted {label}" for label in labels), "error")
    for group in audit.groups[:_SHOWN_COLUMNS]:
        rates = [written(group.rates[label]) for label in labels]
        table.add_row(plain(group.group), f"{group.rows:,.0f}", *rates, written(group.error))
    console.print(table)


def point_summary(point: PointRecord) -> dict[str, Any]:
    """A model as JSON: every split's error and violations."""
    audits = {split: audit_summary(audit) for split, audit in point.splits.items()}
    return {"lam": point.lam, "seconds": _number(point.seconds), **audits}


def audit_summary(audit: AuditRecord) -> dict[str, Any]:
    """An audit as JSON: sizes, error and every measure with its interval, hard and soft apart."""
    return {
        "rows": audit.rows,
        "error": _numbers(audit.error),
        "hard": {m.name: _numbers(m.estimate) for m in audit.measures if not m.soft},
        "soft": {m.name: _numbers(m.estimate) for m in audit.measures if m.soft},
    }


def group_summary(group: GroupRecord) -> dict[str, Any]:
    """A group as JSON: its size, rates and error."""
    return {
        "group": group.group,
        "rows": _number(group.rows),
        "rates": {label: _numbers(rate) for label, rate in group.rates.items()},
        "error": _numbers(group.error),
        "tpr": {label: _numbers(rate) for label, rate in group.tpr.items()},
        "fpr": {label: _numbers(rate) for label, rate in group.fpr.items()},
        "note": group.note,
    }


def charge_summary(charge: ChargeRecord) -> dict[str, Any]:
    """A line of the rule that gives labels, as JSON."""
    known = {"likely": _number(charge.likely), "spread": _number(charge.spread)}
    about = {"group": charge.group, "condition": charge.condition, "charges": charge.charges}
    return {**about, **known, "features": dict(charge.features)}


def _numbers(estimate: Estimate | None) -> dict[str, Any] | None:
    """An estimate in JSON's types, which have no NaN."""
    if estimate is None:
        return None
    values = {name: getattr(estimate, name) for name in ("value", "low", "high")}
    found: dict[str, Any] = {name: _number(value) for name, value in values.items()}
    return {**found, "note": estimate.note} if estimate.note else found


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
