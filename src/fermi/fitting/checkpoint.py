"""The state of a long fit on disk, so that an interrupted one can go on."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from fermi._files import whole_file
from fermi._typing import Floats
from fermi.errors import FermiError

T = TypeVar("T")


class MarkedFile:
    """One file for one fit. `mark` tells fits apart: a file of another fit is refused, not used."""

    damage: ClassVar[tuple[type[Exception], ...]]  # what reading a file of another kind raises

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark

    def remove(self) -> None:
        """Remove the file when the fit is done."""
        self.path.unlink(missing_ok=True)

    def _write(self, dump: Callable[[IO[bytes]], object]) -> None:
        """Write the file, which appears whole or not at all."""
        with whole_file(self.path) as partial, partial.open("wb") as file:
            dump(file)

    def _read(self, parse: Callable[[Path], tuple[str, T]]) -> T | None:
        """Read what the file holds next to its mark, if there is a file."""
        if not self.path.exists():
            return None
        try:
            mark, content = parse(self.path)
        except self.damage:
            raise FermiError(f"`checkpoint` {str(self.path)!r} is no checkpoint, or damaged: delete it.") from None
        if mark != self.mark:
            raise FermiError(
                f"`checkpoint` {str(self.path)!r} belongs to a fit with other data or options: delete it, or choose "
                "another file."
            )
        return content


class Saved(NamedTuple):
    """A saved state of a fit: θ and W after some passes, and the state of the random numbers there."""

    theta: Floats
    duals: tuple[Floats, ...]
    passes: int
    random: dict[str, Any]


class Checkpoint(MarkedFile):
    """The file that keeps the state of a linear model in training."""

    damage = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)

    def save(self, theta: Floats, duals: tuple[Floats, ...], passes: int, rng: np.random.Generator) -> None:
        """Write the state of a fit."""
        note = {"mark": self.mark, "passes": passes, "random": rng.bit_generator.state}
        arrays: dict[str, Any] = {f"dual{t}": W for t, W in enumerate(duals)}
        arrays |= {"theta": theta, "note": np.array(json.dumps(note, default=plain))}
        self._write(lambda file: np.savez(file, **arrays))

    def load(self) -> Saved | None:
        """Read the state of a fit, if there is one."""
        return self._read(_parsed)


def _parsed(path: Path) -> tuple[str, Saved]:
    # Numpy itself leaves a file open that it cannot read.
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        note = json.loads(str(file["note"]))
        duals = tuple(file[f"dual{t}"] for t in range(len(file.files) - 2))
        return note["mark"], Saved(file["theta"], duals, note["passes"], note["random"])


def fingerprint(*parts: Any) -> str:
    """A digest of arrays and of anything with a telling repr."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """Turn an array into lists, as JSON has them."""
    return value.tolist()
