"""Files of a source: which they are, what columns they have, and their rows in batches."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq

from fermi.errors import DataError, bad_argument, listed

_PARQUET, _FEATHER = (".parquet", ".pq"), (".feather", ".arrow")
_TEXT = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t", ".tab": "\t"}
_SUFFIXES = (*_PARQUET, *_FEATHER, *_TEXT)
_BUFFER = 1 << 20  # bytes of a Parquet column that are read at a time: whole row groups may be larger than memory
_CSV_BLOCK = 8 << 20
_UNKNOWN_KEY = "__HIVE_DEFAULT_PARTITION__"  # what writers of partitioned folders call a missing value


class BadFileError(DataError):
    """A file of a source that cannot be used. The message names it.

    Parameters
    ----------
    path : str
        The file.
    reason : str
        What is wrong with it, as the rest of a sentence.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The file {path!r} {reason}.")
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.reason)


class SourceFile(NamedTuple):
    """A file, known by its place among all files of the source, or a fragment of a pyarrow dataset."""

    path: str
    place: int
    fragment: Any = None
    schema: Any = None  # of the dataset
    keys: tuple[tuple[str, str | None], ...] = ()  # columns in the names of its folders, as words

    def columns(self) -> dict[str, pa.DataType]:
        """The columns with their types; those of a text file are text."""
        with _blamed(self.path):
            schema = self._schema()
        names = [field.name.strip() for field in schema]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BadFileError(self.path, f"has several columns called {listed(twice, limit=4)}")
        return {name: pa.string() for name, _ in self.keys} | dict(zip(names, schema.types, strict=True))

    def units(self) -> list[int]:
        """The parts of the file that can be read each by itself: the row groups of a Parquet file."""
        if self.fragment is not None or not self.path.lower().endswith(_PARQUET):
            return [-1]
        with _blamed(self.path), pq.ParquetFile(self.path) as file:
            return list(range(file.metadata.num_row_groups))

    def batches(
        self, columns: Sequence[str], words: Sequence[str], rows: int, unit: int = -1
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows in order, each batch with the place of its first row; -1 stands for the whole file.

        Columns of `words` come dictionary-encoded where the file has them so.
        """
        keys = dict(self.keys)
        own = [name for name in columns if name not in keys]
        with _blamed(self.path):
            place = self._first_row(unit)
            for found in self._batches(own, [name for name in words if name not in keys], rows, unit):
                batch = _plain(found) if not keys else _with_keys(found, columns, keys)
                for first in range(0, batch.num_rows, rows):
                    yield place + first, batch.slice(first, rows)
                place += batch.num_rows

    def _schema(self) -> pa.Schema:
        name = self.path.lower()
        if self.fragment is not None:
            own = self.fragment.physical_schema
            keys = pyarrow.dataset.get_partition_keys(self.fragment.partition_expression)
            return pa.schema([*own, *(self.schema.field(key) for key in keys if key not in own.names)])
        if name.endswith(_PARQUET):
            return pq.read_schema(self.path)
        if name.endswith(_FEATHER):
            with pa.memory_map(self.path) as source:
                return pa.ipc.open_file(source).schema
        with pyarrow.csv.open_csv(self.path, parse_options=self._parsing()) as reader:
            return pa.schema([(column, pa.string()) for column in reader.schema.names])

    def _first_row(self, unit: int) -> int:
        if unit <= 0:
            return 0
        with pq.ParquetFile(self.path) as file:
            return sum(file.metadata.row_group(g).num_rows for g in range(unit))

    def _batches(self, columns: Sequence[str], words: Sequence[str], rows: int, unit: int) -> Iterator[pa.RecordBatch]:
        name = self.path.lower()
        if self.fragment is not None:
            options: Any = {"schema": self.schema, "columns": list(columns), "batch_size": rows, "use_threads": False}
            yield from self.fragment.scanner(**options, batch_readahead=2, fragment_readahead=1).to_batches()
        elif name.endswith(_PARQUET):
            # Stripped names are ours; the file's own may have blanks around them.
            own = {field.strip(): field for field in pq.read_schema(self.path).names}
            reading: Any = {"buffer_size": _BUFFER, "pre_buffer": False}
            with pq.ParquetFile(self.path, read_dictionary=[own[w] for w in words], **reading) as file:
                groups = None if unit < 0 else [unit]
                wanted = [own[column] for column in columns]
                for batch in file.iter_batches(rows, row_groups=groups, columns=wanted, use_threads=False):
                    yield batch.select(wanted).rename_columns(list(columns))
        elif name.endswith(_FEATHER):
            with pa.memory_map(self.path) as source:
                file = pa.ipc.open_file(source)
                places = [[field.strip() for field in file.schema.names].index(column) for column in columns]
                for k in range(file.num_record_batches):
                    yield file.get_batch(k).select(places).rename_columns(list(columns))
        else:
            yield from self._text_batches(columns)

    def _text_batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        names = self._schema().names
        own = {name.strip(): name for name in names}
        convert = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=[own[column] for column in columns],
            strings_can_be_null=False,
        )
        reading = pyarrow.csv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False)
        with pyarrow.csv.open_csv(self.path, reading, self._parsing(), convert) as reader:
            for batch in reader:
                yield batch.rename_columns(list(columns))

    def _parsing(self) -> pyarrow.csv.ParseOptions:
        name = self.path.lower()
        delimiter = next(mark for suffix, mark in _TEXT.items() if name.endswith(suffix))
        return pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch whose words are of the types that all of Arrow's functions know."""
    for j, kind in enumerate(batch.schema.types):
        if pa.types.is_string_view(kind):
            batch = batch.set_column(j, batch.schema.names[j], batch.column(j).cast(pa.large_string()))
    return batch


def _with_keys(batch: pa.RecordBatch, columns: Sequence[str], keys: dict[str, str | None]) -> pa.RecordBatch:
    """A batch with the columns that are in the names of its folders."""
    found, n = _plain(batch), batch.num_rows
    for name, value in keys.items():
        if name in columns:
            column = pa.nulls(n, pa.string())
            if value is not None:
                column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), pa.array([value]))
            found = found.append_column(name, column)
    return found.select(list(columns))


