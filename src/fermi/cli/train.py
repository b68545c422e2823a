"""`fermi train`: from a file to a model folder with a page that says what it costs."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from fermi import report
from fermi._files import whole_folder
from fermi.cli._console import Console
from fermi.cli._flags import in_command_words
from fermi.cli._same import refuse_same_file
from fermi.cli._summaries import charge_summary, point_summary, show_columns, show_groups, show_points
from fermi.cli._verdicts import require, said_of, show_verdict, verdict_summary
from fermi.errors import FermiError
from fermi.fitting.options import DECISIONS
from fermi.fitting.progress import Progress
from fermi.inputs.arguments import AT_LEAST_ZERO, chosen, number, whole
from fermi.notions import NAMES
from fermi.tables.asked import Asked
from fermi.tables.checking import check_table
from fermi.tables.formats import STANDARD_INPUT, check_writable_format, read_raw, read_table, write_table
from fermi.tables.kinds import KINDS
from fermi.tables.model_folder import ARRAYS, MARK
from fermi.tables.task import Prepared, Task, check_columns, describe, prepare
from fermi.tables.together import is_folder
from fermi.tables.training import Trained, train

REPORT = "report.html"
SPLIT = "split"
CARD = "README.md"
FILES = (MARK, ARRAYS, REPORT, CARD)
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


class Rows(NamedTuple):
    """The files that rows come from, where the split is to be written, and whether sensitive columns are features."""

    file: str
    test: str | None = None
    save_split: str | None = None
    keep: bool | None = None


def run(
    given: Rows,
    task: Task,
    wanted: Wanted,
    *,
    refit: bool,
    output: str | None,
    force: bool,
    as_json: bool,
    required: bool = False,
) -> None:
    """Train a model on a file, write its folder, print what was found."""
    check_options(task, wanted.kind, wanted.asked.max_violation)
    wanted.check()
    check_files(given)
    if required and not wanted.asked.anything:
        raise FermiError("--require is given without a bound; expected one as well, say --max-violation 0.02.")
    console = Console(quiet=as_json)
    folder = fresh(Path(output) if output else Path(f"{stem(given.file)}-model"), FILES, force=force)
    with whole_folder(folder, FILES) as partial:
        rows = prepared(given, task, console, as_json=as_json)
        kind, lam, decision, asked = wanted
        with Progress(not as_json) as progress:
            found = train(
                rows,
                kind,
                lam=lam,
                decision=decision,
                asked=asked,
                source=Path(given.file).name,
                refit=refit and given.test is None,
                say=progress.say,
            )
        found = dataclasses.replace(found, record=in_command_words(found.record))
        require(found.record.verdict, required=required)
        found.saved.save(partial)
        report.write(found.record, partial / REPORT)
        report.write_card(found.record, partial / CARD)
    save_split(given, rows)
    if as_json:
        print(json.dumps(_summary(found, rows, folder), ensure_ascii=False, indent=2))
        return
    _show(found, rows, folder, console, asked=wanted.lam is not None or wanted.asked.anything)


def fresh(folder: Path, names: Collection[str], *, force: bool) -> Path:
    """A folder that may be written: one that is there already only if it may be replaced."""
    present = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    if present and present == set(names) and not force:
        raise FermiError(f"The folder {str(folder)!r} is there already: --force replaces it, --output takes another.")
    return folder


def check_files(given: Rows) -> None:
    """Refuse files that would be lost or cannot be used together."""
    if given.test is not None:
        refuse_same_file(given.test, given.file, "--test")
    if given.save_split is None:
        return
    if given.file == STANDARD_INPUT:
        raise FermiError("--save-split needs a file that can be read again, and not standard input.")
    if given.test is not None:
        raise FermiError("--save-split is given with --test: the split is that of the two files.")
    check_writable_format(given.save_split)
    refuse_same_file(given.save_split, given.file, "--save-split")


def save_split(given: Rows, rows: Prepared) -> None:
    """Write the rows as they stand in the file, with a column that says what each was for."""
    if given.save_split is None:
        return
    frame = read_raw(given.file)
    if SPLIT in frame.columns:
        raise FermiError(f"The file has a column {SPLIT!r} already: rename it, so that nothing is lost.")
    used = np.full(len(frame), "left out", dtype=object)
    for name, places in rows.places.items():
        used[places] = name
    write_table(frame.assign(**{SPLIT: used}), given.save_split)


def check_options(task: Task, model: str, max_violation: float | None) -> None:
    """Refuse what no data could make right, before anything is read."""
    chosen("--model", model, KINDS)
    chosen("--notion", task.notion, NAMES)
    chosen("--attributes", task.attributes, ["intersection", "each"])
    number("--test-size", task.test_size, "a number above 0 and below 1", low=0.0, high=1.0, open_low=True)
    whole("--seed", task.seed, "a whole number of at least 0", low=0)
    if max_violation is not None:
        number("--max-violation", max_violation, "a number from 0 to 1", low=0.0, high=1.0)


def prepared(given: Rows, task: Task, console: Console, *, as_json: bool) -> Prepared:
    """The file, made ready, with what every column was taken for."""
    frame = read_table(given.file)
    check_columns(frame, task)
    test = None if given.test is None else read_table(given.test)
    keep = ask_to_keep(console, as_json=as_json) if given.keep is None else given.keep
    rows = prepare(frame, dataclasses.replace(task, keep_sensitive=keep), test)
    # Preparing has counted the rows without a label; what gives the group away matters where that is left out.
    said = {"lost", "proxy"} if keep else {"lost"}
    rows.notes.extend(found.words for found in check_table(task.mending(frame), task) if found.kind not in said)
    console.print(f"{given.file}: {len(frame):,} rows, {len(frame.columns):,} columns", highlight=False, markup=False)
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
    """The name of the file without what follows its first dot, or of the folder of a pattern."""
    if file == STANDARD_INPUT:
        return "stdin"
    if is_folder(file) and not Path(file).is_dir():
        return Path(file).parent.name or "fermi"
    return Path(file).name.split(".")[0] or "fermi"


def _summary(found: Trained, rows: Prepared, folder: Path) -> dict[str, Any]:
    record = found.record
    return {
        "output": str(folder),
        "report": str(folder / REPORT),
        **verdict_summary(said_of(record), record.price),
        "lam": found.saved.lam,
        "decision": found.saved.model.decision_,
        "reason": record.reason,
        "held_out": None if found.held_out is None else dataclasses.asdict(found.held_out),
        "rule": [charge_summary(charge) for charge in record.rule],
        "sensitive_columns_are_features": rows.task.keep_sensitive,
        "rows": {"train": len(rows.train.y), "test": len(rows.test.y), "saved_model": found.rows},
        "columns": {column.name: describe(column) for column in rows.encoder.columns},
        "chosen": point_summary(record.points[record.chosen]),
        "without_fairness": point_summary(record.points[0]),
        "notes": list(record.notes),
    }


def _show(found: Trained, rows: Prepared, folder: Path, console: Console, *, asked: bool) -> None:
    record = found.record
    show_verdict(said_of(record), console)
    show_points(record, console)
    tests = [audit for split, audit in record.points[record.chosen].splits.items() if split.startswith("test")]
    for audit in tests:
        show_groups(audit, console)
    console.print(record.reason, markup=False, highlight=False)
    for note in record.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    if not asked:
        console.print("λ = 1 is a guess: --max-violation 0.02 looks for the λ, or the labels, within a gap of 0.02.")
    if found.rows > len(rows.train.y):
        console.print(
            f"The saved model is trained again on all {found.rows:,} rows; the figures above are of the model of the "
            f"{len(rows.train.y):,} training rows, on rows it had not seen. --no-refit saves that one.",
            highlight=False,
        )
    console.print(
        f"Model: {folder}\nReport: {folder / REPORT}\nModel card: {folder / CARD}", markup=False, highlight=False
    )
