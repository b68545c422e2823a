"""Figure 8: Adult with 10% of the training rows' sensitive values forced to one group, and without."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fermi.experiments.figure import Cell
from fermi.experiments.figures._tradeoffs import (
    FULL_BATCH,
    damage,
    dominance,
    figure,
    grid,
    listed_damage,
)
from fermi.experiments.judging.claims import Claim, Verdict, exceeds, overall, widest

BY = ("forced", "blind")


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of figure 8: every method with 10% of the groups forced, in three draws, and with none forced."""
    yield from grid(quick, FULL_BATCH, forced=0.1)
    yield from grid(quick, FULL_BATCH)


def all_lose(records: pd.DataFrame) -> Verdict:
    """Whether every method has more error than on clean groups, on average over the levels that are judged."""
    lost = damage(records, "forced")
    words = [exceeds(row["lost"], row["width"]) for _, row in lost.iterrows()]
    figures = f"error lost on average over the levels: {listed_damage(lost)}"
    return Verdict(overall(words), figures, widest(lost["width"].tolist()))


def forced_alone(records: pd.DataFrame) -> pd.DataFrame:
    """The runs with forced groups."""
    return records[records["forced"].notna()]


FIGURE = figure(
    "Figure 8: Adult with 10% of the training rows' sensitive values forced to one group",
    cells,
    [
        *dominance("FERMI's trade-off on clean test rows is better than all rivals'", "appendix E.3", BY, forced_alone),
        Claim("All methods reach a higher plateau than on clean groups", "appendix E.3", all_lose),
    ],
    by=BY,
    panels=("blind", "forced"),
)
