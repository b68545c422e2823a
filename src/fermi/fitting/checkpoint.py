"""The state of a long fit on disk, so that an interrupted one can go on exactly as if it had not been interrupted.

A file ends with the SHA-256 of what comes before, so that one that was cut short or has changed on its disk is refused.
That does not tell who wrote it: what the file holds is checked again wherever it is used.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fermi._archive import Archive
from fermi._files import whole_file
from fermi._typing import Floats
from fermi.errors import FermiError
from fermi.fitting.contract import Record
from fermi.fitting.problem import Problem, take_rows

T = TypeVar("T")

_SEAL = b"\nfermi checkpoint, sha256 "
_LARGEST = 1e308
_DIGEST = 64  # letters
_ROWS = 65_536  # of X at once: X may be larger than memory


class DamagedError(FermiError):
    """A checkpoint that is none, was cut short, or has changed since it was written."""


class MarkedFile:
    """One file for one fit. `mark` tells fits apart: a file of another fit is refused, not used."""

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark

    def remove(self) -> None:
        """Remove the file when the fit is done."""
        self.path.unlink(missing_ok=True)

    def damaged(self) -> FermiError:
        """The error for a file that is not what it should be."""
        return DamagedError(f"`checkpoint` {str(self.path)!r} is no checkpoint, or damaged: delete it.")

    def _write(self, content: bytes) -> None:
        """Write the file, which appears whole or not at all."""
        with whole_file(self.path) as partial:
            partial.write_bytes(content + _SEAL + hashlib.sha256(content).hexdigest().encode())

    def _read(self, parse: Callable[[io.BytesIO], tuple[str, T]]) -> T | None:
        """Read what the file holds next to its mark, if there is a file."""
        if not self.path.exists():
            return None
        try:
            mark, content = parse(io.BytesIO(self._sealed()))
        except Exception:  # what a library raises over a file that somebody changed is not known beforehand
            raise self.damaged() from None
        if mark != self.mark:
            raise FermiError(
                f"`checkpoint` {str(self.path)!r} belongs to a fit with other data or options: delete it, or choose "
                "another file."
            )
        return content

    def _sealed(self) -> bytes:
        """The content of the file, which must be as it was written."""
        if not self.path.is_file():
            raise self.damaged()  # a pipe, say, which would be read for ever
        with self.path.open("rb") as file:
            length = file.seek(0, io.SEEK_END) - len(_SEAL) - _DIGEST
            file.seek(max(length, 0))
            seal = file.read()
            if not seal.startswith(_SEAL):
                raise self.damaged()
            file.seek(0)
            content = file.read(length)
        if hashlib.sha256(content).hexdigest().encode() != seal.removeprefix(_SEAL):
            raise self.damaged()
        return content


class Saved:
    """What a checkpoint holds, each part checked when it is taken: a part of another kind or size is refused."""

    def __init__(self, arrays: Mapping[str, Any], facts: Mapping[str, Any], error: FermiError) -> None:
        self._arrays, self._facts, self._error = arrays, facts, error

    def __contains__(self, name: str) -> bool:
        return name in self._arrays or name in self._facts

    def array(self, name: str, shape: tuple[int, ...]) -> Floats:
        """An array of finite numbers."""
        found = self._arrays.get(name)
        if found is None or found.shape != shape or found.dtype != np.float64 or not np.isfinite(found).all():
            raise self._error
        return np.asarray(found)

    def number(self, name: str, low: float, high: float = math.inf) -> float:
        """A number within limits, both allowed."""
        found: Any = self._facts.get(name)
        if type(found) not in (int, float) or not low <= found <= min(high, _LARGEST):
            raise self._error
        return float(found)

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number within limits, both allowed."""
        if type(self._facts.get(name)) is not int:
            raise self._error
        return int(self.number(name, low, high))

    def record(self, name: str, keys: Iterable[str]) -> Record:
        """A record with these entries."""
        found: Any = self._facts.get(name)
        if not _is_record(found) or set(found) != set(keys):
            raise self._error
        return {key: found[key] for key in keys}

    def history(self, name: str) -> list[Record]:
        """Records, in the order made."""
        found = self._facts.get(name)
        if not isinstance(found, list) or not all(_is_record(entry) and "seconds" in entry for entry in found):
            raise self._error
        return found

    def document(self, name: str) -> dict[str, Any]:
        """What JSON calls an object; its parts are for the caller to check."""
        found = self._facts.get(name)
        if not isinstance(found, dict):
            raise self._error
        return found

    def damaged(self) -> FermiError:
        """The error for a part that is not what it should be."""
        return self._error

    def continue_random(self, name: str, rng: np.random.Generator) -> None:
        """Let random numbers go on from where they were."""
        try:
            rng.bit_generator.state = self._facts[name]
        except Exception:  # each bit generator has its own ways
            raise self._error from None


