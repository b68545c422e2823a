"""`fermi bench`: run a file of benchmarks/ and print its cases: times as ratios to a peer, or what was reached."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import fermi
from fermi._files import whole_file
from fermi._optional import require
from fermi.errors import FermiError, MissingExtraError, bad_argument, listed


def run(name: str, *, as_json: bool, dataset: str | None = None, quick: bool = False) -> None:
    """Run benchmarks/bench_NAME.py and keep what it finds in benchmarks/results/NAME.json.

    A file with a function `measure` makes its cases itself, and its `show` prints them. Others are timed by
    pytest-benchmark. `dataset` and `quick` go to a `measure` that takes them, and into the name of what is kept, but
    for a `dataset` that is a folder: it says where files are, not which.
    """
    folder = _folder()
    script = folder / f"bench_{name}.py"
    if not script.exists():
        known = sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))
        raise bad_argument("name", f"is {name!r}", f"one of {listed(known)}")
    try:
        module = load(script)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("fermi"):
            raise
        raise MissingExtraError(
            f'The benchmark {name!r} needs `{error.name}`: pip install "fermi-fair[dev]" brings what they all use.'
        ) from None
    own = hasattr(module, "measure")
    if not own:
        require("pytest_benchmark", extra="dev")
    options: dict[str, Any] = ({"dataset": dataset} if dataset else {}) | ({"quick": True} if quick else {})
    takes = inspect.signature(module.measure).parameters if own else {}
    for option in options:
        if option not in takes:
            raise FermiError(f"The benchmark {name!r} takes no option --{option}.")
    result = {"machine": _machine(), "cases": module.measure(**options) if own else _ratios(_measure(script))}
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    named = [dataset] if dataset and not Path(dataset).is_dir() else []
    kept = "-".join([name, *named, *(["quick"] if quick else [])])
    target = folder / "results" / f"{kept}.json"
    with whole_file(target) as partial:
        partial.write_text(text, encoding="utf-8")
    if as_json:
        print(text, end="")
    elif own:
        module.show(result["cases"])
    else:
        _show(result)


def load(script: Path) -> ModuleType:
    """Import a benchmark's file as a module of its own name."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[script.stem] = module
    spec.loader.exec_module(module)
    return module


def _folder() -> Path:
    candidates = [Path(fermi.__file__).parents[2] / "benchmarks", Path.cwd() / "benchmarks"]
    for folder in candidates:
        if any(folder.glob("bench_*.py")):
            return folder
    raise FermiError("The benchmarks are in the source checkout, not in the package: run this from there.")


def _measure(script: Path) -> list[dict[str, Any]]:
    """Run a benchmark under pytest-benchmark and return what it recorded, one entry per function."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        command = [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, "--benchmark-only", f"--benchmark-json={record}", str(script)],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0 or not record.exists():
            raise RuntimeError(f"The benchmark {script.name} failed:\n{done.stdout}{done.stderr}")
        entries: list[dict[str, Any]] = json.loads(record.read_text())["benchmarks"]
        return entries


def _ratios(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pair each case (a group of pytest-benchmark) with its peer: the function whose name ends in _peer."""
    cases: dict[str, dict[str, Any]] = {}
    for entry in entries:
        case = cases.setdefault(entry["group"], {"case": entry["group"]})
        role = "peer" if entry["name"].split("[")[0].endswith("_peer") else "fermi"
        case[f"{role}_seconds"] = entry["stats"]["min"]
        case[f"{role}_median_seconds"] = entry["stats"]["median"]
        case.update(entry["extra_info"])
    for case in cases.values():
        case["ratio"] = case["fermi_seconds"] / case["peer_seconds"]
        case["median_ratio"] = case["fermi_median_seconds"] / case["peer_median_seconds"]
    return list(cases.values())


def _machine() -> dict[str, Any]:
    import numpy as np

    return {
        "cpus": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "fermi": fermi.__version__,
    }


def _show(result: dict[str, Any]) -> None:
    for case in result["cases"]:
        extra = f", {case['peak_extra_mb']:.1f} MB of extra memory" if "peak_extra_mb" in case else ""
        print(
            f"{case['case']}: {case['ratio']:.2f} of {case['peer']}\n"
            f"    {1e3 * case['fermi_seconds']:.1f} ms against {1e3 * case['peer_seconds']:.1f} ms, "
            f"the best rounds of each; ratio of medians {case['median_ratio']:.2f}{extra}"
        )
