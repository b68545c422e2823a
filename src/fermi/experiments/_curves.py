"""The page and the picture of a figure that compares trade-off curves on tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fermi import baselines
from fermi.experiments._frontier import LEVELS, area, at_levels, interval, level_table
from fermi.experiments._style import style

_WORDS = {
    "demographic_parity": "demographic parity",
    "equalized_odds": "equalized odds",
    "equal_opportunity": "equal opportunity",
}


@dataclass(frozen=True)
class Panels:
    """A picture with one panel for each combination of two columns of the records."""

    down: str
    across: str

    def draw(self, records: pd.DataFrame, canvas: Any) -> None:
        """Test error against test violation, labels with labels; mean over splits and seeds at each strength."""
        downs, acrosses = (list(dict.fromkeys(records[name])) for name in (self.down, self.across))
        canvas.set_size_inches(4.6 * len(acrosses), 3.9 * len(downs))
        axes = canvas.subplots(len(downs), len(acrosses), squeeze=False)
        for i, down in enumerate(downs):
            for j, across in enumerate(acrosses):
                some = records[(records[self.down] == down) & (records[self.across] == across)]
                draw_panel(axes[i, j], some)
                axes[i, j].set_title(f"{named(self.across, across)}\n{named(self.down, down)}", fontsize=9)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8, frameon=False)


def named(column: str, value: Any) -> str:
    """A value of a column in words."""
    if column == "missing":
        return f"{value:.0%} of the attribute missing"
    if column == "blind":
        return "attribute not among the features" if value else "attribute among the features"
    if column == "batch_size":
        return "all rows at once" if value == "all" else f"batch size {value}"
    return _WORDS.get(str(value), str(value))


def draw_panel(ax: Any, some: pd.DataFrame) -> None:
    """One curve per method; a star marks those that need the attribute to predict."""
    for method, group in some.groupby("method"):
        curve = group.groupby("strength")[["test_violation", "test_error"]].mean().sort_index()
        star = "*" if baselines.find(str(method)).capabilities.needs_attribute else ""
        alone = {"linestyle": "none"} if len(curve) == 1 else {}
        ax.plot(
            curve["test_violation"],
            curve["test_error"],
            label=f"{method}{star}",
            markersize=4,
            **style(str(method)),
            **alone,
        )
    ax.set_xlabel("violation (test, labels)")
    ax.set_ylabel("error (test)")
    ax.grid(alpha=0.3)


def tables(records: pd.DataFrame, by: Sequence[str], levels: tuple[float, ...] = LEVELS) -> str:
    """For each combination of columns: the error at levels of violation, hard and soft, and areas."""
    parts = []
    for values, some in records.groupby(list(by), dropna=False, sort=False):
        heading = ", ".join(named(name, value) for name, value in zip(by, values, strict=True))
        parts += [
            f"## {heading}",
            sampling_note(some),
            "Labels on both axes:",
            level_table(at_levels(some, levels), levels),
        ]
        parts += ["Probabilities on both axes:", level_table(at_levels(some, levels, "soft_"), levels)]
        parts += ["Area under the frontier (mean error over violations up to 0.2) and seconds per fit:", areas(some)]
    return "\n\n".join(parts)


def areas(some: pd.DataFrame) -> str:
    """Markdown: area and seconds of each method."""
    lines = ["| method | area | seconds | needs the attribute |", "|---|---|---|---|"]
    for method, group in some.groupby("method"):
        found = [area(run) for _, run in group.groupby(["split", "seed"])]
        mean, width = interval(found)
        spread = "" if np.isnan(width) else f" ± {width:.4f}"
        needs = "yes" if baselines.find(str(method)).capabilities.needs_attribute else ""
        lines.append(f"| {method} | {mean:.4f}{spread} | {group['seconds'].mean():.2f} | {needs} |")
    return "\n".join(lines)


def sampling_note(some: pd.DataFrame) -> str:
    """The noise of a gap, below which nothing can be said."""
    return (
        f"The standard error of a test gap is about {some['test_standard_error'].mean():.3f}: differences of violation "
        "below it mean nothing."
    )


def worse_cells(records: pd.DataFrame, by: Sequence[str], levels: tuple[float, ...] = LEVELS) -> pd.DataFrame:
    """Where a rival that does without the attribute has a smaller error than FERMI, beyond the intervals."""
    found = []
    for values, some in records.groupby(list(by), dropna=False, sort=False):
        chosen = at_levels(some, levels)
        for level in levels:
            ours = chosen[(chosen["method"] == "fermi") & (chosen["level"] == level)]
            for method, theirs in chosen[chosen["level"] == level].groupby("method"):
                if method in ("fermi", "none") or baselines.find(str(method)).capabilities.needs_attribute:
                    continue
                mean, width = interval(theirs["error"])
                own, own_width = interval(ours["error"]) if len(ours) else (float("inf"), 0.0)
                margin = np.nan_to_num(width) + np.nan_to_num(own_width)
                if mean < own - margin:
                    found.append(
                        [*values, level, method, mean, own, theirs["violation"].mean(), ours["violation"].mean()]
                    )
    columns = [*by, "level", "method", "error", "fermi's error", "violation", "fermi's violation"]
    return pd.DataFrame(found, columns=columns)


def listed_cells(worse: pd.DataFrame) -> str:
    """Markdown: the cells of `worse_cells`."""
    if worse.empty:
        return "At no level of violation is a rival that does without the attribute below FERMI beyond the intervals."
    lines = ["Where a rival that does without the attribute is below FERMI, beyond the intervals:", ""]
    lines += ["| " + " | ".join(worse.columns) + " |", "|---" * len(worse.columns) + "|"]
    for row in worse.itertuples(index=False):
        lines.append("| " + " | ".join(f"{v:.4f}" if isinstance(v, float) else str(v) for v in row) + " |")
    return "\n".join(lines)
