"""What happens between the records of a solver: the state is saved, and held-out rows say when to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.fitting.checkpoint import Checkpoint, Saved
from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective
from fermi.fitting.problem import Problem
from fermi.linear.design import Design
from fermi.linear.solvers.contract import Solution

_PATIENCE = 4  # records without a better objective on the rows held out


class Overseer:
    """A `Watch` that saves to a checkpoint and judges each θ on held-out rows; either may be None.

    Beside the solver's state a checkpoint holds that of the random numbers, the history and what was best so far.
    """

    def __init__(
        self,
        design: Design,
        file: Checkpoint | None,
        rng: np.random.Generator,
        held_out: Problem | None,
        lam: float,
        history: list[Record],
    ) -> None:
        self.design, self.file, self.rng, self.history = design, file, rng, history
        self.objective = None if held_out is None else held_out.objective(lam)
        self.rows = None if held_out is None else replace(design, X=held_out.X)
        self.best, self.waited = np.inf, 0
        self.theta = np.zeros(design.shape)
        self.duals: tuple[Floats, ...] = ()

    @property
    def passes_per_record(self) -> int:
        """The passes between two records: rows held out can only stop what they see."""
        return 10 if self.objective is None else 1

    @property
    def saves(self) -> bool:
        """Whether there is a checkpoint."""
        return self.file is not None

    def save(self, state: Mapping[str, Any]) -> None:
        """Write the checkpoint, if there is one."""
        if self.file is None:
            return
        best: dict[str, Any] = {}
        if np.isfinite(self.best):
            best = {"best_theta": self.theta, "best": self.best, "waited": self.waited, "best_duals": len(self.duals)}
            best |= {f"best_dual{t}": W for t, W in enumerate(self.duals)}
        around = {"random": self.rng.bit_generator.state, "history": self.history}
        self.file.save({**state, **best, **around})

    def resume(self, saved: Saved, shapes: list[tuple[int, ...]]) -> None:
        """Go back to where a checkpoint was written; `shapes` are those of W in each term."""
        saved.continue_random("random", self.rng)
        self.history[:] = saved.history("history")
        if self.objective is not None and "best" in saved:
            self.best, self.waited = saved.number("best", -np.inf), saved.whole("waited", 0, _PATIENCE)
            self.theta = saved.array("best_theta", self.theta.shape)
            kept = saved.whole("best_duals", 0, len(shapes))  # an exact solver has no W of its own
            self.duals = tuple(saved.array(f"best_dual{t}", shape) for t, shape in enumerate(shapes[:kept]))

    def __call__(self, theta: Floats, duals: tuple[Floats, ...]) -> bool:
        """Whether to stop at this record."""
        if self.objective is None or self.rows is None:
            return False
        value = self.objective.evaluate(self.rows.logits(theta)).objective
        self.waited = 0 if value < self.best else self.waited + 1
        if self.waited == 0:
            self.best, self.theta, self.duals = value, theta.copy(), duals
        return self.waited >= _PATIENCE

    def choose(self, solution: Solution, objective: FairObjective) -> Solution:
        """The solution, or the θ that was best on the rows held out, if there are any."""
        if not np.isfinite(self.best):
            return solution
        duals = self.duals or objective.optimal_duals(self.design.logits(self.theta))
        converged = solution.converged or self.waited >= _PATIENCE
        return solution._replace(theta=self.theta, duals=duals, converged=converged)
