"""Turns columns of any kind into integer codes; unknown is -1.

Nothing here loops over rows in Python: a column is reduced to its distinct values first, and only those are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fermi._typing import Ints
from fermi.compiled.kernels import value_range
from fermi.compiled.parallel import over_parts
from fermi.errors import bad_argument
from fermi.inputs.codes import SMALL_TABLE, Codes
from fermi.inputs.columns import Column

_NUMPY_NUMBERS = (
    nw.Boolean, nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64, nw.Float32, nw.Float64
)  # fmt: skip


def encode(column: Column, argument: str) -> Codes:
    """Code one column of any dtype, its values in sorted order; NaN, None, NA, NaT and masked entries are unknown.

    Examples
    --------
    >>> codes = encode(np.array(["b", None, "a", "b"]), "sex")
    >>> codes.dense().tolist(), list(codes.values_of)
    ([1, -1, 0, 1], ['a', 'b'])
    """
    try:
        return _column_codes(column)
    except Exception as error:  # whatever the column's own library raises: only its dtype can be at fault
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise bad_argument(argument, f"cannot be coded ({reason})", "numbers, words, dates or categories") from error


def _column_codes(column: Column) -> Codes:
    if isinstance(column, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(column)
        return _spread(column.data[~missing], missing)
    if isinstance(column, np.ndarray):
        return _array_codes(column)
    if column.implementation.is_pandas_like():
        native = column.to_native()
        return _array_codes(native.to_numpy()) if isinstance(native.dtype, np.dtype) else _factorized(native)
    missing = column.is_null().to_numpy()
    if missing.any():
        return _spread(column.drop_nulls(), missing)
    if column.dtype in _NUMPY_NUMBERS:
        return _array_codes(column.to_numpy())
    return _replaced(column)


def _array_codes(array: NDArray[Any]) -> Codes:
    if array.dtype.kind == "b":
        return Codes(array.view(np.int8), 0, (False, True))
    if array.dtype.kind in "iu" and len(array):
        low, high = _range(array)
        if high - low < max(SMALL_TABLE, len(array)) and low > -(2**62) and high < 2**62:
            return Codes(array, low, range(low, high + 1))
    return _factorized(array)


def _range(array: NDArray[np.integer[Any]]) -> tuple[int, int]:
    if array.dtype != np.int64 or not array.flags.c_contiguous:
        return int(array.min()), int(array.max())
    ranges = over_parts(len(array), lambda part: value_range(cast(Ints, array[part])))
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _factorized(values: Any) -> Codes:
    """Code a column through a hash table, then sort its values."""
    import pandas as pd

    if getattr(values, "dtype", None) == np.float16:
        values = values.astype(np.float32)  # pandas has no half floats
    appearance, distinct = pd.factorize(values)
    found: list[Any] = pd.Index(distinct).tolist()  # numpy's own tolist turns dates into nanoseconds
    if getattr(values, "dtype", None) == np.float32:
        found = [float(str(value)) for value in distinct]  # 0.1, not the 0.10000000149 that its bits are in float64
    order = sorted(range(len(found)), key=lambda j: sort_key(found[j]))
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    return Codes(appearance, 0, found).recode(rank, [found[j] for j in order])


def _replaced(series: nw.Series[Any]) -> Codes:
    """Code a series in its own library, without turning each entry into a Python object."""
    found = sorted(series.unique().to_list(), key=sort_key)
    codes = series.replace_strict(found, list(range(len(found))), return_dtype=nw.Int64)
    return Codes(codes.to_numpy(), 0, found)


def _spread(present: Column, missing: NDArray[np.bool_]) -> Codes:
    """Put the codes of the entries that are there back among those that are missing."""
    codes = np.full(len(missing), -1, dtype=np.int64)
    if missing.all():
        return Codes(codes, 0, (), len(missing))
    known = _column_codes(present)
    codes[~missing] = known.dense()
    return Codes(codes, 0, known.values_of, int(np.count_nonzero(codes < 0)))


def sort_key(value: Any) -> tuple[Any, ...]:
    """A key that orders labels of any type: numbers by size, then everything else by type and text."""
    if isinstance(value, bool | np.bool_ | int | float | np.integer | np.floating):
        return (0, value)
    return (1, type(value).__name__, str(value))


def same_kind(left: Iterable[Any], right: Iterable[Any]) -> bool:
    """Whether two sets of labels can be about the same thing: 0 and 1 are not the labels "0" and "1".

    Examples
    --------
    >>> same_kind([0, 1], [1.0]), same_kind([0, 1], ["0", "1"]), same_kind([], ["a"])
    (True, False, True)
    """
    ours, theirs = ({sort_key(label)[:-1] for label in labels} for labels in (left, right))
    return not ours or not theirs or not ours.isdisjoint(theirs)
