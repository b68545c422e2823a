"""Figure 8: Adult with 10% of the training rows' sensitive values forced to one group."""

from __future__ import annotations

from functools import partial

from fermi.experiments._claims import Claim
from fermi.experiments._tradeoffs import FEW_STRENGTHS, IN_PROCESSING, dominates, figure, grid

BY = ("notion", "blind")

FIGURE = figure(
    "Figure 8: Adult with 10% of the training rows' sensitive values forced to one group",
    partial(grid, methods=IN_PROCESSING, forced=0.1, seeds=3, strengths=FEW_STRENGTHS),
    [Claim("FERMI's trade-off on clean test rows is better than all rivals'", "appendix E.3", dominates(BY))],
    by=BY,
    panels=("blind", "notion"),
)
