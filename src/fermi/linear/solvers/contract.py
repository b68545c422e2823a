"""What a solver of linear models takes and returns.

To add one, write a frozen dataclass whose fields are the options it takes, with a `name` and a `solve`, and list it in
`fermi.linear.options.SOLVERS`. Options of `FermiClassifier` that it has no field for are refused for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from fermi._typing import Floats
from fermi.fitting.checkpoint import Saved
from fermi.fitting.contract import Report
from fermi.fitting.objective import FairObjective
from fermi.inputs.arguments import AT_LEAST_ZERO, number
from fermi.linear.design import Design


class Task(NamedTuple):
    """What is to be minimised: Φ + ½ l2 ‖weights‖² over θ, until ‖∇‖∞ ≤ tol; tol = 0 never stops early."""

    design: Design
    objective: FairObjective
    l2: float
    tol: float


def with_dual_penalty(task: Task, dual_l2: float) -> Task:
    """A task whose adversary pays dual_l2 ‖W‖², as remark 1 proposes; the task itself where that is 0."""
    dual_l2 = number("dual_l2", dual_l2, AT_LEAST_ZERO, low=0.0)
    return task if dual_l2 == 0.0 else task._replace(objective=replace(task.objective, dual_l2=dual_l2))


class Start(NamedTuple):
    """Where a solver begins: θ, W of each term or None; and what a run from there saved before it was interrupted.

    `metric` is that of a solution of the same rows at another λ, for a solver that can begin with it.
    """

    theta: Floats
    duals: tuple[Floats, ...] | None = None
    saved: Saved | None = None
    metric: Any = None


class Solution(NamedTuple):
    """A solution: θ, W of each term (Z × k × m), whether the tolerance was met, and the passes or iterations.

    `metric` is what a solver knows of how the objective bends near by, for a `Start` at another λ.
    """

    theta: Floats
    duals: tuple[Floats, ...]
    converged: bool
    n_iter: int
    metric: Any = None


class Watch(Protocol):
    """Looks at the state between records: says that it is time to stop, or saves what a run needs to go on."""

    @property
    def passes_per_record(self) -> int:
        """How many passes may lie between two records."""

    @property
    def saves(self) -> bool:
        """Whether `save` keeps anything."""

    def __call__(self, theta: Floats, duals: tuple[Floats, ...]) -> bool:
        """Whether to stop at θ and W."""

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep the state of a run that goes on: arrays and facts, which `Start.saved` gives back to the solver."""


class Unwatched:
    """A `Watch` that lets a solver run to its end."""

    passes_per_record = 10
    saves = False

    def __call__(self, theta: Floats, duals: tuple[Floats, ...]) -> bool:
        """Never stop."""
        return False

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep nothing."""


UNWATCHED = Unwatched()


class Solver(Protocol):
    """A way to minimise the objective over a linear model, with its options."""

    name: ClassVar[str]
    one_row_at_a_time: ClassVar[bool]  # whether X is best laid out row by row

    def solve(self, task: Task, start: Start, rng: np.random.Generator, report: Report, watch: Watch) -> Solution:
        """Minimise from the start, and report a record now and then."""
