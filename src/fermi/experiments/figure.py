"""The parts that a figure of the paper is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

Cell: TypeAlias = Mapping[str, Any]  # everything that decides the result of one training run, in plain values
CellRecord: TypeAlias = dict[str, Any]  # the cell, and what was measured


@dataclass(frozen=True)
class Together:
    """Cells that are run at once, since training has much in common for them.

    Attributes
    ----------
    of : function of a cell
        What is the same for all cells that run together.
    run : function of such cells
        What was measured in each, as `Figure.run` has it.
    """

    of: Callable[[Cell], Hashable]
    run: Callable[[Sequence[Cell]], Sequence[CellRecord | list[CellRecord]]]


@dataclass(frozen=True)
class Figure:
    """One figure or table of the paper.

    Attributes
    ----------
    title : str
        What it shows, with its place in the paper.
    cells : function of `quick`
        The training runs.
    run : function of a cell
        What was measured, one record or several (along training, say).
    summarise : function of all records
        The page, in Markdown: tables, and each claim of the paper with a verdict.
    draw : function of all records and a matplotlib figure
        The picture, in the paper's layout of panels.
    version : int
        Raised when `run` changes its meaning: cells of another version are run again.
    way : str
        What `run` is known by on disk, wherever its module lies; figures with the same `run` have the same.
    together : Together, optional
        Which cells run at once; otherwise each by itself. The records are the same, up to rounding.
    """

    title: str
    cells: Callable[[bool], Iterable[Cell]]
    run: Callable[[Cell], CellRecord | list[CellRecord]]
    summarise: Callable[[pd.DataFrame], str]
    draw: Callable[[pd.DataFrame, Any], None] | None = None
    version: int = 1
    way: str = field(kw_only=True)
    together: Together | None = field(default=None, kw_only=True)

    def key(self, cell: Cell) -> str:
        """The key by which a cell is known on disk: figures that run the same cell in the same way share it."""
        # The way is written as the first journals have it, from when it was a module, so that they are still read.
        text = json.dumps([f"fermi.experiments._{self.way}.run", self.version, sorted(cell.items())])
        return hashlib.sha256(text.encode()).hexdigest()[:16]
