"""Arrays in an npz file, one at a time, each judged by its header first: what nobody asks for costs nothing."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_KINDS = {"f": "numbers", "iu": "whole numbers"}


class Archive:
    """The arrays of an npz file. `ValueError` says what is wrong with one that is not as it should be."""

    def __init__(self, file: zipfile.ZipFile, prefix: str = "") -> None:
        self._file, self._prefix = file, prefix

    @classmethod
    @contextmanager
    def open(cls, source: Path | IO[bytes]) -> Iterator[Archive]:
        """Open a file; anything else under that name is refused, since reading a pipe would wait for ever."""
        if isinstance(source, Path) and not source.is_file():
            raise ValueError(f"{source.name} is missing, or no file")
        with zipfile.ZipFile(source) as file:
            yield cls(file)

    @property
    def names(self) -> list[str]:
        """The names of all arrays."""
        every = (name.removesuffix(".npy") for name in self._file.namelist())
        return [name.removeprefix(self._prefix) for name in every if name.startswith(self._prefix)]

    def under(self, prefix: str) -> Archive:
        """The arrays whose names begin so, by what follows."""
        return Archive(self._file, self._prefix + prefix)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array that is not read."""
        with self._file.open(self._entry(name)) as file:
            return _HEADERS[np.lib.format.read_magic(file)](file)[0]

    def numbers(self, name: str, shape: tuple[int, ...], kinds: str = "f") -> NDArray[Any]:
        """Read an array of finite numbers of one shape and of a NumPy kind."""
        found = self.read(name, kinds, shape)
        if not np.isfinite(found).all():
            raise ValueError(f"the array {name} holds what is no number")
        return found

    def read(self, name: str, kinds: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
        """Read an array whose dtype is of one of the NumPy kinds, and of one shape if that is known."""
        entry = self._entry(name)
        with self._file.open(entry) as file:
            found, by_columns, dtype = _HEADERS[np.lib.format.read_magic(file)](file)
            if dtype.kind not in kinds:
                raise ValueError(f"the array {name} is of {dtype} instead of {_KINDS.get(kinds, kinds)}")
            if shape is not None and found != shape:
                raise ValueError(f"the array {name} has the shape {found} instead of {shape}")
            size = math.prod(found) * dtype.itemsize
            if min(found, default=0) < 0 or file.tell() + size != entry.file_size:
                raise ValueError(f"the array {name} has another size than it says")
            data = file.read(size) + file.read()  # its end is where the checksum is looked at
        flat = np.frombuffer(data, dtype=dtype).astype(dtype.newbyteorder("="))
        return flat.reshape(found, order="F" if by_columns else "C")

    def _entry(self, name: str) -> zipfile.ZipInfo:
        if name not in self.names:
            raise ValueError(f"the array {name} is missing")
        return self._file.getinfo(f"{self._prefix}{name}.npy")
