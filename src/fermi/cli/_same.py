"""Files that must not be written over, since they are being read."""

from __future__ import annotations

from pathlib import Path

from fermi.errors import FermiError


def refuse_same_file(output: str | Path, file: str | Path, option: str = "--output") -> None:
    """Refuse to write onto the file that is read: what went wrong could not be done again."""
    written, read = Path(output), Path(file)
    if written.exists() and read.exists() and written.samefile(read):
        raise FermiError(f"{option} is {str(output)!r}, the file that is read: give it another name.")
