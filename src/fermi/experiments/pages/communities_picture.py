"""The picture of figure 5: above, the paper's eight panels in its own pairing; below, the honest pairings."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fermi.experiments.judging.bounded_errors import within
from fermi.experiments.judging.frontier import OVERLAP, interval
from fermi.experiments.pages.curves import named
from fermi.experiments.pages.published_communities import ATTRIBUTES, ERRORS
from fermi.experiments.pages.style import style
from fermi.experiments.runs.communities import (
    COOLED,
    EACH,
    HONEST,
    METHODS,
    NOTIONS,
    PAPER,
    PAPER_LEVELS,
    RUN,
    prepared,
)

_LEVEL = 0.20  # of the honest panels: those of the paper are below what chance gives


def draw(records: pd.DataFrame, canvas: Any) -> None:
    """Draw test error against the number of attributes, with intervals over splits."""
    canvas.set_size_inches(17.0, 15.0)
    above, below = canvas.subfigures(2, 1)
    everything = prepared(records)
    _paper_panels(everything, above)
    _honest_panels(everything, below)
    handles, labels = above.axes[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9, frameon=False)


def _paper_panels(everything: pd.DataFrame, part: Any) -> None:
    part.suptitle(
        "The paper's pairing, error of labels at a soft violation; red: nothing done but to divide the logits"
    )
    chosen = within(everything, PAPER, PAPER_LEVELS, RUN)
    axes = part.subplots(len(NOTIONS), len(PAPER_LEVELS), sharey=True)
    for row, notion in zip(axes, NOTIONS, strict=True):
        for ax, level in zip(row, PAPER_LEVELS, strict=True):
            some = chosen[(chosen["notion"] == notion) & (chosen["level"] == level)]
            _curves(ax, some, (*METHODS, COOLED))
            if notion == next(iter(NOTIONS)):  # of the other there are no published points here
                for method, errors in ERRORS[level].items():
                    looks = {**style(method), "linestyle": ":", "marker": None, "linewidth": 2.0}
                    ax.plot(ATTRIBUTES, errors, label=f"{method}, as published", **looks)
            ax.set_title(f"{named('', notion)}, violation ≤ {level:g}", fontsize=10)


def _honest_panels(everything: pd.DataFrame, part: Any) -> None:
    part.suptitle(f"Error and violation of the same kind, violation ≤ {_LEVEL:g}")
    axes = part.subplots(len(NOTIONS), len(HONEST), sharey=True)
    for column, pairing in enumerate(HONEST):
        chosen = within(everything, pairing, [_LEVEL], RUN)
        for ax, notion in zip(axes[:, column], NOTIONS, strict=True):
            _curves(ax, chosen[chosen["notion"] == notion], METHODS)
            ax.set_title(f"{pairing.words}\n{named('', notion)}", fontsize=10)


def _curves(ax: Any, chosen: pd.DataFrame, methods: tuple[str, ...]) -> None:
    for place, method in enumerate(methods):
        some = chosen[chosen["method"] == method]
        found = [(count, *interval(group["error"], OVERLAP)) for count, group in some.groupby("attributes")]
        if found:
            counts, errors, widths = zip(*found, strict=True)
            shifted = [count + 0.08 * place for count in counts]  # so that bars stand side by side
            ax.errorbar(
                shifted,
                errors,
                widths,
                label=_WORDS.get(method, method),
                markersize=4,
                elinewidth=0.5,
                **_looks(method),
            )
    ax.set(xlabel="sensitive attributes", ylabel="test error", xticks=ATTRIBUTES, xlim=(0, 19))
    ax.grid(alpha=0.3)


_WORDS = {COOLED: "unmitigated, logits divided", EACH: "fermi, each attribute", "fermi": "fermi, intersections"}


def _looks(method: str) -> dict[str, Any]:
    if method == COOLED:
        return {"color": "red", "marker": "x", "linewidth": 2.5}
    if method == EACH:
        return {**style("fermi"), "linestyle": "--", "markerfacecolor": "white"}
    return style(method)
