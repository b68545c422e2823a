"""Rows for a booster: numbers as they are, missing ones too, and categories as pandas categories."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from pandas.api import types
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from fermi.columns import as_frame
from fermi.errors import bad_argument
from fermi.features import refuse_infinite

_NUMBERS = "numbers, words or categories (dates as a number of days, say)"


def read_table(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
    """X as a pandas DataFrame, a float array or a CSR matrix, and y as an array.

    A table's words become the categories of the training rows; others, at prediction, are missing.
    """
    frame = as_frame(X, "X")
    fitting = y is not None or reset
    if not isinstance(frame, nw.DataFrame):
        options = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "ensure_all_finite": False}
        found = validate_data(estimator, X, *([y] if fitting else []), **options, reset=reset)
        matrix, y = found if fitting else (found, None)
        refuse_infinite(matrix, None, missing=True)
        return matrix, y
    validate_data(estimator, X, *([y] if fitting else []), reset=reset, skip_check_array=True)
    if reset and not len(frame.columns):
        raise bad_argument("X", "has no columns", "at least one")
    if fitting:
        check_consistent_length(X, y)
        y = column_or_1d(y, warn=True)
    known: dict[str, Any] = {} if reset else estimator._categories
    native = frame.to_pandas()
    columns = {name: _column(native[name], known.get(name)) for name in native.columns}
    if reset:
        estimator._categories = {n: c.dtype for n, c in columns.items() if isinstance(c.dtype, pd.CategoricalDtype)}
    return pd.DataFrame(columns, index=native.index), y


def _column(values: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """Numbers as they are, or as floats where pandas has a kind of its own; anything else as a category."""
    if values.dtype == object:
        values = values.infer_objects()
    if dtype is None and types.is_numeric_dtype(values.dtype):
        if types.is_extension_array_dtype(values.dtype):
            values = pd.Series(values.to_numpy(np.float64, na_value=np.nan), values.index)
        refuse_infinite(values.to_numpy()[:, None], [values.name], missing=True)
        return values
    if types.is_datetime64_any_dtype(values.dtype) or types.is_timedelta64_dtype(values.dtype):
        raise bad_argument("X", f"has the column {values.name!r} of {values.dtype}", _NUMBERS)
    if dtype is None:
        return values.astype("category")
    if values.dtype == dtype:
        return values
    codes = dtype.categories.get_indexer(pd.Index(values.astype(object)))
    return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), values.index)
