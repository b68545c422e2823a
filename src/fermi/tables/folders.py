"""A table in many files, larger than memory: which files they are, and their rows batch by batch."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermi._typing import Ints
from fermi.engines import Shards
from fermi.errors import DataError, FermiError, listed
from fermi.tables.formats import understood
from fermi.tables.together import files_of

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather"}
_FORMATS |= {".csv": "csv", ".csv.gz": "csv", ".tsv": "tsv", ".tsv.gz": "tsv", ".tab": "tsv"}
_MOST_COMBINATIONS = 1_000_000
_OFTEN = 100_000  # combinations of several batches, above which they are counted together


class Folder:
    """The files of a folder, or those that a pattern stands for; all of one format, read by columns.

    Columns that are in the names of folders, as in ``day=2026-11-01/part.parquet``, are columns like the others. Files
    whose names, or those of their folders, begin with a dot or an underscore are left out, as the programs that write
    such folders mean it.

    Attributes
    ----------
    source : str
        What the caller named.
    files : list of str
        The files, in the order of their names.
    """

    def __init__(self, source: str | Path) -> None:
        self.source = str(source)
        paths = files_of(source)
        kinds = {_format(path) for path in paths} - {None}
        self.files = [str(path) for path in paths if _format(path) is not None]
        if not self.files:
            raise DataError(f"There are no files in {self.source!r}; expected some that end in {', '.join(_FORMATS)}.")
        if len(kinds) > 1:
            raise DataError(f"The files in {self.source!r} are of several formats, {listed(sorted(map(str, kinds)))}.")
        self._kind = str(kinds.pop())
        self._root = self.source if Path(source).is_dir() else None

    def frames(self, columns: Sequence[str], schema: pa.Schema) -> Iterator[pd.DataFrame]:
        """Some columns batch by batch, text as `understood`.

        Parameters
        ----------
        columns : sequence of str
            Columns that all files have.
        schema : pyarrow.Schema
            Their types, as `schema` finds them.

        Yields
        ------
        DataFrame
            The rows of a batch.
        """
        for batch in self._batches(columns, schema):
            yield understood(batch.to_pandas())

    def counts(self, columns: Sequence[str], shards: Shards | None = None) -> tuple[pd.DataFrame, Ints]:
        """The combinations of values that occur in some columns, and how many rows have each.

        This is a GROUP BY: memory grows with the combinations and not with the rows.

        Parameters
        ----------
        columns : sequence of str
            Columns that all files have.
        shards : Shards, optional
            The parts of the folder on an engine, each with the method `counted`; by default they are read here.

        Returns
        -------
        frame : DataFrame
            One row per combination, text as `understood`.
        counts : array of int64
            The rows that have it.
        """
        schema = self.schema(columns)
        parts = [self.counted(columns, schema)] if shards is None else shards.each("counted", columns, schema)
        frame = _together(columns, parts).to_pandas()
        if frame.empty:
            raise DataError(f"The files in {self.source!r} have no rows.")
        keys = _keys_of(columns)
        return understood(frame[keys].set_axis(list(columns), axis=1)), frame["n"].to_numpy()

    def counted(self, columns: Sequence[str], schema: pa.Schema) -> pa.Table:
        """The combinations of values as Arrow has them, and the number of rows of each under "n"."""
        keys = _keys_of(columns)
        names = [*keys, "n"]
        empty = schema.empty_table().select(columns).rename_columns(keys)
        parts = [empty.append_column("n", [[]]).cast(_with_counts(empty.schema))]
        for batch in self._batches(columns, schema):
            found = batch.rename_columns(keys).group_by(keys).aggregate([([], "count_all")])
            parts.append(found.rename_columns(names))
            if sum(part.num_rows for part in parts[1:]) > max(_OFTEN, parts[0].num_rows):
                parts = [_together(columns, parts)]
        return _together(columns, parts)

    def parts(self, n: int) -> list[Folder]:
        """The files dealt out to at most so many parts."""
        found = []
        for k in range(min(n, len(self.files))):
            part = copy.copy(self)
            part.files = self.files[k::n]
            found.append(part)
        return found

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The types that hold some columns of all files; a file that does not fit is an error that names it."""
        wanted = list(dict.fromkeys(columns))
        return _common([(path, self._schema(path, fragment, wanted)) for path, fragment in self._fragments()])

    def _batches(self, columns: Sequence[str], schema: pa.Schema) -> Iterator[pa.Table]:
        import pyarrow as pa

        wanted = list(dict.fromkeys(columns))
        for path, fragment in self._fragments():
            try:
                for batch in fragment.to_batches(schema=schema, columns=wanted):
                    if batch.num_rows:
                        yield pa.Table.from_batches([batch]).select(columns)
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(path, error) from error

    def _fragments(self) -> Iterator[tuple[str, Any]]:
        import pyarrow.dataset as ds

        options: dict[str, Any] = {"partitioning": "hive"}
        if self._root is not None:
            options["partition_base_dir"] = self._root
        for path in self.files:
            try:
                (fragment,) = ds.dataset(path, format=_reader(self._kind, path), **options).get_fragments()
            except (OSError, ValueError) as error:  # pyarrow's own errors are of these
                raise _unreadable(path, error) from error
            yield path, fragment

    def _schema(self, path: str, fragment: Any, wanted: Sequence[str]) -> pa.Schema:
        """The types of the wanted columns in one file; dictionaries are what they stand for."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        try:
            own = fragment.physical_schema
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from error
        in_path = {name: pa.scalar(value).type for name, value in _keys(ds, fragment).items()}
        types = {name: own.field(name).type for name in own.names} | in_path
        for name in wanted:
            if name not in types:
                raise FermiError(
                    f"The file {path!r} has no column {name!r}; its columns are {listed(types, limit=20)}."
                )
        return pa.schema([(name, _plain(types[name])) for name in wanted])


def _keys_of(columns: Sequence[str]) -> list[str]:
    """Names that no column of counts can collide with."""
    return [f"key{j}" for j in range(len(columns))]


def _with_counts(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    return schema.append(pa.field("n", pa.int64()))


def _together(columns: Sequence[str], found: Sequence[pa.Table]) -> pa.Table:
    import pyarrow as pa

    keys = _keys_of(columns)
    counted = pa.concat_tables(found).group_by(keys).aggregate([("n", "sum")])
    if counted.num_rows > _MOST_COMBINATIONS:
        raise FermiError(
            f"The columns {listed(columns)} hold more than {_MOST_COMBINATIONS:,} combinations of values; "
            "expected labels and groups."
        )
    return counted.select([*keys, "n_sum"]).rename_columns([*keys, "n"])


def _keys(ds: Any, fragment: Any) -> dict[str, Any]:
    """The columns that the names of a file's folders tell."""
    return dict(ds.get_partition_keys(fragment.partition_expression))


