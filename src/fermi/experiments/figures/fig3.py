"""Figure 3: Adult with 90% of the sensitive values missing, beside the methods where none is.

Training sees a tenth of the groups, and so do the rows that choose the knob; only the test rows have all of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fermi.experiments.figure import Cell
from fermi.experiments.figures._tradeoffs import (
    FULL_BATCH,
    damage,
    dominance,
    figure,
    gains_over_naive,
    grid,
    listed_damage,
    listed_gains,
    rivals_of,
)
from fermi.experiments.judging.claims import Claim, Verdict
from fermi.experiments.judging.frontier import LEVELS, needs_attribute

BY = ("missing", "blind")
_SLIGHT = 0.01


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of figure 3: every method with 90% of the groups missing, in three draws, and with none missing."""
    yield from grid(quick, FULL_BATCH, missing=0.9)
    yield from grid(quick, FULL_BATCH)


def near_the_oracle(records: pd.DataFrame) -> Verdict:
    """Whether FERMI with missing groups loses at most a point of error at any level."""
    lost = damage(records[records["method"] == "fermi"], "missing")
    at_each = {level: float(lost[f"at {level:g}"].iloc[0]) for level in LEVELS}
    words = ", ".join(f"{value:+.4f} at ≤ {level:g}" for level, value in at_each.items())
    figures = f"error above the oracle's: {listed_damage(lost)} on average over the levels; {words}"
    return "held" if max(at_each.values()) <= _SLIGHT else "did not hold", figures


def rivals_are_hurt(records: pd.DataFrame) -> Verdict:
    """Whether rivals that predict without the attribute lose more than FERMI, and stay within a point of naive."""
    records = rivals_of(records)
    lost = damage(records, "missing")
    lost = lost[[not needs_attribute(method) for method in lost["method"]]]
    gains = gains_over_naive(missing_alone(records))
    gains = gains[[not needs_attribute(method) for method in gains.index.get_level_values("method")]]
    ours, theirs = lost[lost["method"] == "fermi"], lost[lost["method"] != "fermi"]
    narrow = bool((gains.drop("fermi", level="method") <= _SLIGHT).all())
    hurt = bool((theirs["lost"] - theirs["width"] > ours["lost"].iloc[0]).all())
    figures = f"error lost on average over the levels: {listed_damage(lost)}; most below naive at any level: "
    return "held" if hurt and narrow else "did not hold", figures + listed_gains(gains)


def missing_alone(records: pd.DataFrame) -> pd.DataFrame:
    """The runs with missing groups."""
    return records[records["missing"].notna()]


FIGURE = figure(
    "Figure 3: Adult with 90% of the sensitive values missing",
    cells,
    [
        *dominance("With 90% missing FERMI's trade-off is better than all rivals'", "section 4.1.3", BY, missing_alone),
        Claim("FERMI is slightly worse than the oracle that sees all groups", "section 4.1.3", near_the_oracle),
        Claim("The rivals are hurt much more and hardly beat the naive baseline", "section 4.1.3", rivals_are_hurt),
    ],
    by=BY,
    panels=("blind", "missing"),
)
