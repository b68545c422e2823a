"""`fermi train`: from a file to a model folder with a page that says what it costs."""

from __future__ import annotations

import dataclasses
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import typer

from fermi import report
from fermi._files import whole_folder
from fermi.cli._console import Console
from fermi.cli._summaries import charge_summary, point_summary, show_columns, show_groups, show_points
from fermi.errors import FermiError
from fermi.fitting.options import DECISIONS
from fermi.inputs.arguments import AT_LEAST_ZERO, chosen, number, whole
from fermi.notions import NAMES
from fermi.tables.asked import Asked
from fermi.tables.formats import read_table
from fermi.tables.kinds import KINDS
from fermi.tables.model_folder import ARRAYS, MARK
from fermi.tables.task import Prepared, Task, check_columns, describe, prepare
from fermi.tables.training import Trained, train

REPORT = "report.html"
FILES = (MARK, ARRAYS, REPORT)
_COSTS = (
    "The sensitive columns can be among the features or not. Kept, the model is usually more accurate at the same "
    "violation, since it can correct for the group by name; but every prediction then needs the person's group, and "
    "deciding by it may be unlawful. Dropped, prediction never asks for the group, at the price of some accuracy."
)


class Wanted(NamedTuple):
    """What is wanted of a model, beside the task."""

    kind: str
    lam: float | None
    decision: str
    asked: Asked

    def check(self) -> None:
        """Refuse what cannot be wanted together."""
        chosen("decision", self.decision, DECISIONS)
        if self.lam is not None:
            number("--lam", self.lam, AT_LEAST_ZERO, low=0.0)
        by_labels = self.decision == "labels" or self.asked.needs_labels
        if self.lam is not None and self.asked.max_violation is not None and not by_labels:
            raise FermiError(
                "--lam and --max-violation exclude each other: the second looks for the λ itself, unless --decision is "
                "labels."
            )
        if self.decision == "argmax" and self.asked.needs_labels:
            raise FermiError(
                "--decision is argmax: it keeps --max-violation alone; expected labels or auto with --min-ratio, "
                "--min-rate, --max-rate and --slack."
            )
        if self.decision == "labels" and not self.asked.anything:
            raise FermiError("--decision is labels without a bound; expected one as well, say --max-violation 0.02.")


def run(file: str, task: Task, wanted: Wanted, *, keep: bool | None, output: str | None, as_json: bool) -> None:
    """Train a model on a file, write its folder, print what was found."""
    check_options(task, wanted.kind, wanted.asked.max_violation)
    wanted.check()
    console = Console(quiet=as_json)
    folder = Path(output) if output else Path(f"{stem(file)}-model")
    with whole_folder(folder, FILES) as partial:
        rows = prepared(file, task, keep, console, as_json=as_json)
        with console.status("training") if console.is_terminal else nullcontext():
            kind, lam, decision, asked = wanted
            found = train(rows, kind, lam=lam, decision=decision, asked=asked, source=Path(file).name)
        found.saved.save(partial)
        report.write(found.record, partial / REPORT)
    if as_json:
        print(json.dumps(_summary(found, rows, folder), ensure_ascii=False, indent=2))
        return
    _show(found, folder, console, asked=wanted.lam is not None or wanted.asked.anything)


def check_options(task: Task, model: str, max_violation: float | None) -> None:
    """Refuse what no data could make right, before anything is read."""
    chosen("--model", model, KINDS)
    chosen("--notion", task.notion, NAMES)
    chosen("--attributes", task.attributes, ["intersection", "each"])
    number("--test-size", task.test_size, "a number above 0 and below 1", low=0.0, high=1.0, open_low=True)
    whole("--seed", task.seed, "a whole number of at least 0", low=0)
    if max_violation is not None:
        number("--max-violation", max_violation, "a number from 0 to 1", low=0.0, high=1.0)


def prepared(file: str, task: Task, keep: bool | None, console: Console, *, as_json: bool) -> Prepared:
    """The file, made ready, with what every column was taken for."""
    frame = read_table(file)
    check_columns(frame, task)
    if keep is None:
        keep = ask_to_keep(console, as_json=as_json)
    rows = prepare(frame, dataclasses.replace(task, keep_sensitive=keep))
    console.print(f"{file}: {len(frame):,} rows, {len(frame.columns):,} columns", highlight=False, markup=False)
    show_columns(rows.encoder, console)
    return rows


def ask_to_keep(console: Console, *, as_json: bool) -> bool:
    """Whether the sensitive columns are features: asked on a terminal, else answered with no, and said so."""
    if as_json:
        return False
    console.print(_COSTS)
    if sys.stdin.isatty() and sys.stdout.isatty():
        return typer.confirm("Keep the sensitive columns as features?", default=False)
    console.print("They are dropped here; --keep-sensitive and --drop-sensitive say which without asking.\n")
    return False


def stem(file: str) -> str:
    """The name of the file without what follows its first dot."""
    return Path(file).name.split(".")[0] or "fermi"


def _summary(found: Trained, rows: Prepared, folder: Path) -> dict[str, Any]:
    record = found.record
    return {
        "output": str(folder),
        "report": str(folder / REPORT),
        "lam": found.saved.lam,
        "decision": found.saved.model.decision_,
        "reason": record.reason,
        "held_out": None if found.held_out is None else dataclasses.asdict(found.held_out),
        "rule": [charge_summary(charge) for charge in record.rule],
        "sensitive_columns_are_features": rows.task.keep_sensitive,
        "rows": {"train": len(rows.train.y), "test": len(rows.test.y)},
        "columns": {column.name: describe(column) for column in rows.encoder.columns},
        "chosen": point_summary(record.points[record.chosen]),
        "without_fairness": point_summary(record.points[0]),
        "notes": list(record.notes),
    }


def _show(found: Trained, folder: Path, console: Console, *, asked: bool) -> None:
    record = found.record
    show_points(record, console)
    tests = [audit for split, audit in record.points[record.chosen].splits.items() if split.startswith("test")]
    for audit in tests:
        show_groups(audit, console)
    console.print(record.reason, markup=False, highlight=False)
    for note in record.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    if not asked:
        console.print("λ = 1 is a guess: --max-violation 0.02 looks for the λ, or the labels, within a gap of 0.02.")
    console.print(f"Model: {folder}\nReport: {folder / REPORT}", markup=False, highlight=False)
