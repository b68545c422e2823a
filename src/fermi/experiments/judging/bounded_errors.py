"""The error within a bound on a violation, for violations of several kinds, and how two methods compare there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fermi.experiments.judging.claims import Word
from fermi.experiments.judging.frontier import (
    OVERLAP,
    between,
    excesses,
    interval,
    outcome_of,
    outcome_said,
    place_within,
    said,
)

MEASURED = ["error", "violation", "constant"]


class Pairing(NamedTuple):
    """An error paired with the violation that is bounded, both columns of the records after "val_" or "test_"."""

    words: str
    error: str
    violation: str


def within(records: pd.DataFrame, pairing: Pairing, levels: Sequence[float], run: Sequence[str]) -> pd.DataFrame:
    """The test of each run at the knob whose error on the choosing rows is smallest within each level of violation.

    The violation's column may hold signs: then there is a fair place between two that favour one group and the other.

    A run without such a knob, or only with ones that are worse, predicts the majority for everyone, which violates
    nothing: `constant` is 1 there. A run whose violation cannot be measured, on either part, is left out.
    """
    val, test = (f"{part}_{pairing.violation}" for part in ("val", "test"))
    measurable = records.dropna(subset=[val, test]).sort_values("strength", kind="stable").reset_index(drop=True)
    # As arrays: frames of a few rows each take a hundred times as long.
    columns = [f"val_{pairing.error}", val, f"test_{pairing.error}", test, "val_constant_error", "test_constant_error"]
    choosing, bounded, error, violation, spare, constant = (measurable[name].to_numpy() for name in columns)
    rows_of: dict[Any, Any] = measurable.groupby(list(run), sort=False).indices
    found = []
    for values, places in rows_of.items():
        for level in levels:
            best = place_within(bounded[places, None], choosing[places], level, spare[places[0]])
            if best is None:
                entry = (constant[places[0]], 0.0, 1.0)
            else:
                entry = (between(error[places], best), abs(between(violation[places], best)), 0.0)
            found.append((*values, level, *entry))
    return pd.DataFrame(found, columns=[*run, "level", *MEASURED])


def strengths(count: int) -> list[float]:
    """The strengths to try, evenly spaced and above 0; the unmitigated model stands for 0 with every method."""
    return [(i + 1) / count for i in range(count)]


def with_unmitigated(others: pd.DataFrame, plain: pd.DataFrame) -> pd.DataFrame:
    """Add the unmitigated model to the runs of all methods, as strength 0 of each and as itself."""
    start = [plain.assign(method=name, seconds=np.nan) for name in dict.fromkeys(others["method"])]
    return pd.concat([others, plain, *start], ignore_index=True)


class Comparison(NamedTuple):
    """A rival compared with a method: how much larger its error is, and half the width of the 95% interval."""

    rival: str
    difference: float
    width: float
    outcome: str

    def __str__(self) -> str:
        if np.isnan(self.difference):
            return self.outcome
        return outcome_said(self.outcome, self.difference, self.width)


def compare(
    chosen: pd.DataFrame, method: str, rival: str, noise: float, repeat: str = "split", overlap: float = OVERLAP
) -> Comparison:
    """Compare a rival with a method: the mean difference of errors over repetitions, which share rows by `overlap`.

    `outcome` is "above" or "below" where the rival's error is, beyond the interval, and the one with the smaller error
    keeps the level on the test rows, or is no less fair than the other, but for `noise`; "even" and "open" as in
    `frontier.contrast`; "idle" where both have the same error in every run; "one run" without interval.
    """
    key = [name for name in chosen.columns if name not in ("method", *MEASURED)]
    ours, theirs = (chosen[chosen["method"] == name].set_index(key) for name in (method, rival))
    pairs = theirs[["error", "violation"]].join(ours[["error", "violation"]].add_suffix("_ours"), how="inner")
    means = pairs[["violation_ours", "violation"]].groupby("level").mean()
    beyond = excesses(means["violation_ours"], means["violation"], means.index)
    difference, width = interval((pairs["error"] - pairs["error_ours"]).groupby(repeat).mean(), overlap)
    excess = float(beyond[0].mean()), float(beyond[1].mean())
    outcome = outcome_of(difference, width, excess, noise)
    identical = bool(len(pairs)) and bool((pairs["error"] == pairs["error_ours"]).all())
    return Comparison(rival, difference, width, "idle" if identical else outcome)


def ahead(found: Sequence[Comparison]) -> Word:
    """Whether all rivals are above the method they are compared with: one below it, or equal to it, refutes that."""
    outcomes = {one.outcome for one in found} - {"idle", "one run", "not measured"}
    if not outcomes:
        return "could not be tested here"
    if outcomes & {"below", "even"}:
        return "refuted"
    return "held" if outcomes == {"above"} else "not shown"


def table(chosen: pd.DataFrame, rows: Sequence[str], column: str, overlap: float = OVERLAP) -> str:
    """A Markdown table with a row per method and a column per value: error, interval, violation, share of constants."""
    values = sorted(set(chosen[column]))
    lines = [f"| method, by {column} | " + " | ".join(f"{value:g}" for value in values) + " |"]
    lines.append("|---" * (len(values) + 1) + "|")
    for method in rows:
        some = chosen[chosen["method"] == method]
        lines.append(
            f"| {method} | " + " | ".join(_entry(some[some[column] == value], overlap) for value in values) + " |"
        )
    return "\n".join(lines)


def _entry(some: pd.DataFrame, overlap: float) -> str:
    if some.empty:
        return "not measured"
    constant = some["constant"].mean()
    note = f", {constant:.0%} constant" if constant else ""
    return f"{said(*interval(some['error'], overlap), 3)} (at {some['violation'].mean():.3f}{note})"
