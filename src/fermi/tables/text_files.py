"""Text files as offices export them: packed or not, in the encoding and with the separator that they have."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from fermi.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

_HEAD = 1 << 16
LINES = 50  # that are looked at for a title above the header
_SEPARATORS = (",", ";", "\t", "|")
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_OLDER = ("cp1252", "latin-1")  # what is no UTF-8; the second takes any bytes
_SAMPLE = 1000
_DECIMAL = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_PLAIN = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+)")
PACKED = (".gz", ".bz2", ".zip", ".zst")


class Layout(NamedTuple):
    """How the text of a file is to be read; `titles` are the lines above the header."""

    encodings: tuple[str, ...]
    separator: str
    titles: int = 0


def opened(path: Path) -> IO[bytes]:
    """Open a file as bytes, unpacked by its suffix; an archive must hold one file."""
    match path.suffix.lower():
        case ".gz":
            return cast(IO[bytes], gzip.open(path))
        case ".bz2":
            return bz2.open(path)
        case ".zip":
            archive = zipfile.ZipFile(path)
            names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
            if len(names) != 1:
                raise DataError(f"The file {str(path)!r} holds {len(names)} files; expected one: unpack it first.")
            return archive.open(names[0])
        case ".zst":
            import pyarrow as pa

            return io.BytesIO(pa.input_stream(str(path), compression="zstd").read())
        case _:
            return path.open("rb")


def layout(file: IO[bytes], separator: str) -> Layout:
    """Look at the beginning of a file: its encoding, the lines above its header, and the separator of that.

    Parameters
    ----------
    file : binary file
        At its beginning.
    separator : str
        What its suffix stands for, which is taken where the header does not tell otherwise.
    """
    head = file.read(_HEAD)
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked is None and b"\0" in head[:200]:  # letters of two bytes without a mark
        marked = "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    encodings = (marked,) if marked is not None else ("utf-8", *_OLDER)
    text = head.decode(encodings[0] if marked else "latin-1", errors="replace")
    lines = re.sub(r'"[^"]*"', "x", text.lstrip("\ufeff")).split("\n")  # line breaks that are quoted end no line
    lines = lines[: min(LINES, max(len(lines) - 1, 1))]  # the last may be cut short
    titles = titles_above([max(_filled(line, each) for each in _SEPARATORS) for line in lines])
    header = next((line for line in lines[titles:] if line.strip()), "")
    counts = {each: header.count(each) for each in _SEPARATORS}
    best = max(_SEPARATORS, key=lambda each: counts[each])
    return Layout(encodings, separator if counts[separator] >= counts[best] else best, titles)


def _filled(line: str, separator: str) -> int:
    """How many entries of a line are not empty."""
    return sum(bool(entry.strip()) for entry in line.split(separator))


def titles_above(filled: list[int]) -> int:
    """How many lines stand above the header, by how many entries of each are not empty: a title has one or two.

    Examples
    --------
    >>> titles_above([1, 0, 8, 8, 7]), titles_above([8, 8, 7]), titles_above([2, 3, 3])
    (2, 0, 0)
    """
    rest = sorted(count for count in filled[1:] if count)
    typical = rest[len(rest) // 2] if rest else 0
    most = min(2, typical // 3)
    if typical < 3 or filled[0] > most:
        return 0
    return next(j for j, count in enumerate(filled) if count > most)


def with_decimal_points(column: pd.Series[Any], separator: str) -> pd.Series[Any]:
    """Write "1.748,89" as "1748.89" in a column of text where nearly all entries are numbers with a decimal comma.

    In a file of commas "1,234" is a thousand and more, or it is not: such a column stays as it is.
    """
    sample = column.dropna().head(_SAMPLE)
    commas = sample[sample.str.contains(",", regex=False)]
    if commas.empty or not commas.map(lambda word: bool(_DECIMAL.fullmatch(word))).mean() > 0.9:
        return column
    if separator == "," and commas.map(lambda word: bool(_GROUPED.fullmatch(word))).all():
        return column
    rest = sample[~sample.str.contains(",", regex=False)]
    if len(rest) and rest.map(lambda word: bool(_PLAIN.fullmatch(word))).mean() <= 0.9:
        return column

    def point(word: Any) -> Any:
        if isinstance(word, str) and (_DECIMAL.fullmatch(word) or _PLAIN.fullmatch(word)):
            return word.replace(".", "").replace(",", ".")
        return word

    return column.map(point)
