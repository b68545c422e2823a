"""`fermi tradeoff`: what each step towards fairness costs, as a table and a page."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from fermi import report
from fermi._files import whole_folder
from fermi.cli._console import Console
from fermi.cli._flags import in_command_words
from fermi.cli._summaries import point_summary, show_points, without_splits
from fermi.cli._verdicts import require, said_of, show_verdict, verdict_summary
from fermi.cli.train import REPORT, Rows, check_files, check_options, fresh, prepared, save_split, stem
from fermi.engines import check_address, task_pool
from fermi.errors import FermiError
from fermi.inputs.arguments import chosen as one_of
from fermi.records import ReportRecord
from fermi.tables.curves import curve
from fermi.tables.formats import write_table
from fermi.tables.task import Task

CURVE = "curve.csv"


def run(
    given: Rows,
    task: Task,
    *,
    model: str,
    max_violation: float | None,
    output: str | None,
    force: bool,
    jobs: int | None,
    as_json: bool,
    required: bool = False,
    engine: str = "local",
    address: str | None = None,
) -> None:
    """Train along λ, write the curve and its page, print the table."""
    check_options(task, model, max_violation)
    check_files(given)
    if required and max_violation is None:
        raise FermiError("--require is given without a bound; expected --max-violation as well, say 0.02.")
    if jobs == 0:
        raise FermiError("--jobs is 0; expected a number of processes, or -1 for one per core.")
    check_address(one_of("engine", engine, ("local", "ray")), address)
    console = Console(quiet=as_json)
    folder = fresh(Path(output) if output else Path(f"{stem(given.file)}-tradeoff"), (CURVE, REPORT), force=force)
    with whole_folder(folder, (CURVE, REPORT)) as partial:
        rows = prepared(given, task, console, as_json=as_json)
        source = Path(given.file).name
        with nullcontext() if engine == "local" else task_pool(engine, workers=jobs, address=address):
            found, record = curve(
                rows, model, source=source, n_jobs=jobs, progress=not as_json, max_violation=max_violation
            )
        record = in_command_words(record)
        require(record.verdict, required=required)
        write_table(found.frame, partial / CURVE)
        report.write(record, partial / REPORT)
    save_split(given, rows)
    if as_json:
        print(json.dumps(_summary(record, rows.task, folder), ensure_ascii=False, indent=2))
        return
    show_verdict(said_of(record), console)
    show_points(without_splits(record, {"train"}), console)
    console.print(record.reason)
    for note in record.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    console.print("To have one of these models: fermi train with the same options and its λ as --lam.")
    console.print(f"Curve: {folder / CURVE}\nReport: {folder / REPORT}", markup=False, highlight=False)


def _summary(record: ReportRecord, task: Task, folder: Path) -> dict[str, Any]:
    return {
        "output": str(folder),
        "report": str(folder / REPORT),
        "points": [point_summary(point) for point in record.points],
        **verdict_summary(said_of(record), record.price),
        "chosen": record.points[record.chosen].lam,
        "reason": record.reason,
        "sensitive_columns_are_features": task.keep_sensitive,
        "notes": list(record.notes),
    }
