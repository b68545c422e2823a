"""What every fairness notion is: a discrete Z and the set 𝒵 of its values that count, as codes of rows."""

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
        """Z, where it is a column of the user's."""
        return None

    @property
    def needs_all_labels(self) -> bool:
        """Whether 𝒵 hangs on labels that a part of the rows may not show."""
        return False

    def describe(self, conditions: Sequence[Any]) -> str:
        """The name, with 𝒵 where it is a choice: tables of two choices measure two things."""
        return self.name

    def aligned(self, index: Any) -> Notion:
        """The same notion for the rows with this pandas index, if it holds a column of its own."""
        return self

    def conditions(
        self, y_true: Any, n: int, labels: Sequence[Any] = (), keep: NDArray[np.bool_] | None = None
    ) -> Codes:
        """The condition of each of n rows; `values_of` names them, rows outside 𝒵 have the code -1.

        `labels` are the classes that the caller declared, for a choice among labels that these rows may not show.
        A value that only rows not to `keep` have is no condition.
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
    """The codes without the values that only rows not to keep have; such rows become -1."""
    if keep is None or codes.is_constant:
        return codes
    values = codes.where(keep).compact().values_of
    return codes.recode(positions(codes.values_of, values), values)
