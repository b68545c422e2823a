"""From runs to statements: the error at a level of violation, how two methods compare there, the area below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from fermi import baselines

LEVELS = (0.10, 0.05, 0.02, 0.01)
RUN = ["dataset", "split", "seed", "blind", "notion", "method"]  # what has one frontier
_PAIR = ["dataset", "split", "seed", "blind", "notion"]


def at_levels(records: pd.DataFrame, levels: Sequence[float] = LEVELS, kind: str = "") -> pd.DataFrame:
    """For each run and level: the knob with the smallest validation error within the level there, and how it tests.

    `kind` is "" for labels and "soft_" for probabilities. A run without a knob within the level has no error there.
    """
    found = []
    for run, group in records.groupby(RUN, dropna=False):
        for level in levels:
            within = group[group[f"val_{kind}violation"] <= level]
            entry: dict[str, Any] = {**dict(zip(RUN, run, strict=True)), "level": level, "error": np.nan}
            entry |= {"violation": np.nan, "strength": np.nan}
            if len(within):
                best = within.iloc[int(within[f"val_{kind}error"].to_numpy().argmin())]
                entry |= {"error": best[f"test_{kind}error"], "violation": best[f"test_{kind}violation"]}
                entry["strength"] = best["strength"]
            found.append(entry)
    return pd.DataFrame(found, columns=[*RUN, "level", "error", "violation", "strength"])


def compare(records: pd.DataFrame, levels: Sequence[float] = LEVELS) -> pd.DataFrame:
    """FERMI beside every rival that does without the attribute at prediction, level by level, run by run.

    `outcome` is "above" where the rival's error is larger, "below" where it is smaller and its violation no larger than
    FERMI's by more than the standard error of a gap, both beyond the 95% interval of the paired difference; "same"
    where neither can be told; "one run" where there is no interval; "not reached" where either never gets there. A
    rival that gets there in more runs than FERMI is below it.
    """
    chosen, noise = at_levels(records, levels), records["test_standard_error"].mean()
    rows = []
    for level in levels:
        here = chosen[chosen["level"] == level].set_index(_PAIR)
        ours = here[here["method"] == "fermi"]
        for method, theirs in here.groupby("method"):
            if method in ("fermi", "none") or baselines.find(str(method)).capabilities.needs_attribute:
                continue
            pairs = ours.join(theirs.add_suffix("_rival"), how="inner")
            reached = pairs.dropna(subset=["error", "error_rival"])
            difference, width = interval(reached["error_rival"] - reached["error"])
            fair = reached["violation_rival"].mean() <= reached["violation"].mean() + noise
            more = pairs["error_rival"].notna().sum() > pairs["error"].notna().sum()
            rows.append([level, method, len(reached), difference, width, _outcome(difference, width, fair, bool(more))])
    return pd.DataFrame(rows, columns=["level", "method", "runs", "difference", "width", "outcome"])


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
    levels = np.linspace(0.0, limit, 21)[1:]
    errors, violations = records["val_error"].to_numpy(), records["val_violation"].to_numpy()
    tested = records["test_error"].to_numpy()
    found = []
    for level in levels:
        within = np.flatnonzero(violations <= level)
        best = tested[within[errors[within].argmin()]] if len(within) else records["test_constant_error"].iloc[0]
        found.append(best)
    return float(np.mean(found))


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
        entries = (_entry(group[group["level"] == level]) for level in levels)
        lines.append(f"| {method} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def _entry(some: pd.DataFrame) -> str:
    reached = some.dropna(subset=["error"])
    if reached.empty:
        return "not reached"
    error, width = interval(reached["error"])
    spread = "" if np.isnan(width) else f" ± {width:.4f}"
    runs = "" if len(reached) == len(some) else f", {len(reached)} of {len(some)} runs"
    return f"{error:.4f}{spread} (at {reached['violation'].mean():.3f}{runs})"
