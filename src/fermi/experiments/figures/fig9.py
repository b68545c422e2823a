"""Figure 9: error and violation against λ, FERMI on COMPAS and Adult."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from fermi.baselines.common.protocol import geometric
from fermi.baselines.fermi import LAM
from fermi.experiments.figure import Cell, Figure
from fermi.experiments.figures._tradeoffs import grid, with_strength_0
from fermi.experiments.judging.claims import Claim, Verdict, at_most, exceeds, overall, verdicts, widest
from fermi.experiments.pages.curves import named, point, sampling_note
from fermi.experiments.runs import tabular

NOTIONS = ("demographic_parity", "equal_opportunity")
DATASETS = (("compas", 10), ("adult", 1))
BY = ["dataset", "notion", "blind"]
_SLIGHT = 0.05
STRENGTHS = tuple(i / 12 for i in range(13))


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of figure 9: FERMI at thirteen values of λ, 0 and 0.07 to 1,000."""
    more = {} if quick else {"strengths": STRENGTHS}
    yield from grid(quick, ("fermi", "none"), notions=NOTIONS, datasets=DATASETS, **more)


def lam(records: pd.DataFrame) -> Any:
    """The λ of each record."""
    return records["strength"].map(lambda strength: geometric(strength, *LAM))


def ours(records: pd.DataFrame) -> pd.DataFrame:
    """The runs of FERMI, with the unmitigated model as λ = 0."""
    every = with_strength_0(records)
    return every[every["method"] == "fermi"]


def heading(values: Iterable[Any]) -> str:
    """Put data set, notion and whether the attribute is a feature into words."""
    return ", ".join(named(column, value) for column, value in zip(BY, values, strict=True))


def falls(records: pd.DataFrame, blind: bool) -> Verdict:
    """Whether the violation at the largest λ is below that without any, and the error at most a few points above.

    Data set by data set and notion by notion.
    """
    told, words, widths = [], [], []
    for values, some in ours(records[records["blind"] == blind]).groupby(BY, sort=False):
        first, last = (point(some[some["strength"] == strength]) for strength in (0.0, 1.0))
        fall = first["violation"] - last["violation"], float(np.hypot(first["across"], last["across"]))
        rise = last["error"] - first["error"], float(np.hypot(first["up"], last["up"]))
        words.append(overall([exceeds(*fall), at_most(*rise, _SLIGHT)]))
        widths += [fall[1], rise[1]]
        told.append(
            f"{heading(values)}: {words[-1]}, violation {first['violation']:.3f} → {last['violation']:.3f} "
            f"(± {fall[1]:.3f}), error {first['error']:.3f} → {last['error']:.3f} (± {rise[1]:.3f})"
        )
    return Verdict(overall(words), "; ".join(told) or "not run", widest(widths))


_TEXT = "As λ grows to 1,000 the violation falls and the error rises slightly (at most 5 points)"
CLAIMS = [
    Claim(f"{_TEXT}: {named('blind', blind)}", "appendix E.4", partial(falls, blind=blind)) for blind in (False, True)
]


def summarise(records: pd.DataFrame) -> str:
    """The claim, and a table along λ for each data set and notion."""
    parts = [verdicts(CLAIMS, records)]
    records = ours(records)
    for values, some in records.assign(lam=lam(records)).groupby(BY, sort=False):
        lines = ["| λ | error | violation | soft error | soft violation |", "|---|---|---|---|---|"]
        for value, group in some.groupby("lam"):
            own = point(group)
            entries = [f"{own['error']:.4f} ± {own['up']:.4f}", f"{own['violation']:.4f} ± {own['across']:.4f}"]
            entries += [f"{group[f'test_{name}'].mean():.4f}" for name in ("soft_error", "soft_violation")]
            lines.append(f"| {value:.3g} | " + " | ".join(entries) + " |")
        most = some[some["lam"] == some["lam"].max()]["test_gaps"]
        signed = float(np.mean([np.atleast_2d(gaps)[:, -1].mean() for gaps in most]))
        floor = f"{sampling_note(some)} At the largest λ the gap with its sign is {signed:+.3f} on average."
        parts += [f"## {heading(values)}", floor, "\n".join(lines)]
    return "\n\n".join(parts)


def draw(records: pd.DataFrame, canvas: Any) -> None:
    """Draw a column per data set, the error on the left axis, the violation on the right; dashed: equal opportunity."""
    records = ours(records)
    datasets, blinds = (list(dict.fromkeys(records[name])) for name in ("dataset", "blind"))
    canvas.set_size_inches(5.5 * len(datasets), 3.7 * len(blinds) + 0.3)
    axes = canvas.subplots(len(blinds), len(datasets), squeeze=False)
    for (i, blind), (j, dataset) in product(enumerate(blinds), enumerate(datasets)):
        draw_panel(axes[i, j], records[(records["dataset"] == dataset) & (records["blind"] == blind)])
        axes[i, j].set_title(f"{dataset}, {named('blind', blind)}", fontsize=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8, frameon=False)


def draw_panel(ax: Any, some: pd.DataFrame) -> None:
    """Draw both curves of both notions along λ, with 95% intervals."""
    other = ax.twinx()
    for notion, line in zip(NOTIONS, ("-", "--"), strict=True):
        own = some[some["notion"] == notion]
        found = [{"lam": value, **point(runs)} for value, runs in own.assign(lam=lam(own)).groupby("lam")]
        curve = pd.DataFrame(found)
        x = np.maximum(curve["lam"], LAM[0] / 3)  # 0 has no place on this scale
        looks: dict[str, Any] = {"linestyle": line, "markersize": 3, "elinewidth": 0.5}
        ax.errorbar(x, curve["error"], curve["up"], color="#D55E00", marker="o", label=named("", notion), **looks)
        other.errorbar(x, curve["violation"], curve["across"], color="#009E73", marker="s", **looks)
    ax.set(xscale="log", xlabel="λ (0 at the left end)")
    ax.set_ylabel("error (circles)", color="#D55E00")
    other.set_ylabel("violation (squares)", color="#009E73")


FIGURE = Figure(
    "Figure 9: error and violation against λ, FERMI on COMPAS and Adult",
    cells,
    tabular.run,
    summarise,
    draw,
    tabular.VERSION,
    way=tabular.WAY,
    together=tabular.TOGETHER,
)
