"""The page and the picture of a figure that compares trade-off curves on tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fermi import baselines
from fermi.experiments.judging.frontier import (
    BLOCKS,
    LEVELS,
    OVERLAP,
    PAPER,
    PROBABILITIES,
    area,
    at_levels,
    compare,
    interval,
    level_table,
    needs_attribute,
    outcome_said,
    said,
    typical,
    uncertain,
)
from fermi.experiments.pages.style import style
from fermi.notions import NAMES, as_notion

_MOST = 0.85  # of the contested settings lie within the window
_LABELS = 0.3  # of the window's width, left of zero, for the names
_GREY: dict[str, dict[str, Any]] = {name: {"color": "#999999", "linewidth": 0.8} for name in ("naive", "none")}


@dataclass(frozen=True)
class Panels:
    """A picture with one panel for each combination of two columns of the records."""

    down: str
    across: str

    def draw(self, records: pd.DataFrame, canvas: Any) -> None:
        """Draw test error against test violation, labels with labels; mean over splits and seeds at each strength."""
        # Not through a set or dict, in which every missing value is another one.
        downs, acrosses = (records[name].drop_duplicates().tolist() for name in (self.down, self.across))
        canvas.set_size_inches(5.4 * len(acrosses), 4.3 * len(downs))
        axes = canvas.subplots(len(downs), len(acrosses), squeeze=False)
        for i, down in enumerate(downs):
            for j, across in enumerate(acrosses):
                some = records[same(records[self.down], down) & same(records[self.across], across)]
                draw_panel(axes[i, j], some)
                axes[i, j].set_title(f"{named(self.across, across)}\n{named(self.down, down)}", fontsize=9)


def same(column: pd.Series[Any], value: Any) -> pd.Series[bool]:
    """Which entries of a column are a value; a missing entry is the same as a missing value."""
    return column.isna() if pd.isna(value) else column == value


def named(column: str, value: Any) -> str:
    """Put a value of a column into words."""
    if column in ("missing", "forced"):
        return "groups as they are" if pd.isna(value) else f"{value:.0%} of the groups {column}"
    if column == "blind":
        return "attribute not among the features" if value else "attribute among the features"
    if column == "batch_size":
        return "all rows at once" if value == "all" else f"batch size {value}"
    return as_notion(value).words if value in NAMES else str(value)


def draw_panel(ax: Any, some: pd.DataFrame) -> None:
    """Draw one curve per method, named at its fair end; a star marks those that need the attribute to predict.

    The window is that of the contested curves: the unmitigated model and the naive trade are grey and may leave it, and
    settings above it are counted. Bars are 95% intervals, of FERMI alone, since twenty sets of them hide each other.
    """
    curves = {
        str(method): pd.DataFrame([point(runs) for _, runs in group.groupby("strength")])
        for method, group in some.groupby("method")
    }
    contested = pd.concat([curve for method, curve in curves.items() if method not in _GREY] or list(curves.values()))
    low, top = contested["error"].min(), min(contested["error"].quantile(_MOST), some["test_constant_error"].max())
    margin = max(0.08 * (top - low), 0.002)
    right = 1.05 * max(curve["violation"].max() for curve in curves.values())
    ends, above = [], 0
    for method, curve in curves.items():
        looks = {**style(method), **({"linestyle": "none"} if len(curve) == 1 else {}), **(_GREY.get(method, {}))}
        name = f"{method}{'*' if needs_attribute(method) else ''}"
        if method == "fermi":
            ax.errorbar(
                curve["violation"], curve["error"], curve["up"], curve["across"], label=name, markersize=4,
                elinewidth=0.5, ecolor="#00000050", **looks,
            )  # fmt: skip
        else:
            ax.plot(curve["violation"], curve["error"], label=name, markersize=3, **looks)
        inside = curve[curve["error"] <= top + margin]
        above += len(curve) - len(inside)
        if method == "naive" and len(inside):
            last = inside.loc[inside["error"].idxmax()]
            ax.annotate(
                name, (last["violation"], last["error"]), xytext=(-4, 5), textcoords="offset points", ha="right",
                fontsize=6.5, color="#777777", annotation_clip=True,
            )  # fmt: skip
        elif len(inside) and method != "none":
            fairest = inside.loc[inside["violation"].idxmin()]
            ends.append((float(fairest["error"]), float(fairest["violation"]), name, looks["color"]))
    ax.set_xlim(-_LABELS * right, right)
    ax.set_ylim(low - margin, top + margin)
    _name_curves(ax, ends, right)
    if above:
        ax.text(0.98, 0.98, f"settings above: {above}", transform=ax.transAxes, ha="right", va="top", fontsize=8)
    ax.axvline(0.0, color="grey", linewidth=0.5)
    ax.set_xlabel("violation (test, labels)")
    ax.set_ylabel("error (test)")
    ax.grid(alpha=0.3)


def _name_curves(ax: Any, ends: Sequence[tuple[float, float, str, str]], right: float) -> None:
    """Write the names of curves left of the panel's zero, from the top down as they end, each tied to its end."""
    low, high = ax.get_ylim()
    places = np.linspace(low, high, len(ends) + 2)[1:-1]
    for place, (error, violation, name, colour) in zip(places, sorted(ends), strict=True):
        ax.annotate(
            name, (violation, error), xytext=(-0.98 * _LABELS * right, place), fontsize=6.5, color=colour, va="center",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4, "alpha": 0.6},
        )  # fmt: skip


