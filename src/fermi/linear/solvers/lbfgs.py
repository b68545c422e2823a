"""L-BFGS on Φ(θ) = max_W F(θ, W), the dual eliminated in closed form."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fermi._typing import Floats
from fermi.compiled.threads import limited_threads
from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective
from fermi.linear.design import Design
from fermi.linear.solvers.contract import Solution, Watch, never

_LAST_ITERATION = 1  # SciPy's status
_LIMITS = (1e-6, 2e-3)  # of the gradient, in double and in single precision


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
        self.record = {
            "loss": value.loss,
            "ermi": value.ermi,
            "objective": value.objective + penalty,
            "dual_gap": 0.0,
            "grad_norm": float(np.abs(gradient).max()),
        }
        return self.record["objective"], gradient.ravel()


def solve(
    design: Design,
    objective: FairObjective,
    theta: Floats,
    *,
    l2: float,
    max_iter: int,
    tol: float,
    report: Callable[[Record], None],
    watch: Watch = never,
) -> Solution:
    """Minimise Φ + ½ l2 ‖weights‖² from θ; converged if ‖∇‖∞ ≤ tol, or no further descent can be computed."""
    began = time.perf_counter()
    evaluate = _Evaluation(design, objective, l2)
    steps = 0

    def after_step(intermediate_result: Any) -> None:
        nonlocal steps
        steps += 1
        report({"step": steps, "seconds": time.perf_counter() - began, **evaluate.record})
        if intermediate_result is not None and watch(intermediate_result.x.reshape(design.shape), (), steps):
            raise StopIteration  # SciPy ends its search here

    with limited_threads(design.X):
        result = minimize(
            evaluate,
            theta.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=after_step,
            # Stop on the gradient alone: the default test on the decrease gives up early where λ is large.
            options={"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tol, "ftol": 0.0, "maxcor": 20},
        )
        evaluate(result.x)
    if steps == 0:  # the start was good enough
        after_step(None)
    gradient, found = evaluate.record["grad_norm"], result.x.reshape(design.shape)
    # A search that ends before its last iteration has found nothing lower: that is as far as the numbers' digits go.
    exhausted = result.status != _LAST_ITERATION and gradient <= _LIMITS[design.X.dtype == np.float32]
    return Solution(found, objective.optimal_duals(design.logits(found)), bool(gradient <= tol or exhausted), steps)
