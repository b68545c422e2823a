"""`fermi tradeoff`: what each step towards fairness costs, as a table and a page."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

from fermi import report
from fermi._files import whole_folder
from fermi.cli._console import Console
from fermi.cli._summaries import point_summary, show_points, without_splits
from fermi.cli.train import REPORT, check_options, prepared, stem
from fermi.engines import check_address, task_pool
from fermi.errors import FermiError
from fermi.inputs.arguments import chosen as one_of
from fermi.tables.formats import write_table
from fermi.tables.task import Task
from fermi.tables.training import curve

CURVE = "curve.csv"


def run(
    file: str,
    task: Task,
    *,
    model: str,
    max_violation: float | None,
    keep: bool | None,
    output: str | None,
    jobs: int | None,
    as_json: bool,
    engine: str = "local",
    address: str | None = None,
) -> None:
    """Train along λ, write the curve and its page, print the table."""
    check_options(task, model, max_violation)
    if jobs == 0:
        raise FermiError("--jobs is 0; expected a number of processes, or -1 for one per core.")
    check_address(one_of("engine", engine, ("local", "ray")), address)
    console = Console(quiet=as_json)
    folder = Path(output) if output else Path(f"{stem(file)}-tradeoff")
    with whole_folder(folder, (CURVE, REPORT)) as partial:
        rows = prepared(file, task, keep, console, as_json=as_json)
        with nullcontext() if engine == "local" else task_pool(engine, workers=jobs, address=address):
            found, record = curve(
                rows, model, source=Path(file).name, n_jobs=jobs, progress=not as_json, max_violation=max_violation
            )
        write_table(found.frame, partial / CURVE)
        report.write(record, partial / REPORT)
    chosen = record.points[record.chosen]
    if as_json:
        summary = {
            "output": str(folder),
            "report": str(folder / REPORT),
            "points": [point_summary(point) for point in record.points],
            "chosen": chosen.lam,
            "reason": record.reason,
            "sensitive_columns_are_features": rows.task.keep_sensitive,
            "notes": list(record.notes),
        }
        print(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    show_points(without_splits(record, {"train"}), console)
    console.print(record.reason)
    for note in record.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    console.print("To have one of these models: fermi train with the same options and its λ as --lam.")
    console.print(f"Curve: {folder / CURVE}\nReport: {folder / REPORT}", markup=False, highlight=False)
