"""L-BFGS where an evaluation is a pass over data larger than memory: few passes, and a state that can be saved.

Coordinates are those of a Hessian factorised on a sample of the rows, and the start is the minimiser on the sample: so
the first step is almost Newton's, and some ten passes reach the tolerance. Unlike SciPy's, the state between two
iterations is plain arrays, so that an interrupted run goes on to the same digits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.fitting.checkpoint import Saved
from fermi.fitting.contract import Record, Report, unheard
from fermi.linear.solvers._metric import Identity, Metric, fits
from fermi.linear.solvers.contract import Start, Task
from fermi.linear.solvers.lbfgs import LBFGS

_MEMORY = 20
_PASSES = 100
_ARMIJO = 1e-4
_SHORTEST = 1e-8  # of a step's length, where no descent is found any more
_ROUNDING = 1e-14
_ENOUGH = 1e-6  # of a gradient, where rounding allows nothing lower

Evaluate = Callable[[Floats], tuple[Record, Floats]]
"""The parts of the objective at θ and its gradient."""


@dataclass(eq=False)
class Descent:
    """Where a run stands: the last point accepted, the passes made, and L-BFGS's memory in the metric's coordinates."""

    theta: Floats
    gradient: Floats
    record: Record
    passes: int
    steps: Floats
    changes: Floats

    def kept(self) -> dict[str, Any]:
        """All that the passes to come depend on."""
        arrays = {"theta": self.theta, "gradient": self.gradient, "steps": self.steps, "changes": self.changes}
        return {**arrays, "passes": self.passes, "remembered": len(self.steps), "record": self.record}

    @classmethod
    def restored(cls, saved: Saved, shape: tuple[int, int], names: tuple[str, ...]) -> Descent:
        """The state that a checkpoint holds."""
        size = shape[0] * shape[1]
        memory = (saved.whole("remembered", 0, _MEMORY), size)
        arrays = saved.array("theta", shape), saved.array("gradient", shape)
        pairs = saved.array("steps", memory), saved.array("changes", memory)
        return cls(*arrays, saved.record("record", names), saved.whole("passes", 1, 10**9), *pairs)

    @property
    def grad_norm(self) -> float:
        """The largest entry of the gradient."""
        return float(np.abs(self.gradient).max())


def sample_start(task: Task, rng: np.random.Generator) -> tuple[Floats, Floats | None]:
    """The minimiser on a sample of the rows, and the factor of the Hessian there; None where it would be too large."""
    theta = LBFGS(max_iter=200).solve(task, Start(np.zeros(task.design.shape)), rng, unheard).theta
    return theta, Metric.at(task, task.design.logits(theta)).factor if fits(task) else None


def descend(
    evaluate: Evaluate,
    begin: Floats | Descent,
    factor: Floats | None,
    *,
    tol: float,
    passes: int | None,
    report: Report,
    save: Callable[[Descent], None],
) -> tuple[Descent, bool]:
    """Minimise from θ, or from where a checkpoint left a run, until the gradient or the number of passes says so.

    `save` is called between iterations. Returned is the last point, and whether it is a minimum within `tol`, or as far
    as rounding can tell.
    """
    metric = Identity() if factor is None else Metric(np.asfortranarray(factor))  # in other orders digits differ
    most, began = passes or _PASSES, time.perf_counter()

    def told(at: Descent) -> Descent:
        report({"step": at.passes, "seconds": time.perf_counter() - began, **at.record})
        save(at)
        return at

    if isinstance(begin, Descent):
        at = begin
    else:
        record, gradient = evaluate(begin)
        nothing = np.zeros((0, begin.size))
        at = told(Descent(begin, gradient, record, 1, nothing, nothing))
    exhausted = False
    while not exhausted and at.grad_norm > tol and at.passes < most:
        found = _iteration(evaluate, at, metric, most)
        exhausted = found is None
        if found is not None:
            fallen = at.record["objective"] - found.record["objective"]
            exhausted = fallen <= _ROUNDING * abs(at.record["objective"]) and found.grad_norm > 0.5 * at.grad_norm
            at = told(found)
    return at, at.grad_norm <= tol or (exhausted and at.grad_norm <= _ENOUGH)


def _iteration(evaluate: Evaluate, at: Descent, metric: Metric | Identity, most: int) -> Descent | None:
    """One step along L-BFGS's direction, shortened until the objective falls; None if it does not."""
    slope = metric.white(at.gradient.ravel())
    direction = -_inverse_times(slope, at.steps, at.changes)
    along = float(direction @ slope)
    if not along < 0.0:
        direction, along = -slope, -float(slope @ slope)
    length = 1.0
    if isinstance(metric, Identity) and not len(at.steps):
        length = min(1.0, 1.0 / max(float(np.linalg.norm(direction)), 1e-300))
    value, passes = at.record["objective"], at.passes
    while passes < most and length > _SHORTEST:
        theta = at.theta + length * metric.coloured(direction).reshape(at.theta.shape)
        record, gradient = evaluate(theta)
        passes += 1
        rise = record["objective"] - value
        if rise <= _ARMIJO * length * along + _ROUNDING * abs(value):
            change = metric.white(gradient.ravel()) - slope
            return Descent(theta, gradient, record, passes, *_remembered(at, length * direction, change))
        # The minimum of the parabola through both values and the slope, within a tenth and a half of the step.
        bend = rise - length * along
        parabola = -0.5 * along * length / bend if np.isfinite(bend) and bend > 0.0 else 0.1
        length *= float(np.clip(parabola, 0.1, 0.5))
    return None


def _remembered(at: Descent, step: Floats, change: Floats) -> tuple[Floats, Floats]:
    """L-BFGS's memory with one pair more, if the objective bends upwards along it."""
    if not float(step @ change) > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return at.steps, at.changes
    first = max(0, len(at.steps) + 1 - _MEMORY)
    return np.vstack([at.steps, step])[first:], np.vstack([at.changes, change])[first:]


def _inverse_times(gradient: Floats, steps: Floats, changes: Floats) -> Floats:
    """The inverse Hessian that L-BFGS remembers, times a gradient: Nocedal's two loops."""
    q, factors = gradient.copy(), []
    for s, y in zip(steps[::-1], changes[::-1], strict=True):
        factors.append(float(s @ q) / float(s @ y))
        q -= factors[-1] * y
    if len(steps):
        q *= float(steps[-1] @ changes[-1]) / float(changes[-1] @ changes[-1])
    for s, y, factor in zip(steps, changes, reversed(factors), strict=True):
        q += s * (factor - float(y @ q) / float(s @ y))
    return q
