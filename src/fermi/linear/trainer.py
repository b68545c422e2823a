"""One problem, one λ, one solver: from rows to coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fermi._typing import Floats
from fermi.errors import bad_argument
from fermi.fitting.checkpoint import Checkpoint, fingerprint
from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective
from fermi.fitting.problem import Problem
from fermi.fitting.scores import most_probable
from fermi.linear.constants import of_problem
from fermi.linear.design import Design
from fermi.linear.early_stopping import Overseer
from fermi.linear.options import Settings
from fermi.linear.solvers import lbfgs, sgda, sreda
from fermi.linear.solvers.contract import Solution

_BATCH = 64
_ITERATIONS = 1000
_PASSES = 30
_ENOUGH_STEPS = 2000  # the paper's T for full batches
_ENOUGH_ROWS, _MOST_PASSES = 300_000, 1000
_ACCURACY = 0.1  # of ‖∇Φ‖, that the theorem's step sizes are for

Report = Callable[[Record], None]


class Fit(NamedTuple):
    """A fitted linear model: coefficients in the units of X, classes in rows, and how they came about."""

    weights: Floats
    shift: Floats
    duals: tuple[Floats, ...] | None
    history: list[Record]
    converged: bool
    n_iter: int

    def logits(self, X: Any) -> Floats:
        """The logits of rows, n × 1 for two classes, else n × m."""
        return np.asarray(X @ self.weights.T.astype(X.dtype)) + self.shift  # float64 would copy all of X

    def predict(self, X: Any) -> Any:
        """The code of each row's most probable class."""
        logits = self.logits(X)
        return most_probable(logits[:, 0] if logits.shape[1] == 1 else logits)


class Start(NamedTuple):
    """The start of a solver: θ, W of each term or zero, and the passes already made."""

    theta: Floats
    duals: tuple[Floats, ...] | None
    passes: int


