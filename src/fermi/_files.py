"""Files and folders that appear whole or not at all, and the folder for what can be made again."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fermi.errors import DataError

_unfinished: set[Path] = set()
_SHORT, _LONG = 20, 200  # letters that are kept of a name: in a temporary one, in a message


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to beside `path`: it takes the place of `path` when all is written, and goes on failure.

    Its name cannot be guessed, so that nobody can put a link in its place. A full disk, a folder that cannot be
    written and a name that cannot be one are a `DataError`.
    """
    try:
        with _partial_file(path) as partial:
            yield partial
    except OSError as error:
        raise DataError(f"{shown(path)} cannot be written: {error.strerror or error}.") from error


@contextmanager
def _partial_file(path: Path) -> Iterator[Path]:
    if "\0" in str(path):
        raise DataError(f"{shown(path)} cannot be written: no name holds a NUL.")
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder, not the name of a file.")
    near = _nearest_folder(path)
    ending = "".join(path.suffixes)[-_SHORT:]
    handle, name = tempfile.mkstemp(dir=near, prefix=f".{path.stem[:_SHORT]}-", suffix=ending)
    os.close(handle)
    partial = Path(name)
    _unfinished.add(partial)
    try:
        yield partial
        partial.chmod(0o666 & ~_umask())  # mkstemp's files are for their owner alone
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
        _unfinished.discard(partial)


def shown(path: Path) -> str:
    """A path for a message, cut short."""
    text = str(path)
    return repr(text if len(text) <= _LONG else f"{text[:_LONG]}...")


@contextmanager
def whole_folder(path: Path, names: Collection[str]) -> Iterator[Path]:
    """Give a folder to write the files `names` to: it takes the place of `path` when all is written.

    What is replaced must be empty or hold these very files and nothing else: all of it was written like this before.
    """
    path = path.resolve()
    present = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    if path.exists() and (not path.is_dir() or (present and present != set(names))):
        what = "is a file" if path.is_file() else "holds other things"
        raise DataError(f"The folder {str(path)!r} {what}; expected a new or an empty folder.")
    near = _nearest_folder(path)
    partial = Path(tempfile.mkdtemp(dir=near, prefix=f".{path.name}-"))
    before = partial.with_name(f"{partial.name}-before")
    _unfinished.add(partial)
    try:
        yield partial
        partial.chmod(0o777 & ~_umask())
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.replace(before)
        partial.replace(path)
    except BaseException:
        if before.exists() and not path.exists():
            before.replace(path)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        _unfinished.discard(partial)
        if path.exists():
            shutil.rmtree(before, ignore_errors=True)


def discard_unfinished() -> None:
    """Remove what is being written, for a process that is about to end without coming back to it."""
    for partial in list(_unfinished):
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _nearest_folder(path: Path) -> Path:
    """The nearest folder above `path` that exists; refused if no file can be written there."""
    near = next((parent for parent in path.absolute().parents if parent.exists()), Path("/"))
    if not near.is_dir():
        raise DataError(f"{str(path)!r} cannot be written: {str(near)!r} is no folder.")
    if not os.access(near, os.W_OK | os.X_OK):
        raise DataError(f"Nothing can be written into the folder {str(near)!r}.")
    return near


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def cache_folder() -> str:
    """The folder in which fermi keeps downloads, by the custom of the system; ``~`` is the user's home."""
    if sys.platform == "win32":
        return f"{os.environ.get('LOCALAPPDATA', '~')}/fermi"
    if sys.platform == "darwin":
        return "~/Library/Caches/fermi"
    return f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/fermi"
