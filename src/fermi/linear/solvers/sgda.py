"""Algorithm 1 of the paper, fast: stochastic gradient descent in θ and ascent in W, with any batch size.

`reference.py` is the algorithm to read. Here it runs over passes of shuffled rows until the gradient is small, and
starts again with smaller steps where automatic ones diverge. ψ_i is weighted so that the mean over all rows is Ψ: a row
that does not count contributes nothing, and the batch is divided by its size times the fraction of the data that
counts, never by its own count. The steps themselves are in `_batches.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled.permutation import shuffled
from fermi.compiled.threads import limited_threads
from fermi.errors import DivergedError
from fermi.fitting.contract import Record, Report
from fermi.linear.constants import in_numbers
from fermi.linear.solvers._loop import Loop, State
from fermi.linear.solvers.contract import UNWATCHED, Solution, Start, Task, Watch, with_dual_penalty
from fermi.linear.solvers.history import record
from fermi.linear.solvers.step_sizes import Steps, make_steps, rows_per_step, untuned_passes

Output = Literal["last", "average", "random"]

_BATCH = 64
# Times loss and penalty at the start, or at θ = 0 where that is more. Not ERMI, which is bounded: on the way to
# fairness a large λ makes the objective large.
_EXPLODED = 10.0
_RESTARTS = 3
_RECORDS = 20

_log = logging.getLogger("fermi")


@dataclass(frozen=True)
class SGDA:
    """The paper's Algorithm 1; `max_iter` counts passes over the rows.

    Returned is θ of the last step, the mean over all steps, or θ after a step drawn uniformly; W is that of the last
    step, or of the drawn one. A pass stops the run if its record has ‖∇Φ‖∞ ≤ tol; a drawn step waits for all passes.
    A record reads X twice and a pass once, hence the few of them. Automatic steps that diverge are tried again at a
    tenth, whose records then count from the first step.

    `dual_l2` is remark 1's penalty on the adversary, λ · dual_l2 · ‖W‖² taken off the objective: F is then strongly
    concave in W by 2λ · dual_l2 at least, however rare a class is. What is minimised changes with it, as does W*.
    """

    batch_size: int | None = None
    max_iter: int | None = None
    eta_theta: Any = "auto"
    eta_w: Any = "auto"
    radius: float | str | None = None
    output: Output = "last"
    dual_l2: float = 0.0
    name: ClassVar[str] = "sgda"
    one_row_at_a_time: ClassVar[bool] = True

    def solve(
        self, task: Task, start: Start, rng: np.random.Generator, report: Report, watch: Watch = UNWATCHED
    ) -> Solution:
        """Run over passes of shuffled rows, from θ and W, until the last pass or the tolerance."""
        task = with_dual_penalty(task, self.dual_l2)
        epochs, loop, steps = self._arranged(task)
        with limited_threads(task.design.X):
            run = _begun(task, start, loop, epochs)
            for _ in range(run.restarts):
                steps = steps.scaled(0.1)
            while True:
                solution = self._attempt(task, loop, steps, run, rng, report, watch)
                if solution is not None:
                    return solution
                if run.restarts == _RESTARTS or not steps.automatic:
                    break
                _log.info("The steps diverged: starting again with a tenth of them.")
                steps, run = steps.scaled(0.1), run.again(loop.start(start.theta, start.duals))
        raise DivergedError("The steps diverged: choose a smaller `eta_theta` or `eta_w`, or leave them automatic.")

    def _attempt(
        self, task: Task, loop: Loop, steps: Steps, run: _Run, rng: np.random.Generator, report: Report, watch: Watch
    ) -> Solution | None:
        """Make the passes that are left with these steps; None if they diverge."""
        began, state, epochs = time.perf_counter(), run.state, run.epochs
        per_pass, every = -(-loop.n // loop.batch), max(watch.passes_per_record, -(-epochs // _RECORDS))
        drawn = int(rng.integers(1, epochs * per_pass + 1)) if self.output == "random" else 0
        chosen, over, converged = None, False, False
        while not over:
            order = self._order(loop, rng)
            for rows, eta, eta_w in _around(drawn, order, state, steps, per_pass, loop.batch):
                loop.advance(state, rows, eta, eta_w)
                chosen = _point(loop, state) if state.taken == drawn else chosen
            run.done += 1
            if not state.finite():
                return None
            over = run.done == epochs
            if run.done % every == 0 or over:
                entry = _record(task, loop, state)
                if not entry["objective"] - loop.lam * entry["ermi"] <= run.limit:
                    return None
                report({"step": state.taken, "seconds": time.perf_counter() - began, **entry})
                converged = self.output != "random" and task.tol > 0.0 and entry["grad_norm"] <= task.tol
                over = watch(*_point(loop, state)) or converged or over
                if watch.saves and not over:
                    watch.save(run.kept())
        return Solution(*(chosen or _point(loop, state)), converged, run.done)

    def _arranged(self, task: Task) -> tuple[int, Loop, Steps]:
        """The number of passes, the loop over the rows and the step sizes."""
        design, objective = task.design, task.objective
        n = len(objective.target)
        batch = rows_per_step(self.batch_size, n, _BATCH)
        epochs = self.max_iter or untuned_passes(n, batch, objective.lam)
        eta_theta, eta_w, radius = in_numbers(self.eta_theta, self.eta_w, self.radius, task, batch)
        loop = Loop(design, objective, l2=task.l2, batch=batch, radius=radius, averaged=self.output == "average")
        return epochs, loop, self._steps(task, eta_theta, eta_w, batch, epochs * -(-n // batch))

    def _steps(self, task: Task, eta_theta: Any, eta_w: Any, batch: int, total: int) -> Steps:
        return make_steps(eta_theta, eta_w, design=task.design, objective=task.objective, batch=batch, total=total)

    def _order(self, loop: Loop, rng: np.random.Generator) -> Ints:
        """The rows of one pass: drawn with replacement, as the theorem asks, or all of them, shuffled."""
        if "theory" in (self.eta_theta, self.eta_w):
            return rng.integers(loop.n, size=loop.n)
        return np.arange(loop.n) if loop.batch >= loop.n else shuffled(loop.n, rng)


@dataclass(eq=False)
class _Run:
    """Where a run stands: θ and W, the passes made and allowed, how often it began again, and its limit of the loss."""

    state: State
    done: int
    epochs: int
    restarts: int
    limit: float

    def kept(self) -> dict[str, Any]:
        """All that the passes to come depend on."""
        return {**self.state.kept(), "passes": self.done, "restarts": self.restarts, "limit": self.limit}

    def again(self, state: State) -> _Run:
        """A run from the start, after one that diverged."""
        return _Run(state, 0, self.epochs, self.restarts + 1, self.limit)


def _begun(task: Task, start: Start, loop: Loop, epochs: int) -> _Run:
    """A run at its start, or where a checkpoint has left it; at least one pass is to come."""
    saved = start.saved
    if saved is None:
        return _Run(loop.start(start.theta, start.duals), 0, epochs, 0, _limit(task, start))
    done = saved.whole("passes", 0, epochs - 1)
    state = loop.restored(saved, done * -(-loop.n // loop.batch))
    return _Run(state, done, epochs, saved.whole("restarts", 0, _RESTARTS), saved.number("limit", 0.0))


def _around(
    drawn: int, order: Ints, state: State, steps: Steps, per_pass: int, batch: int
) -> Iterator[tuple[Ints, Floats, Floats]]:
    """A pass in one part, or in two that part after the drawn step: rows and step sizes of each."""
    number = np.arange(state.taken + 1, state.taken + 1 + per_pass)
    eta, eta_w = steps.eta(number), steps.eta_w(number)
    cut = drawn - state.taken if state.taken < drawn < state.taken + per_pass else per_pass
    yield order[: cut * batch], eta[:cut], eta_w[:cut]
    if cut < per_pass:
        yield order[cut * batch :], eta[cut:], eta_w[cut:]


def _limit(task: Task, start: Start) -> float:
    """What loss and penalty may not exceed."""
    theta = start.theta
    loss = task.objective.evaluate(task.design.logits(theta)).loss if theta.any() else 0.0
    return float(_EXPLODED * max(loss + task.design.penalty(theta, task.l2)[0], np.log(task.design.n_classes)))


def _point(loop: Loop, state: State) -> tuple[Floats, tuple[Floats, ...]]:
    return loop.theta(state), loop.duals(state)


def _record(task: Task, loop: Loop, state: State) -> Record:
    with np.errstate(over="ignore", invalid="ignore"):
        return record(task.design, task.objective, *_point(loop, state), task.l2)
