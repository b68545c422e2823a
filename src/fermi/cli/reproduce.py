"""`fermi reproduce`: run a figure of the paper and say where its page is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fermi import experiments


def run(name: str, *, quick: bool, output: str, from_records: bool, as_json: bool, **where: Any) -> None:
    """Run a figure and print the folders written; `where` says on which engine, with how many workers."""
    folders = experiments.reproduce(name, quick=quick, output=Path(output), from_records=from_records, **where)
    if as_json:
        print(json.dumps([str(folder) for folder in folders]))
        return
    for folder in folders:
        print(folder / "summary.md")
