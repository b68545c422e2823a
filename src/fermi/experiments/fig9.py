"""Figure 9: error and violation against λ, FERMI on COMPAS and Adult."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fermi.baselines._protocol import geometric
from fermi.baselines.fermi import LAM
from fermi.experiments import _tabular
from fermi.experiments._claims import Claim, Verdict, verdicts
from fermi.experiments._curves import named
from fermi.experiments._figure import Cell, Figure
from fermi.experiments._tradeoffs import grid

NOTIONS = ("demographic_parity", "equal_opportunity")
DATASETS = (("compas", 10), ("adult", 1))
_SLIGHT = 0.05
STRENGTHS = tuple(i / 12 for i in range(13))


def cells(quick: bool) -> Iterator[Cell]:
    """FERMI at thirteen values of λ, 0 and 0.03 to 1,000."""
    more = {} if quick else {"strengths": STRENGTHS}
    yield from grid(quick, ("fermi",), notions=NOTIONS, datasets=DATASETS, blind=(True,), **more)


def lam(records: pd.DataFrame) -> Any:
    """λ of each record."""
    return records["strength"].map(lambda strength: geometric(strength, *LAM))


def falls(records: pd.DataFrame) -> Verdict:
    """Whether the violation at the largest λ is below that without any, and the error at most a few points above."""
    words, held = [], True
    for (dataset, notion), some in records.groupby(["dataset", "notion"], sort=False):
        first, last = (
            some[some["strength"] == strength][["test_error", "test_violation"]].mean() for strength in (0.0, 1.0)
        )
        held &= bool(last["test_violation"] < first["test_violation"])
        held &= bool(last["test_error"] < first["test_error"] + _SLIGHT)
        words.append(
            f"{dataset}, {named('notion', notion)}: violation {first['test_violation']:.3f} → "
            f"{last['test_violation']:.3f}, error {first['test_error']:.3f} → {last['test_error']:.3f}"
        )
    return "held" if held else "did not hold", "; ".join(words)


CLAIMS = [Claim("As λ grows to 1,000 the violation falls and the error rises slightly", "appendix E.4", falls)]


def summarise(records: pd.DataFrame) -> str:
    """The claim, and a table along λ for each data set and notion."""
    parts = [verdicts(CLAIMS, records)]
    for (dataset, notion), some in records.assign(lam=lam(records)).groupby(["dataset", "notion"], sort=False):
        lines = ["| λ | error | violation | soft error | soft violation |", "|---|---|---|---|---|"]
        for value, group in some.groupby("lam"):
            entries = (group[f"test_{name}"].mean() for name in ("error", "violation", "soft_error", "soft_violation"))
            lines.append(f"| {value:.3g} | " + " | ".join(f"{entry:.4f}" for entry in entries) + " |")
        parts += [f"## {dataset}, {named('notion', notion)}", "\n".join(lines)]
    return "\n\n".join(parts)


def draw(records: pd.DataFrame, canvas: Any) -> None:
    """A panel per data set: the error on the left axis, the violation on the right; dashed for equal opportunity."""
    datasets = list(dict.fromkeys(records["dataset"]))
    canvas.set_size_inches(5.5 * len(datasets), 4.0)
    for ax, dataset in zip(canvas.subplots(1, len(datasets), squeeze=False)[0], datasets, strict=True):
        other = ax.twinx()
        for notion, line in zip(NOTIONS, ("-", "--"), strict=True):
            some = records[(records["dataset"] == dataset) & (records["notion"] == notion)]
            means = some.assign(lam=lam(some)).groupby("lam")[["test_error", "test_violation"]].mean()
            x = np.maximum(means.index.to_numpy(dtype=float), LAM[0] / 3)  # 0 has no place on this scale
            ax.plot(x, means["test_error"], line, color="#D55E00", marker="o", markersize=3, label=named("", notion))
            other.plot(x, means["test_violation"], line, color="#009E73", marker="s", markersize=3)
        ax.set(xscale="log", xlabel="λ (0 at the left end)", title=dataset)
        ax.set_ylabel("error (circles)", color="#D55E00")
        other.set_ylabel("violation (squares)", color="#009E73")
    handles, labels = ax.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)


FIGURE = Figure(
    "Figure 9: error and violation against λ, FERMI on COMPAS and Adult", cells, _tabular.run, summarise, draw
)
