"""The state of a long fit on disk, so that an interrupted one can go on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fermi._kernels import Floats
from fermi.errors import FermiError


class Saved(NamedTuple):
    """θ and W after some passes, and the state of the random numbers there."""

    theta: Floats
    duals: tuple[Floats, ...]
    passes: int
    random: dict[str, Any]


class Checkpoint:
    """One file for one fit. `mark` tells fits apart: a file of another fit is refused, not used."""

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark

    def save(self, theta: Floats, duals: tuple[Floats, ...], passes: int, rng: np.random.Generator) -> None:
        """Write the state; the file appears whole or not at all."""
        note = {"mark": self.mark, "passes": passes, "random": rng.bit_generator.state}
        arrays: dict[str, Any] = {f"dual{t}": W for t, W in enumerate(duals)}
        partial = self.path.with_name(self.path.name + ".part")
        with partial.open("wb") as file:
            np.savez(file, theta=theta, note=np.array(json.dumps(note, default=plain)), **arrays)
        partial.replace(self.path)

    def load(self) -> Saved | None:
        """The state, if there is one."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                note = json.loads(str(file["note"]))
                duals = tuple(file[f"dual{t}"] for t in range(len(file.files) - 2))
                theta = file["theta"]
        except (OSError, ValueError, KeyError):
            raise FermiError(f"`checkpoint` {str(self.path)!r} is no checkpoint, or damaged: delete it.") from None
        if note["mark"] != self.mark:
            raise FermiError(
                f"`checkpoint` {str(self.path)!r} belongs to a fit with other data or options: delete it, or choose "
                "another file."
            )
        return Saved(theta, duals, note["passes"], note["random"])

    def remove(self) -> None:
        """The fit is done."""
        self.path.unlink(missing_ok=True)


def fingerprint(*parts: Any) -> str:
    """A digest of arrays and of anything with a telling repr."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """An array as JSON has it."""
    return value.tolist()
