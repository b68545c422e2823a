"""Two files of predictions for the same rows, compared as pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fermi.auditing import Comparison, compare
from fermi.errors import FermiError, bad_argument
from fermi.inputs.encode import sort_key
from fermi.inputs.groups import word_of
from fermi.tables.favourable import wanted_last
from fermi.tables.formats import read_table
from fermi.tables.question import Question
from fermi.tables.read_rows import ReadRows, read_rows
from fermi.tables.task import require_columns

if TYPE_CHECKING:
    import pandas as pd


def compare_files(first: str, second: str, question: Question, key: str | None) -> tuple[Comparison, list[str]]:
    """Compare the predictions in two files, the second with the first.

    Parameters
    ----------
    first, second : str
        The files, with columns of the same names.
    question : Question
        Which columns hold what.
    key : str, optional
        The column that tells which rows are the same; without it they stand in the same order.

    Returns
    -------
    Comparison
    list of str
        What was left out or assumed.
    """
    question.check()
    frames = [read_table(first), read_table(second)]
    given = {**question.given, "sensitive": question.sensitive}
    for frame in frames:
        require_columns(frame, given if key is None else {**given, "key": [key]})
    notes: list[str] = []
    a, b = _in_order(frames[0], frames[1], question) if key is None else _matched(frames[0], frames[1], key, notes)
    filled = [name for names in question.given.values() for name in names]
    kept = (a[filled].notna().all(axis=1) & b[filled].notna().all(axis=1)).to_numpy()
    if not kept.any():
        raise FermiError("No row has all that is asked for in both files.")
    if not kept.all():
        notes.append(f"{(~kept).sum():,} rows lack something in one of the files and were left out.")
    one, other = (read_rows(frame[kept].reset_index(drop=True), None, question) for frame in (a, b))
    notes += dict.fromkeys((*one.notes, *other.notes))
    every = sorted({*one.every, *other.every}, key=sort_key)
    declared = wanted_last(every, question.wanted(every))
    found = compare(
        one.y_true,
        *(_predicted(read, declared) for read in (one, other)),
        sensitive_features=one.frame[list(question.sensitive)],
        notion=question.fairness_of(one.frame, one.y_true, every),
        confidence=question.confidence,
        sample_weight=one.weight,
        classes=declared,
        labels=(one.labels, other.labels),
        random_state=question.seed,
    )
    return found, notes


def _predicted(read: ReadRows, declared: list[Any]) -> Any:
    """Labels, or probabilities with their columns in the order of the classes."""
    if read.classes is None:
        return read.predicted
    return read.predicted[:, [read.classes.index(label) for label in declared]]


def _in_order(a: pd.DataFrame, b: pd.DataFrame, question: Question) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give the tables back if their rows are of the same people as far as anybody can see."""
    same = [name for name in (question.target, *question.sensitive) if name is not None]
    alike = len(a) == len(b) and all((_words(a[name]) == _words(b[name])).all() for name in same)
    if not alike:
        raise FermiError("The files do not hold the same rows in the same order: `key` names a column that tells them.")
    return a, b


def _matched(a: pd.DataFrame, b: pd.DataFrame, key: str, notes: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of both tables whose keys are the same, in the order of the first."""
    indexed = []
    for frame in (a, b):
        words = _words(frame[key])
        if frame[key].isna().any() or len(np.unique(words)) < len(words):
            raise bad_argument("key", f"is {key!r}", "a column that is filled, and another in every row of each file")
        indexed.append(frame.set_axis(words, axis=0))
    both = indexed[0].index[indexed[0].index.isin(indexed[1].index)]
    if not len(both):
        raise FermiError(f"No row of one file has a {key!r} of the other.")
    alone = len(a) + len(b) - 2 * len(both)
    if alone:
        notes.append(f"{alone:,} rows are in one of the files alone and were left out.")
    first, second = (frame.loc[both].reset_index(drop=True) for frame in indexed)
    return first, second


def _words(column: pd.Series[Any]) -> NDArray[Any]:
    return column.map(word_of, na_action="ignore").fillna("").astype(str).to_numpy(dtype=str)