def point(runs: pd.DataFrame) -> dict[str, float]:
    """The point of one method at one strength: mean violation and error, and half the widths of their intervals."""
    violation, across = interval(runs.groupby("split")["test_violation"].mean(), OVERLAP)
    if np.isnan(across):  # one split: what sampling does to a gap
        across = 1.96 * runs["test_standard_error"].mean()
    error, up = uncertain(runs.assign(error=runs["test_error"], blocks=runs[BLOCKS].map(np.array)))
    return {"violation": violation, "error": error, "across": across, "up": np.nan_to_num(up)}


def tables(records: pd.DataFrame, by: Sequence[str], levels: Sequence[float] = LEVELS) -> str:
    """Tables for each combination of columns: the error at levels of violation, hard and soft, and areas."""
    parts = []
    for values, some in records.groupby(list(by), dropna=False, sort=False):
        heading = ", ".join(named(name, value) for name, value in zip(by, values, strict=True))
        parts += [
            f"## {heading}",
            f"{sampling_note(some)} Levels below twice the first, or below the second, are not judged.",
            "Labels on both axes (* needs the attribute to predict):",
        ]
        parts += [level_table(at_levels(some, levels), levels), "Rivals beside FERMI at these levels:"]
        parts += [comparison_table(compare(some, levels), levels)]
        law = some[[_acts_on_probabilities(method) for method in some["method"]]]
        parts += ["Probabilities on both axes, without the methods that draw their labels or choose them alone:"]
        parts += [level_table(at_levels(law, levels, PROBABILITIES), levels)]
        parts += ["The paper's pairing, which says nothing: the error of labels at the violation of probabilities:"]
        parts += [level_table(at_levels(law, levels, PAPER), levels)]
        parts += ["Area under the frontier (mean error over bounds up to 0.2) and seconds per fit:", areas(some)]
    return "\n\n".join(parts)


def _acts_on_probabilities(method: Any) -> bool:
    can = baselines.find(str(method)).capabilities
    return not (can.draws or can.adjusts_labels)


def comparison_table(found: pd.DataFrame, levels: Sequence[float] = LEVELS) -> str:
    """A Markdown table of whether each rival's error is above, below or equal at each level, and by how much."""
    lines = ["| rival | " + " | ".join(f"≤ {level:g}" for level in levels) + " |", "|---" * (len(levels) + 1) + "|"]
    for method, group in found.groupby("method"):
        entries = [outcome_said(row["outcome"], row["difference"], row["width"]) for _, row in group.iterrows()]
        lines.append(f"| {method} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def areas(some: pd.DataFrame) -> str:
    """A Markdown table of the area and seconds of each method."""
    lines = ["| method | area | seconds | needs the attribute |", "|---|---|---|---|"]
    for method, group in some.groupby("method"):
        runs = [{"split": split, "seed": seed, **area(run)} for (split, seed), run in group.groupby(["split", "seed"])]
        needs = "yes" if needs_attribute(method) else ""
        shown = said(*uncertain(pd.DataFrame(runs)))
        lines.append(f"| {method} | {shown} | {group['seconds'].mean():.2f} | {needs} |")
    return "\n".join(lines)


def sampling_note(some: pd.DataFrame) -> str:
    """A note on the noise of a gap, below which nothing can be said."""
    choosing, testing = (typical(some[f"{part}_standard_error"]) for part in ("val", "test"))
    return (
        f"The standard error of a gap is about {choosing:.3f} on the rows that choose the knob, {testing:.3f} on the "
        "test rows: differences of violation below these mean nothing."
    )
