"""What a pass over files costs, against rows, features, classes and groups: processor time, each varied alone.

The base is 200,000 rows of 13 numbers and 5 categories with two classes and four groups. Processor time of the whole
process, the thread that reads included, and the least of three turns, so that a busy machine changes little. With more
than eight classes an exact evaluation reads the rows twice, which is part of its cost here. The picture goes to
docs/images/stream-costs.png.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fermi._optional import require
from fermi.cli.bench import load
from fermi.linear.solvers.sgda import SGDA
from fermi.stream import _epochs as epochs

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "stream-costs.png"
BASE = {"rows": 200_000, "numbers": 13, "categories": 5, "classes": 2, "groups": 4}
AXES: dict[str, list[int]] = {
    "rows": [100_000, 200_000, 400_000, 800_000],
    "numbers": [8, 16, 32, 64, 128],
    "classes": [2, 4, 8, 16, 32],
    "groups": [4, 16, 64, 256, 1024, 4096],
}
_TURNS = 3


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """Seconds of an exact evaluation and of an epoch at every point of every axis."""
    bench, cases = load(Path(__file__).with_name("bench_stream.py")), []
    for axis, points in AXES.items():
        for value in points[:2] if quick else points:
            shape = {**BASE, axis: value}
            if quick:
                shape["rows"] //= 10
            with tempfile.TemporaryDirectory() as folder:
                bench.generate(Path(folder), per_file=100_000, **shape)
                run, shards, _, _ = bench._opened(folder)
                cases.append({"case": f"{axis} = {value:,}", "axis": axis, "value": value, **_seconds(run, shards)})
                print(cases[-1], file=sys.stderr)
    for axis in AXES:
        own: list[dict[str, Any]] = [case for case in cases if case["axis"] == axis]
        for kind in ("exact", "epoch"):
            slope = np.polyfit(np.log([c["value"] for c in own]), np.log([c[kind] for c in own]), 1)[0]
            own[-1][f"{kind}_exponent"] = float(slope)
    if not quick:
        draw(cases)
    return cases


def _seconds(run: Any, shards: Any) -> dict[str, float]:
    theta = np.zeros(run.evaluation.shape)
    state, pace = epochs.begin(run.evaluation, SGDA(), 100, np.random.default_rng(0))

    def epoch() -> None:
        while epochs._block(state, pace, run.evaluation, shards, 1):
            pass

    return {"exact": _least(lambda: run.evaluation.of_shards(shards, theta)), "epoch": _least(epoch)}


def _least(call: Callable[[], Any]) -> float:
    call()
    found = []
    for _ in range(_TURNS):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found)


def draw(cases: list[dict[str, Any]]) -> None:
    """Draw the cases, one axis each, beside a line that is proportional."""
    require("matplotlib", extra="report")
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(AXES), figsize=(13, 3.4), sharey=True)
    for ax, axis in zip(axes, AXES, strict=True):
        own = [case for case in cases if case["axis"] == axis]
        x = np.array([case["value"] for case in own], dtype=float)
        ax.plot(x, [case["exact"] for case in own], "o-", color="#0072b2", label="exact evaluation")
        ax.plot(x, [case["epoch"] for case in own], "s-", color="#d55e00", label="epoch of sgda")
        ax.plot(x, own[0]["exact"] * x / x[0], ":", color="grey", label="proportional")
        ax.set(xscale="log", yscale="log", xlabel=axis)
    axes[0].set_ylabel("processor seconds")
    axes[0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


def show(cases: list[dict[str, Any]]) -> None:
    """Print the cases."""
    for case in cases:
        slopes = ", ".join(f"{name} {case[name]:.2f}" for name in ("exact_exponent", "epoch_exponent") if name in case)
        print(
            f"{case['case']}: exact {case['exact']:.3f} s, epoch {case['epoch']:.3f} s"
            + (f" ({slopes})" if slopes else "")
        )