class Trainer:
    """Fits one problem at any λ, from any start."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.design = Design.of(
            problem.X,
            problem.loss_weight,
            intercept=settings.fit_intercept,
            n_classes=problem.n_classes,
            l2=settings.l2,
        )

    def fit(
        self,
        lam: float,
        rng: np.random.Generator,
        start: Fit | None = None,
        report: Report = lambda entry: None,
        *,
        held_out: Problem | None = None,
        saving: bool = False,
    ) -> Fit:
        """Minimise loss + λ Σ ERMI + ½ l2 ‖weights‖², from `start` or from the checkpoint if `saving` finds one.

        Training stops early when the objective on the rows held out has not fallen for some records.
        """
        history: list[Record] = []

        def record(entry: Record) -> None:
            history.append(entry)
            report(entry)

        objective = self.problem.objective(lam)
        begin = Start(np.zeros(self.design.shape), None, 0)
        if start is not None:
            begin = Start(self.design.parameters(start.weights, start.shift), start.duals, 0)
        file = self._checkpoint(lam, start, held_out) if saving else None
        saved = None if file is None else file.load()
        if saved is not None:
            begin = Start(saved.theta, saved.duals or None, saved.passes)
            rng.bit_generator.state = saved.random
        before = 0 if self.settings.solver == "sgda" else begin.passes
        watch = Overseer(self.design, file, rng, held_out, lam, before)
        solve = {"lbfgs": self._lbfgs, "sgda": self._sgda, "sreda": self._sreda}[self.settings.solver]
        solution = watch.choose(solve(objective, begin, rng, record, watch), objective)
        solution = solution._replace(n_iter=before + solution.n_iter)
        if file is not None:
            file.remove()
        weights, shift = self.design.coefficients(solution.theta)
        return Fit(weights, shift, solution.duals, history, solution.converged, solution.n_iter)

    def _checkpoint(self, lam: float, start: Fit | None, held_out: Problem | None) -> Checkpoint | None:
        """The checkpoint of this very fit: the same rows, options, λ, start and judges."""
        own, problem = self.settings, self.problem
        if own.checkpoint is None:
            return None
        parts = (problem.target, problem.weight, problem.conditions, *(a.codes for a in problem.attributes))
        seen = (problem.X.shape, self.design.centre, self.design.mean_square)
        around = (None if start is None else start.weights, None if held_out is None else held_out.target)
        # A function is known by its name: its address differs from process to process.
        names = {n: getattr(v, "__qualname__", v) for n in ("eta_theta", "eta_w") if callable(v := getattr(own, n))}
        options = replace(own, checkpoint=None, verbose=0, **names)
        return Checkpoint(own.checkpoint, fingerprint(options, lam, *seen, *parts, *around))

    def _lbfgs(self, objective: FairObjective, begin: Start, rng: Any, report: Report, watch: Overseer) -> Solution:
        own = self.settings
        left = max(1, (own.max_iter or _ITERATIONS) - begin.passes)
        return lbfgs.solve(
            self.design, objective, begin.theta, l2=own.l2, max_iter=left, tol=own.tol, report=report, watch=watch
        )

    def _sgda(self, objective: FairObjective, begin: Start, rng: Any, report: Report, watch: Overseer) -> Solution:
        own, n = self.settings, len(self.problem.target)
        batch = own.batch(n, _BATCH)
        epochs = own.max_iter or passes(n, batch, objective.lam)
        eta_theta, eta_w, radius = self._resolved(objective, batch)
        steps = sgda.make_steps(
            eta_theta, eta_w, design=self.design, objective=objective, batch=batch, total=epochs * -(-n // batch)
        )
        return sgda.solve(
            self.design, objective, begin.theta, l2=own.l2, batch=batch, epochs=epochs, tol=own.tol, steps=steps,
            rng=rng, radius=radius, output=own.output, duals=begin.duals,
            replace="theory" in (own.eta_theta, own.eta_w),
            done=begin.passes, passes_per_record=watch.passes_per_record, report=report, watch=watch,
        )  # fmt: skip

    def _sreda(self, objective: FairObjective, begin: Start, rng: Any, report: Report, watch: Overseer) -> Solution:
        own, n = self.settings, len(self.problem.target)
        batch = own.batch(n, max(1, round(n**0.5)))
        epochs = max(1, (own.max_iter or passes(n, 1, objective.lam)) - begin.passes)
        eta_theta, eta_w, radius = self._resolved(objective, batch)
        return sreda.solve(
            self.design, objective, begin.theta, l2=own.l2, batch=batch, epochs=epochs, tol=own.tol,
            rng=rng, radius=radius, eta_theta=None if eta_theta == "auto" else eta_theta,
            eta_w=None if eta_w == "auto" else eta_w, duals=begin.duals, report=report, watch=watch,
        )  # fmt: skip

    def _resolved(self, objective: FairObjective, batch: int) -> tuple[Any, Any, float]:
        """The step sizes and radius, with "theory" replaced by the theorem's corrected constants."""
        own = self.settings
        found: tuple[Any, Any, Any] = (own.eta_theta, own.eta_w, np.inf if own.radius is None else own.radius)
        if "theory" not in found:
            return found
        if not objective.terms or objective.lam == 0.0:
            name = next(name for name in ("eta_theta", "eta_w", "radius") if getattr(own, name) == "theory")
            raise bad_argument(name, "is 'theory' without a fairness term", "another choice, or groups and λ > 0")
        constants = of_problem(self.design, objective, batch=batch, epsilon=_ACCURACY, l2=own.l2).corrected
        numbers = (constants.eta_theta, constants.eta_w, constants.radius)
        eta_theta, eta_w, radius = (n if value == "theory" else value for value, n in zip(found, numbers, strict=True))
        return eta_theta, eta_w, radius


def passes(n: int, batch: int, lam: float) -> int:
    """The number of passes that do untuned: enough rows for small data and steps for large batches, more at large λ."""
    enough = max(_PASSES, min(-(-_ENOUGH_ROWS // n), _MOST_PASSES), -(-_ENOUGH_STEPS * batch // n))
    return round(enough * min(max(1.0, math.sqrt(lam / 20.0)), 8.0))
