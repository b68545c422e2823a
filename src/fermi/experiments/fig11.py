"""Figure 11: COMPAS, German and Adult with pre- and post-processing rivals, equalized odds."""

from __future__ import annotations

from functools import partial

from fermi.experiments._claims import Claim
from fermi.experiments._tradeoffs import ALL_METHODS, dominates, figure, grid

BY = ("dataset", "blind")

FIGURE = figure(
    "Figure 11: COMPAS, German and Adult with pre- and post-processing rivals, equalized odds",
    partial(
        grid, methods=ALL_METHODS, notions=("equalized_odds",), datasets=(("compas", 10), ("german", 10), ("adult", 1))
    ),
    [Claim("FERMI's curve dominates those of all rivals", "appendix E.5", dominates(BY))],
    by=BY,
    panels=("blind", "dataset"),
)
