"""Columns of Arrow as the table encoder means them: words with a missing one as None, numbers with NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fermi._typing import Floats
from fermi.inputs.groups import word_of
from fermi.inputs.natural import MISSING
from fermi.inputs.table_encoder import numbers_of

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def family_of(kind: pa.DataType) -> str:
    """What a type is to the encoder: number, date, words, flag, nothing (no value at all) or other."""
    types = pa.types
    if types.is_dictionary(kind):
        return "category"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "words"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    if types.is_boolean(kind):
        return "flag"
    return "nothing" if types.is_null(kind) else "other"


def same_family(left: str, right: str) -> bool:
    """Whether two types can be of one column: a column of text may be dictionary-encoded in some files."""
    return left == right or "nothing" in (left, right) or {left, right} == {"words", "category"}


def dictionary(column: pa.Array) -> tuple[NDArray[np.int32], list[Any]]:
    """The index of each row's value, and the values; the last of them, None, is that of rows without one."""
    coded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    values = coded.dictionary.to_pylist()
    indices = coded.indices if coded.indices.type == pa.int32() else coded.indices.cast(pa.int32())
    if indices.null_count:
        indices = pc.fill_null(indices, len(values))
    return indices.to_numpy(zero_copy_only=False), [*values, None]


def word(value: Any) -> str | None:
    """A value as a word without blanks around it, or None for what stands for nothing."""
    if value is None or value != value:
        return None
    if isinstance(value, str):
        stripped = value.strip()
        return None if stripped in MISSING else stripped
    return word_of(value).strip()


def numbers(column: pa.Array, kind: str) -> Floats:
    """The values as doubles, NaN where there is none; dates count days."""
    family = family_of(column.type)
    if family == "nothing":
        return np.full(len(column), np.nan)
    if family in ("words", "category"):
        return _numbers_in_words(column, kind)
    if family == "date":
        stamps = column if pa.types.is_timestamp(column.type) else column.cast(pa.timestamp("ms"))
        counts = stamps.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64)
        return counts / _PER_DAY[stamps.type.unit] if not column.null_count else _without(counts, column, stamps)
    doubles = column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)
    if doubles.null_count:
        doubles = pc.fill_null(doubles, float("nan"))
    return np.asarray(doubles.to_numpy(zero_copy_only=False))


def alike(rows: pa.Table, families: dict[str, str], features: Sequence[str]) -> pa.Table:
    """Rows whose columns have the types that all files of a source can be joined in; features as their kinds say."""
    return pa.table(
        {n: _alike(rows[n].combine_chunks(), families[n] if n in features else "") for n in rows.column_names}
    )


def _alike(column: pa.Array, family: str) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):  # without any chunk
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_null(column.type) or family == "other":
        return pa.nulls(len(column))
    if pa.types.is_dictionary(column.type):
        words = pa.array(
            [None if value is None else word(value) or "" for value in column.dictionary.to_pylist()], pa.string()
        )
        return pa.DictionaryArray.from_arrays(column.indices, words).cast(pa.string())
    if family == "number" or pa.types.is_decimal(column.type):
        return column.cast(pa.float64(), safe=False)
    return column.cast(pa.timestamp("us"), safe=False) if family == "date" else column


def _without(counts: Floats, column: pa.Array, stamps: pa.Array) -> Floats:
    present = column.is_valid().to_numpy(zero_copy_only=False)
    return np.where(present, counts / _PER_DAY[stamps.type.unit], np.nan)


def _numbers_in_words(column: pa.Array, kind: str) -> Floats:
    plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    if kind == "number":
        try:
            return numbers(plain.cast(pa.float64()), kind)
        except pa.ArrowInvalid:
            pass  # some word is no number, or has blanks around it
    return words_to_numbers(kind, [word(value) for value in plain.to_pylist()])


def words_to_numbers(kind: str, words: list[str | None]) -> Floats:
    """Words as the numbers or days that they write, NaN where they write none."""
    import pandas as pd

    return numbers_of(kind, pd.Series(words, dtype=object))
