"""From runs to statements: the error at a level of violation, how two methods compare there, the area below."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from fermi import baselines
from fermi._kernels import Floats

LEVELS = (0.10, 0.05, 0.02, 0.01)
RUN = ["dataset", "split", "seed", "blind", "notion", "method"]  # what has one frontier
_PAIR = ["dataset", "split", "seed", "blind", "notion"]
BLOCKS = "test_block_errors"  # the test error in each of some equal parts of the test rows


def place_within(gaps: Floats, errors: Floats, level: float) -> float | None:
    """Where on a curve the error is smallest while no gap is larger than the level, in settings from the first.

    Curves are read off as pictures are, with lines between neighbouring settings: a knob has a setting between any two,
    and without the lines a method with one that happens to fall just within the level would look better than another
    with one just outside. `gaps` is settings × gaps, with their signs: between a setting that favours one group and one
    that favours the other lies one that favours none.
    """
    places = [float(i) for i in np.flatnonzero((np.abs(gaps) <= level).all(axis=1))]
    for i, (here, there) in enumerate(pairwise(gaps)):
        change = there - here
        moving = change != 0.0
        if (np.abs(here[~moving]) > level).any():
            continue
        ends = (np.array([[-level], [level]]) - here[moving]) / change[moving]
        low, high = ends.min(axis=0).max(initial=0.0), ends.max(axis=0).min(initial=1.0)
        places += [i + float(share) for share in (low, high) if low <= high and 0.0 < share < 1.0]
    return min(places, key=lambda place: float(between(errors, place))) if places else None


def between(values: Floats, place: float) -> Any:
    """The value at a place, on the line between two settings."""
    i = int(place)
    rest = place - i
    return values[i] if rest == 0.0 else (1.0 - rest) * values[i] + rest * values[i + 1]


class Curve:
    """The settings of one method in one run, by strength; `kind` is "" for labels and "soft_" for probabilities."""

    def __init__(self, records: pd.DataFrame, kind: str = "") -> None:
        self.records = records.sort_values("strength")
        self.kind = kind

    def at(self, level: float) -> dict[str, Any]:
        """Test error and violation where the validation rows say; nan where the curve never gets within the level."""
        place = place_within(self._column(f"val_{self.kind}gaps"), self._column(f"val_{self.kind}error"), level)
        if place is None:
            return {"error": np.nan, "violation": np.nan, "strength": np.nan, "blocks": None}
        return {
            "error": between(self._column(f"test_{self.kind}error"), place),
            "violation": np.abs(between(self._column(f"test_{self.kind}gaps"), place)).max(),
            "strength": between(self._column("strength"), place),
            "blocks": None if self.kind else between(self._column(BLOCKS), place),
        }

    def _column(self, name: str) -> Floats:
        return np.array(self.records[name].tolist(), dtype=float)


def at_levels(records: pd.DataFrame, levels: Sequence[float] = LEVELS, kind: str = "") -> pd.DataFrame:
    """For each run and level: the knob with the smallest validation error within the level there, and how it tests.

    `kind` is "" for labels and "soft_" for probabilities. A run without a knob within the level has no error there.
    """
    found = []
    for run, group in records.groupby(RUN, dropna=False):
        curve = Curve(group, kind)
        found += [{**dict(zip(RUN, run, strict=True)), "level": level, **curve.at(level)} for level in levels]
    return pd.DataFrame(found, columns=[*RUN, "level", "error", "violation", "strength", "blocks"])


def compare(records: pd.DataFrame, levels: Sequence[float] = LEVELS) -> pd.DataFrame:
    """FERMI beside every rival that does without the attribute at prediction, level by level, run by run.

    `outcome` is "above" where the rival's error is larger, "below" where it is smaller and its violation no larger than
    FERMI's by more than the standard error of a gap, both beyond the 95% interval of the paired difference; "same"
    where neither can be told; "noise" where the level is less than the standard error of a gap, on the test rows or on
    those that choose the knob; "one run" where there is no interval; "not reached" where either never gets there. A
    rival that gets there in more runs than FERMI is below it.
    """
    chosen = at_levels(records, levels)
    floor, noise = (records[f"{part}_standard_error"].mean() for part in ("val", "test"))
    rows = []
    for level in levels:
        here = chosen[chosen["level"] == level].set_index(_PAIR)
        ours = here[here["method"] == "fermi"]
        for method, theirs in here.groupby("method"):
            if method in ("fermi", "none") or baselines.find(str(method)).capabilities.needs_attribute:
                continue
            pairs = ours.join(theirs.add_suffix("_rival"), how="inner")
            reached = pairs.dropna(subset=["error", "error_rival"])
            difference, width = uncertain(_differences(reached))
            fair = reached["violation_rival"].mean() <= reached["violation"].mean() + noise
            more = pairs["error_rival"].notna().sum() > pairs["error"].notna().sum()
            outcome = "noise" if level < max(floor, noise) else _outcome(difference, width, fair, bool(more))
            rows.append([level, method, len(reached), difference, width, outcome])
    return pd.DataFrame(rows, columns=["level", "method", "runs", "difference", "width", "outcome"])


def _differences(pairs: pd.DataFrame) -> pd.DataFrame:
    """Rival minus FERMI, run by run and block by block."""
    found = pairs.reset_index()[["split", "seed"]]
    found["error"] = (pairs["error_rival"] - pairs["error"]).to_numpy()
    found["blocks"] = [b - a for a, b in zip(pairs["blocks"], pairs["blocks_rival"], strict=True)]
    return found


def _outcome(difference: float, width: float, fair: bool, more: bool) -> str:
    if more:
        return "below"
    if np.isnan(difference):
        return "not reached"
    if np.isnan(width):
        return "one run"
    if difference + width < 0.0 and fair:
        return "below"
    return "above" if difference - width > 0.0 else "same"


def area(records: pd.DataFrame, limit: float = 0.2) -> float:
    """Mean test error over bounds on the violation from 0 to `limit`, each kept on validation rows.

    Where no knob keeps the bound the constant prediction does, with its error.
    """
    curve, constant = Curve(records), records["test_constant_error"].iloc[0]
    found = [curve.at(level)["error"] for level in np.linspace(0.0, limit, 21)[1:]]
    return float(np.nan_to_num(found, nan=constant).mean())


def uncertain(runs: pd.DataFrame) -> tuple[float, float]:
    """Mean error of runs, and half the width of its 95% interval.

    Over the splits, where there are several. On one split the test rows are the same for all seeds: the spread of
    their blocks says how other test rows would differ, that of the seeds how other seeds would.
    """
    if runs["split"].nunique() > 1 or runs.empty:
        return interval(runs.groupby("split")["error"].mean())
    blocks = runs["blocks"].dropna()
    if len(blocks) < len(runs):
        return interval(runs["error"])
    by_block = np.stack(blocks.tolist()).mean(axis=0)
    parts = [(by_block.var(ddof=1) / len(by_block), len(by_block) - 1)]
    if len(runs) > 1:
        parts.append((runs["error"].var(ddof=1) / len(runs), len(runs) - 1))
    variance = sum(size for size, _ in parts)
    # Welch and Satterthwaite's degrees of freedom for a sum of two estimated variances.
    freedom = variance**2 / sum(size**2 / own for size, own in parts) if variance > 0.0 else 1.0
    return float(runs["error"].mean()), float(stats.t.ppf(0.975, freedom) * np.sqrt(variance))


def interval(values: Any) -> tuple[float, float]:
    """Mean, and half the width of its 95% interval over splits or seeds (nan for a single one)."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return (float(values[0]) if len(values) else float("nan")), float("nan")
    return float(values.mean()), float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def level_table(found: pd.DataFrame, levels: Sequence[float] = LEVELS) -> str:
    """Markdown: a row per method, a column per level, "error ± interval (violation)"."""
    lines = ["| method | " + " | ".join(f"≤ {level:g}" for level in levels) + " |", "|---" * (len(levels) + 1) + "|"]
    for method, group in found.groupby("method"):
        star = "*" if baselines.find(str(method)).capabilities.needs_attribute else ""
        entries = (_entry(group[group["level"] == level]) for level in levels)
        lines.append(f"| {method}{star} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def _entry(some: pd.DataFrame) -> str:
    reached = some.dropna(subset=["error"])
    if reached.empty:
        return "not reached"
    error, width = uncertain(reached)
    spread = "" if np.isnan(width) else f" ± {width:.4f}"
    runs = "" if len(reached) == len(some) else f", {len(reached)} of {len(some)} runs"
    return f"{error:.4f}{spread} (at {reached['violation'].mean():.3f}{runs})"
