"""Columns of any kind to integer codes, and the same codes again on new data. Unknown is -1.

Nothing here loops over rows in Python: a column is reduced to its distinct values first, and only those are
named, sorted and looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fermi._kernels import Ints, mark_seen, value_range
from fermi._parallel import chunks, over_parts
from fermi.errors import bad_argument

# An integer column whose values span at most this much (or the number of rows) is its own code, minus an offset.
_DIRECT_SPAN = 1 << 16


@dataclass(frozen=True)
class Codes:
    """A coded column: row i holds `values_of[raw[i] - first]`, or nothing where that index is -1.

    The offset lets a column of small integers stand for its own codes, with no copy. Such a column may list
    values that never occur; `compact` drops them.
    """

    raw: NDArray[np.integer[Any]]
    first: int
    values_of: Sequence[Any]
    n_unknown: int = 0

    def __len__(self) -> int:
        return len(self.raw)

    @classmethod
    def constant(cls, n: int, value: Any) -> Codes:
        """One value for every row, in no memory."""
        return cls(np.broadcast_to(np.int64(0), n), 0, (value,))

    @property
    def is_constant(self) -> bool:
        """Whether every row holds the same, known value by construction."""
        return self.raw.strides == (0,)

    def part(self, rows: slice) -> Ints:
        """Some rows of `raw` as int64; a copy only if they are not that already."""
        return np.ascontiguousarray(self.raw[rows], dtype=np.int64)

    def dense(self) -> Ints:
        """Every row's code, 0 to len(values_of) - 1, or -1."""
        codes: Ints = np.subtract(self.raw, self.first, dtype=np.int64)
        return codes

    def recode(self, to: Sequence[int] | Ints, values_of: Sequence[Any]) -> Codes:
        """Send code j to `to[j]` (-1: unknown), with new values."""
        table = np.append(np.asarray(to, dtype=np.int64), -1)  # index -1 reaches the last entry: unknown stays unknown
        codes = np.empty(len(self), dtype=np.int64)

        def look_up(part: slice) -> None:
            for rows in chunks(part):
                codes[rows] = table[self.part(rows) - self.first]

        over_parts(len(self), look_up)
        return Codes(codes, 0, values_of, int(np.count_nonzero(codes < 0)))

    def compact(self) -> Codes:
        """The same column with only the values that occur."""
        if len(self.values_of) > max(_DIRECT_SPAN, 4 * len(self)):
            return self._compact_by_sorting()
        seen = np.zeros(len(self.values_of) + 1, dtype=np.bool_)

        def mark(part: slice) -> None:
            for rows in chunks(part):
                mark_seen(self.part(rows), self.first, seen)  # -1 marks the extra last entry

        over_parts(len(self), mark)
        if seen[:-1].all():
            return self
        kept = np.flatnonzero(seen[:-1]).tolist()
        return self.recode(np.cumsum(seen[:-1]) - 1, [self.values_of[j] for j in kept])

    def _compact_by_sorting(self) -> Codes:
        """`compact` where a table of all values would be far longer than the column."""
        kept, codes = np.unique(self.dense(), return_inverse=True)
        hidden = int(np.searchsorted(kept, 0))  # 1 if some row is unknown: its -1 sorts first
        return Codes(codes - hidden, 0, [self.values_of[j] for j in kept[hidden:].tolist()], self.n_unknown)


