"""What a notion is: it turns the labels into condition codes, one per value of 𝒵 and -1 for rows outside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fermi.errors import bad_argument, listed
from fermi.inputs.codes import Codes
from fermi.inputs.columns import Column, read_column
from fermi.inputs.encode import encode, same_kind, sort_key
from fermi.inputs.groups import positions


class Notion(ABC):
    """A fairness notion: a discrete Z and the set 𝒵 of its values that count."""

    name: ClassVar[str]
    needs_target: ClassVar[bool] = True
    conditions_are_labels: ClassVar[bool] = False

    @property
    def column(self) -> Column | None:
        """The column of the user's that is Z, or None where Z is no such column."""
        return None

    @property
    def needs_all_labels(self) -> bool:
        """Whether 𝒵 depends on labels that a part of the rows may not show."""
        return False

    def describe(self, conditions: Sequence[Any]) -> str:
        """The name of the notion, followed by 𝒵 where that is a choice.

        Tables of two choices measure two things, so that the choice is part of what a table says of itself.

        Parameters
        ----------
        conditions : sequence
            The values of 𝒵 that the rows show.

        Returns
        -------
        str
            Such as "equalized_odds" or "equal_opportunity of 1".
        """
        return self.name

    def aligned(self, index: Any) -> Notion:
        """The notion for the rows that have this pandas index.

        Cross-validation takes rows from X and y, but not from a notion: one with a column finds them by their index.

        Parameters
        ----------
        index : pandas Index or None
            The index of the rows.

        Returns
        -------
        Notion
            The notion itself, unless it holds a column of other rows.
        """
        return self

    def conditions(
        self, y_true: Any, n: int, labels: Sequence[Any] = (), keep: NDArray[np.bool_] | None = None
    ) -> Codes:
        """The condition of each row: which value of 𝒵 it has, if any.

        Parameters
        ----------
        y_true : (n,) labels or None
            The true labels; None will do for a notion that does not look at them.
        n : int
            The number of rows.
        labels : sequence
            The classes that the caller declared, for a choice among labels that these rows may not show.
        keep : (n,) bool array, optional
            The rows to look at. A value that only other rows have is no condition.

        Returns
        -------
        Codes
            `values_of` names the conditions; rows outside 𝒵 have the code -1.
        """
        if not self.needs_target:
            return _seen(self._conditions(Codes.constant(n, None), ()), keep)
        if y_true is None:
            raise bad_argument("y_true", f"is missing, and {self.name!r} conditions on it", "the true labels")
        target = encode(read_column(y_true, "y_true"), "y_true").compact()
        if target.n_unknown:
            raise bad_argument("y_true", f"has {target.n_unknown} missing entries", "a label in every row")
        target = _seen(target, keep)
        if not same_kind(target.values_of, labels):
            expected = f"labels of the same type as the classes {listed(labels)}"
            raise bad_argument("y_true", f"holds {listed(target.values_of)}", expected)
        return self._conditions(target, sorted({*target.values_of, *labels}, key=sort_key))

    @abstractmethod
    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        """Condition codes from the coded target and all labels that may occur, sorted."""


def _seen(codes: Codes, keep: NDArray[np.bool_] | None) -> Codes:
    """Codes without the values that only rows outside `keep` have; those rows become -1."""
    if keep is None or codes.is_constant:
        return codes
    values = codes.where(keep).compact().values_of
    return codes.recode(positions(codes.values_of, values), values)
