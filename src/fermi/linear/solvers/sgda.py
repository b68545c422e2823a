"""Algorithm 1 of the paper: stochastic gradient descent in θ and ascent in W, with any batch size. Read this first.

    θ ← θ − η_θ · mean over the batch of ∇_θ (loss_i + λ ψ_i(θ, W))
    W ← W + η_w · mean over the batch of ∇_W λ ψ_i(θ, W),    W⁰ = 0

ψ_i is weighted so that the mean over all rows is Ψ: a row that does not count contributes nothing, and the batch is
divided by its size times the fraction of the data that counts, never by its own count. The loop is in `_batches.py`.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled.permutation import shuffled
from fermi.compiled.threads import limited_threads
from fermi.errors import FermiError
from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective
from fermi.linear.design import Design
from fermi.linear.solvers import history
from fermi.linear.solvers._loop import Loop, State
from fermi.linear.solvers.contract import Solution, Watch, never
from fermi.linear.solvers.step_sizes import Steps, automatic, constant, linear, make_steps

__all__ = ["Record", "Solution", "Steps", "automatic", "constant", "linear", "make_steps", "solve"]

Output = Literal["last", "average", "random"]

# Times loss and penalty at the start, or at θ = 0 where that is more. Not ERMI, which is bounded: on the way to
# fairness a large λ makes the objective large.
_EXPLODED = 10.0
_RESTARTS = 3
_RECORDS = 20

_log = logging.getLogger("fermi")


def solve(
    design: Design,
    objective: FairObjective,
    theta: Floats,
    *,
    l2: float,
    batch: int,
    epochs: int,
    tol: float,
    steps: Steps,
    rng: np.random.Generator,
    radius: float = np.inf,
    output: Output = "last",
    replace: bool = False,
    duals: tuple[Floats, ...] | None = None,
    done: int = 0,
    passes_per_record: int = 10,
    report: Callable[[Record], None],
    watch: Watch = never,
) -> Solution:
    """Run Algorithm 1 over passes of shuffled rows, or of rows drawn with replacement.

    Returned is θ of the last step, the mean over all steps, or θ after a step drawn uniformly; W is that of the last
    step, or of the drawn one. A pass stops the run if its record has ‖∇Φ‖∞ ≤ tol > 0; a drawn step waits for all
    passes. A record reads X twice and a pass once, hence the few of them. Automatic steps that diverge are tried again
    at a tenth, whose records then count from the first step. A run that was interrupted goes on from θ, W and the
    passes `done`.
    """
    loop = Loop(design, objective, l2=l2, batch=batch, radius=radius, averaged=output == "average")
    record = functools.partial(history.record, design, objective, l2=l2)
    with limited_threads(design.X):
        start = objective.evaluate(design.logits(theta)).loss + design.penalty(theta, l2)[0] if theta.any() else 0.0
        every = max(passes_per_record, -(-epochs // _RECORDS))
        run = _Run(loop, epochs, tol, rng, output == "random", replace, start, done, every, record, report, watch)
        for _ in range(1 + _RESTARTS * steps.automatic):
            found = run.attempt(theta, duals, steps)
            if found is not None:
                return found
            _log.info("The steps diverged: starting again with a tenth of them.")
            steps = steps.scaled(0.1)
    raise FermiError("The steps diverged: choose a smaller `eta_theta` or `eta_w`, or leave them automatic.")


@dataclass(frozen=True, eq=False)
class _Run:
    loop: Loop
    epochs: int
    tol: float
    rng: np.random.Generator
    draws: bool
    replace: bool
    start: float
    done: int
    every: int
    record: Callable[[Floats, tuple[Floats, ...]], Record]
    report: Callable[[Record], None]
    watch: Watch

    def attempt(self, theta: Floats, duals: tuple[Floats, ...] | None, steps: Steps) -> Solution | None:
        """Make all passes, or return None if they diverge."""
        began = time.perf_counter()
        loop, state = self.loop, self.loop.start(theta, duals)
        limit = _EXPLODED * max(self.start, np.log(loop.design.n_classes))
        per_pass = -(-loop.n // loop.batch)
        total, state.taken = self.epochs * per_pass, self.done * per_pass
        drawn = int(self.rng.integers(1, total + 1)) if self.draws else 0
        chosen, converged, stopped, done = None, False, False, self.done
        while done < self.epochs and not (converged or stopped):
            chosen = self._one_pass(state, steps, drawn) or chosen
            done += 1
            if not state.finite():
                return None
            if done % self.every == 0 or done == self.epochs:
                with np.errstate(over="ignore", invalid="ignore"):
                    record = self.record(loop.theta(state), loop.duals(state))
                if not record["objective"] - loop.lam * record["ermi"] <= limit:
                    return None
                self.report({"step": state.taken, "seconds": time.perf_counter() - began, **record})
                converged = not self.draws and self.tol > 0.0 and record["grad_norm"] <= self.tol
                stopped = self.watch(loop.theta(state), loop.duals(state), done)
        found = chosen or (loop.theta(state), loop.duals(state))
        return Solution(*found, converged, done)

    def _one_pass(self, state: State, steps: Steps, drawn: int) -> tuple[Floats, tuple[Floats, ...]] | None:
        """Make one pass; return θ and W after the drawn step if that is in this pass."""
        loop, order = self.loop, self._order()
        number = np.arange(state.taken + 1, state.taken + 1 + -(-loop.n // loop.batch))
        eta, eta_w = steps.eta(number), steps.eta_w(number)
        cut = drawn - state.taken
        if not 0 < cut <= len(number):
            loop.advance(state, order, eta, eta_w)
            return None
        loop.advance(state, order[: cut * loop.batch], eta[:cut], eta_w[:cut])
        chosen = loop.theta(state), loop.duals(state)
        loop.advance(state, order[cut * loop.batch :], eta[cut:], eta_w[cut:])
        return chosen

    def _order(self) -> Ints:
        n = self.loop.n
        if self.replace:
            return self.rng.integers(n, size=n)
        return np.arange(n) if self.loop.batch >= n else shuffled(n, self.rng)
