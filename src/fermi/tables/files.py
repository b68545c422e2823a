"""Tables in files: read by their suffix, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fermi.errors import DataError, bad_argument, listed
from fermi.whole import whole_file

if TYPE_CHECKING:
    import pandas as pd

MISSING = ["?"]  # beside what pandas takes for missing: empty, NA, NaN, null, ...


def read_table(path: str | Path) -> pd.DataFrame:
    """The rows of a CSV, TSV, Parquet, Feather or JSON-lines file.

    In text files an empty entry, ``NA``, ``NaN``, ``null`` and ``?`` are missing, and blanks after a separator do not
    count. A CSV or TSV file may be compressed (``.csv.gz``).
    """
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
    frame.columns = [str(name) for name in frame.columns]
    _refuse_twice(frame.columns, path)
    if frame.empty:
        raise DataError(f"The file {str(path)!r} has no rows.")
    return frame.reset_index(drop=True)


def _refuse_twice(names: Any, path: Path) -> None:
    twice = sorted(set(names[names.duplicated()]))
    if twice:
        raise DataError(f"The file {str(path)!r} has several columns called {listed(twice, limit=4)}.")


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write rows in the format of the suffix."""
    path = Path(path)
    writer = _format(path).write
    with whole_file(path) as partial:
        writer(frame, partial)


def check_writable_format(path: str | Path) -> None:
    """Refuse a suffix that cannot be written before any work is done."""
    _format(Path(path))


class _Format:
    """How one kind of file is read and written."""

    def __init__(
        self, name: str, read: Callable[[Path], pd.DataFrame], write: Callable[[pd.DataFrame, Path], Any]
    ) -> None:
        self.name, self.read, self.write = name, read, write


def _text(separator: str) -> _Format:
    def read(path: Path) -> pd.DataFrame:
        import pandas as pd

        options: dict[str, Any] = {
            "sep": separator,
            "na_values": MISSING,
            "skipinitialspace": True,
            "encoding": "utf-8-sig",
        }
        header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0]
        _refuse_twice(header.dropna().str.strip(), path)  # pandas itself would rename the second
        # A row longer than the header would otherwise shift its first entries into an index.
        frame: pd.DataFrame = pd.read_csv(path, low_memory=False, index_col=False, **options)
        return frame

    def write(frame: pd.DataFrame, path: Path) -> None:
        frame.to_csv(path, sep=separator, index=False, compression=None)

    return _Format("CSV" if separator == "," else "TSV", read, write)


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
    **dict.fromkeys([".csv", ".csv.gz"], _text(",")),
    **dict.fromkeys([".tsv", ".tsv.gz", ".tab"], _text("\t")),
    **dict.fromkeys([".parquet", ".pq"], _arrow("Parquet", "parquet")),
    **dict.fromkeys([".feather", ".arrow"], _arrow("Feather", "feather")),
    **dict.fromkeys([".jsonl", ".ndjson"], _json_lines()),
}


def _format(path: Path) -> _Format:
    name = path.name.lower()
    for suffix, found in _FORMATS.items():
        if name.endswith(suffix):
            return found
    raise bad_argument("FILE", f"is {path.name!r}", f"a name that ends in one of {', '.join(_FORMATS)}")
