"""Figure 3: Adult with 90% of the sensitive values missing, and the oracle that sees all of them."""

from __future__ import annotations

from collections.abc import Iterator

from fermi.experiments._claims import Claim
from fermi.experiments._figure import Cell
from fermi.experiments._tradeoffs import FEW_STRENGTHS, IN_PROCESSING, dominates, figure, grid

BY = ("missing", "blind")


def cells(quick: bool) -> Iterator[Cell]:
    """Every method with 90% missing, and FERMI with none."""
    yield from grid(quick, IN_PROCESSING, missing=0.9, seeds=3, strengths=FEW_STRENGTHS)
    yield from grid(quick, ("fermi",), missing=0.0, strengths=FEW_STRENGTHS)


FIGURE = figure(
    "Figure 3: Adult with 90% of the sensitive values missing",
    cells,
    [Claim("FERMI's trade-off is better than all rivals' where 90% are missing", "section 4.1.3", dominates(BY))],
    by=BY,
    panels=("blind", "missing"),
)
