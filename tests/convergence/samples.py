"""The benchmark of convergence, and rows of three groups for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fermi
from fermi.cli.bench import load

BENCH = load(Path(__file__).parents[2] / "benchmarks" / "bench_convergence.py")


def three_groups() -> Any:
    data = fermi.datasets.synthetic(2000, groups=3, bias=0.9, rated=False)
    return BENCH.as_rows("three groups", data)