def _is_record(found: Any) -> bool:
    return isinstance(found, dict) and all(type(value) in (int, float) for value in found.values())


class Checkpoint(MarkedFile):
    """The file that keeps the state of a linear model in training: an npz file with its facts in the array `note`."""

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state of a fit: arrays, and facts that JSON can hold."""
        arrays = {name: part for name, part in state.items() if isinstance(part, np.ndarray)}
        facts = {name: part for name, part in state.items() if name not in arrays}
        note = json.dumps({"mark": self.mark, "facts": facts}, default=plain).encode()
        content = io.BytesIO()
        np.savez(content, note=np.frombuffer(note, dtype=np.uint8), **arrays)  # type: ignore[arg-type]
        self._write(content.getvalue())

    def load(self) -> Saved | None:
        """Read the state of a fit, if there is one."""
        return self._read(self._parsed)

    def _parsed(self, file: io.BytesIO) -> tuple[str, Saved]:
        with Archive.open(file) as archive:
            note = json.loads(archive.read("note", "u").tobytes())
            arrays = {name: archive.read(name, "f") for name in archive.names if name != "note"}
        return note["mark"], Saved(arrays, dict(note["facts"]), self.damaged())


class LastTwo:
    """Two checkpoints of one fit, the last and the one before it, which is used where the last is damaged.

    Parameters
    ----------
    path : Path
        The file of the last one; that of the one before ends in ``.before``.
    mark : str
        What tells this fit from others.
    """

    def __init__(self, path: Path, mark: str) -> None:
        self.last, self.before = Checkpoint(path, mark), Checkpoint(path.with_name(f"{path.name}.before"), mark)

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the state of a fit. At every moment one of the two files is whole.

        Parameters
        ----------
        state : mapping
            Arrays, and facts that JSON can hold.
        """
        if self.last.path.exists():
            self.last.path.replace(self.before.path)
        self.last.save(state)

    def load(self) -> Saved | None:
        """Read the last state that is whole, if there is one; warn where that is not the last one.

        Returns
        -------
        Saved or None
            What the file holds.
        """
        try:
            found = self.last.load()
        except DamagedError:
            if not self.before.path.exists():
                raise
            warnings.warn(
                f"`checkpoint` {str(self.last.path)!r} is no checkpoint, or damaged: the one before it, "
                f"{str(self.before.path)!r}, is used.",
                stacklevel=3,
            )
            found = None
        return self.before.load() if found is None else found

    def remove(self) -> None:
        """Remove both files when the fit is done."""
        self.last.remove()
        self.before.remove()


def fingerprint(*parts: Any) -> str:
    """A digest of arrays and of anything with a telling repr, and of what iterators give of them."""
    digest = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, Iterator):  # one after the other, since all together may be larger than memory
            for one in part:
                add(one)
        elif isinstance(part, np.ndarray) and part.dtype != object:
            digest.update(f"{part.dtype.str} {part.shape};".encode())
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:  # the address of an object means nothing
            digest.update(f"{part.tolist() if isinstance(part, np.ndarray) else part!r};".encode())

    add(iter(parts))
    return digest.hexdigest()


def parts_of(problem: Problem) -> Iterator[Any]:
    """Yield all that tells one problem from another: its rows in their order, and what is known of them."""
    yield problem.X.shape
    for first in range(0, len(problem.target), _ROWS):
        rows = take_rows(problem.X, slice(first, first + _ROWS))
        yield from (rows.data, rows.indices, rows.indptr) if hasattr(rows, "tocsr") else (np.asarray(rows),)
    yield from (problem.target, problem.weight, problem.class_weight, problem.conditions)
    yield from (attribute.codes for attribute in problem.attributes)
    if problem.condition_weights is not None:
        yield repr(problem.condition_weights.given)


def plain(value: Any) -> Any:
    """Turn an array into lists, as JSON has them."""
    return value.tolist()
