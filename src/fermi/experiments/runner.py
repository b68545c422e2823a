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
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermi._files import whole_file
from fermi._optional import require
from fermi.engines import as_finished, task_pool
from fermi.errors import FermiError
from fermi.experiments.figure import Cell, CellRecord, Figure
from fermi.experiments.recorded import RECORDS, keep, kept
from fermi.fitting.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

_JOURNAL = "cells.jsonl"


def reproduce(
    name: str,
    figure: Figure,
    *,
    quick: bool,
    output: Path,
    workers: int | None = None,
    from_records: bool = False,
    engine: str = "local",
    address: str | None = None,
) -> None:
    """Run the cells of a figure that are not there yet, and write its records, page and picture.

    With `from_records` nothing is trained: the page and the picture are made from the records beside the page.
    """
    if figure.draw is not None:
        require("matplotlib", extra="report")  # now, not after hours of training
    folder = output / name
    cells = {figure.key(cell): cell for cell in figure.cells(quick)}
    if from_records:
        found = kept(folder)
        runs = {key: found[key] for key in cells if key in found}
        if not runs:
            raise FermiError(f"{folder / RECORDS} has no training run of {name} as it is defined now")
        missing = len(cells) - len(runs)
        lacking = [f"**{missing:,} of {len(cells):,} training runs are not in the records and are missing below.**"]
        _publish(name, figure, folder, runs, _provenance(name, quick, runs), lacking if missing else [])
        return
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(output / _JOURNAL)
    waiting = {key: cell for key, cell in cells.items() if key not in journal.done}
    began = time.perf_counter()
    with task_pool(engine, workers=workers or (os.cpu_count() if engine == "local" else None), address=address):
        failed = _run_all(name, waiting, journal)
    now = f", {len(waiting)} of them now, in {time.perf_counter() - began:.0f} s"
    runs = {key: journal.done[key] for key in cells if key in journal.done}
    keep(folder, runs)
    lacking = [f"**{len(failed)} training runs failed and are missing below:**", *failed] if failed else []
    _publish(name, figure, folder, runs, _provenance(name, quick, runs, now), lacking)
    if failed:
        raise FermiError(f"{len(failed)} of {len(cells)} training runs failed, the first: {failed[0]}")


def _publish(
    name: str, figure: Figure, folder: Path, runs: dict[str, list[CellRecord]], provenance: str, lacking: list[str]
) -> None:
    """Write `cells.csv`, `summary.md` and `figure.png` from the records of training runs."""
    records = table_of(runs)
    write(folder / "cells.csv", records.to_csv(index=False).encode())
    page = [f"# {figure.title}", provenance, *lacking]
    page += ["![The figure](figure.png)"] if figure.draw is not None and len(records) else []
    page += [figure.summarise(records)] if len(records) else []
    write(folder / "summary.md", ("\n\n".join(page) + "\n").encode())
    if figure.draw is not None and len(records):
        _draw(figure, records, folder / "figure.png")


def table_of(runs: dict[str, list[CellRecord]]) -> pd.DataFrame:
    """The records of all training runs as one table, as `Figure.summarise` and `Figure.draw` take it."""
    import pandas as pd

    return pd.DataFrame([record for records in runs.values() for record in records])


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
        running = as_finished([delayed(_run_group)(name, group) for group in _groups(name, cells)])
        done = 0
        for group in running:
            for key, found in group:
                if isinstance(found, str):
                    failed.append(found)
                else:
                    journal.add(key, found)
            done += len(group)
            progress.say(f"{name}: {done} of {len(cells)} training runs")
    return failed


def _groups(name: str, cells: dict[str, Cell]) -> list[dict[str, Cell]]:
    """The cells that are run at once, by their keys."""
    from fermi.experiments import find

    together = find(name).together
    groups: dict[Any, dict[str, Cell]] = {}
    for key, cell in cells.items():
        groups.setdefault(key if together is None else together.of(cell), {})[key] = cell
    return list(groups.values())


def _run_group(name: str, cells: Mapping[str, Cell]) -> list[tuple[str, list[CellRecord] | str]]:
    """Run cells at once in a process of their own: each has an equal share of the seconds. If that fails, singly."""
    from fermi.experiments import find

    together = find(name).together
    if together is not None and len(cells) > 1:
        began = time.perf_counter()
        try:
            found = together.run(list(cells.values()))
        except Exception:  # which of them fails, and why, is said below
            pass
        else:
            share = (time.perf_counter() - began) / len(cells)
            every = zip(cells.items(), found, strict=True)
            return [(key, _with_origin(cell, records, share)) for (key, cell), records in every]
    return [_run_cell(name, key, cell) for key, cell in cells.items()]


def _run_cell(name: str, key: str, cell: Cell) -> tuple[str, list[CellRecord] | str]:
    """Run one cell in a process of its own: return its records, or why there are none."""
    from fermi.experiments import find

    began = time.perf_counter()
    try:
        found = find(name).run(cell)
    except Exception as error:
        return key, f"{dict(cell)}: {type(error).__name__}: {' '.join(str(error).split())}"
    return key, _with_origin(cell, found, time.perf_counter() - began)


def _with_origin(cell: Cell, found: CellRecord | list[CellRecord], seconds: float) -> list[CellRecord]:
    """The records of a cell, with the cell itself and where they come from."""
    own = {"cell_seconds": seconds, "commit": _commit(), "machine": _machine(), **_versions()}
    return [{**cell, **own, **record} for record in (found if isinstance(found, list) else [found])]


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


def _provenance(name: str, quick: bool, runs: dict[str, list[CellRecord]], now: str = "") -> str:
    """Say how a page came about: what is needed to make it again. `now` tells which runs were made for it."""
    kind = (
        "A quick run: fewer rows, seeds and settings, a look at the shape and no evidence." if quick else "A full run."
    )
    first = [records[0] for records in runs.values()]
    commits, machines = (
        ", ".join(sorted({record.get(key, "unknown") for record in first})) or "unknown"
        for key in ("commit", "machine")
    )
    spent = sum(record["cell_seconds"] for record in first)
    command = f"fermi reproduce {name}{' --quick' if quick else ''}"
    return (
        f"{kind} `{command}`, {time.strftime('%Y-%m-%d')}; trained at commit {commits}, judged at {_commit()}. "
        f"{len(runs)} training runs of {spent:.0f} s in all{now}; {machines}. "
        f"[Their records]({RECORDS}): `fermi reproduce {name} --from-records` judges and draws again without training."
    )


@functools.cache
def _machine() -> str:
    """The machine in words: its processor, cores and Python."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        named = (line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
        model = next(named, model).rpartition(":")[2].strip()
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"
