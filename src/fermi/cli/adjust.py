"""`fermi adjust`: labels within a bound for somebody else's probabilities."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from fermi.cli._console import Console
from fermi.cli._flags import in_options
from fermi.cli._same import refuse_same_file
from fermi.cli._summaries import audit_summary, group_summary, plain, simple_table
from fermi.cli._verdicts import require, show_verdict, verdict_summary
from fermi.cli.train import check_options, stem
from fermi.decisions.figures import Figures
from fermi.errors import FermiError
from fermi.fitting.progress import Progress
from fermi.records import AuditRecord, Estimate, GroupRecord
from fermi.tables.adjusting import Adjusted, adjust
from fermi.tables.asked import Asked
from fermi.tables.formats import check_writable_format, read_raw, understood, write_table
from fermi.tables.given import given_rows
from fermi.tables.kinds import KINDS
from fermi.tables.task import Task

LABEL = "label"
_SHOWN_GROUPS = 40
_SHOWN_CLASSES = 3


def run(
    file: str,
    task: Task,
    probability: Sequence[str],
    asked: Asked,
    *,
    output: str | None,
    as_json: bool,
    required: bool = False,
) -> None:
    """Add a column of labels to the rows of the file, and print what they cost and how far groups differ."""
    check_options(task, KINDS[0], asked.max_violation)
    target = Path(output) if output else Path(f"{stem(file)}-labels.{Path(file).name.partition('.')[2] or 'csv'}")
    if output:
        check_writable_format(target)
        refuse_same_file(target, file)
    console = Console(quiet=as_json)
    frame = read_raw(file)  # rows are written again as they were
    if LABEL in frame.columns:
        raise FermiError(f"The file has a column {LABEL!r} already: rename it, so that nothing is lost.")
    rows = given_rows(understood(frame), task, tuple(probability))
    with Progress(not as_json) as progress:
        progress.say("choosing labels")
        found = adjust(rows, task, asked)
    found = found._replace(notes=[in_options(note) for note in found.notes])
    require(found.said.verdict, required=required)
    write_table(_labelled(frame, found), target)
    if as_json:
        print(json.dumps(_summary(found, rows.features, len(frame), target), ensure_ascii=False, indent=2))
        return
    about = (
        f"{file}: {len(frame):,} rows, {len(rows.y):,} with a target; groups are told by {len(rows.features)} columns"
    )
    console.print(about, markup=False, highlight=False)
    show_verdict(found.said, console)
    _show(found, rows.classes, console, by_truth=rows.fairness.needs_target)
    console.print(found.reason, markup=False, highlight=False)
    for note in found.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    console.print(f"Labels: {target}", markup=False, highlight=False)


def _labelled(frame: pd.DataFrame, found: Adjusted) -> pd.DataFrame:
    """The rows with their labels, and none where a row has no probabilities; whole numbers stay whole."""
    if len(found.labels) == len(frame):
        return frame.assign(**{LABEL: found.labels})
    column = found.labels.astype(object).reindex(frame.index)
    return frame.assign(**{LABEL: column.where(column.notna(), None)})


def _summary(found: Adjusted, features: list[str], n_rows: int, target: Path) -> dict[str, Any]:
    return {
        "output": str(target),
        "rows": n_rows,
        "labels": found.labels.astype(str).value_counts().to_dict(),
        **verdict_summary(found.said, found.price),
        "kept": found.kept,
        "reason": found.reason,
        "chosen_on": dataclasses.asdict(found.chosen_on),
        "before": _judged(*found.before),
        "after": _judged(*found.after),
        "upper_limit": found.upper_limit,
        "features": features,
        "notes": found.notes,
    }


def _judged(figures: Figures, audits: dict[str, AuditRecord]) -> dict[str, Any]:
    """What labels reach on held-out rows, as JSON."""
    by_split = {
        split: {**audit_summary(audit), "groups": [group_summary(group) for group in audit.groups]}
        for split, audit in audits.items()
    }
    return {**dataclasses.asdict(figures), **by_split}


def _show(found: Adjusted, classes: list[Any], console: Console, *, by_truth: bool) -> None:
    """Print error, gap, ratio and rates before and after, all of held-out rows."""
    table = simple_table("held-out rows", "error", "gap", "ratio", f"rate of {classes[-1]}")
    for name, (figures, _) in (("most probable", found.before), ("label", found.after)):
        table.add_row(
            name,
            f"{figures.error:.4f} ± {figures.error_noise:.4f}",
            f"{figures.violation:.4f} ± {figures.standard_error:.4f}",
            f"{figures.ratio:.3f}",
            f"{figures.rate:.3f}",
        )
    console.print(table)
    for before, after in zip(found.before[1].values(), found.after[1].values(), strict=True):
        _show_groups(before, after, console, by_truth=by_truth)
    console.print("Arrows lead from the most probable class to the label, ± is one standard error.", highlight=False)


def _show_groups(before: AuditRecord, after: AuditRecord, console: Console, *, by_truth: bool) -> None:
    """Print each group's rates and errors before and after; the rates of each true class where it matters."""
    labels = after.classes[1:] if len(after.classes) == 2 else after.classes[:_SHOWN_CLASSES]
    kinds = ("TPR", "FPR") if by_truth else ("rate",)
    table = simple_table("group", "rows", *(f"{kind} of {label}" for label in labels for kind in kinds), "error")
    for old, new in zip(before.groups[:_SHOWN_GROUPS], after.groups[:_SHOWN_GROUPS], strict=True):
        moves = [move for label in labels for move in _moves(old, new, label, by_truth=by_truth)]
        table.add_row(plain(new.group), f"{new.rows:,.0f}", *moves, _moved(old.error, new.error, new.rows))
    console.print(table)


def _moves(old: GroupRecord, new: GroupRecord, label: str, *, by_truth: bool) -> list[str]:
    """How the rates of a class have moved: over all rows, or over those that are truly of the class and those not."""
    if not by_truth:
        return [_moved(old.rates[label], new.rates[label], new.rows)]
    true = sum(new.confusion[list(new.rates).index(label)]) if new.confusion else 0.0
    return [
        _moved(old.tpr.get(label), new.tpr.get(label), true),
        _moved(old.fpr.get(label), new.fpr.get(label), new.rows - true),
    ]


def _moved(old: Estimate | None, new: Estimate | None, rows: float) -> str:
    """A rate before and after, with the standard error of so many rows."""
    if old is None or new is None or math.isnan(new.value) or rows <= 0:
        return "–"
    return f"{old.value:.3f} → {new.value:.3f} ± {math.sqrt(new.value * (1.0 - new.value) / rows):.3f}"
