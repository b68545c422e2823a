"""What the commands print of columns and audits, for people and for machines."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any

from rich import box
from rich.table import Table

from fermi.cli._console import Console, printable
from fermi.errors import listed
from fermi.inputs.table_encoder import TableEncoder
from fermi.records import (
    AuditRecord,
    ChargeRecord,
    Estimate,
    GroupRecord,
    JudgedRecord,
    PointRecord,
    ReportRecord,
    UseRecord,
)
from fermi.tables.task import describe

_SHOWN_COLUMNS = 40
_SHOWN_CLASSES = 3
_FEW = 30  # rows, below which a group's rates say little
_NARROW = 7  # letters of a label that fit behind another word on a terminal of 80 columns


def simple_table(*columns: str) -> Table:
    """A table for the terminal without rules, its numbers to the right."""
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))  # narrow, for a terminal of 80 columns
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


def clipped(text: str, most: int) -> str:
    """A text cut to so many letters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def written(estimate: Estimate | None) -> str:
    """A number with its interval, as text."""
    if estimate is None or math.isnan(estimate.value):
        return "–"
    return f"{estimate.value:.3f}" + ("" if math.isnan(estimate.low) else f" [{estimate.low:.3f}, {estimate.high:.3f}]")


def show_points(record: ReportRecord, console: Console) -> None:
    """Print error, gap and worth of every model on every split, and of one label for everybody."""
    table = simple_table(record.strength, "rows", "error", "gap", "bal.", "AUC")
    for point in record.points:
        for split, audit in point.splits.items():
            strength = f"{point.lam:.4g}" + (", labels" if point.adjusted else "")
            gap = audit.measure("parity_difference")
            table.add_row(strength, plain(split), _share(audit.error), _short(gap), *_worth(audit.use))
    chosen = record.points[min(record.chosen, len(record.points) - 1)].splits  # some models may be left out here
    last = next((name for name in reversed(chosen) if chosen[name].use is not None), None)
    if last is not None and (use := chosen[last].use) is not None:
        error, half = f"{100 * use.constant_error:.1f}%", f"{1 / len(chosen[last].classes):.3f}"
        short = len(use.constant) <= _NARROW
        always = f"always {use.constant}" if short else f"always\n{clipped(use.constant, 2 * _NARROW)}"
        table.add_row(plain(always), plain(last), error, "0.000", half, "0.500")
    console.print(table)
    strength = "λ: how much fairness counts in training, 0 for not at all; " if record.strength == "λ" else ""
    rest = "gap: of labels, between groups; bal.: balanced accuracy; brackets: 95% intervals."
    console.print(strength + rest, highlight=False)


def _worth(use: UseRecord | None) -> tuple[str, str]:
    if use is None:
        return "–", "–"
    return f"{use.balanced_accuracy:.3f}", "–" if use.auc is None else f"{use.auc:.3f}"


def _share(estimate: Estimate | None) -> str:
    """A share with its interval, in percent."""
    if estimate is None or math.isnan(estimate.value):
        return "–"
    ends = "" if math.isnan(estimate.low) else f" [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return f"{100 * estimate.value:.1f}%{ends}"


def _alone(estimate: Estimate | None) -> str:
    """A share in percent without its interval."""
    return "–" if estimate is None or math.isnan(estimate.value) else f"{100 * estimate.value:.1f}%"


def _short(estimate: Estimate) -> str:
    """A number with its interval in two digits, for a narrow column."""
    if math.isnan(estimate.value):
        return "–"
    ends = "" if math.isnan(estimate.low) else f" [{estimate.low:.2f}, {estimate.high:.2f}]"
    return f"{estimate.value:.3f}{ends}"


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
    """Print each group's size, the rates that decide, and how often its labels are wrong; small groups last.

    Of several labels the rates stand without their intervals, for which a terminal has no room.
    """
    by_truth = audit.rate == "true_positive"
    labels = _told(audit, most=1 if by_truth else _SHOWN_CLASSES)
    kinds = ("TPR of", "FPR of") if by_truth else ("given",)
    heads = [f"{kind} {label}" for label in labels for kind in kinds]
    table = simple_table("group", "rows", *heads, "error")
    few = [group for group in audit.groups if group.rows < _FEW]
    ranked = [*(group for group in audit.groups if group not in few), *few]
    for group in ranked[:_SHOWN_COLUMNS]:
        rates = [group.tpr.get(c) if "TPR" in kind else group.fpr.get(c) for c in labels for kind in kinds]
        told = rates if by_truth else [group.rates[c] for c in labels]
        shown = [_share(rate) if by_truth or len(labels) == 1 else _alone(rate) for rate in told]
        error = group.error.value if by_truth and group.error is not None else math.nan
        wrong = _share(group.error) if math.isnan(error) else f"{100 * error:.1f}%"  # two rates leave little room
        table.add_row(plain(group.group), f"{group.rows:,.0f}", *shown, wrong)
    console.print(table)
    if len(ranked) > _SHOWN_COLUMNS:
        console.print(f"... and {len(ranked) - _SHOWN_COLUMNS:,} more groups on the page.")
    if not by_truth and len(audit.classes) > max(len(labels), 2):
        rest = [clipped(label, 2 * _NARROW) for label in audit.classes if label not in labels]
        console.print(f"The rates of {listed(rest, limit=3)} are on the page.", markup=False, highlight=False)


