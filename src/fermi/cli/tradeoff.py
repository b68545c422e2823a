"""`fermi tradeoff`: what each step towards fairness costs, as a table and a page."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from fermi import report
from fermi.cli._tables import point_summary, show_points, without_splits
from fermi.cli.train import REPORT, prepared, stem
from fermi.tables.files import write_table
from fermi.tables.task import Task
from fermi.tables.train import curve
from fermi.whole import whole_folder

CURVE = "curve.csv"


def run(
    file: str, task: Task, *, model: str, max_violation: float | None, keep: bool | None, output: str | None,
    jobs: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Train along λ, write the curve and the page, print the table."""
    console = Console(quiet=as_json)
    folder = Path(output) if output else Path(f"{stem(file)}-tradeoff")
    with whole_folder(folder, CURVE) as partial:
        rows = prepared(file, task, keep, console, as_json=as_json)
        found, record = curve(
            rows, model, source=Path(file).name, n_jobs=jobs, progress=not as_json, max_violation=max_violation
        )
        write_table(found.frame, partial / CURVE)
        report.write(record, partial / REPORT)
    chosen = record.points[record.chosen]
    if as_json:
        points = [point_summary(point) for point in record.points]
        summary = {"output": str(folder), "report": str(folder / REPORT), "points": points, "chosen": chosen.lam}
        print(json.dumps({**summary, "notes": list(record.notes)}, ensure_ascii=False, indent=2))
        return
    show_points(without_splits(record, {"train"}), console)
    console.print(record.reason)
    for note in record.notes:
        console.print(f"Note: {note}", markup=False, highlight=False)
    console.print(f"Curve: {folder / CURVE}\nReport: {folder / REPORT}", markup=False, highlight=False)
