"""`fermi check`: what is likely wrong with a file, before anything is trained on it."""

from __future__ import annotations

import json

from fermi.cli._console import Console
from fermi.cli._flags import in_options
from fermi.tables.checking import check_table
from fermi.tables.formats import read_table
from fermi.tables.task import Task, check_columns


def run(file: str, task: Task, *, as_json: bool) -> None:
    """Look at a file and print what was found, each with the option that mends it."""
    frame = read_table(file)
    check_columns(frame, task)
    found = check_table(task.mending(frame), task)
    if as_json:
        lines = [{"kind": f.kind, "column": f.column, "words": in_options(f.words)} for f in found]
        print(json.dumps({"rows": len(frame), "clean": not found, "findings": lines}, ensure_ascii=False, indent=2))
        return
    console = Console()
    console.print(f"{file}: {len(frame):,} rows, {len(frame.columns):,} columns", highlight=False, markup=False)
    for finding in found:
        console.print(f"- {in_options(finding.words)}", highlight=False, markup=False)
    if not found:
        console.print("Nothing odd was found.")
