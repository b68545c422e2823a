"""L-BFGS on Φ(θ) = max_W F(θ, W), the dual eliminated in closed form, in coordinates that make Φ nearly round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from fermi._typing import Floats
from fermi.compiled.threads import limited_threads
from fermi.fitting.contract import Report
from fermi.linear.solvers._metric import Identity, Metric, fits
from fermi.linear.solvers._points import Point, Steps
from fermi.linear.solvers.contract import UNWATCHED, Solution, Start, Task, Watch, with_dual_penalty

_ITERATIONS = 1000
_ROUND = 6  # iterations in the coordinates of one factorisation, where that costs about as much as three of them
_PER_COLUMN = 1 / 32  # what each column adds to its price, in iterations
_SAVED = 100  # iterations between two checkpoints where nothing is factorised: SciPy's memory begins anew there


@dataclass(frozen=True)
class LBFGS:
    """Exact minimisation, deterministic; `max_iter` counts iterations.

    The Hessian is factorised at the start and again after each round of iterations, which go on in the coordinates
    where it was the identity: one-hot columns that add up to each other, and a λ that makes Φ a narrow valley, then
    cost few iterations. Along λ the first round takes the last factorisation of the fit before. With too many
    parameters to factorise, coordinates are those of the standardised columns.

    `dual_l2` is remark 1's penalty on the adversary, as in `SGDA`. The coordinates are those without it.
    """

    max_iter: int | None = None
    dual_l2: float = 0.0
    name: ClassVar[str] = "lbfgs"
    one_row_at_a_time: ClassVar[bool] = False

    def solve(
        self, task: Task, start: Start, rng: np.random.Generator, report: Report, watch: Watch = UNWATCHED
    ) -> Solution:
        """Minimise from θ; converged if ‖∇‖∞ ≤ tol, or if no further descent can be computed."""
        task = with_dual_penalty(task, self.dual_l2)
        steps = Steps(task, start, self.max_iter or _ITERATIONS, report, watch)
        factorised, metric = fits(task), start.metric
        most = _SAVED if watch.saves else steps.left
        if factorised:
            most = _ROUND + int(_PER_COLUMN * start.theta.size)
        with limited_threads(task.design.X):
            point = Point.of(task, steps.theta)
            while not steps.over(point):
                steps.save(point)
                before = point
                if metric is None or steps.made > 0:
                    metric = Metric.at(task, point.logits) if factorised else Identity()
                point = _round(task, point, metric, steps, most)
                steps.compare(before, point)
            return steps.solution(point)._replace(metric=metric)


def _round(task: Task, origin: Point, metric: Metric | Identity, steps: Steps, most: int) -> Point:
    """Make some iterations from a point, in the coordinates of a metric, and return the last that was accepted."""
    slope = metric.white(origin.gradient)
    # SciPy's first step has length one: in this unit it is that of Newton's method.
    unit = max(float(np.linalg.norm(slope)), 1e-300) if isinstance(metric, Metric) else 1.0
    tried = reached = origin

    def function(u: Floats) -> tuple[float, Floats]:
        nonlocal tried
        if u.any():
            tried = Point.of(task, origin.theta + unit * metric.coloured(u).reshape(task.design.shape))
        return tried.value, unit * metric.white(tried.gradient)

    def after_step(intermediate_result: Any) -> None:
        nonlocal reached
        reached = tried  # SciPy's search accepts the last point that it has tried
        if steps.to(reached):
            raise StopIteration

    # The gradient is judged after each step, in the units of standardised columns. SciPy's own tests are off: they see
    # other coordinates, and the one on the decrease gives up early where λ is large.
    count = min(most, steps.left)
    options: Any = {"maxiter": count, "maxfun": 20 * count, "gtol": 0.0, "ftol": 0.0, "maxcor": 20}
    start = np.zeros(origin.gradient.size)
    minimize(function, start, jac=True, method="L-BFGS-B", callback=after_step, options=options)
    return reached
