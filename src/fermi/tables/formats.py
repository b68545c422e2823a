"""Tables in files: read by their suffix, written whole or not at all."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fermi._files import whole_file
from fermi._optional import require
from fermi.errors import DataError, bad_argument, listed
from fermi.inputs.natural import MISSING
from fermi.tables.text_files import LINES, PACKED, Layout, layout, opened, titles_above, with_decimal_points
from fermi.tables.together import MOST_BYTES, files_of, is_folder, is_large, keys_in

if TYPE_CHECKING:
    import pandas as pd

STANDARD_INPUT = "-"
SEPARATOR = "separator"  # what a frame's `attrs` have the separator of its file under


def read_table(path: str | Path) -> pd.DataFrame:
    """Read the rows of a CSV, TSV, Parquet, Feather or JSON-lines file, as `understood`."""
    return understood(read_raw(path))


def read_raw(path: str | Path) -> pd.DataFrame:
    """Read the rows of a file as they stand there: those of a text file are text.

    Whether a column holds numbers is not for a file to say: the same column of a file with fewer rows may look
    otherwise. A CSV or TSV file may be packed (``.csv.gz``, ``.bz2``, ``.zip``, ``.zst``) and have any usual separator
    and encoding, and lines of a title above its header. ``-`` is standard input. The files of a folder or of a pattern
    are one table, if they are small enough.
    """
    if str(path) == STANDARD_INPUT:
        return _from_standard_input()
    if str(path).startswith(("http:", "https:")):
        raise DataError(f"{str(path)!r} is an address in the web: download the file first, and give its name.")
    if is_folder(str(path)):
        return _from_folder(str(path))
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.")
    if not path.stat().st_size:
        raise DataError(f"The file {str(path)!r} is empty.")
    reader = _format(path).read
    try:
        frame = reader(path)
    except (ImportError, DataError, MemoryError):
        raise
    except Exception as error:  # whatever the format's library raises: only the file can be at fault
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"The file {str(path)!r} cannot be read as {_format(path).name}: {reason}.") from error
    frame.columns = [str(name).strip() for name in frame.columns]
    _refuse_twice(frame.columns, path)
    if frame.empty:
        raise DataError(f"The file {str(path)!r} has no rows.")
    return frame.reset_index(drop=True)


def _from_standard_input() -> pd.DataFrame:
    """Read what is piped in: Parquet, JSON lines and Excel are known by how they begin, and else it is text."""
    data = sys.stdin.buffer.read()
    known = {b"PAR1": ".parquet", b"ARROW1": ".feather", b"{": ".jsonl", b"PK": ".xlsx", b"\x1f\x8b": ".csv.gz"}
    suffix = next((name for mark, name in known.items() if data.lstrip()[: len(mark)] == mark), ".csv")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"standard input{suffix}"
        file.write_bytes(data)
        return read_raw(file)


def _from_folder(source: str) -> pd.DataFrame:
    """Read all files of a folder or a pattern as one table; all must have the same columns, in whatever order."""
    import pandas as pd

    paths = [path for path in files_of(source) if path.name.lower().endswith(tuple(_FORMATS))]
    if not paths:
        raise DataError(f"There are no files in {source!r}; expected some that end in one of {', '.join(_FORMATS)}.")
    if is_large(source):
        raise DataError(f"The files in {source!r} are more than {MOST_BYTES / 1e6:g} MB, too much for one table.")
    frames: list[pd.DataFrame] = []
    for path in paths:
        frame = read_raw(path)
        frame = frame.assign(**{name: value for name, value in keys_in(path, source).items() if name not in frame})
        if frames and set(frame.columns) != set(frames[0].columns):
            other = sorted(set(frame.columns) ^ set(frames[0].columns))
            raise DataError(
                f"The files {str(paths[0])!r} and {str(path)!r} have other columns, {listed(other, limit=4)}. "
                "A pattern in quotation marks, such as 'rows/*.csv', names some of the files."
            )
        frames.append(frame)
    found = pd.concat(frames, ignore_index=True)
    found.attrs.update(frames[0].attrs)
    return found


def understood(frame: pd.DataFrame) -> pd.DataFrame:
    """Strip the text of a table of blanks, and take what is one of `MISSING` for missing; commas become points."""
    import pandas as pd

    separator = frame.attrs.get(SEPARATOR, ",")

    def plain(column: pd.Series[Any]) -> pd.Series[Any]:
        if column.dtype == object:  # of several kinds, as JSON lines may hold
            column = column.map(lambda entry: entry.strip() if isinstance(entry, str) else entry)
            column = column.mask(column.map(lambda entry: isinstance(entry, str) and entry in MISSING))
            words = column.dropna().map(lambda entry: isinstance(entry, str)).all()  # as all text is in older pandas
            return with_decimal_points(column, separator) if words else column
        if not isinstance(column.dtype, pd.StringDtype):
            return column
        stripped = column.str.strip()
        return with_decimal_points(stripped.mask(stripped.isin(MISSING)), separator)

    return frame.apply(plain)


def _refuse_twice(names: Any, path: Path) -> None:
    twice = sorted(set(names[names.duplicated()]))
    if twice:
        raise DataError(
            f"The file {str(path)!r} has several columns called {listed(twice, limit=4)}: rename all but one of each."
        )


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table to a file in the format of its suffix."""
    path = Path(path)
    writer = _format(path).write
    with whole_file(path) as partial:
        writer(frame, partial)


