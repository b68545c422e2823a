"""Runs the cells of a figure: in parallel, each once, going on after an interruption where it stopped."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import subprocess
import time
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

from fermi._files import whole_file
from fermi._optional import require
from fermi.engines import as_finished, task_pool
from fermi.errors import FermiError
from fermi.experiments.figure import Cell, CellRecord, Figure
from fermi.fitting.progress import Progress

_JOURNAL = "cells.jsonl"


def reproduce(
    name: str,
    figure: Figure,
    *,
    quick: bool,
    output: Path,
    workers: int | None = None,
    engine: str = "local",
    address: str | None = None,
) -> None:
    """Run the cells of a figure that are not there yet, and write `cells.csv`, `summary.md` and `figure.png`."""
    import pandas as pd

    if figure.draw is not None:
        require("matplotlib", extra="report")  # now, not after hours of training
    folder = output / name
    folder.mkdir(parents=True, exist_ok=True)
    cells = {figure.key(cell): cell for cell in figure.cells(quick)}
    journal = Journal(output / _JOURNAL)
    missing = {key: cell for key, cell in cells.items() if key not in journal.done}
    began = time.perf_counter()
    with task_pool(engine, workers=workers or (os.cpu_count() if engine == "local" else None), address=address):
        failed = _run_all(name, missing, journal)
    seconds = time.perf_counter() - began
    records = pd.DataFrame([record for key in cells for record in journal.done.get(key, ())])
    write(folder / "cells.csv", records.to_csv(index=False).encode())
    ours = [journal.done[key] for key in cells if key in journal.done]
    page = [f"# {figure.title}", _provenance(name, quick, ours, len(missing), seconds)]
    page += [f"**{len(failed)} training runs failed and are missing below:**", *failed] if failed else []
    page += ["![The figure](figure.png)"] if figure.draw is not None and len(records) else []
    page += [figure.summarise(records)] if len(records) else []
    write(folder / "summary.md", ("\n\n".join(page) + "\n").encode())
    if figure.draw is not None and len(records):
        _draw(figure, records, folder / "figure.png")
    if failed:
        raise FermiError(f"{len(failed)} of {len(cells)} training runs failed, the first: {failed[0]}")


class Journal:
    """Finished cells on disk, a line each, so that an interruption loses none of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: dict[str, list[CellRecord]] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        self._before = "\n" if text and not text.endswith("\n") else ""  # after a line that was cut off
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except ValueError:  # the machine went down in the middle of it
                continue
            self.done[entry["key"]] = entry["records"]

    def add(self, key: str, records: list[CellRecord]) -> None:
        """Write the records of one cell."""
        self.done[key] = records
        with self.path.open("a", encoding="utf-8") as file:
            file.write(self._before + json.dumps({"key": key, "records": records}) + "\n")
        self._before = ""


def _run_all(name: str, cells: dict[str, Cell], journal: Journal) -> list[str]:
    """Run the cells, and say which failed: they are not in the journal, so that they are tried again."""
    from joblib import delayed

    failed: list[str] = []
    # Data sets that a process keeps look like a leak to joblib, which replaces the process and says so.
    with Progress(True) as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped")
        running = as_finished([delayed(_run_cell)(name, *cell) for cell in cells.items()])
        for done, (key, found) in enumerate(running, start=1):
            if isinstance(found, str):
                failed.append(found)
            else:
                journal.add(key, found)
            progress.say(f"{name}: {done} of {len(cells)} training runs")
    return failed


def _run_cell(name: str, key: str, cell: Cell) -> tuple[str, list[CellRecord] | str]:
    """Run one cell in a process of its own: return its records, or why there are none."""
    from fermi.experiments import find

    began = time.perf_counter()
    try:
        found = find(name).run(cell)
    except Exception as error:
        return key, f"{dict(cell)}: {type(error).__name__}: {' '.join(str(error).split())}"
    own = {"cell_seconds": time.perf_counter() - began, "commit": _commit(), "machine": _machine(), **_versions()}
    return key, [{**cell, **own, **record} for record in (found if isinstance(found, list) else [found])]


@functools.cache
def _versions() -> dict[str, str]:
    """The versions of the packages that numbers depend on, as far as they are installed."""
    found = {}
    for package in ("numpy", "scipy", "scikit-learn", "torch", "lightgbm", "fairlearn"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[f"{package} version"] = metadata.version(package)
    return found


@functools.cache
def _commit() -> str:
    """The commit of the checkout that runs, with a plus if files have changed since."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
        changed = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def _draw(figure: Figure, records: Any, path: Path) -> None:
    require("matplotlib", extra="report").use("Agg")
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(layout="constrained")
    assert figure.draw is not None
    figure.draw(records, canvas)
    with whole_file(path) as partial:
        canvas.savefig(partial, dpi=120)


def write(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with whole_file(path) as partial:
        partial.write_bytes(content)


def _provenance(name: str, quick: bool, cells: list[list[CellRecord]], ran: int, seconds: float) -> str:
    """Say how a page came about: what is needed to make it again."""
    kind = (
        "A quick run: fewer rows, seeds and settings, a look at the shape and no evidence." if quick else "A full run."
    )
    first = [records[0] for records in cells]
    commits = ", ".join(sorted({record["commit"] for record in first})) or "unknown"
    spent = sum(record["cell_seconds"] for record in first)
    command = f"fermi reproduce {name}{' --quick' if quick else ''}"
    return (
        f"{kind} `{command}`, {time.strftime('%Y-%m-%d')}; trained at commit {commits}, judged at {_commit()}. "
        f"{len(cells)} training runs of {spent:.0f} s in all, {ran} of them now, in {seconds:.0f} s; {_machine()}."
    )


@functools.cache
def _machine() -> str:
    """The machine in words: its processor, cores and Python."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        named = (line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
        model = next(named, model).rpartition(":")[2].strip()
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"
