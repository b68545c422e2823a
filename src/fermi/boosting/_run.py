"""One training run: what a booster asks for in each round, and the record of what it was told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.boosting.custom_objective import BoostingObjective
from fermi.errors import DivergedError
from fermi.fitting.contract import Record
from fermi.fitting.history import parts
from fermi.fitting.objective import Value

_SMALLEST, _LARGEST = 1e-37, 1e37  # of a gradient, whose sums over rows must fit as well


class Run:
    """The objective of the rows trained on and of those held out, the number of rounds, and the history.

    The value of Φ after a round comes with the gradient of the next one, so that the history costs nothing.
    """

    def __init__(
        self,
        fair: BoostingObjective,
        judge: BoostingObjective | None,
        rounds: int,
        patience: int | None,
        report: Callable[[Record], None],
    ) -> None:
        self.fair, self.rounds, self.patience = fair, rounds, patience
        self.history: list[Record] = []
        self._judge, self._report = judge, report
        self._judged: list[float] = []
        self._began = time.perf_counter()

    def derivatives(self, scores: Any, factor: float) -> tuple[Floats, Floats]:
        """Gradient and Hessian of the objective for the next round."""
        value, gradient, hessian = self.fair.derivatives(scores, factor)
        self._record(value)
        largest = max(float(np.abs(gradient).max()), float(hessian.max()))
        vanished = len(self.history) == 1 and 0.0 < float(np.abs(gradient).max()) < _SMALLEST
        if not largest < _LARGEST or vanished:
            raise DivergedError(
                "The gradients do not fit into the single precision that boosters compute in: choose a smaller `lam`, "
                "or weights nearer to 1."
            )
        return gradient, hessian

    def judge(self, scores: Any) -> float:
        """The objective Φ of the rows held out, after a round."""
        assert self._judge is not None
        self._judged.append(self._judge.evaluate(scores).objective)
        return self._judged[-1]

    def last(self, scores: Any, made: int) -> float:
        """The objective Φ after the last round that was made: a library stops by itself when no split is left."""
        value = self.fair.evaluate(scores)
        self._record(value)
        del self.history[made + 1 :]
        for entry, judged in zip(self.history[1:], self._judged, strict=False):
            entry["held_out_objective"] = judged
        return value.objective

    def _record(self, value: Value) -> None:
        if not value.objective < float("inf"):
            raise DivergedError("Training diverged: choose a smaller `learning_rate` or a smaller `lam`.")
        passed = time.perf_counter() - self._began
        self.history.append({"step": len(self.history), "seconds": passed, **parts(value)})
        self._report(self.history[-1])