def check_writable_format(path: str | Path) -> None:
    """Refuse a suffix that cannot be written before any work is done."""
    _format(Path(path), "output")


class _Format:
    """How one kind of file is read and written."""

    def __init__(
        self, name: str, read: Callable[[Path], pd.DataFrame], write: Callable[[pd.DataFrame, Path], Any]
    ) -> None:
        self.name, self.read, self.write = name, read, write


def _text(separator: str) -> _Format:
    def read(path: Path) -> pd.DataFrame:
        with opened(path) as file:  # once: another process may put another file in its place
            found = layout(file, separator)
            for encoding in found.encodings:
                try:
                    frame = _read_text(file, path, found, encoding)
                except UnicodeDecodeError:
                    if encoding == found.encodings[-1]:
                        raise
                else:
                    frame.attrs[SEPARATOR] = found.separator
                    return frame
        raise AssertionError("one of the encodings is the last")

    def write(frame: pd.DataFrame, path: Path) -> None:
        if path.suffix.lower() != ".zst":
            frame.to_csv(path, sep=separator, index=False)
            return
        import pyarrow as pa

        with pa.output_stream(str(path), compression="zstd") as file:
            file.write(frame.to_csv(sep=separator, index=False).encode())

    return _Format("CSV" if separator == "," else "TSV", read, write)


def _read_text(file: IO[bytes], path: Path, found: Layout, encoding: str) -> pd.DataFrame:
    import pandas as pd

    options: dict[str, Any] = {"sep": found.separator, "skipinitialspace": found.separator != "\t", "dtype": str}
    options |= {"skiprows": found.titles}
    options |= {"na_filter": False, "encoding": "utf-8-sig" if encoding == "utf-8" else encoding}
    file.seek(0)
    header = pd.read_csv(file, header=None, nrows=1, **options).iloc[0]
    _refuse_twice(header.str.strip(), path)  # pandas itself would rename the second
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            file.seek(0)
            frame: pd.DataFrame = pd.read_csv(file, index_col=False, **options)
    except pd.errors.ParserWarning:
        raise DataError(f"The file {str(path)!r} has rows with more entries than it has columns.") from None
    return frame


def _excel() -> _Format:
    def read(path: Path) -> pd.DataFrame:
        import pandas as pd

        require("openpyxl", extra="excel")
        options: dict[str, Any] = {"dtype": str, "na_filter": False, "engine": "openpyxl"}
        head = pd.read_excel(path, header=None, nrows=LINES, **options)
        titles = titles_above((head != "").sum(axis=1).tolist())
        if len(head):
            _refuse_twice(head.iloc[titles].str.strip(), path)
        frame: pd.DataFrame = pd.read_excel(path, skiprows=titles, **options)
        return frame

    def write(frame: pd.DataFrame, path: Path) -> None:
        require("openpyxl", extra="excel")
        frame.to_excel(path, index=False, engine="openpyxl")

    return _Format("an Excel workbook", read, write)


def _arrow(name: str, method: str) -> _Format:
    def read(path: Path) -> pd.DataFrame:
        import pandas as pd

        frame: pd.DataFrame = getattr(pd, f"read_{method}")(path)
        return frame

    def write(frame: pd.DataFrame, path: Path) -> None:
        getattr(frame, f"to_{method}")(path)

    return _Format(name, read, write)


def _json_lines() -> _Format:
    def read(path: Path) -> pd.DataFrame:
        import pandas as pd

        return pd.read_json(path, lines=True, dtype=False)

    def write(frame: pd.DataFrame, path: Path) -> None:
        frame.to_json(path, orient="records", lines=True, force_ascii=False)

    return _Format("JSON lines", read, write)


_FORMATS: dict[str, _Format] = {
    **dict.fromkeys([".csv", *(f".csv{packed}" for packed in PACKED)], _text(",")),
    **dict.fromkeys([".tsv", *(f".tsv{packed}" for packed in PACKED), ".tab", ".txt"], _text("\t")),
    ".zip": _text(","),
    ".xlsx": _excel(),
    **dict.fromkeys([".parquet", ".pq"], _arrow("Parquet", "parquet")),
    **dict.fromkeys([".feather", ".arrow"], _arrow("Feather", "feather")),
    **dict.fromkeys([".jsonl", ".ndjson"], _json_lines()),
}


def _format(path: Path, argument: str = "path") -> _Format:
    name = path.name.lower()
    for suffix, found in _FORMATS.items():
        if name.endswith(suffix):
            return found
    raise bad_argument(argument, f"is {path.name!r}", f"a name that ends in one of {', '.join(_FORMATS)}")
