"""A file with somebody's probabilities, read: which rows can be labelled, which judged, what tells their groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.errors import FermiError, listed
from fermi.inputs.natural import natural
from fermi.inputs.table_encoder import TableEncoder
from fermi.notions import Notion
from fermi.tables.favourable import wanted_last
from fermi.tables.probabilities import checked_probabilities, named_columns
from fermi.tables.task import Task, check_columns, read_groups, require_columns

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

FOLDS = 3  # by which rows are held out
_LEAST = FOLDS * FOLDS  # rows of a class: thirds of them are held out, and thirds of the rest
_PREDICTED = "prediction"  # what `fermi predict` writes beside its probabilities


@dataclass(frozen=True, eq=False)
class GivenRows:
    """A file's rows with probabilities, ready for labels.

    Attributes
    ----------
    X : (n, m + d) array
        The probabilities of all rows that have them, and the features that tell groups.
    places : (n,) int64
        Where these rows stand in the file.
    judged : (k,) int64
        Those of them whose target is known.
    y, sensitive
        The labels and sensitive columns of the latter.
    classes, fairness
        The classes, in the order of their probabilities, and the notion.
    favourable : label or None
        The class that people want, the last of all where it is known.
    features : list of str
        The columns that tell groups.
    notes : list of str
        What was left out, and what was taken for what.
    """

    X: Floats
    places: Ints
    judged: Ints
    y: NDArray[Any]
    sensitive: pd.DataFrame
    classes: list[Any]
    fairness: Notion
    features: list[str]
    favourable: Any = None
    notes: list[str] = field(default_factory=list)


def given_rows(frame: pd.DataFrame, task: Task, probability: tuple[str, ...]) -> GivenRows:
    """Check the columns of a file, and find probabilities, labels, groups and features in them."""
    check_columns(frame, task)
    frame = task.mending(frame)
    require_columns(frame, {"probability": probability})
    for name in probability:
        if name in (task.target, *task.sensitive, *task.ignore):
            raise FermiError(f"{name!r} is both a probability and the target, a sensitive or an ignored column.")
    known = frame[task.target].notna()
    if not known.any():
        raise FermiError(f"The target {task.target!r} is missing in every row.")
    labels = natural(frame.loc[known, task.target], f"The target {task.target!r}")
    classes = sorted(set(labels.tolist()))
    if len(classes) < 2:
        raise FermiError(f"The target {task.target!r} holds one class only, {classes[0]!r}: there is nothing to tell.")
    columns = list(probability) or _named(frame, classes)
    has = frame[columns].notna().all(axis=1)
    if not (has & known).any():
        raise FermiError(f"No row has both a target and a value in {listed(columns)} (`probability`).")
    rows, judged = frame[has], known[has].to_numpy()
    wanted = task.wanted(classes)
    ordered = wanted_last(classes, wanted)
    F = checked_probabilities(rows, columns, classes)[:, [classes.index(label) for label in ordered]]
    notes = [*_taken_as(columns, classes), *_left_out(frame, has, known, task, columns)]
    coded, _ = read_groups(rows[judged], task)
    unknown = int((coded.codes < 0).sum())
    if unknown:
        notes.append(f"{unknown:,} rows have an unknown group: they count in the error and are not compared.")
    G, features = _features(rows, judged, {*columns, task.target, *task.sensitive, *task.ignore}, bool(probability))
    if not features:
        notes.append("No other column tells anything: groups are told from the probabilities alone.")
    y = labels[has[known].to_numpy()]
    _refuse_few(y, classes)
    return GivenRows(
        np.hstack([F, G if features else F[:, 1:]]),
        np.flatnonzero(has.to_numpy()),
        np.flatnonzero(judged),
        y,
        rows.loc[judged, list(task.sensitive)].reset_index(drop=True),
        ordered,
        task.fairness(classes),
        features,
        wanted,
        notes,
    )


def _named(frame: pd.DataFrame, classes: list[Any]) -> list[str]:
    """The columns whose names tell that they are probabilities."""
    columns = named_columns(frame, classes)
    if not columns:
        raise FermiError(
            "`probability` names no column, and the file has none called 'probability=LABEL' for every class."
        )
    return columns


def _taken_as(columns: list[str], classes: list[Any]) -> list[str]:
    """Say which class a single column is about, where its name does not tell."""
    if len(columns) > 1 or "=" in columns[0]:
        return []
    return [f"{columns[0]!r} is taken as the probability of {classes[-1]!r}."]


def _refuse_few(y: NDArray[Any], classes: list[Any]) -> None:
    for label in classes:
        count = int((y == label).sum())
        if count < _LEAST:
            raise FermiError(
                f"The class {label!r} has {count} rows with a probability; expected at least {_LEAST} to choose on."
            )


def _left_out(
    frame: pd.DataFrame, has: pd.Series[Any], known: pd.Series[Any], task: Task, columns: list[str]
) -> list[str]:
    notes = []
    if not has.all():
        notes.append(f"{int((~has).sum()):,} rows have no {listed(columns)} and get no label.")
    unjudged = int((has & ~known).sum())
    if unjudged:
        notes.append(f"{unjudged:,} rows have no {task.target!r}: they get a label and are not judged.")
    return notes


def _features(rows: pd.DataFrame, judged: NDArray[np.bool_], taken: set[str], asked: bool) -> tuple[Floats, list[str]]:
    """Read the columns that are left as numbers, with their names; none where nothing can serve."""
    out = taken if asked else taken | {_PREDICTED}
    others = rows[[name for name in rows.columns if name not in out]]
    try:
        encoder = TableEncoder.learn(others[judged])
    except FermiError:  # constant, missing or text without repetition
        return np.zeros((len(rows), 0)), []
    matrix, _ = encoder.transform(others)
    return matrix, [column.name for column in encoder.columns if column.kind != "ignored"]
