"""The four fairness notions, and how one is known by its name."""

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
from fermi.notions.notion import Notion


@dataclass(frozen=True)
class DemographicParity(Notion):
    """The prediction is independent of the group: Z is constant.

    Examples
    --------
    >>> DemographicParity().conditions(None, 3).dense().tolist()
    [0, 0, 0]
    """

    name: ClassVar[str] = "demographic_parity"
    needs_target: ClassVar[bool] = False

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        return Codes.constant(len(target), "all")


@dataclass(frozen=True)
class EqualizedOdds(Notion):
    """The prediction is independent of the group given the true label: Z = Y, 𝒵 = every label.

    Examples
    --------
    >>> EqualizedOdds().conditions(["no", "yes", "no"], 3).dense().tolist()
    [0, 1, 0]
    """

    name: ClassVar[str] = "equalized_odds"
    conditions_are_labels: ClassVar[bool] = True

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        return target


@dataclass(frozen=True)
class EqualOpportunity(Notion):
    """The prediction is independent of the group given an advantaged true label: Z = Y, 𝒵 = `advantaged`.

    Parameters
    ----------
    advantaged : label or set of labels, optional
        By default the last label in sorted order, 1 of 0 and 1, among those in `y_true` and the declared `classes`.
        Name it, or declare the classes, where rows come in parts: a part may not show them all.

    Examples
    --------
    >>> EqualOpportunity("yes").conditions(["no", "yes", "maybe"], 3).dense().tolist()
    [-1, 0, -1]
    """

    advantaged: Any = None
    name: ClassVar[str] = "equal_opportunity"

    def __post_init__(self) -> None:
        if self.advantaged is not None:
            object.__setattr__(self, "advantaged", frozenset(read_labels(self.advantaged, "advantaged")))

    @property
    def needs_all_labels(self) -> bool:
        """Whether 𝒵 is left to the labels: by default it is the last of all."""
        return self.advantaged is None

    def describe(self, conditions: Sequence[Any]) -> str:
        """The name of the notion, followed by the advantaged labels.

        Parameters
        ----------
        conditions : sequence
            The advantaged labels.

        Returns
        -------
        str
            Such as "equal_opportunity of 1".
        """
        return f"{self.name} of {listed(conditions)}"

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        chosen = sorted(self.advantaged or labels[-1:], key=sort_key)
        absent = [label for label, place in zip(chosen, positions(chosen, labels), strict=True) if place < 0]
        if absent:
            raise bad_argument(
                "advantaged",
                f"holds {listed(absent)}, which does not occur in `y_true`",
                f"labels among {listed(labels)} (`classes` can name labels that these rows do not show)",
            )
        return target.recode(positions(target.values_of, chosen), chosen)


@dataclass(frozen=True, eq=False)
class ConditionalParity(Notion):
    """The prediction is independent of the group within each value of a column of the user's, which is Z.

    Parameters
    ----------
    values : one column
        Z of every row, any dtype; a missing entry leaves its row outside 𝒵.
    within : values of that column, optional
        𝒵, by default all of them.

    Examples
    --------
    >>> ConditionalParity(["north", "south", None]).conditions(None, 3).dense().tolist()
    [0, 1, -1]
    """

    values: Any = field(repr=False)
    within: Any = None
    _column: Column = field(init=False, repr=False)
    _codes: Codes = field(init=False, repr=False)
    name: ClassVar[str] = "conditional_parity"
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
        own = codes.dense()  # a copy: the caller's array may change later
        own.flags.writeable = False
        object.__setattr__(self, "_column", column)
        object.__setattr__(self, "_codes", Codes(own, 0, codes.values_of, codes.n_unknown))

    @property
    def column(self) -> Column | None:
        """The user's column of values, which is Z."""
        return self._column

    def describe(self, conditions: Sequence[Any]) -> str:
        """The name of the notion, followed by the values that count if they were chosen.

        Parameters
        ----------
        conditions : sequence
            The values that count.

        Returns
        -------
        str
            Such as "conditional_parity within north, south".
        """
        return self.name if self.within is None else f"{self.name} within {listed(conditions)}"

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

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        return self._codes


_NAMED: dict[str, type[Notion]] = {c.name: c for c in (DemographicParity, EqualizedOdds, EqualOpportunity)}


def as_notion(notion: str | Notion, argument: str = "notion") -> Notion:
    """Turn the name of a notion into the notion; a notion stays what it is.

    Parameters
    ----------
    notion : str or Notion
        "demographic_parity", "equalized_odds", "equal_opportunity" or a notion.
    argument : str
        What the argument is called, for the message about a bad one.

    Returns
    -------
    Notion
        The notion of that name.

    Examples
    --------
    >>> as_notion("equalized_odds")
    EqualizedOdds()
    """
    if isinstance(notion, Notion):
        return notion
    if isinstance(notion, str) and notion in _NAMED:
        return _NAMED[notion]()
    raise bad_argument(argument, f"is {notion!r}", f"one of {listed(_NAMED)}, or a notion such as ConditionalParity(z)")
