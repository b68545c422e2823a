"""The rows of a curve: which train, which judge, and all of them as codes."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Iterable, Mapping, Sized
from dataclasses import replace
from typing import Any, NamedTuple, cast

import narwhals as nw
import numpy as np
from sklearn.model_selection import check_cv

from fermi._typing import Ints
from fermi.errors import bad_argument, listed
from fermi.fitting.problem import Problem, Source, read_problem, refuse_other_rows
from fermi.inputs.arguments import generator, whole
from fermi.inputs.columns import as_frame, check_rows, read_column, read_columns, row_index
from fermi.inputs.encode import encode
from fermi.inputs.features import known_target
from fermi.inputs.folds import folds
from fermi.notions import ConditionalParity, Notion
from fermi.tradeoff._knob import Knob

_QUARTERS = 4
_CV = "a whole number of at least 2, a splitter of scikit-learn's, pairs of row numbers, or None"


class GivenRows(NamedTuple):
    """Rows as the user gave them, with the notion if it has a column of its own, about the same rows."""

    X: Any
    y: Any
    s: Any
    notion: Notion | None = None

    def take(self, rows: Ints) -> GivenRows:
        """Some of the rows, by number."""
        notion = self.notion
        if isinstance(notion, ConditionalParity):
            notion = replace(notion, values=take(notion.values, rows))
        return GivenRows(take(self.X, rows), take(self.y, rows), take(self.s, rows), notion)


class Tested(NamedTuple):
    """Test rows and their codes."""

    given: GivenRows
    coded: Problem


class Fold(NamedTuple):
    """The numbers of the rows that train a model, and of those that judge it."""

    train: Ints
    judged: Ints


def take(data: Any, rows: Ints) -> Any:
    """Some rows of an array, a sparse matrix, a table or column of any library, a list or a dict of columns."""
    if isinstance(data, Mapping):
        return {name: take(column, rows) for name, column in data.items()}
    if isinstance(data, list | tuple):
        return [data[row] for row in rows]
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    native = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return nw.to_native(cast(Any, native)[rows])
    return data.tocsr()[rows] if hasattr(data, "tocsr") else np.asarray(data)[rows]


def read_training(X: Any, y: Any, sensitive_features: Any, knob: Knob) -> tuple[GivenRows, Problem, list[Any]]:
    """Read the rows to train on: as they are, their codes, and the classes."""
    if sensitive_features is None:
        raise bad_argument("sensitive_features", "is None", "the groups, one column or several")
    X = X.tocsr() if hasattr(X, "tocsr") else X
    codes = encode(read_column(y, "y"), "y").compact()
    if codes.n_unknown:
        raise bad_argument("y", f"has {codes.n_unknown} missing entries", "a label in every row")
    classes = list(codes.values_of)
    if len(classes) < 2:
        raise bad_argument("y", f"holds {listed(classes)} only", "at least two classes")
    coded = _coded(Source(X, y, sensitive_features, None), codes.dense(), classes, knob)
    notion = knob.notion.aligned(_index(X, y, sensitive_features))
    return GivenRows(X, y, sensitive_features, None if notion.column is None else notion), coded, classes


def _index(X: Any, y: Any, sensitive_features: Any) -> Any:
    """The pandas index of the rows, if X, y or a sensitive column is of pandas."""
    indexes = map(row_index, (X, y, *read_columns(sensitive_features, "sensitive_features").values()))
    return next((index for index in indexes if index is not None), None)


def read_test(X: Any, y: Any, sensitive: Any, training: GivenRows, classes: list[Any], knob: Knob) -> Tested | None:
    """Read the test rows and their codes, if there are any."""
    given = {"X_test": X, "y_test": y, "sensitive_test": sensitive}
    absent = [name for name, value in given.items() if value is None]
    if len(absent) == len(given):
        return None
    if absent:
        raise bad_argument(absent[0], "is None", f"test rows with all of {listed(given)}, or none of them")
    X = X.tocsr() if hasattr(X, "tocsr") else X
    columns = read_columns(sensitive, "sensitive_test")
    check_rows(
        [
            ("X_test", range(_count(X)) if row_index(X) is None else X),
            ("y_test", read_column(y, "y_test")),
            *(("sensitive_test", column) for column in columns.values()),
        ]
    )
    source = Source(X, y, sensitive, None)
    refuse_other_rows(knob.notion, source, _index(*training[:3]), "X_test")
    target = known_target(cast(Any, read_column(y, "y_test")), classes, "y_test")
    coded = _coded(source, target, classes, knob, known=False)
    notion = knob.notion.aligned(_index(X, y, sensitive))
    return Tested(GivenRows(X, y, sensitive, None if notion.column is None else notion), coded)


def _coded(source: Source, target: Ints, classes: list[Any], knob: Knob, *, known: bool = True) -> Problem:
    """Code rows without reading their features."""
    matrix = np.empty((_count(source.X), 0))
    labels = read_column(source.y, "y")
    return read_problem(source, matrix, labels, target, classes, None, knob.notion, knob.attributes, known=known)


def _count(X: Any) -> int:
    frame = as_frame(X, "X")
    if not getattr(frame, "shape", None) and not isinstance(frame, Sized):
        raise bad_argument("X", f"is a {type(X).__name__}", "one row of features per label")
    return int(frame.shape[0]) if hasattr(frame, "shape") else len(X)


def split(coded: Problem, cv: Any, random_state: Any) -> list[Fold]:
    """Folds to train and judge on; the models of the last are the ones to keep."""
    rng = generator(0 if random_state is None else copy.deepcopy(random_state))
    n = len(coded.target)
    if cv is None:
        strata = coded.strata()
        quarter = folds(strata, _QUARTERS, rng)
        quarter[np.bincount(strata)[strata] == 1] = 1  # what occurs once can only be learned from
        made = [Fold(np.flatnonzero(quarter != 0), np.flatnonzero(quarter == 0))]
    else:
        made = [*_folds(coded, cv, rng), Fold(np.arange(n), np.arange(0))]
    judged = np.concatenate([fold.judged for fold in made])
    learns = all(len(np.unique(coded.target[fold.train])) > 1 for fold in made)
    if not (learns and coded.take(judged).is_judgeable() and all(coded.take(f.train).is_judgeable() for f in made)):
        raise bad_argument("X", f"has too few rows to hold some out ({n})", "each class and a known group in each part")
    return made


def _folds(coded: Problem, cv: Any, rng: np.random.Generator) -> list[Fold]:
    n = len(coded.target)
    if isinstance(cv, numbers.Integral):
        count = whole("cv", cv, _CV, low=2)
        own = folds(coded.strata(), count, rng)
        return [Fold(np.flatnonzero(own != f), np.flatnonzero(own == f)) for f in range(count)]
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise bad_argument("cv", f"is {cv!r}", _CV)
    try:
        pairs = check_cv(cv).split(np.zeros((n, 1)), coded.target)
        return [Fold(np.asarray(train), np.asarray(judged)) for train, judged in pairs]
    except (TypeError, ValueError):  # no pairs, or a splitter that these rows are too few for
        raise bad_argument("cv", f"is {cv!r}, by which the rows cannot be split", _CV) from None
