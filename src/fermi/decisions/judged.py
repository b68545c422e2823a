"""Rows to choose labels on, and where their cells stand among the unknowns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fermi._typing import Floats, Ints
from fermi.decisions.figures import effective_rows
from fermi.decisions.requirements import Layout
from fermi.inputs.cells import Cells


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows to choose labels on: what models that have not seen them say of them, and what is true.

    Attributes
    ----------
    F : (n, m) array
        The model's probabilities.
    q : tuple of (n, Z·k) arrays
        The group model's probabilities of the cells, per attribute.
    target : (n,) int64
        The true classes.
    cells : tuple of Cells
        The true cells, per attribute, and the rows' weights.
    weight : (n,) array
        The weights.
    labels : (n,) int64
        The model's own labels.
    """

    F: Floats
    q: tuple[Floats, ...]
    target: Ints
    cells: tuple[Cells, ...]
    weight: Floats
    labels: Ints


def layout_of(rows: JudgedRows, n_classes: int) -> Layout:
    """Where the cells are; those without rows are left out."""
    blocks: list[Ints] = []
    shares, counts = [np.zeros(0)], [np.zeros(0)]
    first = 0
    for cells in rows.cells:
        nothing = np.zeros(len(rows.target), dtype=np.int64)
        table, squares = cells.hard(nothing, 1), cells.hard_squares(nothing, 1)
        shares.append(table.ravel() / rows.weight.sum())
        counts.append(effective_rows(table, squares).ravel())
        places = first + np.arange(cells.size).reshape(cells.shape)
        seen = table[:, :, 0] > 0.0
        blocks += [line[there] for line, there in zip(places, seen, strict=True)]
        first += cells.size
    compared, alone = tuple(b for b in blocks if len(b) > 1), tuple(b for b in blocks if len(b) == 1)
    return Layout(compared, np.concatenate(shares), np.concatenate(counts), n_classes, alone)
