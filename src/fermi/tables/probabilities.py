"""Columns of a file that hold somebody's probabilities, as a matrix with one column per class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fermi._typing import Floats
from fermi.errors import FermiError, bad_argument, listed

if TYPE_CHECKING:
    import pandas as pd

_NAMED = "probability="  # what `fermi predict` puts before the class
_ROUNDING = 1e-3  # how far a row may be from summing to one


def named_columns(frame: pd.DataFrame, classes: Sequence[Any]) -> list[str]:
    """The columns that are called after the classes as `fermi predict` does it; none unless all are there."""
    names = [f"{_NAMED}{label}" for label in classes]
    return names if all(name in frame.columns for name in names) else []


def probability_matrix(
    frame: pd.DataFrame, columns: Sequence[str], classes: list[Any], about: str | None = None
) -> tuple[Floats, list[Any]]:
    """Read columns as probabilities: a matrix with one column per class, and the class of each of its columns.

    A single column is that of the label `about`, of the one that its name tells, or of the last of two classes.
    """
    import pandas as pd

    try:
        matrix = np.column_stack([pd.to_numeric(frame[name]).to_numpy(dtype=np.float64) for name in columns])
    except (TypeError, ValueError):
        raise FermiError(f"The columns {listed(columns)} hold values that are not probabilities.") from None
    order = _classes_of(columns, classes)
    if about is not None:
        if about not in map(str, classes):
            raise bad_argument("probability_of", f"is {about!r}", f"one of {listed(classes)}")
        order = [label for label in classes if str(label) == about]
    if len(columns) == 1 and len(classes) == 2:
        other = next(label for label in classes if label != order[0])
        matrix, order = np.hstack([1.0 - matrix, matrix]), [other, order[0]]
    if matrix.shape[1] != len(classes):
        raise FermiError(
            f"There are {len(columns)} columns of probabilities for the {len(classes)} classes {listed(classes)}."
        )
    return matrix, order


def checked_probabilities(frame: pd.DataFrame, columns: Sequence[str], classes: list[Any]) -> Floats:
    """Read columns as probabilities in the order of the classes; refuses what are none."""
    matrix, order = probability_matrix(frame, columns, classes)
    bad = ~((matrix >= 0.0) & (matrix <= 1.0))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        name = columns[min(column, len(columns) - 1)]
        raise FermiError(f"The column {name!r} holds {frame[name].iloc[row]}; expected probabilities from 0 to 1.")
    sums = matrix.sum(axis=1)
    worst = int(np.abs(sums - 1.0).argmax())
    if abs(sums[worst] - 1.0) > _ROUNDING:
        raise FermiError(f"The columns {listed(columns)} sum to {sums[worst]:.4g} in a row; expected 1.")
    return matrix[:, [order.index(label) for label in classes]]


def _classes_of(columns: Sequence[str], classes: list[Any]) -> list[Any]:
    """The class of each column: by its name ``probability=LABEL``, else by the columns' order."""
    words = {f"{_NAMED}{label}": label for label in classes}
    if all(name in words for name in columns):
        return [words[name] for name in columns]
    return classes[-len(columns) :]
