"""What a notion is: it turns the labels into condition codes, one per value of 𝒵 and -1 for rows outside it."""

from __future__ import annotations

import dataclasses
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
from fermi.notions._weights import ConditionWeights, refuse_unknown
from fermi.records import Rate


class Notion(ABC):
    """A fairness notion: a discrete Z and the set 𝒵 of its values that count.

    Attributes
    ----------
    name, short : str
        What a caller chooses it by, and its letters in a table.
    meaning : str
        What it asks of a prediction, as a part of a sentence.
    aim : str
        The same for somebody who trains a model: what the groups are to be given.
    rate : Rate
        Which rate of the groups shows best how far it holds.
    needs_target : bool
        Whether Z is made of the true labels.
    conditions_are_labels : bool
        Whether 𝒵 is all of the labels.
    takes_labels : bool
        Whether 𝒵 is some of the labels, which the caller may choose.
    weights : "balanced", dict or None
        What each condition counts in training, by default its share of the rows. What is measured never asks for it.
    """

    name: ClassVar[str]
    short: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    aim: ClassVar[str] = ""
    rate: ClassVar[Rate] = "selection"
    needs_target: ClassVar[bool] = True
    conditions_are_labels: ClassVar[bool] = False
    takes_labels: ClassVar[bool] = False
    weights: Any = None

    def __repr__(self) -> str:
        shown = (
            [field.name for field in dataclasses.fields(self) if field.repr] if dataclasses.is_dataclass(self) else []
        )
        shown += [] if self.weights is None else ["weights"]
        return f"{type(self).__qualname__}({', '.join(f'{name}={_shown(getattr(self, name))}' for name in shown)})"

    @property
    def words(self) -> str:
        """What it is called in a sentence."""
        return self.name.replace("_", " ")

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
        return self.name + self.choice(conditions)

    def called(self, conditions: Sequence[Any]) -> str:
        """The name in words, with 𝒵 where it is a choice.

        Parameters
        ----------
        conditions : sequence
            The values of 𝒵.

        Returns
        -------
        str
            Such as "equal opportunity of 1".
        """
        return self.words + self.choice(conditions)

    def choice(self, conditions: Sequence[Any]) -> str:
        """𝒵 in words that follow the name, where it is a choice.

        Parameters
        ----------
        conditions : sequence
            The values of 𝒵.

        Returns
        -------
        str
            Empty where there is nothing to choose.
        """
        return ""

    def explain(self, conditions: Sequence[Any]) -> str:
        """What the notion is called and what it asks for, with 𝒵 where it is a choice.

        Parameters
        ----------
        conditions : sequence
            The values of 𝒵.

        Returns
        -------
        str
            One sentence without its period.
        """
        title = self.describe(conditions)
        if not self.meaning:
            return title
        return f"{self.words}: {self.meaning}" + ("" if title == self.name else f" ({title})")

    def of_labels(self, labels: Any) -> Notion:
        """The notion about some of the labels alone, where it can be that.

        Parameters
        ----------
        labels : label or set of labels
            The labels that 𝒵 is to hold.

        Returns
        -------
        Notion
            A new notion.
        """
        raise bad_argument("advantaged", f"is given for {self.name!r}", "a notion that is about some of the labels")

    def labels_of(self, classes: Sequence[Any]) -> list[Any]:
        """The labels that 𝒵 chooses among the classes.

        Parameters
        ----------
        classes : sequence
            All classes, in order.

        Returns
        -------
        list
            The labels, sorted; empty where 𝒵 is no choice among them.
        """
        return []

    def label(self, classes: Sequence[Any]) -> Any:
        """The class whose rate tells in one sentence how far the notion is violated.

        Parameters
        ----------
        classes : sequence
            All classes, in order.

        Returns
        -------
        label or None
            None where it would take several classes.
        """
        chosen = self.labels_of(classes) or classes[-1:]
        return chosen[0] if len(chosen) == 1 else None

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

    def condition_weights(self, classes: Sequence[Any]) -> ConditionWeights | None:
        """What the conditions count in training, or None where that is their share of the rows.

        Parameters
        ----------
        classes : sequence
            All classes, in order.

        Returns
        -------
        ConditionWeights or None
        """
        if self.weights is None:
            return None
        refuse_unknown(self.weights, self._all_conditions(classes))
        return ConditionWeights(self.weights)

    def _all_conditions(self, classes: Sequence[Any]) -> Sequence[Any]:
        """𝒵, whether some rows show all of it or not."""
        return self.labels_of(classes) or classes

    @abstractmethod
    def _conditions(self, target: Codes, labels: Sequence[Any]) -> Codes:
        """Condition codes from the coded target and all labels that may occur, sorted."""


def _seen(codes: Codes, keep: NDArray[np.bool_] | None) -> Codes:
    """Codes without the values that only rows outside `keep` have; those rows become -1."""
    if keep is None or codes.is_constant:
        return codes
    values = codes.where(keep).compact().values_of
    return codes.recode(positions(codes.values_of, values), values)


def _shown(value: Any) -> str:
    """The repr of an option; a set's in order, since its own differs from process to process."""
    return f"{{{', '.join(map(repr, sorted(value, key=sort_key)))}}}" if isinstance(value, frozenset) else repr(value)
