"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fermi.errors import DataError, bad_argument


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to, which takes its place when all is written, and goes when something fails."""
    _check_parent(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix="".join(path.suffixes))
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o666 & ~_umask())  # mkstemp's files are for their owner alone
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, mark: str) -> Iterator[Path]:
    """A folder to write to, which takes the place of `path` when all is written.

    What is replaced must be empty or hold the file `mark`, which says that this command wrote it.
    """
    if path.exists() and not (path.is_dir() and (not any(path.iterdir()) or (path / mark).is_file())):
        raise bad_argument("--output", f"is {str(path)!r}, which holds other things", "a new or an empty folder")
    _check_parent(path)
    partial = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    try:
        yield partial
        partial.chmod(0o777 & ~_umask())
        if path.exists():
            shutil.rmtree(path)
        partial.replace(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _check_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"The folder {str(path.parent)!r} cannot be made: {error.strerror}.") from error
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise DataError(f"Nothing can be written into the folder {str(path.parent.resolve())!r}.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
