"""The rows of a file that an audit is about, read: labels, predictions, probabilities and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fermi._typing import Floats, Ints
from fermi.errors import FermiError, bad_argument, listed
from fermi.inputs.encode import sort_key
from fermi.inputs.natural import natural, refuse_amounts
from fermi.tables.probabilities import probability_matrix
from fermi.tables.question import Complete, Question
from fermi.tables.task import require_columns


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows that have all that an audit needs.

    Attributes
    ----------
    frame : DataFrame
        The rows that are complete.
    y_true : array or None
        Their true labels.
    predicted : array
        Their predicted labels, or the matrix of their probabilities.
    labels : array or None
        The labels that were given beside probabilities.
    classes : list or None
        The classes of the columns of a matrix.
    every : list
        All labels that occur.
    counts, weight : arrays or None
        How many rows each of them stands for, and what it counts.
    columns : list of str
        The columns of probabilities.
    notes : list of str
        What was left out, and what was taken for what.
    """

    frame: pd.DataFrame
    y_true: Any
    predicted: Any
    labels: Any
    classes: list[Any] | None
    every: list[Any]
    counts: Ints | None
    weight: Floats | None
    columns: list[str]
    notes: list[str]

    @property
    def soft(self) -> bool:
        """Whether there are probabilities."""
        return bool(self.columns)

    @property
    def about(self) -> Any:
        """The class that a single column of probabilities is about."""
        return None if self.classes is None else self.classes[-1]


def read_rows(frame: pd.DataFrame, counts: Ints | None, question: Question) -> ReadRows:
    """Check the columns of a table, leave out rows that lack something, and read the rest."""
    asked = {**question.given, "sensitive": question.sensitive, "control": question.control}
    require_columns(frame, {**asked, **question.columns_are.columns()})
    frame = question.understood(frame)
    for name in (*question.sensitive, *question.control):
        refuse_amounts(frame[name])
    complete = Complete(question)
    kept = complete.rows(frame, counts)
    notes = complete.notes()
    frame, counts = frame[kept].reset_index(drop=True), None if counts is None else counts[kept]
    y_true = None
    if question.target is not None:
        y_true = natural(frame[question.target], f"The target {question.target!r}")
    every = [] if y_true is None else sorted(set(y_true.tolist()))
    columns = list(question.probability)
    if not columns and are_fractions(frame[str(question.prediction)]):
        columns = [str(question.prediction)]
    given = None
    if question.prediction is not None and columns != [question.prediction]:
        given = natural(frame[question.prediction], f"The prediction {question.prediction!r}")
        every = sorted({*every, *given.tolist()}, key=sort_key)
    weight = None if question.weight is None else _weights(frame[question.weight])
    if not columns:
        return ReadRows(frame, y_true, given, None, None, every, counts, weight, [], notes)
    _refuse_other_labels(question, y_true, every)
    matrix, classes = probability_matrix(frame, columns, needed(every), question.probability_of)
    notes.append(taken(columns, classes))
    return ReadRows(frame, y_true, matrix, given, classes, every, counts, weight, columns, notes)


def _refuse_other_labels(question: Question, y_true: Any, every: list[Any]) -> None:
    """Refuse labels that were called one thing in the target and another in the prediction."""
    known = set() if y_true is None else set(y_true.tolist())
    strange = [label for label in every if label not in known]
    if known and strange and len(question.probability) != len(every):
        raise FermiError(
            f"The prediction {question.prediction!r} holds {strange[0]!r}, which the target {question.target!r} never "
            f"is: `map_labels` {f'{strange[0]}:{next(iter(sorted(known, key=sort_key)))}'!r} calls labels alike."
        )


def _weights(column: pd.Series[Any]) -> Floats:
    found = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    if np.isnan(found).any() or (found < 0).any():
        bad = column[np.isnan(found) | (found < 0)].iloc[0]
        raise bad_argument("weight", f"is {column.name!r}, a column that holds {bad!r}", "numbers of at least 0")
    return found


def needed(labels: list[Any]) -> list[Any]:
    """The labels, without which nobody knows the classes of probabilities."""
    if not labels:
        raise FermiError("Probabilities need `target`: its values, sorted, are the classes of the columns.")
    return labels


def taken(columns: Sequence[str], classes: Sequence[Any]) -> str:
    """Say which classes the columns of probabilities were taken for."""
    return f"{listed(columns)}: taken as the probabilities of {listed(classes[-len(columns) :])}, in this order."


def are_fractions(values: pd.Series[Any]) -> bool:
    """Whether a column holds fractions between 0 and 1, and nothing else."""
    found = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    if np.isnan(found).any():
        return False
    return bool((found != np.round(found)).any() and found.min() >= 0.0 and found.max() <= 1.0)
