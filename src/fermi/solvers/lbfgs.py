"""L-BFGS on Φ(θ) = max_W F(θ, W), the dual eliminated in closed form."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fermi._kernels import Floats
from fermi.objective import FairObjective
from fermi.solvers._threads import limited_threads
from fermi.solvers.design import Design
from fermi.solvers.solution import Record, Solution


def solve(
    design: Design,
    objective: FairObjective,
    theta: Floats,
    *,
    l2: float,
    max_iter: int,
    tol: float,
    report: Callable[[Record], None],
) -> Solution:
    """Minimise Φ + ½ l2 ‖weights‖² from θ; converged if ‖∇‖∞ ≤ tol was reached."""
    began = time.perf_counter()
    last: Record = {}

    def evaluate(flat: Floats) -> tuple[float, Floats]:
        point = flat.reshape(design.shape)
        value, row_gradient = objective.value_and_gradient(design.logits(point))
        penalty, penalty_gradient = design.penalty(point, l2)
        gradient = design.pull_back(row_gradient) + penalty_gradient
        last.update(loss=value.loss, ermi=value.ermi, objective=value.objective + penalty)
        last["grad_norm"] = float(np.abs(gradient).max())
        return last["objective"], gradient.ravel()

    steps = 0

    def after_step(intermediate_result: Any) -> None:
        nonlocal steps
        steps += 1
        report({"step": steps, "seconds": time.perf_counter() - began, **last, "dual_gap": 0.0})

    with limited_threads(design):
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
    found = result.x.reshape(design.shape)
    duals = objective.optimal_duals(design.logits(found))
    return Solution(found, duals, last["grad_norm"] <= max(tol, 1e-12), steps)
