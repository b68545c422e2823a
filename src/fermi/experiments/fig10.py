"""Figure 10: COMPAS, German and Adult with pre- and post-processing rivals, demographic parity."""

from __future__ import annotations

from functools import partial

from fermi.experiments._claims import Claim
from fermi.experiments._tradeoffs import ALL_METHODS, dominates, figure, grid

BY = ("dataset", "blind")

FIGURE = figure(
    "Figure 10: COMPAS, German and Adult with pre- and post-processing rivals, demographic parity",
    partial(
        grid,
        methods=ALL_METHODS,
        notions=("demographic_parity",),
        datasets=(("compas", 10), ("german", 10), ("adult", 1)),
    ),
    [Claim("FERMI's curve dominates those of all rivals", "appendix E.5", dominates(BY))],
    by=BY,
    panels=("blind", "dataset"),
)
