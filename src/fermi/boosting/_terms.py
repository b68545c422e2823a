"""One ERMI term, round after round: its law, its optimal W and what that charges each row, class by class (m × n)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fermi._typing import Floats
from fermi.boosting import _loops
from fermi.fitting.objective import Term


def _own(table: Floats) -> Floats:
    return table  # of a process that has all rows


class Charges(NamedTuple):
    """What a term's adversary asks of the rows at some predictions.

    Attributes
    ----------
    laws, W : (Z, k, m)
        The law of (S, Ŷ) given each z, and the optimal dual.
    costs : (m, 1 + Z·k)
        C of every cell but for a constant of its own, which no gradient notices; 0 for rows that do not count.
    per_row : (n,)
        F · C, in room that the next round overwrites.
    """

    laws: Floats
    W: Floats
    costs: Floats
    per_row: Floats


class TermRows:
    """An ERMI term with room for what each round computes: fresh memory would cost more than the computation.

    `total` adds up a table over all who have some of the rows.
    """

    def __init__(self, term: Term, n_classes: int, scale: float, total: Callable[[Floats], Floats] = _own) -> None:
        self.term, self._total = term, total
        self.cells = term.cells + 1
        self.share = scale * term.share
        self._tables = np.empty((4, 1 + term.prior.size, n_classes))
        self._per_row = np.empty(len(term.cells))

    def laws(self, F: Floats) -> Floats:
        """The law of (S, Ŷ) given each z, for some predictions."""
        self._tables[:] = 0.0
        _loops.add_laws(F, self.cells, self.term.share, self._tables)
        table = self._total(self._tables.sum(axis=0)[1:])
        return self.term.conditional(table.reshape(*self.term.rows.shape, -1))

    def charges(self, F: Floats, laws: Floats) -> Charges:
        """What the adversary W*, which is optimal for `laws`, charges every row."""
        W = self.term.optimal_dual(laws)
        C = self.term.costs(W)
        costs = np.zeros((C.shape[1], 1 + len(C)))
        costs[:, 1:] = (C - C[:, :1]).T
        _loops.charge_rows(F, self.cells, costs, self._per_row)
        return Charges(laws, W, costs, self._per_row)

    def add_gradient(self, F: Floats, found: Charges, gradient: Floats) -> None:
        """Add the gradient of the term, share · tilt(F, C)."""
        _loops.add_tilt(F, self.cells, self.share, found.costs, found.per_row, gradient)
