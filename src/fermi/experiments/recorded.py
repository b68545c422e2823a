"""The records of a figure's training runs in one small file beside its page, from which the page can be made again."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from pathlib import Path

from fermi._files import whole_file
from fermi.errors import FermiError
from fermi.experiments.figure import CellRecord

RECORDS = "records.jsonl.xz"


def keep(folder: Path, runs: Mapping[str, list[CellRecord]]) -> None:
    """Write the records of training runs, a line for each run, compressed."""
    lines = (json.dumps({"key": key, "records": records}) + "\n" for key, records in runs.items())
    with whole_file(folder / RECORDS) as partial:
        partial.write_bytes(lzma.compress("".join(lines).encode(), preset=6))


def kept(folder: Path) -> dict[str, list[CellRecord]]:
    """Read the records of training runs, by the keys of their cells.

    Raises
    ------
    FermiError
        Where there are none, or they are not as they were written.
    """
    path = folder / RECORDS
    try:
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        entries = [json.loads(line) for line in lines]
        return {entry["key"]: entry["records"] for entry in entries}
    except OSError as error:
        raise FermiError(f"{path} cannot be read ({error.strerror}): no records to judge from") from None
    except (EOFError, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise FermiError(f"{path} is damaged or no file of records ({error})") from None