def _plain(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _common(schemas: Sequence[tuple[str, pa.Schema]]) -> pa.Schema:
    """The types that hold the columns of all files."""
    import pyarrow as pa

    (first, common), *others = schemas
    for path, schema in others:
        for field in schema:
            before = common.field(field.name)
            try:
                field = pa.unify_schemas([pa.schema([before]), pa.schema([field])], promote_options="permissive")[0]
            except pa.ArrowException:
                raise FermiError(
                    f"The file {path!r} has {field.name!r} as {field.type}, and {first!r} has it as {before.type}; "
                    "expected one type in all files."
                ) from None
            common = common.set(common.get_field_index(field.name), field)
    return common


def _format(path: Path) -> str | None:
    name = path.name.lower()
    return next((kind for suffix, kind in _FORMATS.items() if name.endswith(suffix)), None)


def _reader(kind: str, path: str) -> Any:
    """How files of a format are read; those of text as text, since what a column holds is not for one file to say."""
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.dataset as ds

    if kind not in ("csv", "tsv"):
        return kind
    separator = "," if kind == "csv" else "\t"
    with pa.input_stream(path) as file:  # compressed where the name says so
        try:
            header = csv.open_csv(file, parse_options=csv.ParseOptions(delimiter=separator)).schema.names
        except pa.ArrowException as error:
            raise _unreadable(path, error) from error
    options = csv.ConvertOptions(column_types=dict.fromkeys(header, pa.string()), strings_can_be_null=False)
    return ds.CsvFileFormat(csv.ParseOptions(delimiter=separator), convert_options=options)


def _unreadable(path: str, error: Exception) -> DataError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataError(f"The file {path!r} cannot be read: {reason}")
