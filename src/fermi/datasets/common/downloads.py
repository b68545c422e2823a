"""Raw files of the data sets: found in a folder, or downloaded whole and verified."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tempfile
import urllib.request
import zlib
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from pathlib import Path
from typing import IO
from urllib.error import HTTPError

from fermi._files import cache_folder
from fermi.errors import DataError

_TIMEOUT = 30.0  # seconds without a byte


@dataclass(frozen=True)
class RemoteFile:
    """A file as its publisher ships it; `path` is where it lies below the data folder.

    `sha256` is that of the contents: a ``.gz`` packed by another program holds the same data. It is None where it is
    not known; the address then names a commit, which cannot change.
    """

    path: str
    url: str
    sha256: str | None

    def locate(self, data_home: str | Path | None = None) -> Path:
        """The path of the verified file on disk, downloaded if it is not there."""
        target = home(data_home) / self.path
        try:
            digest = _digest(target, packed=target.suffix == ".gz")
        except FileNotFoundError:
            self._download(target)
            return target
        except (OSError, ValueError) as error:
            raise DataError(f"Could not read {target} ({getattr(error, 'strerror', error)}).") from error
        if self.sha256 is not None and digest != self.sha256:
            raise DataError(
                f"{target} is not the file that {self.url} ships (its SHA-256 differs): "
                "move it away to have it downloaded again."
            )
        return target

    def is_present(self, data_home: str | Path | None = None) -> bool:
        """Whether the file is on disk, whatever it holds."""
        return os.path.isfile(home(data_home) / self.path)  # noqa: PTH113 - Path.is_file raises on a folder it may not read

    def _download(self, target: Path) -> None:
        """Fetch into a temporary file beside the target, verify, and move it into place in one step."""
        advice = f"put the file at {target}, or set FERMI_DATA to a folder that holds {self.path}"
        part: Path | None = None
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=target.parent, prefix=target.name + ".", delete=False) as out:
                part = Path(out.name)
                with urllib.request.urlopen(self.url, timeout=_TIMEOUT) as response:
                    _copy(response, out, target.name)
            if self.sha256 is not None and _digest(part, packed=target.suffix == ".gz") != self.sha256:
                raise DataError(f"{self.url} did not send the expected file (its SHA-256 differs): {advice}.")
            part.chmod(0o644)
            part.replace(target)
        except (OSError, HTTPException) as error:  # urllib's own errors are OSErrors
            if isinstance(error, HTTPError):
                error.close()  # it holds the connection open
            raise DataError(f"Could not download {self.url} ({error}): {advice}.") from error
        finally:
            if part is not None:
                part.unlink(missing_ok=True)


def home(data_home: str | Path | None = None) -> Path:
    """The data folder: the argument, else ``$FERMI_DATA``, else a folder in the user's cache."""
    chosen = data_home or os.environ.get("FERMI_DATA") or cache_folder()
    try:
        folder = Path(chosen).expanduser()
        wrong = folder.exists() and not folder.is_dir()
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise DataError(f"The data folder {str(chosen)!r} cannot be used ({error}).") from error
    if wrong:
        raise DataError(f"The data folder {folder} is not a folder: set FERMI_DATA or `data_home` to one.")
    return folder


def _copy(response: HTTPResponse, out: IO[bytes], name: str) -> None:
    """Copy a download to disk, with a progress bar on a terminal and silence elsewhere."""
    from rich.console import Console
    from rich.progress import wrap_file

    console = Console(stderr=True)
    if console.is_terminal:
        size = int(response.headers["Content-Length"] or 0)
        with wrap_file(response, size, description=name, console=console) as shown:
            shutil.copyfileobj(shown, out)
    else:
        shutil.copyfileobj(response, out)
    if response.length:  # bytes that were announced and did not come
        raise IncompleteRead(b"", response.length)


def _digest(path: Path, *, packed: bool) -> str:
    """The SHA-256 of a file's contents, unpacked if they are `packed`; "damaged" if that fails."""
    with path.open("rb") as file:
        if not packed:
            return hashlib.file_digest(file, "sha256").hexdigest()
        try:
            with gzip.open(file) as unpacked:
                return hashlib.file_digest(unpacked, "sha256").hexdigest()
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return "damaged"
