"""Figure 1: Adult, full batch, three notions, all in-processing rivals."""

from __future__ import annotations

from functools import partial

from fermi.baselines._protocol import ALL_NOTIONS
from fermi.experiments._claims import Claim
from fermi.experiments._tradeoffs import IN_PROCESSING, dominates, figure, grid

BY = ("notion", "blind")

FIGURE = figure(
    "Figure 1: Adult, all rows at once, three notions, in-processing rivals",
    partial(grid, methods=IN_PROCESSING, notions=ALL_NOTIONS),
    [Claim("FERMI's curve dominates all rivals for every notion in full batch", "section 4.1.1", dominates(BY))],
    by=BY,
    panels=("blind", "notion"),
)
