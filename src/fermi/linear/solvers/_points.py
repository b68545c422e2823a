"""What the exact solvers ask at each θ, and the iterations that they make from point to point."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from fermi._typing import Floats
from fermi.fitting.contract import Record, Report
from fermi.fitting.history import parts
from fermi.linear.solvers.contract import Solution, Start, Task, Watch

# What cannot be told from rounding, as a part of the objective, and the gradient that is still good enough then.
_ROUNDING = {"float32": (1e-7, 2e-3), "float64": (1e-15, 1e-6)}


class Point(NamedTuple):
    """A point θ: the logits of the rows there, the flat gradient of Φ + ½ l2 ‖weights‖², and the parts of its value."""

    theta: Floats
    logits: Floats
    gradient: Floats
    record: Record

    @classmethod
    def of(cls, task: Task, theta: Floats, logits: Floats | None = None) -> Point:
        """The point θ, whose logits may be known."""
        logits = task.design.logits(theta) if logits is None else logits
        value, row_gradient = task.objective.value_and_gradient(logits)
        penalty, penalty_gradient = task.design.penalty(theta, task.l2)
        gradient = task.design.pull_back(row_gradient) + penalty_gradient
        record = parts(value, penalty, dual_gap=0.0, grad_norm=float(np.abs(gradient).max()))
        return cls(theta, logits, gradient.ravel(), record)

    @property
    def value(self) -> float:
        """The objective with its penalty."""
        return self.record["objective"]

    @property
    def grad_norm(self) -> float:
        """The largest entry of the gradient."""
        return self.record["grad_norm"]


class Steps:
    """The iterations of an exact solver: reports each, asks the watch, and knows when it is enough."""

    def __init__(self, task: Task, start: Start, most: int, report: Report, watch: Watch) -> None:
        self.task, self.report, self.watch = task, report, watch
        saved = start.saved
        self.theta = start.theta if saved is None else saved.array("theta", task.design.shape)
        self.made = 0 if saved is None else saved.whole("passes", 1, most)
        self.left, self.ended = most - self.made, False
        self.exhausted = False
        self.rounding, self._lowest = _ROUNDING[task.design.X.dtype.name]
        self.began = time.perf_counter()

    def to(self, point: Point, *, watched: bool = True) -> bool:
        """Report a step that led to a point; whether it was the last."""
        self.made += 1
        self.left -= 1
        self.report({"step": self.made, "seconds": time.perf_counter() - self.began, **point.record})
        if watched and self.watch(point.theta, ()):
            self.ended = True
        return self.over(point)

    def save(self, point: Point) -> None:
        """Keep a point that everything to come depends on, and nothing before it."""
        if self.made:
            self.watch.save({"theta": point.theta, "passes": self.made})

    def over(self, point: Point) -> bool:
        """Whether no further step is to be made from here."""
        return self.ended or self.exhausted or self.left <= 0 or point.grad_norm <= self.task.tol

    def compare(self, before: Point, after: Point) -> None:
        """Note whether all that lies between two points has changed nothing that can be told from rounding."""
        fallen = before.value - after.value > self.rounding * abs(before.value)
        self.exhausted = not fallen and after.grad_norm > 0.5 * before.grad_norm

    def solution(self, point: Point) -> Solution:
        """The solution at the last point: converged within tol, or where the digits of X allow nothing lower."""
        if self.made == 0:  # the start was good enough
            self.to(point, watched=False)
        converged = point.grad_norm <= self.task.tol or (self.exhausted and point.grad_norm <= self._lowest)
        duals = self.task.objective.optimal_duals(point.logits)
        return Solution(point.theta, duals, bool(converged), self.made)
