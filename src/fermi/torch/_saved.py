"""The state of a network in training on disk, so that an interrupted fit can go on."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import torch

from fermi.fitting.checkpoint import MarkedFile, plain


class SavedRun(MarkedFile):
    """The file that keeps the state of a network in training."""

    damage = (pickle.UnpicklingError, RuntimeError, EOFError, KeyError, TypeError)

    def save(self, run: Any) -> None:
        """Write the state of a run after an epoch."""
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
        self._write(lambda file: torch.save(state, file))

    def load_into(self, run: Any) -> None:
        """Go on where the file was written, if there is one."""

        def parse(path: Path) -> tuple[str, dict[str, Any]]:
            state = torch.load(path, map_location=run.own.device, weights_only=True)
            return state["mark"], state

        state = self._read(parse)
        if state is None:
            return
        run.load(state["states"])
        run.optimizer.load_state_dict(state["optimizer"])
        for name in ("epoch", "step", "waited", "shares", "best", "best_states", "history"):
            setattr(run, name, state[name])
        run.rng.bit_generator.state = json.loads(state["order"])
        run.began -= run.history[-1]["seconds"]
        torch.set_rng_state(state["random"].cpu())
