"""SREDA: descent in θ and ascent in W with recursive gradients, few passes to an exact optimum for any λ.

Luo, Ye, Huang, Zhang: Stochastic Recursive Gradient Descent Ascent for Stochastic Nonconvex-Strongly-Concave Minimax
Problems (NeurIPS 2020), in its finite-sum form; the paper names it below theorem 1 as the faster method. With
g(θ, W; B) the gradients of loss + λ Ψ estimated from the rows B, and all rows every q steps,

    v, u = g_θ(θ, W; all), g_W(θ, W; all)                        every q steps, else carried over
    θ' = θ − H⁻¹ (v + ∇ penalty)
    v, u += g(θ', W; B) − g(θ, W; B)                             about √n random rows, the same for both points
    W' = projection of W + D⁻¹ u                                 once: W is small and its curvature known
    v, u += g(θ', W'; B') − g(θ', W; B')

The original takes H and D as numbers, several ascent steps, and a random one of them. Three things are ours:

- The batch's g leans on the last full gradient (`anchor.py`); it stays unbiased.
- H is the curvature at the last full gradient: L/size + penalty for the loss, and for λ ERMI = ‖r‖², a sum of squares
  of few residuals r, the Gauss-Newton matrix JᵀJ of low rank. One number for all directions would have to fall as 1/λ.
  D = 2λ p̂_ŷ/rate makes the step an average of W and its optimum.
- Each full gradient knows Φ: where it rose, the steps since are undone and repeated at a quarter of their size; where
  it fell, they are doubled, up to three over L. They start smaller where λ over the batch's counted rows is large.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fermi.compiled.threads import one_thread
from fermi.errors import DivergedError, bad_argument
from fermi.fitting.checkpoint import Saved
from fermi.fitting.contract import Record, Report
from fermi.fitting.objective import FairObjective
from fermi.linear.constants import in_numbers
from fermi.linear.design import Design
from fermi.linear.solvers._curvature import ROUNDS, largest_curvature, sample_size
from fermi.linear.solvers.anchor import Anchor, Point
from fermi.linear.solvers.contract import UNWATCHED, Solution, Start, Task, Watch
from fermi.linear.solvers.history import record
from fermi.linear.solvers.sreda_steps import Plan, projected
from fermi.linear.solvers.step_sizes import rows_per_step, untuned_passes

_GROWTH, _SHRINKAGE, _LARGEST_SIZE = 2.0, 0.25, 3.0
_EXPLODED = 10.0  # times the objective at the start
_RESTARTS = 3
_ROUNDING = 1e-9


@dataclass(frozen=True)
class SREDA:
    """The variance-reduced method; `max_iter` counts passes over the rows, by default more for larger λ.

    A pass is n rows seen, twice where two gradients are taken of them; at least one round of steps is taken. Reports at
    each full gradient the point that would be returned there, the start included. Batches are of √n rows by default,
    with as many steps between two full gradients as take one pass.
    """

    batch_size: int | None = None
    max_iter: int | None = None
    eta_theta: Any = "auto"
    eta_w: Any = "auto"
    radius: float | str | None = None
    name: ClassVar[str] = "sreda"
    one_row_at_a_time: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("eta_theta", "eta_w"):
            if callable(getattr(self, name)):
                raise bad_argument(name, "is a function, which solver='sreda' does not take", "a number")

    def solve(
        self, task: Task, start: Start, rng: np.random.Generator, report: Report, watch: Watch = UNWATCHED
    ) -> Solution:
        """Minimise from θ, and from W or its optimum there."""
        design, objective, n = task.design, task.objective, len(task.objective.target)
        batch = rows_per_step(self.batch_size, n, max(1, round(n**0.5)))
        epochs, saved = self.max_iter or untuned_passes(n, 1, objective.lam), start.saved
        # Without λ the terms are only measured, and the recursion is SPIDER's.
        trained = objective if objective.lam > 0.0 else replace(objective, terms=())
        plan = self._plan(task, trained, rng, batch, saved)
        duals = objective.optimal_duals(design.logits(start.theta)) if start.duals is None else start.duals
        run = Run(design, objective, trained, plan, task.l2, Point(start.theta, projected(duals, plan.radius)))
        # Threads that wait for products of a few rows cost more than they bring.
        with one_thread(), np.errstate(all="ignore"):
            converged = False
            if saved is not None:
                run.restore(saved, epochs)
                run.advance(epochs, rng)
            while True:
                run.judge()
                report(run.entry())
                converged = task.tol > 0.0 and run.kept["grad_norm"] <= task.tol
                passes = round(run.seen / n)
                if converged or watch(run.best.theta, run.best.duals) or not run.allowed(epochs):
                    break
                watch.save(run.state())
                run.advance(epochs, rng)
        point = run.best
        final = point.duals if trained.terms else objective.optimal_duals(design.logits(point.theta))
        return Solution(point.theta, final, converged, passes)

    def _plan(
        self, task: Task, trained: FairObjective, rng: np.random.Generator, batch: int, saved: Saved | None
    ) -> Plan:
        eta_theta, eta_w, radius = in_numbers(self.eta_theta, self.eta_w, self.radius, task, batch)
        design, evaluations, curvature = task.design, 4 if trained.terms else 2, 1.0
        if saved is not None:
            curvature = saved.number("curvature", 0.0)
        elif eta_theta == "auto":
            curvature = largest_curvature(design, trained, rng)
        return Plan(
            batch=batch,
            period=max(1, round(len(trained.target) / (evaluations * batch))),
            curvature=curvature,
            penalty=design.penalty(np.ones(design.shape), task.l2)[1],
            radius=radius,
            eta_theta=None if eta_theta == "auto" else eta_theta,
            eta_w=None if eta_w == "auto" else eta_w,
        )


class Run:
    """The state of a run: the point reached, the best point with its anchor, and the size of the steps."""

    def __init__(
        self, design: Design, objective: FairObjective, trained: FairObjective, plan: Plan, l2: float, start: Point
    ) -> None:
        self.design, self.objective, self.trained, self.plan, self.l2 = design, objective, trained, plan, l2
        self.began = time.perf_counter()
        self.reached = self.best = start
        self.anchor: Anchor | None = None
        self.kept: Record = {}
        # The noise of a batch: λ over the rows of it that count.
        noise = trained.lam * len(objective.target) * sum(float((t.share**2).sum()) for t in trained.terms) / plan.batch
        self.size = 1.0 / (1.0 + 2.0 * noise)
        self.limit = np.inf
        self.taken = self.explosions = 0
        self.seen = 0 if plan.eta_theta is not None else ROUNDS * sample_size(design, len(objective.target))

    def entry(self) -> Record:
        """The record of the best point, as of now."""
        return {"step": self.taken, "seconds": time.perf_counter() - self.began, **self.kept}

    def judge(self) -> None:
        """Evaluate the point reached on all rows: keep it, or go back to the best with smaller steps."""
        found = record(self.design, self.objective, self.reached.theta, self.reached.duals, self.l2)
        self.seen += len(self.objective.target)
        exploded = not (found["objective"] <= self.limit and found["dual_gap"] <= self.limit)  # NaN too
        fixed = self.plan.eta_theta is not None
        if not self.kept:
            self.limit = _EXPLODED * (found["objective"] + found["dual_gap"])
        elif exploded and (fixed or self.explosions == _RESTARTS):
            raise DivergedError(self._advice())
        elif exploded:
            self.size *= 0.1
            self.explosions += 1
        elif not fixed and found["objective"] > self.kept["objective"] * (1.0 + _ROUNDING):
            self.size *= _SHRINKAGE
        else:
            self.size = min(self.size * _GROWTH, _LARGEST_SIZE)
            self.explosions = 0
            self.best, self.anchor = self.reached, None
        if self.best is self.reached:
            self.kept = found

    def state(self) -> dict[str, Any]:
        """All that the rounds to come depend on, after a full gradient was judged."""
        numbers = {name: getattr(self, name) for name in ("size", "limit", "taken", "explosions", "seen")}
        duals = {f"dual{t}": W for t, W in enumerate(self.best.duals)}
        facts = {"curvature": self.plan.curvature, "anchored": int(self.anchor is not None), "kept": self.kept}
        return {"theta": self.best.theta, **duals, **numbers, **facts}

    def restore(self, saved: Saved, epochs: int) -> None:
        """Go back to where `state` was taken; the anchor is computed again from its θ."""
        most = (epochs + 2 + ROUNDS) * len(self.objective.target)  # one round is made whatever `max_iter`
        duals = tuple(saved.array(f"dual{t}", W.shape) for t, W in enumerate(self.best.duals))
        self.best = self.reached = Point(saved.array("theta", self.best.theta.shape), duals)
        self.size, self.limit = saved.number("size", 0.0, _LARGEST_SIZE), saved.number("limit", 0.0)
        self.taken, self.seen = saved.whole("taken", 0, most), saved.whole("seen", 0, most)
        self.explosions = saved.whole("explosions", 0, _RESTARTS)
        self.kept = saved.record("kept", ("loss", "ermi", "objective", "dual_gap", "grad_norm"))
        if saved.whole("anchored", 0, 1):
            self.anchor = Anchor.at(self.design, self.trained, self.best.theta)

    def allowed(self, epochs: int) -> int:
        """How many steps the passes allow up to the next full gradient; one at least in a run that has taken none."""
        n, cost = len(self.objective.target), self.cost
        left = (epochs - 1) * n - self.seen
        if self.anchor is None:
            left -= n if self.trained.terms else 0
        count = min(self.plan.period, left // cost)
        return max(count, 0 if self.taken else 1)

    @property
    def cost(self) -> int:
        """The rows that one step sees."""
        return (4 if self.trained.terms else 2) * self.plan.batch

    def advance(self, epochs: int, rng: np.random.Generator) -> None:
        """Take the steps up to the next full gradient."""
        n, count = len(self.objective.target), self.allowed(epochs)
        if self.anchor is None:
            self.anchor = Anchor.at(self.design, self.trained, self.best.theta)
            self.seen += n if self.anchor.slopes else 0
        self.reached = recursion(self.anchor, self.plan, self.size, self.best, count, rng)
        self.taken += count
        self.seen += count * self.cost

    def _advice(self) -> str:
        steps = {"eta_theta": self.plan.eta_theta, "eta_w": self.plan.eta_w}
        given = " or ".join(f"`{name}`" for name, value in steps.items() if value is not None)
        if given:
            return f"The steps diverged: choose a smaller {given}, or leave the steps automatic."
        return "The steps diverged even at a thousandth of their automatic size: choose a larger `batch_size`."


def recursion(anchor: Anchor, plan: Plan, size: float, point: Point, count: int, rng: np.random.Generator) -> Point:
    """Take some steps from a point at the anchor's θ, by the recursive gradients of SREDA."""
    steps = plan.steps(anchor, size)
    n, terms = len(anchor.objective.target), bool(anchor.objective.terms)
    theta, W = point.theta, point.duals if terms else ()
    v, u = anchor.gradient(W)

    def follow(new: Point, old: Point) -> Point:
        change = anchor.difference(rng.choice(n, plan.batch, replace=False, shuffle=False), new, old)
        return Point(v + change.theta, tuple(a + b for a, b in zip(u, change.duals, strict=True)))

    for _ in range(count):
        moved = steps.descend(theta, v)
        v, u = follow(Point(moved, W), Point(theta, W))
        theta = moved
        if terms:
            ascended = steps.ascend(W, u)
            v, u = follow(Point(theta, ascended), Point(theta, W))
            W = ascended
        if not np.isfinite(theta).all():
            break
    return Point(theta, W if terms else point.duals)
