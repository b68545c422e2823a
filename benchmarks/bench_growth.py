"""How the time of a fit grows with rows, columns, classes and groups, each by itself, with a picture of it.

The exact solvers go to their default tolerance, so that their iterations may change along the way: they are kept beside
the seconds. The stochastic one makes a single pass in batches of 64. One thread, and seconds of its processor time,
which other work on the machine changes little. The picture is `docs/growth.png`.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fermi import FermiClassifier

BASE = {"rows": 20_000, "columns": 20, "classes": 2, "groups": 2}
ALONG = {
    "rows": (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "columns": (5, 10, 20, 50, 100, 200, 400),
    "classes": (2, 4, 8, 16, 32),
    "groups": (2, 10, 100, 1_000),
}
SOLVERS: dict[str, dict[str, Any]] = {
    "lbfgs": {"solver": "lbfgs"},
    "newton": {"solver": "newton"},
    "sgda, one pass": {"solver": "sgda", "batch_size": 64, "max_iter": 1, "tol": 0.0},
}
MOST_FOR_NEWTON = 400  # parameters: its systems grow with their cube
PICTURE = Path(__file__).parents[1] / "docs" / "growth.png"


def rows_of(rows: int, columns: int, classes: int, groups: int) -> tuple[Any, Any, Any]:
    """Made-up rows whose labels depend on the features and, a little, on the group."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns))
    s = rng.integers(0, groups, rows)
    margin = X @ rng.standard_normal((columns, classes)) / np.sqrt(columns)
    margin[:, -1] += (s < groups / 2) - 0.5
    return X, (margin + rng.gumbel(size=margin.shape)).argmax(axis=1), s


def measure(*, quick: bool = False) -> list[dict[str, Any]]:
    """Every axis and solver: seconds and iterations; quick: the three smallest sizes of each, and no picture."""
    cases = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for axis, sizes in ALONG.items():
            for size in sizes[:3] if quick else sizes:
                shape = {**BASE, axis: size}
                X, y, s = rows_of(**shape)
                for name, options in SOLVERS.items():
                    if name == "newton" and shape["columns"] * shape["classes"] > MOST_FOR_NEWTON:
                        continue
                    seconds = []
                    for _ in range(2 if shape["rows"] > 100_000 else 4):
                        began = time.process_time()
                        model = FermiClassifier(lam=1.0, random_state=0, **options).fit(X, y, sensitive_features=s)
                        seconds.append(time.process_time() - began)
                    least = {"seconds": float(np.min(seconds)), "median_seconds": float(np.median(seconds))}
                    cases.append({"axis": axis, "size": size, "solver": name, **least, "n_iter": int(model.n_iter_)})
    if not quick:
        picture(cases)
    return cases


def exponent(cases: list[dict[str, Any]], axis: str, solver: str) -> float:
    """The slope of log seconds over log size, along the larger half of the sizes: small ones cost their overhead."""
    found = [(case["size"], case["seconds"]) for case in cases if (case["axis"], case["solver"]) == (axis, solver)]
    sizes, seconds = np.log(np.array(found[-(len(found) // 2 + 1) :])).T
    return float(np.polyfit(sizes, seconds, 1)[0])


def picture(cases: list[dict[str, Any]]) -> None:
    """Draw seconds against size on logarithmic axes, an axis a panel."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(ALONG), figsize=(12, 3.2), sharey=True, layout="constrained")
    for panel, axis in zip(panels, ALONG, strict=True):
        for name, marker in zip(SOLVERS, "osv", strict=True):
            part = [case for case in cases if (case["axis"], case["solver"]) == (axis, name)]
            panel.loglog([c["size"] for c in part], [c["seconds"] for c in part], marker=marker, label=name, lw=1)
        fixed = ", ".join(f"{size:,} {other}" for other, size in BASE.items() if other != axis)
        panel.set(xlabel=axis, title=fixed)
        if axis == "classes":  # too short an axis for powers of ten
            panel.set_xticks(ALONG[axis], [f"{size}" for size in ALONG[axis]])
            panel.minorticks_off()
        panel.title.set_fontsize(8)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("processor seconds of a fit")
    panels[0].legend(fontsize=8)
    figure.savefig(PICTURE, dpi=90)
    plt.close(figure)


def show(cases: list[dict[str, Any]]) -> None:
    """A line per axis and solver: the sizes' seconds, and the exponent of their growth."""
    for axis in ALONG:
        for solver in SOLVERS:
            part = [case for case in cases if (case["axis"], case["solver"]) == (axis, solver)]
            if not part:
                continue
            listed = ", ".join(f"{c['size']:,}: {c['seconds']:.3g} s ({c['n_iter']})" for c in part)
            power = f"; grows like {axis}^{exponent(cases, axis, solver):.2f}" if len(part) > 2 else ""
            print(f"{axis}, {solver}: {listed}{power}")
