"""Newton's method on Φ(θ) = max_W F(θ, W), the dual eliminated in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fermi._typing import Floats
from fermi.compiled.threads import limited_threads
from fermi.fitting.contract import Report
from fermi.linear.solvers._conjugate import newton_step
from fermi.linear.solvers._metric import Metric, fits
from fermi.linear.solvers._points import Point, Steps
from fermi.linear.solvers.contract import UNWATCHED, Solution, Start, Task, Watch

_ITERATIONS = 100
_ARMIJO = 1e-4
_SHORTEST = 1e-10


@dataclass(frozen=True)
class Newton:
    """Safeguarded Newton steps, deterministic; `max_iter` counts them.

    A step solves with the exact Hessian, or, where that has a negative direction, with Gauss and Newton's, which has
    none; then it is shortened until the objective falls. λ · ERMI is not convex, so that neither could be left out.
    With too many parameters to factorise a Hessian the step is found by conjugate gradients, which end where it bends
    down.
    """

    max_iter: int | None = None
    name: ClassVar[str] = "newton"
    one_row_at_a_time: ClassVar[bool] = False

    def solve(
        self, task: Task, start: Start, rng: np.random.Generator, report: Report, watch: Watch = UNWATCHED
    ) -> Solution:
        """Minimise from θ; converged if ‖∇‖∞ ≤ tol, or if no further descent can be computed."""
        factorised = fits(task)
        steps = Steps(task, start, self.max_iter or _ITERATIONS, report, watch)
        with limited_threads(task.design.X):
            point = Point.of(task, steps.theta)
            while not steps.over(point):
                steps.save(point)
                before = point
                step = _factorised_step(task, point) if factorised else newton_step(task, point)
                point = _shortened(task, point, step, steps.rounding)
                steps.compare(before, point)
                steps.to(point)
            return steps.solution(point)


def _factorised_step(task: Task, point: Point) -> Floats:
    return Metric.at(task, point.logits).newton(point.gradient)


def _shortened(task: Task, origin: Point, direction: Floats, rounding: float) -> Point:
    """The point after as much of a step as lowers the objective; where none does, the same point.

    Logits are linear in θ, so that trying another length needs no product with X.
    """
    step, slope = direction.reshape(task.design.shape), float(origin.gradient @ direction)
    away, length = task.design.logits(step), 1.0
    while length > _SHORTEST:
        theta, logits = origin.theta + length * step, origin.logits + length * away
        value = task.objective.evaluate(logits).objective + task.design.penalty(theta, task.l2)[0]
        if value <= origin.value + _ARMIJO * length * slope + rounding * abs(origin.value):
            return Point.of(task, theta)  # not at `logits`, whose last digits θ alone would not give again
        # The lowest point of the parabola through what is known, within bounds.
        excess = value - origin.value - slope * length
        length *= float(np.clip(-0.5 * slope * length / excess, 0.1, 0.5)) if np.isfinite(excess) else 0.1
    return origin
