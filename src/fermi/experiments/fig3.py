"""Figure 3: Adult with 90% of the sensitive values missing, and the same methods where none is.

Training sees a tenth of the groups; the rows that choose the knob and the test rows have theirs, so that what is
compared is what training makes of the missing ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fermi.experiments._claims import Claim, Verdict
from fermi.experiments._curves import named
from fermi.experiments._figure import Cell
from fermi.experiments._tradeoffs import (
    FEW_STRENGTHS,
    IN_PROCESSING,
    damage,
    dominates,
    figure,
    gains_over_naive,
    grid,
    listed_gains,
)

BY = ("missing", "blind")
_SLIGHT = 0.01


def cells(quick: bool) -> Iterator[Cell]:
    """Every method with 90% missing, three draws of them, and as in figure 1 with none."""
    yield from grid(quick, IN_PROCESSING, missing=0.9, seeds=3, strengths=FEW_STRENGTHS)
    yield from grid(quick, IN_PROCESSING)


def near_the_oracle(records: pd.DataFrame) -> Verdict:
    """Whether FERMI loses at most a point of error at any level."""
    lost = damage(records[records["method"] == "fermi"], "missing")
    words = ", ".join(f"{row.lost:+.4f} at ≤ {row.level:g} ({named('blind', row.blind)})" for row in lost.itertuples())
    return "held" if lost["lost"].max() <= _SLIGHT else "did not hold", f"error above the oracle's: {words}"


def rivals_are_hurt(records: pd.DataFrame) -> Verdict:
    """Whether rivals lose more than FERMI, and stay within a point of the naive baseline."""
    lost = damage(records, "missing").groupby("method")["lost"].mean().drop(["none", "naive"], errors="ignore")
    gains = gains_over_naive(records[records["missing"].notna()])
    narrow = bool((gains.drop("fermi", level="method", errors="ignore") <= _SLIGHT).all())
    hurt = bool((lost.drop("fermi") > lost["fermi"]).all())
    told = ", ".join(f"{method} {value:+.4f}" for method, value in lost.items())
    figures = f"error lost on average over the levels: {told}; most below naive at any level: {listed_gains(gains)}"
    return "held" if hurt and narrow else "did not hold", figures


def missing_alone(records: pd.DataFrame) -> pd.DataFrame:
    """The runs with missing groups."""
    return records[records["missing"].notna()]


FIGURE = figure(
    "Figure 3: Adult with 90% of the sensitive values missing",
    cells,
    [
        Claim(
            "FERMI's trade-off is better than all rivals' where 90% are missing",
            "section 4.1.3",
            lambda records: dominates(BY)(missing_alone(records)),
        ),
        Claim("FERMI is slightly worse than the oracle that sees all groups", "section 4.1.3", near_the_oracle),
        Claim("The rivals are hurt much more and hardly beat the naive baseline", "section 4.1.3", rivals_are_hurt),
    ],
    by=BY,
    panels=("blind", "missing"),
)
