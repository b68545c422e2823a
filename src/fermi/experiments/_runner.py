"""Runs the cells of a figure: in parallel, each once, going on after an interruption where it stopped."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fermi._optional import require
from fermi.errors import FermiError
from fermi.experiments._figure import Cell, Figure, Record

_JOURNAL = "cells.jsonl"


def reproduce(name: str, figure: Figure, *, quick: bool, folder: Path, workers: int | None = None) -> Path:
    """Run what is not there yet, and write `cells.csv`, `summary.md` and `figure.png`."""
    import pandas as pd

    folder.mkdir(parents=True, exist_ok=True)
    cells = {figure.key(cell): cell for cell in figure.cells(quick)}
    journal = Journal(folder / _JOURNAL)
    missing = {key: cell for key, cell in cells.items() if key not in journal.done}
    began = time.perf_counter()
    _run_all(name, missing, journal, workers or os.cpu_count() or 1)
    seconds = time.perf_counter() - began
    records = pd.DataFrame([record for key in cells for record in journal.done[key]])
    _write(folder / "cells.csv", records.to_csv(index=False).encode())
    page = (
        f"# {figure.title}\n\n{_provenance(quick, len(cells), len(missing), seconds)}\n\n{figure.summarise(records)}\n"
    )
    _write(folder / "summary.md", page.encode())
    if figure.draw is not None:
        _draw(figure, records, folder / "figure.png")
    return folder


class Journal:
    """Finished cells on disk, a line each, so that an interruption loses none of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: dict[str, list[Record]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                entry = json.loads(line)
            except ValueError:  # cut off when the machine went down
                continue
            self.done[entry["key"]] = entry["records"]

    def add(self, key: str, records: list[Record]) -> None:
        """Write one cell's records."""
        self.done[key] = records
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "records": records}) + "\n")


def _run_all(name: str, cells: dict[str, Cell], journal: Journal, workers: int) -> None:
    from joblib import Parallel, delayed, parallel_config

    if not cells:
        return
    # The cells are what runs in parallel; threads inside of them would only wait for each other.
    with parallel_config("loky", n_jobs=workers, inner_max_num_threads=1), _progress(name, len(cells)) as advance:
        running = Parallel(return_as="generator_unordered")
        for key, records in running(delayed(_run_cell)(name, key, cell) for key, cell in cells.items()):
            journal.add(key, records)
            advance()


def _run_cell(name: str, key: str, cell: Cell) -> tuple[str, list[Record]]:
    """In a process of its own, which finds the figure by its name."""
    from fermi.experiments import find

    began = time.perf_counter()
    try:
        found = find(name).run(cell)
    except Exception as error:
        raise FermiError(f"The cell {dict(cell)} failed ({type(error).__name__}: {error}).") from error
    seconds = time.perf_counter() - began
    records = found if isinstance(found, list) else [found]
    return key, [{**cell, "cell_seconds": seconds, **record} for record in records]


@contextmanager
def _progress(title: str, total: int) -> Iterator[Any]:
    """A bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    with Progress(console=console) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def _draw(figure: Figure, records: Any, path: Path) -> None:
    matplotlib = require("matplotlib", extra="report")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(layout="constrained")
    assert figure.draw is not None
    figure.draw(records, canvas)
    partial = path.with_suffix(".part.png")
    canvas.savefig(partial, dpi=120)
    partial.replace(path)


def _write(path: Path, content: bytes) -> None:
    """The file appears whole or not at all."""
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(content)
    partial.replace(path)


def _provenance(quick: bool, cells: int, ran: int, seconds: float) -> str:
    """How the page came about: what is needed to make it again."""
    commit = subprocess.run(
        ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"],
        check=False, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    kind = (
        "A quick run: fewer rows, seeds and settings, a look at the shape and no evidence." if quick else "A full run."
    )
    return (
        f"{kind} {cells} training runs, {ran} of them now, in {seconds:.0f} s; {time.strftime('%Y-%m-%d')}, "
        f"commit {commit or 'unknown'}, Python {platform.python_version()}, {os.cpu_count()} cores."
    )
