"""Figure 1: Adult, full batch, three notions, all in-processing rivals, and labels within a bound."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fermi.experiments.figure import Cell
from fermi.experiments.figures._tradeoffs import FULL_BATCH, dominance, figure, grid
from fermi.experiments.judging.claims import Claim, Verdict
from fermi.notions import NAMES

BY = ("notion", "blind")

_SAME = 0.001


def coincide(records: pd.DataFrame) -> Verdict:
    """Whether two methods with one penalty for two groups and two classes have the same errors at equal strength."""
    key = ["notion", "blind", "strength"]
    mary, other = (records[records["method"] == name].set_index(key) for name in ("mary", "baharlouei"))
    apart = [float((mary[name] - other[name]).abs().max()) for name in ("test_error", "test_violation")]
    figures = f"at equal strength at most {apart[0]:.4f} apart in error, {apart[1]:.4f} in violation"
    return "held" if max(apart) <= _SAME else "did not hold", figures


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of figure 1, and those of a method that should coincide with another, which the other figures omit."""
    yield from grid(quick, FULL_BATCH, notions=NAMES)
    yield from grid(quick, ("baharlouei",), notions=NAMES, **({} if quick else {"blind": (True,)}))


FIGURE = figure(
    "Figure 1: Adult, all rows at once, three notions, in-processing rivals",
    cells,
    [
        *dominance("FERMI's curve dominates all rivals for every notion in full batch", "section 4.1.1", BY),
        Claim("mary coincides with baharlouei for two groups and classes", "section 4.2", coincide),
    ],
    by=BY,
    panels=("blind", "notion"),
)
