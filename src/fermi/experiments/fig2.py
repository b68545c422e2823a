"""Figure 2: Adult at small batch sizes, demographic parity."""

from __future__ import annotations

from collections.abc import Iterator

from fermi.experiments._claims import Claim
from fermi.experiments._figure import Cell
from fermi.experiments._tradeoffs import dominates, figure, grid

BATCHES = {1: 20000, 2: 15000, 4: 10000, 16: 5000, 64: 3000}  # and the steps taken
METHODS = ("fermi", "mary", "baharlouei", "cho_kde", "cho_mi", "zhang", "fairret", "prost", "cooper")
BY = ("batch_size", "blind")


def cells(quick: bool) -> Iterator[Cell]:
    """Every method that trains on batches at every size, and on all rows at once for comparison."""
    for size, steps in BATCHES.items():
        yield from grid(quick, METHODS, batch_size=size, seeds=3, **({} if quick else {"steps": steps}))
    yield from grid(quick, ("fermi", "none", "naive"))


FIGURE = figure(
    "Figure 2: Adult at small batch sizes, demographic parity",
    cells,
    [Claim("FERMI's trade-off is better than all rivals' at every batch size", "section 4.1.2", dominates(BY))],
    by=BY,
    panels=("blind", "batch_size"),
)
