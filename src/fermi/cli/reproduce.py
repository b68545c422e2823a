"""`fermi reproduce`: run a figure of the paper and say where its page is."""

from __future__ import annotations

import json
from pathlib import Path

from fermi import experiments


def run(name: str, *, quick: bool, output: str, workers: int | None, from_records: bool, as_json: bool) -> None:
    """Run a figure and print the folders written."""
    folders = experiments.reproduce(name, quick=quick, output=Path(output), workers=workers, from_records=from_records)
    if as_json:
        print(json.dumps([str(folder) for folder in folders]))
        return
    for folder in folders:
        print(folder / "summary.md")
