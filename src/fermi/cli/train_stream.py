"""`fermi train FOLDER`: from files that need not fit into memory to a model folder."""

from __future__ import annotations

import dataclasses
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from fermi import report
from fermi._files import whole_folder
from fermi.cli._console import Console
from fermi.cli._flags import in_command_words
from fermi.cli._summaries import point_summary, show_columns, show_groups, show_points
from fermi.cli.train import CARD, FILES, REPORT, Rows, Wanted, ask_to_keep, check_options, fresh, stem
from fermi.errors import FermiError
from fermi.inputs.arguments import chosen
from fermi.notions import OF_LABELS
from fermi.tables.streaming import Streaming, StreamTrained, train_stream, with_kept
from fermi.tables.task import Task, describe
from fermi.tables.together import is_folder, is_large

SOLVERS = ("auto", "lbfgs", "sgda")


def is_stream(file: str, how: Streaming) -> bool:
    """Whether files are to be streamed: where an option of streams is given, and folders too large for one table."""
    return how != Streaming() or (is_folder(file) and is_large(file))


def refuse_in_memory_options(given: Rows, task: Task, *, refit: bool, required: bool) -> None:
    """Refuse options that are about rows in memory, which a stream would pass over in silence."""
    columns = {name: bool(texts) for name, texts in dataclasses.asdict(task.mending).items()}
    asked = {"test": given.test, "save_split": given.save_split, "no_refit": not refit, "require": required} | columns
    if named := [f"--{name.replace('_', '-')}" for name, value in asked.items() if value]:
        raise FermiError(
            f"{named[0]} is for a file that is read into memory: expected none for files that are streamed."
        )
    if task.notion in OF_LABELS and not task.advantaged:
        raise FermiError(f"--notion {task.notion} needs to know which label people want: name it with --favourable.")


def run(
    source: str,
    task: Task,
    wanted: Wanted,
    how: Streaming,
    *,
    keep: bool | None,
    output: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Train a model on a stream, write its folder, print what was found."""
    check_options(task, wanted.kind, None)
    chosen("--solver", how.solver, SOLVERS)
    wanted.check()
    if wanted.kind != "linear":
        raise FermiError(f"--model is {wanted.kind}: of files that are streamed only linear models are trained.")
    if wanted.asked.anything or wanted.decision == "labels":
        raise FermiError("Bounds are kept on rows in memory: expected --lam for files that are streamed.")
    console = Console(quiet=as_json)
    named = Path(output) if output else Path(f"{stem(source)}-model")
    folder = fresh(named, FILES, force=force)
    task = with_kept(task, ask_to_keep(console, as_json=as_json) if keep is None else keep)
    with whole_folder(folder, FILES) as partial:
        with console.status("training") if console.is_terminal else nullcontext():
            found = train_stream(source, task, 1.0 if wanted.lam is None else wanted.lam, how)
        found = dataclasses.replace(found, record=in_command_words(found.record))
        found.saved.save(partial)
        report.write(found.record, partial / REPORT)
        report.write_card(found.record, partial / CARD)
    if as_json:
        print(json.dumps(_summary(found, folder), ensure_ascii=False, indent=2))
        return
    console.print(f"{source}: {found.rows['train']:,} training rows", highlight=False, markup=False)
    show_columns(found.saved.encoder, console)
    show_points(found.record, console)
    for audit in found.record.points[0].splits.values():
        show_groups(audit, console)
    for note in found.record.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    console.print(f"Model: {folder}\nReport: {folder / REPORT}", markup=False, highlight=False)


def _summary(found: StreamTrained, folder: Path) -> dict[str, Any]:
    model, record = found.saved.model, found.record
    return {
        "output": str(folder),
        "report": str(folder / REPORT),
        "lam": found.saved.lam,
        "sensitive_columns_are_features": found.saved.task.keep_sensitive,
        "rows": found.rows,
        "skipped_files": list(found.skipped),
        "passes": int(model.n_iter_),
        "objective": model.history_[-1]["objective"],
        "columns": {column.name: describe(column) for column in found.saved.encoder.columns},
        "chosen": point_summary(record.points[0]),
        "notes": list(record.notes),
    }
