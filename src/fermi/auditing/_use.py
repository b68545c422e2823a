"""What labels are worth beside one label for everybody: the constant's error, balanced accuracy, AUC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fermi._typing import Floats, Ints
from fermi.auditing._rates import words
from fermi.auditing._tally import Tally
from fermi.inputs.columns import read_column
from fermi.inputs.features import known_target
from fermi.records import UseRecord

_CHANCE = 2.0  # standard errors within which a difference is one of chance


def usefulness(y_true: Any, labels: Any, classes: Sequence[Any], F: Floats | None = None) -> UseRecord:
    """Compare labels with giving everybody the most frequent true label.

    Parameters
    ----------
    y_true, labels : (n,) labels
        What is true, and what a model says.
    classes : sequence
        All classes.
    F : (n, m) array, optional
        The probabilities of the classes, in their order.

    Returns
    -------
    UseRecord
        The constant, balanced accuracy, and AUC where there are probabilities.
    """
    known = list(classes)
    y, given = (known_target(cast(Any, read_column(column, "labels")), known, "labels") for column in (y_true, labels))
    names = words(tuple(classes))
    counts, said = (np.bincount(codes, minlength=len(known)) for codes in (y, given))
    constant, common = int(counts.argmax()), int(said.argmax())
    occurs = counts > 0
    hits = np.bincount(y[given == y], minlength=len(known))[occurs] / counts[occurs]
    return UseRecord(
        constant=names[constant],
        constant_error=1.0 - float(counts[constant] / len(y)),
        balanced_accuracy=float(hits.mean()),
        common=names[common],
        alike=float(said[common] / len(y)),
        better=_better(y, given, constant),
        auc=None if F is None else _auc(y, F, occurs),
    )


def use_of(counted: Tally) -> UseRecord | None:
    """What the labels that were counted are worth, as `usefulness` tells it; None without true labels."""
    if counted.label_of is None:
        return None
    table = counted.labelled(counted.hard.sum(axis=1) + counted.unknown[1])  # true × predicted
    names, true, said = words(counted.classes), table.sum(axis=1), table.sum(axis=0)
    total, constant, common = float(table.sum()), int(true.argmax()), int(said.argmax())
    occurs = true > 0
    others = np.arange(len(names)) != constant
    gained, lost = float(np.diag(table)[others].sum()), float(table[constant, others].sum())
    squares = counted.labelled(counted.hard_squares.sum(axis=1) + counted.unknown[2])
    noise = float(np.diag(squares)[others].sum() + squares[constant, others].sum())
    return UseRecord(
        constant=names[constant],
        constant_error=1.0 - float(true[constant]) / total,
        balanced_accuracy=float((np.diag(table)[occurs] / true[occurs]).mean()),
        common=names[common],
        alike=float(said[common]) / total,
        better=gained - lost > _CHANCE * math.sqrt(noise),
        auc=None if counted.ranks is None else counted.ranks.auc(),
    )


def _better(y: Ints, given: Ints, constant: int) -> bool:
    """Whether labels err less than the constant by more than chance explains, row by row."""
    gained = int(np.count_nonzero((given != constant) & (given == y)))
    lost = int(np.count_nonzero((given != constant) & (y == constant)))
    return bool(gained - lost > _CHANCE * np.sqrt(gained + lost))


def _auc(y: Ints, F: Floats, occurs: Any) -> float | None:
    """The area under the ROC curve: of two classes that of the last, of more the mean of each against the rest."""
    from scipy.stats import rankdata

    found = []
    for c in [1] if F.shape[1] == 2 else np.flatnonzero(occurs).tolist():
        own = y == c
        n, rest = int(own.sum()), int((~own).sum())
        if n and rest:
            found.append((float(rankdata(F[:, c])[own].sum()) - n * (n + 1) / 2) / (n * rest))
    return float(np.mean(found)) if found else None
