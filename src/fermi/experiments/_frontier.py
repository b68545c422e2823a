"""From runs to statements: the error at a level of violation, its interval, and the area under the frontier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

LEVELS = (0.10, 0.05, 0.02, 0.01)
RUN = ["dataset", "split", "seed", "blind", "notion", "method"]  # what has one frontier


def at_levels(records: pd.DataFrame, levels: tuple[float, ...] = LEVELS, kind: str = "") -> pd.DataFrame:
    """For each run and level: the knob with the smallest validation error within the level there, and how it tests.

    `kind` is "" for labels and "soft_" for probabilities. Without a knob within the level the run has no entry.
    """
    found = []
    for run, group in records.groupby(RUN, dropna=False):
        for level in levels:
            within = group[group[f"val_{kind}violation"] <= level]
            if len(within):
                best = within.iloc[int(within[f"val_{kind}error"].to_numpy().argmin())]
                found.append(
                    dict(zip(RUN, run, strict=True))
                    | {"level": level, "error": best[f"test_{kind}error"], "violation": best[f"test_{kind}violation"]}
                    | {"strength": best["strength"]}
                )
    return pd.DataFrame(found, columns=[*RUN, "level", "error", "violation", "strength"])


def area(records: pd.DataFrame, limit: float = 0.2) -> float:
    """Mean test error of the frontier over violations from 0 to `limit`: the lowest error within each."""
    levels = np.linspace(0.0, limit, 101)[1:]
    errors = records["test_error"].to_numpy()
    violations = records["test_violation"].to_numpy()
    lowest = [errors[violations <= level].min() if (violations <= level).any() else np.nan for level in levels]
    return float(np.nanmean(lowest)) if not np.isnan(lowest).all() else float("nan")


def interval(values: Any) -> tuple[float, float]:
    """Mean, and half the width of its 95% interval over splits or seeds (nan for a single one)."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), float("nan")
    return float(values.mean()), float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def level_table(found: pd.DataFrame, levels: tuple[float, ...] = LEVELS) -> str:
    """Markdown: a row per method, a column per level, "error ± interval (violation)"."""
    lines = ["| method | " + " | ".join(f"≤ {level:g}" for level in levels) + " |", "|---" * (len(levels) + 1) + "|"]
    for method, group in found.groupby("method"):
        entries = []
        for level in levels:
            some = group[group["level"] == level]
            entries.append(_entry(some) if len(some) else "not reached")
        lines.append(f"| {method} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def _entry(some: pd.DataFrame) -> str:
    error, width = interval(some["error"])
    spread = "" if np.isnan(width) else f" ± {width:.4f}"
    return f"{error:.4f}{spread} (at {some['violation'].mean():.3f})"
