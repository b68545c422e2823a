"""Reads what the caller passes as columns: any library, one or many, the same rows in all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fermi.errors import bad_argument

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = NDArray[Any] | nw.Series[Any]

_ONE_COLUMN = "one value per row (an array, a Series or a list)"
_COLUMNS = "one value per row (an array, Series, DataFrame or dict of columns)"


def read_column(data: Any, argument: str, expected: str = _ONE_COLUMN) -> Column:
    """Read one column as a numpy array or a narwhals Series, none of its values touched."""
    if isinstance(data, list | tuple | range):
        data = _list_array(data)
    if hasattr(data, "__array__") and not hasattr(data, "__len__"):
        data = np.asarray(data)
    if isinstance(data, str | bytes | Mapping | Set) or not hasattr(data, "__len__"):
        found = repr(data) if isinstance(data, str | int | float) else f"a {type(data).__name__}"
        raise bad_argument(argument, f"is {found}", expected)
    series = data if isinstance(data, nw.Series) else nw.from_native(data, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series
    array = read_array(data, argument)
    if array.ndim != 1:
        raise bad_argument(argument, f"has the shape {array.shape}", "one dimension per column")
    return array


def _list_array(rows: Sequence[Any]) -> NDArray[Any]:
    """Turn a list into an array, of objects unless it holds nothing but numbers of one type.

    Of mixed types numpy makes one: the word 'nan' of a NaN among text, floats of integers too large for them.
    """
    types = set(map(type, rows))
    if len(types) == 1 and types <= {bool, int, float}:
        array = np.asarray(rows)
        if array.dtype.kind in ("biu" if types != {float} else "f"):
            return array
    return np.array(rows, dtype=object)


def read_array(data: Any, argument: str) -> NDArray[Any]:
    """Read a numpy array of any shape, in the machine's byte order."""
    if hasattr(data, "detach"):  # a torch tensor, perhaps on a device or in a graph
        data = data.detach().cpu()
        data = data.float() if str(data.dtype) == "torch.bfloat16" else data
    if hasattr(data, "toarray"):
        raise bad_argument(argument, "is sparse", "a dense array")
    try:
        array = data if isinstance(data, np.ndarray) else np.asarray(data)
    except (TypeError, ValueError) as error:
        raise bad_argument(argument, f"is not an array ({error})", "values that form one") from None
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def read_columns(data: Any, argument: str) -> dict[str | None, Column]:
    """Read the columns of an array, Series, DataFrame or dict, by name; by None or position where there is no name."""
    named: Iterable[tuple[Any, Any]]
    if isinstance(data, list | tuple | range):
        data = _list_array(data)
    if isinstance(data, Mapping):
        named = data.items()
    elif isinstance(frame := as_frame(data, argument), nw.DataFrame):
        named = [(column.name, column) for column in frame.iter_columns()]
    elif isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] > 1:
        named = enumerate(data.T)
    else:
        column = read_column(data[:, 0] if np.shape(data)[1:] == (1,) else data, argument, _COLUMNS)
        named = [(getattr(column, "name", None) or None, column)]
    columns: dict[str | None, Column] = {}
    for name, column in named:
        key = None if name is None else str(name)
        if key in columns:
            raise bad_argument(argument, f"has two columns named {key!r}", "different names")
        columns[key] = read_column(column, argument if key is None else f"{argument}[{key!r}]")
    if not columns:
        raise bad_argument(argument, "has no columns", "at least one")
    return columns


def as_frame(data: Any, argument: str) -> Any:
    """Turn a table of some library into a narwhals DataFrame; leave other data as it is."""
    try:
        return nw.from_native(data, eager_only=True, pass_through=True)
    except nw.exceptions.NarwhalsError as error:  # names that occur twice
        raise bad_argument(
            argument, f"cannot be read ({str(error).splitlines()[0]})", "different column names"
        ) from None


def to_pandas(frame: nw.DataFrame[Any]) -> pd.DataFrame:
    """Turn a table into pandas without the package that polars would need for that."""
    import pandas as pd

    if frame.implementation.is_pandas():
        native: pd.DataFrame = frame.to_native()
        return native

    def values(column: Any) -> Any:
        return column.to_numpy() if column.dtype.is_numeric() else pd.Series(column.to_list(), dtype=object)

    return pd.DataFrame({column.name: values(column) for column in frame.iter_columns()})


def check_rows(columns: Iterable[tuple[str, Any]]) -> int:
    """Check that all columns have the same rows, and return their number; what is None is left out.

    pandas objects must agree on their index as well: rows are matched by position, so two orders of the same index
    would be matched wrongly in silence.
    """
    (first, reference), *others = [(name, column) for name, column in columns if column is not None]
    n = len(reference)
    if n == 0:
        raise bad_argument(first, "is empty", "at least one row")
    for name, column in others:
        if len(column) != n:
            raise bad_argument(name, f"has {len(column)} rows", f"{n}, as many as `{first}`")
    indexed = [
        (name, index) for name, column in [(first, reference), *others] if (index := row_index(column)) is not None
    ]
    for name, index in indexed[1:]:
        if not index.equals(indexed[0][1]):
            raise bad_argument(
                name,
                f"has another index than `{indexed[0][0]}`",
                "the same rows in the same order (reset_index(drop=True) on both if they are already aligned)",
            )
    return n


def _is_missing(label: Any) -> bool:
    """Whether a label is NaN, NaT or NA, none of which equals itself; NA will not even say so."""
    try:
        return bool(label != label)
    except TypeError:
        return True


def row_index(column: Any) -> Any:
    """The index of a pandas object, or None for anything else."""
    native = nw.to_native(column, pass_through=True)
    is_pandas = nw.dependencies.is_pandas_like_dataframe(native) or nw.dependencies.is_pandas_like_series(native)
    return native.index if is_pandas else None


def read_labels(values: Any, argument: str) -> tuple[Any, ...]:
    """Read a label, or a set or sequence of labels, as a tuple; each must be hashable and occur once."""
    if isinstance(values, np.ndarray | np.generic):
        import pandas as pd

        if np.ndim(values) > 1:
            raise bad_argument(argument, f"has the shape {np.shape(values)}", "labels in one dimension")
        values = pd.Index(np.atleast_1d(values)).tolist()  # numpy's own tolist turns dates into nanoseconds
    single = isinstance(values, str | bytes) or not isinstance(values, Iterable)
    labels = (values,) if single else tuple(values)
    try:
        repeated = len(set(labels)) != len(labels)
    except TypeError:
        raise bad_argument(argument, f"is {values!r}", "labels: numbers, words or dates") from None
    if not labels or repeated or any(_is_missing(label) for label in labels):
        raise bad_argument(argument, f"is {values!r}", "at least one label, none missing and none of them twice")
    return labels
