"""Rows for a booster: numbers as they are, missing ones too, and categories as pandas categories."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from pandas.api import types
from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from fermi.errors import bad_argument
from fermi.inputs.columns import as_frame, to_pandas
from fermi.inputs.features import in_one_sentence, refuse_dates, refuse_infinite
from fermi.inputs.groups import word_of

_NUMBERS = "numbers, words or categories (dates as a number of days, say)"
_UNSAFE = re.compile(r'[][<>{}",:]')  # what one library or the other refuses in a column's name


class Kind(NamedTuple):
    """What a column of the training rows was: the name the library knows it by, and its categories, if it has any."""

    name: str
    categories: pd.CategoricalDtype | None


def read_table(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
    """Read X as a pandas DataFrame, a float array or a CSR matrix, and y as an array.

    A table's words become the categories of the training rows; others, at prediction, are missing. New rows may be a
    table where those of the fit were an array and the other way round, as long as that can mean one thing only.
    """
    frame = as_frame(X, "X")
    if isinstance(frame, nw.DataFrame):
        return _read_frame(estimator, X, to_pandas(frame), y, reset=reset)
    refuse_dates(X)
    fitting = y is not None or reset
    options = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "ensure_all_finite": False}
    with in_one_sentence():
        found = validate_data(estimator, X, *([y] if fitting else []), **options, reset=reset)
    matrix, y = found if fitting else (found, None)
    refuse_infinite(matrix, None, missing=True)
    if hasattr(matrix, "tocsr"):
        matrix = csr_matrix(matrix)  # LightGBM warns of scipy's newer kind
    if reset:
        estimator._columns = None
    elif estimator._columns is not None:
        if any(kind.categories for kind in estimator._columns.values()):
            raise bad_argument("X", "is an array", "a table with the columns of the fit, some of which are categories")
        dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
        matrix = pd.DataFrame(dense, columns=[kind.name for kind in estimator._columns.values()])
    return matrix, y


def _read_frame(estimator: Any, X: Any, frame: pd.DataFrame, y: Any, *, reset: bool) -> tuple[Any, Any]:
    fitting = y is not None or reset
    with in_one_sentence():
        validate_data(estimator, X, *([y] if fitting else []), reset=reset, skip_check_array=True)
    if reset and not len(frame.columns):
        raise bad_argument("X", "has no columns", "at least one")
    if fitting:
        with in_one_sentence():
            check_consistent_length(X, y)
            y = column_or_1d(y, warn=True)
    if reset:
        names = safe_names([str(name) for name in frame.columns])
        estimator._columns = {
            column: Kind(name, _categories(frame[column])) for column, name in zip(frame.columns, names, strict=True)
        }
    kinds = estimator._columns or {name: Kind(str(name), None) for name in frame.columns}
    columns = {kind.name: _column(frame[column], kind.categories) for column, kind in kinds.items()}
    table = pd.DataFrame(columns, index=frame.index)
    return (table if estimator._columns else table.to_numpy(np.float64)), y


def safe_names(names: list[str]) -> list[str]:
    """Names of columns without what a library refuses, still different from each other."""
    found: list[str] = []
    for name in names:
        safe = _UNSAFE.sub("_", name)
        while safe in found or (safe != name and safe in names):
            safe += "_"
        found.append(safe)
    return found


def _categories(values: pd.Series[Any]) -> pd.CategoricalDtype | None:
    """The categories of a column of the training rows, or None for numbers."""
    if types.is_datetime64_any_dtype(values.dtype) or types.is_timedelta64_dtype(values.dtype):
        raise bad_argument("X", f"has the column {values.name!r} of {values.dtype}", _NUMBERS)
    if types.is_numeric_dtype(values.dtype):
        return None
    if isinstance(values.dtype, pd.CategoricalDtype):
        known = values.cat.categories.tolist()
    else:
        known = pd.unique(values.dropna()).tolist()
        if all(isinstance(value, bool | int | float) for value in known):
            return None
    if not known:
        return None
    if not (_all(known, str) or (_all(known, int) and not _all(known, bool))):
        known = sorted({word_of(value) for value in known})
    elif not isinstance(values.dtype, pd.CategoricalDtype):
        known = sorted(known)
    return pd.CategoricalDtype(known)


def _all(values: list[Any], kind: type) -> bool:
    return all(isinstance(value, kind) for value in values)


def _column(values: pd.Series[Any], categories: pd.CategoricalDtype | None) -> pd.Series[Any]:
    """Read one column of new rows as the kind that the training rows had."""
    if categories is None:
        return _numbers(values)
    if values.dtype == categories:
        return values
    entries = values.astype(object)
    if _all(categories.categories.tolist(), str):
        entries = entries.map(word_of, na_action="ignore")
    codes = categories.categories.get_indexer(pd.Index(entries))
    return pd.Series(pd.Categorical.from_codes(codes, dtype=categories), values.index)


def _numbers(values: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers as they are, or as floats where they came as objects or pandas has its own kind for them."""
    plain = types.is_numeric_dtype(values.dtype) and not types.is_extension_array_dtype(values.dtype)
    if not plain:
        entries = values.astype(object)
        strange = [v for v in entries[entries.notna()] if not isinstance(v, bool | int | float | np.number | np.bool)]
        if strange:
            raise bad_argument("X", f"holds {strange[0]!r} in the column {values.name!r}", "numbers, as in `fit`")
        floats = entries.where(entries.notna(), np.nan).astype(np.float64)
        values = pd.Series(floats, values.index, name=values.name)
    refuse_infinite(values.to_numpy()[:, None], [values.name], missing=True)
    return values
