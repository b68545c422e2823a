"""The last step of the stage: moves single rows over the edge where rounding to whole rows has missed a limit.

The rate of a group of a hundred rows moves by a hundredth or not at all, which no smooth program sees. Here the
multiplier of a cell that is off is changed by just as much as turns the labels of the few rows that are missing, and
the change stays if it brings all cells together nearer to what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from fermi._typing import Floats
from fermi.decisions.requirements import Miss

_MOVES = 75
_TRIED = 8  # misses at each move, the largest
_SHARES = (1.0, 0.4)  # of a miss
_OVER = 1e-9  # relative: a row at the edge is moved just over it


def charge(miss: Miss, distance: Floats, g: Floats, weight: Floats) -> float:
    """By how much to change Ψ of a cell and class, so that the labels of as many rows turn as are missing.

    Parameters
    ----------
    miss : Miss
        The rate that should be higher or lower.
    distance : (k,) array
        Of the rows that are truly in the cell: how much the score of the class is above that of the best other one.
    g : (k,) array
        Their rate weights for the cell.
    weight : (k,) array
        Their weights.
    """
    away = -miss.sign * distance  # of rows that have to turn, how far they are from it
    turns = (away >= 0.0) & (g > 0.0)
    if not turns.any():
        return 0.0
    needed, share = away[turns] / g[turns], weight[turns] / weight.sum()
    order = np.argsort(needed, kind="stable")
    count = int(np.searchsorted(np.cumsum(share[order]), miss.amount - 1e-12))
    edge = float(needed[order[min(count, len(order) - 1)]])
    return -miss.sign * (edge * (1.0 + _OVER) + math.ulp(1.0))


def polish(
    first: Floats,
    misses_of: Callable[[Floats], Sequence[Miss]],
    changed_by: Callable[[Floats, Miss], Floats],
    lack: Callable[[Sequence[Miss]], float],
) -> Floats:
    """Change Ψ rate by rate, as long as that brings it nearer to what is asked.

    Parameters
    ----------
    first : array
        Ψ to begin with.
    misses_of : function of Ψ
        The rates that its labels miss.
    changed_by : function of Ψ and a miss
        Ψ with one of them mended.
    lack : function of misses
        What is to become less: `largest` or `total`, neither of which always leads farther than the other.
    """
    psi, misses = first, misses_of(first)
    for _ in range(_MOVES):
        if not misses:
            break
        worst = sorted(misses, key=lambda miss: -miss.amount)[:_TRIED]
        parts = [miss._replace(amount=share * miss.amount) for miss in worst for share in _SHARES]
        found = [(candidate, misses_of(candidate)) for candidate in (changed_by(psi, part) for part in parts)]
        nearest, left = min(found, key=lambda pair: lack(pair[1]))
        if lack(left) >= lack(misses):
            break
        psi, misses = nearest, left
    return psi


def largest(misses: Sequence[Miss]) -> float:
    """The largest of what is missed, which is what counts in the end."""
    return max((miss.amount for miss in misses), default=0.0)


def total(misses: Sequence[Miss]) -> float:
    """What is missed of all rates together, which falls step by step where several are off by the same."""
    return sum(miss.amount for miss in misses)
