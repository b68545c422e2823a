"""The notion whose Z is a column of the user's."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from fermi.errors import bad_argument, listed
from fermi.inputs.codes import Codes
from fermi.inputs.columns import Column, read_column, read_labels, row_index
from fermi.inputs.encode import encode, sort_key
from fermi.inputs.groups import positions
from fermi.notions._notion import Notion
from fermi.notions._weights import read_weights, refuse_unknown


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalParity(Notion):
    """The prediction is independent of the group within each value of a column of the user's, which is Z.

    Parameters
    ----------
    values : one column
        Z of every row, any dtype; a missing entry leaves its row outside 𝒵.
    within : values of that column, optional
        𝒵, by default all of them.
    weights : "balanced" or dict of value and weight, optional
        What each value counts in training, as in `EqualizedOdds`. Balanced weights make a value of few rows count as
        much as one of many, and so the chance in its rates.

    Examples
    --------
    >>> ConditionalParity(["north", "south", None]).conditions(None, 3).dense().tolist()
    [0, 1, -1]
    """

    values: Any = field(repr=False)
    within: Any = None
    weights: Any = field(default=None, repr=False)
    _column: Column = field(init=False, repr=False)
    _codes: Codes = field(init=False, repr=False)
    name: ClassVar[str] = "conditional_parity"
    meaning: ClassVar[str] = "among rows of the same condition, the prediction should not depend on the group"
    needs_target: ClassVar[bool] = False

    def __post_init__(self) -> None:
        column = read_column(self.values, "values")
        codes = encode(column, "values").compact()
        if self.within is not None:
            chosen = sorted(read_labels(self.within, "within"), key=sort_key)
            absent = [value for value in chosen if value not in codes.values_of]
            if absent:
                raise bad_argument(
                    "within", f"holds {listed(absent)}, which does not occur", f"among {listed(codes.values_of)}"
                )
            codes = codes.recode(positions(codes.values_of, chosen), chosen)
        object.__setattr__(self, "weights", read_weights(self.weights))
        refuse_unknown(self.weights, codes.values_of)
        own = codes.dense()  # a copy: the caller's array may change later
        own.flags.writeable = False
        object.__setattr__(self, "_column", column)
        object.__setattr__(self, "_codes", Codes(own, 0, codes.values_of, codes.n_unknown))

    @property
    def column(self) -> Column | None:
        """The user's column of values, which is Z."""
        return self._column

    def choice(self, conditions: Sequence[Any]) -> str:
        """The values that count, in words that follow the name, if they were chosen.

        Parameters
        ----------
        conditions : sequence
            The values of 𝒵.

        Returns
        -------
        str
            Such as " within 'north'", or nothing.
        """
        return "" if self.within is None else f" within {listed(conditions)}"

    def aligned(self, index: Any) -> Notion:
        """The notion for some of the rows, found by their pandas index.

        Cross-validation takes rows from X and y, but not from here.

        Parameters
        ----------
        index : pandas Index or None
            The index of the rows.

        Returns
        -------
        Notion
            The notion itself where there is no index, or not one that picks each row once.
        """
        own = row_index(self._column)
        if index is None or own is None or index.equals(own):
            return self
        if not own.is_unique or not index.isin(own).all():
            return self
        rows = self._codes.raw[own.get_indexer(index)]
        chosen = copy.copy(self)
        object.__setattr__(chosen, "values", self.values.loc[index])
        object.__setattr__(chosen, "_column", read_column(chosen.values, "values"))
        # All values stay, so that a condition means the same in every part.
        object.__setattr__(chosen, "_codes", replace(self._codes, raw=rows, n_unknown=int(np.count_nonzero(rows < 0))))
        return chosen

    def _all_conditions(self, classes: Sequence[Any]) -> Sequence[Any]:
        return self._codes.values_of

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        return self._codes
