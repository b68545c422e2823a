"""What must be independent of the group: the paper's (Z, 𝒵)-fairness (its appendix B).

A notion turns the labels into condition codes, one per value of 𝒵 and -1 for rows outside it. Nothing else in the
package knows what equalized odds is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fermi.encoding import Codes, check_column, column_codes, sort_key
from fermi.errors import bad_argument, listed
from fermi.groups import positions


class Notion(ABC):
    """A fairness notion: a discrete Z and the set 𝒵 of its values that count."""

    name: ClassVar[str]
    needs_target: ClassVar[bool] = True

    def conditions(self, y_true: Any, n: int, classes: Sequence[Any] | None = None) -> Codes:
        """The condition of each of n rows; `values_of` names them, rows outside 𝒵 have the code -1.

        `classes` are the labels that may occur, for a batch that does not show them all.
        """
        if not self.needs_target:
            return self._conditions(Codes.constant(n, None), ())
        if y_true is None:
            raise bad_argument("y_true", f"is missing, and {self.name!r} conditions on it", "the true labels")
        check_column(y_true, "y_true")
        codes = column_codes(y_true).compact()
        if codes.n_unknown:
            raise bad_argument("y_true", f"has {codes.n_unknown} missing entries", "a label in every row")
        return self._conditions(codes, sorted({*codes.values_of, *(classes or ())}, key=sort_key))

    @abstractmethod
    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        """Condition codes from the coded target and all labels that may occur, sorted."""


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

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        return target


@dataclass(frozen=True)
class EqualOpportunity(Notion):
    """The same within the advantaged labels alone: Z = Y, 𝒵 = `advantaged`.

    Parameters
    ----------
    advantaged : label or set of labels, optional
        By default the last label in sorted order: 1 of 0 and 1, True of False and True.

    Examples
    --------
    >>> EqualOpportunity("yes").conditions(["no", "yes", "maybe"], 3).dense().tolist()
    [-1, 0, -1]
    """

    advantaged: Any = None
    name: ClassVar[str] = "equal_opportunity"

    def __post_init__(self) -> None:
        given = self.advantaged
        if given is not None:
            several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
            chosen = frozenset(given) if several else frozenset([given])
            if not chosen:
                raise bad_argument("advantaged", "is empty", "at least one label")
            object.__setattr__(self, "advantaged", chosen)

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        chosen = sorted(self.advantaged or labels[-1:], key=sort_key)
        absent = [label for label, place in zip(chosen, positions(chosen, labels), strict=True) if place < 0]
        if absent:
            raise bad_argument(
                "advantaged",
                f"holds {listed(absent)}, which does not occur in `y_true`",
                f"labels among {listed(labels)}",
            )
        return target.recode(positions(target.values_of, chosen), chosen)


@dataclass(frozen=True, eq=False)
class ConditionalParity(Notion):
    """The prediction is independent of the group within each value of a column of the user's: Z = that column.

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
    _codes: Codes = field(init=False, repr=False)
    name: ClassVar[str] = "conditional_parity"
    needs_target: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_column(self.values, "values")
        codes = column_codes(self.values).compact()
        if self.within is not None:
            chosen = sorted(set(self.within), key=sort_key)
            absent = [value for value in chosen if value not in codes.values_of]
            if absent:
                raise bad_argument(
                    "within", f"holds {listed(absent)}, which does not occur", f"among {listed(codes.values_of)}"
                )
            codes = codes.recode(positions(codes.values_of, chosen), chosen)
        object.__setattr__(self, "_codes", codes)

    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        if len(self._codes) != len(target):
            raise bad_argument("notion", f"has {len(self._codes)} values of Z", f"{len(target)}, one for each row")
        return self._codes


_NAMED: dict[str, type[Notion]] = {c.name: c for c in (DemographicParity, EqualizedOdds, EqualOpportunity)}


def as_notion(notion: str | Notion) -> Notion:
    """A notion from its name, or the notion itself.

    Examples
    --------
    >>> as_notion("equalized_odds")
    EqualizedOdds()
    """
    if isinstance(notion, Notion):
        return notion
    if isinstance(notion, str) and notion in _NAMED:
        return _NAMED[notion]()
    raise bad_argument("notion", f"is {notion!r}", f"one of {listed(_NAMED)}, or a notion such as ConditionalParity(z)")
