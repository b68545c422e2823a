"""What happens between the records of a solver: the state is saved, and held-out rows say when to stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fermi._typing import Floats
from fermi.fitting.checkpoint import Checkpoint
from fermi.fitting.objective import FairObjective
from fermi.fitting.problem import Problem
from fermi.linear.design import Design
from fermi.linear.solvers.contract import Solution

_PATIENCE = 4  # records without a better objective on the rows held out


class Overseer:
    """A `Watch` that saves to a checkpoint and judges each θ on held-out rows; either may be None."""

    def __init__(
        self,
        design: Design,
        file: Checkpoint | None,
        rng: np.random.Generator,
        held_out: Problem | None,
        lam: float,
    ) -> None:
        self.design, self.file, self.rng = design, file, rng
        self.objective = None if held_out is None else held_out.objective(lam)
        self.rows = None if held_out is None else replace(design, X=held_out.X)
        self.best, self.waited = np.inf, 0
        self.theta = np.zeros(design.shape)
        self.duals: tuple[Floats, ...] = ()

    @property
    def passes_per_record(self) -> int:
        """The passes between two records: rows held out can only stop what they see."""
        return 10 if self.objective is None else 1

    def __call__(self, theta: Floats, duals: tuple[Floats, ...], done: int) -> bool:
        """Whether to stop at this record."""
        if self.file is not None:
            self.file.save(theta, duals, done, self.rng)
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