def _told(audit: AuditRecord, most: int) -> tuple[str, ...]:
    """The classes whose rates are shown: of two the last, of many a few, and that behind the gap first."""
    if len(audit.classes) == 2:
        return audit.classes[1:]
    if audit.label is not None and most == 1:
        return (audit.label,)
    behind = audit.judged.behind if audit.judged is not None else None
    return tuple(sorted(audit.classes, key=lambda label: behind is None or label != behind.label)[:most])


def point_summary(point: PointRecord) -> dict[str, Any]:
    """A model as JSON: every split's error and violations."""
    audits = {split: audit_summary(audit) for split, audit in point.splits.items()}
    return {"lam": point.lam, "seconds": _number(point.seconds), **audits}


def audit_summary(audit: AuditRecord) -> dict[str, Any]:
    """An audit as JSON: sizes, error and every measure with its interval, hard and soft apart."""
    told, use = audit.judged, audit.use
    more: dict[str, Any] = {}
    if use is not None:
        more["use"] = dataclasses.asdict(use)
    if told is not None:
        more["judged"] = _judged(told)
    return {
        "rows": audit.rows,
        "error": numbers(audit.error),
        **more,
        "hard": {m.name: numbers(m.estimate) for m in audit.measures if not m.soft},
        "soft": {m.name: numbers(m.estimate) for m in audit.measures if m.soft},
    }


def _judged(told: JudgedRecord) -> dict[str, Any]:
    """What can be told of groups with enough rows, as JSON."""
    behind = told.behind
    rates = None
    if behind is not None:
        rates = {
            "rate": behind.called,
            "label": behind.label,
            "condition": behind.condition,
            "highest": {"group": behind.highest, "rows": behind.high_rows, **(numbers(behind.high) or {})},
            "lowest": {"group": behind.lowest, "rows": behind.low_rows, **(numbers(behind.low) or {})},
        }
    return {
        "least_rows": told.least,
        "parity_difference": numbers(told.gap),
        "behind": rates,
        "four_fifths": None if told.ratio is None else {"label": told.favourable, **(numbers(told.ratio) or {})},
        "not_judged": list(told.few),
        "within": [
            {
                "condition": found.condition,
                "rows": found.rows,
                "parity_difference": numbers(found.gap),
                "highest": None if found.behind is None else found.behind.highest,
                "lowest": None if found.behind is None else found.behind.lowest,
            }
            for found in told.within
        ],
    }


def group_summary(group: GroupRecord) -> dict[str, Any]:
    """A group as JSON: its size, rates and error."""
    return {
        "group": group.group,
        "rows": _number(group.rows),
        "rates": {label: numbers(rate) for label, rate in group.rates.items()},
        "error": numbers(group.error),
        "tpr": {label: numbers(rate) for label, rate in group.tpr.items()},
        "fpr": {label: numbers(rate) for label, rate in group.fpr.items()},
        "precision": {label: numbers(rate) for label, rate in group.precision.items()},
        "auc": {label: numbers(area) for label, area in group.auc.items()},
        "calibration_error": group.calibration_error,
        "note": group.note,
    }


def more_of_group(group: GroupRecord) -> dict[str, Any]:
    """The ROC curves and the calibration of a group as JSON, where there are any."""
    curves = {
        label: [{"threshold": _number(p.threshold), "fpr": p.fpr, "tpr": p.tpr} for p in curve]
        for label, curve in group.roc.items()
    }
    ranges = [
        {"label": b.outcome, "rows": b.rows, "predicted": b.predicted, "observed": numbers(b.observed)}
        for b in group.calibration
    ]
    return ({"roc": curves} if curves else {}) | ({"calibration": ranges} if ranges else {})


def show_conditions(audit: AuditRecord, console: Console) -> None:
    """Print the gap between groups within each condition, where there are several."""
    within = audit.judged.within if audit.judged is not None else ()
    if not within:
        return
    table = simple_table("within", "rows", "gap", "highest", "lowest")
    for found in within[:_SHOWN_COLUMNS]:
        ends: tuple[Any, ...] = ("–", "–")
        if (b := found.behind) is not None:
            ends = (plain(f"{b.highest} {_percent(b.high)}"), plain(f"{b.lowest} {_percent(b.low)}"))
        table.add_row(plain(found.condition), f"{found.rows:,.0f}", _short(found.gap), *ends)
    console.print(table)


def _percent(rate: Estimate) -> str:
    return f"{100 * rate.value:.1f}%"


def charge_summary(charge: ChargeRecord) -> dict[str, Any]:
    """A line of the rule that gives labels, as JSON."""
    known = {"likely": _number(charge.likely), "spread": _number(charge.spread)}
    about = {"group": charge.group, "condition": charge.condition, "charges": charge.charges}
    return {**about, **known, "features": dict(charge.features)}


def numbers(estimate: Estimate | None) -> dict[str, Any] | None:
    """An estimate in JSON's types, which have no NaN."""
    if estimate is None:
        return None
    values = {name: getattr(estimate, name) for name in ("value", "low", "high")}
    found: dict[str, Any] = {name: _number(value) for name, value in values.items()}
    return {**found, "note": estimate.note} if estimate.note else found


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
