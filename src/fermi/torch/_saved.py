"""The state of a network in training on disk, so that an interrupted fit can go on."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import Any

import torch

from fermi.errors import FermiError
from fermi.fitting.checkpoint import MarkedFile, plain

_PARTS = ("epoch", "step", "waited", "shares", "best", "best_states", "history")


class SavedRun(MarkedFile):
    """The file that keeps the state of a network in training."""

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
        content = io.BytesIO()
        torch.save(state, content)
        self._write(content.getvalue())

    def load_into(self, run: Any) -> None:
        """Go on where the file was written, if there is one."""

        def parse(file: io.BytesIO) -> tuple[str, dict[str, Any]]:
            state = torch.load(file, map_location=run.own.device, weights_only=True)
            return state["mark"], state

        state = self._read(parse)
        if state is None:
            return
        try:
            _restore(run, state)
        except FermiError:
            raise
        except Exception:  # of a module, an optimizer or a generator that is given something else
            raise self.damaged() from None


def _restore(run: Any, state: dict[str, Any]) -> None:
    """Put a state into a run; `ValueError` where it is that of another."""
    shapes = run.shares.shape
    run.load(state["states"])
    _check_options(run.optimizer.state_dict()["param_groups"], state["optimizer"]["param_groups"])
    run.optimizer.load_state_dict(state["optimizer"])
    for name in _PARTS:
        setattr(run, name, state[name])
    whole = all(type(count) is int and count >= 0 for count in (run.epoch, run.step, run.waited))
    if not whole or not 0 < run.epoch <= run.own.max_epochs or run.step != run.epoch * run.per_epoch:
        raise ValueError("passes that cannot be")
    numbers = all(type(entry) in (int, float) for record in run.history for entry in record.values())
    if type(run.best) is not float or math.isnan(run.best) or not numbers or len(run.history) != run.epoch:
        raise ValueError("a history that cannot be")
    finite = all(bool(torch.isfinite(part).all()) for part in _tensors(state) if part.is_floating_point())
    if run.shares.shape != shapes or not finite:
        raise ValueError("arrays that cannot be")
    for parameter, kept in run.optimizer.state.items():
        if any(part.numel() > 1 and part.shape != parameter.shape for part in _tensors(kept)):
            raise ValueError("an optimizer of another module")
    if run.best_states is not None:  # as the best states will be, at the end
        own = run.states()
        for mine, best in zip(own, run.best_states, strict=True):
            if {k: v.shape for k, v in mine.items()} != {k: v.shape for k, v in best.items()}:
                raise ValueError("the best states of another module")
    run.rng.bit_generator.state = json.loads(state["order"])
    run.began -= run.history[-1]["seconds"]
    torch.set_rng_state(state["random"].cpu())


def _check_options(own: list[dict[str, Any]], saved: list[dict[str, Any]]) -> None:
    """Refuse options of an optimizer that are of another type than its own: it would use them as they are."""
    for mine, other in zip(own, saved, strict=True):
        if set(mine) != set(other) or any(not _alike(mine[name], other[name]) for name in mine):
            raise ValueError("the options of another optimizer")


def _alike(mine: Any, other: Any) -> bool:
    if type(mine) in (int, float):
        return type(other) in (int, float) and 0.0 <= other < float("inf")
    if isinstance(mine, tuple | list):
        return len(mine) == len(other) and all(_alike(a, b) for a, b in zip(mine, other, strict=True))
    return type(mine) is type(other)


def _tensors(part: Any) -> Iterator[torch.Tensor]:
    """All tensors in dicts and lists."""
    if isinstance(part, torch.Tensor):
        yield part
    elif isinstance(part, dict | list | tuple):
        for one in part.values() if isinstance(part, dict) else part:
            yield from _tensors(one)