def column_codes(column: Any) -> Codes:
    """Code one column of any dtype, its values in sorted order; NaN, None, NA, NaT and masked entries are unknown.

    Examples
    --------
    >>> codes = column_codes(["b", None, "a", "b"])
    >>> codes.dense().tolist(), list(codes.values_of)
    ([1, -1, 0, 1], ['a', 'b'])
    """
    if isinstance(column, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(column)
        return _spread(column_codes(column.data[~missing]), missing)
    if isinstance(column, np.ndarray):
        return _array_codes(column)
    native = nw.to_native(column, pass_through=True)
    series = nw.from_native(native, series_only=True, allow_series=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return _array_codes(_as_objects(native))
    if series.implementation.is_pandas_like():
        if isinstance(native.dtype, np.dtype):
            return _array_codes(native.to_numpy())
        return _factorized(native)
    missing = series.is_null().to_numpy()
    if missing.any():
        return _spread(column_codes(series.drop_nulls()), missing)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        return _array_codes(series.to_numpy())
    return _replaced(series)


def _as_objects(rows: Any) -> NDArray[Any]:
    """A list as an array, of objects where it holds text: numpy would turn a NaN among it into the word 'nan'."""
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of unequal length
        return np.fromiter(rows, dtype=object)
    return array if array.dtype.kind in "biuf" else np.array(rows, dtype=object)


def _array_codes(array: NDArray[Any]) -> Codes:
    if array.dtype.kind == "b":
        return Codes(array.view(np.int8), 0, (False, True)) if len(array) else Codes(array.view(np.int8), 0, ())
    if array.dtype.kind in "iu" and len(array):
        low, high = _range(array)
        if high - low < max(_DIRECT_SPAN, len(array)) and high < 2**62:
            return Codes(array, low, range(low, high + 1))
    return _factorized(array)


def _range(array: NDArray[np.integer[Any]]) -> tuple[int, int]:
    if array.dtype != np.int64 or not array.flags.c_contiguous:
        return int(array.min()), int(array.max())
    ranges = over_parts(len(array), lambda part: value_range(cast(Ints, array[part])))
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _factorized(values: Any) -> Codes:
    """Codes through a hash table, then sorted by value."""
    import pandas as pd

    if getattr(values, "dtype", None) == np.float16:
        values = values.astype(np.float32)  # pandas has no half floats
    appearance, distinct = pd.factorize(values)
    found = pd.Index(distinct).tolist()  # numpy's own tolist turns dates into nanoseconds
    order = sorted(range(len(found)), key=lambda j: sort_key(found[j]))
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    return Codes(appearance, 0, found).recode(rank, [found[j] for j in order])


def _replaced(series: nw.Series[Any]) -> Codes:
    """Codes without turning each entry into a Python object: the series' own library replaces values by numbers."""
    found = sorted(series.unique().to_list(), key=sort_key)
    codes = series.replace_strict(found, list(range(len(found))), return_dtype=nw.Int64)
    return Codes(codes.to_numpy(), 0, found)


def _spread(known: Codes, missing: NDArray[np.bool_]) -> Codes:
    """Codes of the entries that are there, put back among those that are missing."""
    codes = np.full(len(missing), -1, dtype=np.int64)
    codes[~missing] = known.dense()
    return Codes(codes, 0, known.values_of, int(np.count_nonzero(codes < 0)))


def sort_key(value: Any) -> tuple[Any, ...]:
    """A total order over labels of any type: numbers by size, then everything else by type and text."""
    if isinstance(value, bool | np.bool_ | int | float | np.integer | np.floating):
        return (0, float(value), "")
    if isinstance(value, str):
        return (1, "str", value)
    return (1, type(value).__name__, str(value))


def read_columns(data: Any, argument: str) -> dict[str | None, Any]:
    """The columns of an array, Series, DataFrame or dict, by name (None or a position where there is none)."""
    if isinstance(data, list | tuple):
        data = _as_objects(data)
    columns: dict[str | None, Any]
    if isinstance(data, dict):
        columns = {str(name): column for name, column in data.items()}
    else:
        frame = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            columns = {str(name): frame[name] for name in frame.columns}
        elif isinstance(frame, nw.Series):
            columns = {None if frame.name in (None, "") else str(frame.name): frame}
        elif isinstance(data, np.ndarray) and data.ndim == 2:
            columns = {None: data[:, 0]} if data.shape[1] == 1 else {str(j): data[:, j] for j in range(data.shape[1])}
        else:
            columns = {None: data}
    if not columns:
        raise bad_argument(argument, "has no columns", "at least one")
    for name, column in columns.items():
        check_column(column, argument, name)
    return columns


def check_column(column: Any, argument: str, name: Any = None) -> None:
    """Refuse what is not one value per row."""
    where = "" if name is None else f" (column {name!r})"
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise bad_argument(
            argument + where, f"is {column!r}", "one value per row (an array, Series, DataFrame or dict of columns)"
        )
    shape = getattr(column, "shape", None) or np.shape(column)
    if len(shape) != 1:
        raise bad_argument(argument + where, f"has the shape {tuple(shape)}", "one dimension per column")
