"""Checkpoints of a fit on a stream: what the first pass has learned, the state of the run, and a sample of the rows."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fermi.fitting.checkpoint import Checkpoint, DamagedError, LastTwo, Saved
from fermi.fitting.contract import Record
from fermi.stream._coding import Rows
from fermi.stream._learned import Learned, Model

RARELY = 20.0  # times what a checkpoint takes lies at least between two


class Saving:
    """Writes checkpoints, each with what the first pass has learned; not so often that it would be felt."""

    def __init__(self, path: Path, mark: str) -> None:
        self.file, self.sample = LastTwo(path, mark), Checkpoint(path.with_name(f"{path.name}.sample"), mark)
        self._due = 0.0

    def has_sample(self) -> bool:
        """Whether the sample of the first pass is there, as it was written."""
        try:
            return self.sample.load() is not None
        except DamagedError:
            return False

    def save_sample(self, rows: Rows) -> None:
        """Keep the sample of the first pass, which records of sgda are measured on."""
        parts = {name: np.asarray(part, dtype=np.float64) for name, part in rows._asdict().items()}
        self.sample.save({**parts, "rows": len(rows.target)})

    def load_sample(self, model: Model) -> Rows:
        """The sample of the first pass."""
        saved = self.sample.load()
        assert saved is not None, "asked before"
        empty = Rows.empty(saved.whole("rows", 1, 2**31), model.coding)
        shapes: dict[str, Any] = empty._asdict()
        return Rows(**{name: saved.array(name, part.shape).astype(part.dtype) for name, part in shapes.items()})

    def remove(self) -> None:
        """Remove all files when the fit is done."""
        self.file.remove()
        self.sample.remove()

    def load(self) -> Saved | None:
        """The last state that is whole."""
        return self.file.load()

    def save(self, learned: Learned, history: list[Record], state: dict[str, Any], *, always: bool = False) -> None:
        """Write the state, if it is time."""
        began = time.perf_counter()
        if always or began >= self._due:
            self.file.save({**state, "learned": asdict(learned), "history": history})
            ended = time.perf_counter()
            self._due = ended + RARELY * (ended - began)


def learned_in(saved: Saved) -> Learned:
    """What the first pass had learned when a checkpoint was written."""
    try:
        return Learned(**saved.document("learned"))
    except (TypeError, KeyError, ValueError) as error:
        raise saved.damaged() from error
