"""The state of a network in training on disk, so that an interrupted fit can go on."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import torch

from fermi.checkpoint import plain
from fermi.errors import FermiError


class SavedRun:
    """One file for one fit. `mark` tells fits apart: a file of another fit is refused, not used."""

    def __init__(self, path: Path, mark: str) -> None:
        self.path, self.mark = path, mark

    def save(self, run: Any) -> None:
        """Write the state after an epoch; the file appears whole or not at all."""
        state = {
            "mark": self.mark,
            "states": run.states(),
            "optimizer": run.optimizer.state_dict(),
            "epoch": run.epoch,
            "step": run.step,
            "waited": run.waited,
            "shares": run.shares,
            "best": float(run.best),
            "best_states": run.best_states,
            "history": run.history,
            "order": json.dumps(run.rng.bit_generator.state, default=plain),
            "random": torch.get_rng_state(),
        }
        partial = self.path.with_name(self.path.name + ".part")
        torch.save(state, partial)
        partial.replace(self.path)

    def load_into(self, run: Any) -> None:
        """Go on where the file was written, if there is one."""
        if not self.path.exists():
            return
        try:
            state = torch.load(self.path, map_location=run.own.device, weights_only=True)
            mark = state["mark"]
        except (pickle.UnpicklingError, RuntimeError, EOFError, KeyError, TypeError):
            raise FermiError(f"`checkpoint` {str(self.path)!r} is no checkpoint, or damaged: delete it.") from None
        if mark != self.mark:
            raise FermiError(
                f"`checkpoint` {str(self.path)!r} belongs to a fit with other data or options: delete it, or choose "
                "another file."
            )
        run.load(state["states"])
        run.optimizer.load_state_dict(state["optimizer"])
        for name in ("epoch", "step", "waited", "shares", "best", "best_states", "history"):
            setattr(run, name, state[name])
        run.rng.bit_generator.state = json.loads(state["order"])
        run.began -= run.history[-1]["seconds"]
        torch.set_rng_state(state["random"].cpu())

    def remove(self) -> None:
        """The fit is done."""
        self.path.unlink(missing_ok=True)
