"""L-BFGS on Φ(θ) = max_W F(θ, W), the dual eliminated in closed form."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from fermi._typing import Floats
from fermi.compiled.threads import limited_threads
from fermi.fitting.contract import Record, Report
from fermi.fitting.history import parts
from fermi.fitting.objective import FairObjective
from fermi.linear.design import Design
from fermi.linear.solvers.contract import UNWATCHED, Solution, Start, Task, Watch

_LAST_ITERATION = 1  # SciPy's status
_ITERATIONS = 1000


@dataclass(frozen=True)
class LBFGS:
    """Exact minimisation, deterministic; `max_iter` counts iterations."""

    max_iter: int | None = None
    name: ClassVar[str] = "lbfgs"
    one_row_at_a_time: ClassVar[bool] = False

    def solve(
        self, task: Task, start: Start, rng: np.random.Generator, report: Report, watch: Watch = UNWATCHED
    ) -> Solution:
        """Minimise from θ; converged if ‖∇‖∞ ≤ tol, or if no further descent can be computed."""
        began, design = time.perf_counter(), task.design
        evaluate = _Evaluation(design, task.objective, task.l2)
        steps, left = 0, max(1, (self.max_iter or _ITERATIONS) - start.passes)

        def after_step(intermediate_result: Any) -> None:
            nonlocal steps
            steps += 1
            report({"step": steps, "seconds": time.perf_counter() - began, **evaluate.record})
            if intermediate_result is not None:
                theta = intermediate_result.x.reshape(design.shape)
                if watch(theta, (), start.passes + steps):
                    raise StopIteration  # SciPy ends its search here

        with limited_threads(design.X):
            # Stop on the gradient alone: the default test on the decrease gives up early where λ is large.
            limits: Any = {"maxiter": left, "maxfun": 20 * left, "gtol": task.tol, "ftol": 0.0, "maxcor": 20}
            result = minimize(
                evaluate, start.theta.ravel(), jac=True, method="L-BFGS-B", callback=after_step, options=limits
            )
            evaluate(result.x)
        if steps == 0:  # the start was good enough
            after_step(None)
        theta, gradient = result.x.reshape(design.shape), evaluate.record["grad_norm"]
        # A search that ends before its last iteration has found nothing lower: the numbers have no digits for more.
        limit = 2e-3 if design.X.dtype == np.float32 else 1e-6
        exhausted = result.status != _LAST_ITERATION and gradient <= limit
        duals = task.objective.optimal_duals(design.logits(theta))
        return Solution(theta, duals, bool(gradient <= task.tol or exhausted), start.passes + steps)


class _Evaluation:
    """A function for scipy: Φ + ½ l2 ‖weights‖² and its gradient at flattened parameters; `record` keeps the parts."""

    def __init__(self, design: Design, objective: FairObjective, l2: float) -> None:
        self.design, self.objective, self.l2 = design, objective, l2
        self.record: Record = {}

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(self.design.shape)
        value, row_gradient = self.objective.value_and_gradient(self.design.logits(theta))
        penalty, penalty_gradient = self.design.penalty(theta, self.l2)
        gradient = self.design.pull_back(row_gradient) + penalty_gradient
        self.record = parts(value, penalty, dual_gap=0.0, grad_norm=float(np.abs(gradient).max()))
        return self.record["objective"], gradient.ravel()