class _blamed:
    """A context in which what pyarrow raises becomes an error that names the file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, pa.ArrowException | OSError | KeyError | ValueError) and not isinstance(error, DataError):
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise BadFileError(self.path, f"cannot be read: {reason[:200].rstrip('.')}") from error


def source_files(source: Any) -> list[SourceFile]:
    """The files of a folder, a glob, one file, or a pyarrow dataset, in the order of their names."""
    if isinstance(source, pyarrow.dataset.Dataset):
        return _fragments(source)
    if not isinstance(source, str | Path):
        raise bad_argument("source", f"is {type(source).__name__}", "a folder, a glob, a file or a pyarrow Dataset")
    text = str(source)
    path = Path(text)
    if path.is_dir():
        found = [str(file) for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path))]
    elif path.is_file():
        found = [text]
    else:
        found = [name for name in glob.glob(text, recursive=True) if Path(name).is_file()]  # noqa: PTH207
    known = sorted(name for name in found if name.lower().endswith(_SUFFIXES))
    if not known:
        raise DataError(f"There is no file in {text!r} whose name ends in one of {', '.join(_SUFFIXES)}.")
    kinds = {_kind(name) for name in known}
    if len(kinds) > 1:
        raise DataError(f"The files in {text!r} are of several formats, {listed(sorted(kinds))}: name those of one.")
    inner = [Path(name).relative_to(path) if path.is_dir() else Path("" if path.is_file() else name) for name in known]
    return [SourceFile(name, place, keys=_keys(inner[place])) for place, name in enumerate(known)]


def _hidden(path: Path) -> bool:
    """Whether a file, or a folder it is in, is not for reading, as the programs that write such folders mean it."""
    return any(part.startswith((".", "_")) and "=" not in part for part in path.parts)


def _keys(path: Path) -> tuple[tuple[str, str | None], ...]:
    """The columns in the names of a file's folders, as in ``day=2026-11-01/part.parquet``."""
    named = [part.partition("=") for part in path.parts[:-1] if "=" in part]
    return tuple((unquote(name), None if value == _UNKNOWN_KEY else unquote(value)) for name, _, value in named if name)


def _kind(name: str) -> str:
    lower = name.lower()
    return "Parquet" if lower.endswith(_PARQUET) else "Feather" if lower.endswith(_FEATHER) else "text"


def _fragments(dataset: pyarrow.dataset.Dataset) -> list[SourceFile]:
    scan: Any = getattr(dataset, "_scan_options", None)
    if scan and scan.get("filter") is not None:
        raise bad_argument("source", "is a dataset with a filter", "a dataset of all rows of its files")
    found = list(dataset.get_fragments())
    if not found:
        raise bad_argument("source", "is a dataset without files", "some")
    return [
        SourceFile(getattr(fragment, "path", f"fragment {place}"), place, fragment, dataset.schema)
        for place, fragment in enumerate(found)
    ]
