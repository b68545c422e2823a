"""Figure 3: Adult with 90% of the sensitive values missing, beside the methods where none is.

Training sees a tenth of the groups, and so do the rows that choose the knob; only the test rows have all of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fermi.experiments.figure import Cell
from fermi.experiments.figures._tradeoffs import (
    FULL_BATCH,
    JUDGED,
    comparisons,
    damage,
    dominance,
    figure,
    grid,
    listed_damage,
    listed_gains,
    rivals_of,
)
from fermi.experiments.judging.claims import Claim, Verdict, Word, at_most, exceeds, overall, widest
from fermi.experiments.judging.frontier import needs_attribute

BY = ("missing", "blind")
_SLIGHT = 0.01


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of figure 3: every method with 90% of the groups missing, in three draws, and with none missing."""
    yield from grid(quick, FULL_BATCH, missing=0.9)
    yield from grid(quick, FULL_BATCH)


def near_the_oracle(records: pd.DataFrame) -> Verdict:
    """Whether FERMI with missing groups loses at most a point of error, on average over the levels that are judged."""
    lost = damage(records[records["method"].isin(("fermi", "none"))], "missing")
    words = [at_most(row["lost"], row["width"], _SLIGHT) for _, row in lost.iterrows()]
    at_each = [f"{value:+.4f} at ≤ {level:g}" for own in lost["levels"] for level, value in own.items()]
    figures = f"error above the oracle's, at most {_SLIGHT:g} asked: {listed_damage(lost)}; {', '.join(at_each)}"
    return Verdict(overall(words), figures, widest(lost["width"].tolist()))


def rivals_are_hurt(records: pd.DataFrame) -> Verdict:
    """Whether every rival loses more error than FERMI, and none is more than a point below the naive trade."""
    records = rivals_of(records)
    lost = damage(records, "missing")
    lost = lost[~lost["method"].map(needs_attribute).astype(bool)]
    hurt: list[Word] = []
    for _, some in lost.groupby("blind"):
        ours, theirs = some[some["method"] == "fermi"], some[some["method"] != "fermi"]
        for _, own in ours.iterrows():
            hurt += [
                exceeds(row["lost"] - own["lost"], float(np.hypot(row["width"], own["width"])))
                for _, row in theirs.iterrows()
            ]
    gains = comparisons(missing_alone(records), BY, "naive")
    gains = gains[gains["outcome"].isin(JUDGED) & (gains["method"] != "fermi")]
    narrow = [at_most(-row["difference"], row["width"], _SLIGHT) for _, row in gains.iterrows()]
    figures = f"error lost on average over the levels: {listed_damage(lost)}; most below naive at any level: "
    width = widest([*lost["width"], *gains["width"]])
    word = overall(hurt + narrow) if hurt and narrow else "could not be tested here"
    return Verdict(word, figures + listed_gains(gains), width)


def missing_alone(records: pd.DataFrame) -> pd.DataFrame:
    """The runs with missing groups."""
    return records[records["missing"].notna()]


FIGURE = figure(
    "Figure 3: Adult with 90% of the sensitive values missing",
    cells,
    [
        *dominance("With 90% missing FERMI's trade-off is better than all rivals'", "section 4.1.3", BY, missing_alone),
        Claim(
            "FERMI is at most slightly worse (0.01) than the oracle that sees all groups",
            "section 4.1.3",
            near_the_oracle,
        ),
        Claim("The rivals are hurt much more and hardly beat the naive baseline", "section 4.1.3", rivals_are_hurt),
    ],
    by=BY,
    panels=("blind", "missing"),
)
