"""One problem, one λ, one solver: from rows to coefficients."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.decisions.group_models import LinearCells
from fermi.fitting.checkpoint import Checkpoint, fingerprint, parts_of
from fermi.fitting.contract import Record, Report, unheard
from fermi.fitting.objective import FairObjective
from fermi.fitting.problem import Problem
from fermi.fitting.scores import most_probable
from fermi.linear.design import Design
from fermi.linear.early_stopping import Overseer
from fermi.linear.options import Settings
from fermi.linear.solvers.contract import Start, Task
from fermi.linear.solvers.lbfgs import LBFGS
from fermi.linear.sparse_view import sparse_view

_TELLING, _MOST = 1e-3, 200  # the tolerance of a model of groups, whose last digits do not matter, and its iterations


class Fit(NamedTuple):
    """A fitted linear model: coefficients in the units of X, classes in rows, and how they came about."""

    weights: Floats
    shift: Floats
    duals: tuple[Floats, ...] | None
    history: list[Record]
    converged: bool
    n_iter: int
    design: Design | None = None  # of the rows trained on

    def logits(self, X: Any) -> Floats:
        """The logits of rows, n × 1 for two classes, else n × m."""
        return np.asarray(X @ self.weights.T.astype(X.dtype)) + self.shift  # float64 would copy all of X

    def scores(self, X: Any) -> Any:
        """The logits of rows: (n,) of the second of two classes, or (n, m)."""
        logits = self.logits(X)
        return logits[:, 0] if logits.shape[1] == 1 else logits

    def predict(self, X: Any) -> Any:
        """The code of each row's most probable class."""
        return most_probable(self.scores(X))


class LinearTrainer:
    """Fits one problem at any λ, from any start."""

    def __init__(self, problem: Problem, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self._metric: Any = None  # of the last fit
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
        report: Report = unheard,
        *,
        held_out: Problem | None = None,
        saving: bool = False,
    ) -> Fit:
        """Minimise loss + λ Σ ERMI + ½ l2 ‖weights‖², from `start` or from the checkpoint if `saving` finds one.

        Training stops early when the objective on the rows held out has not fallen for some records.
        """
        own = self.settings
        history: list[Record] = []
        design = self.design if own.solver.one_row_at_a_time else self._sparse
        task = Task(design, self._objective.at(lam), own.l2, own.tol)
        begin = Start(np.zeros(self.design.shape))
        if start is not None:
            begin = Start(self.design.parameters(start.weights, start.shift), start.duals, metric=self._metric)
        file = self._checkpoint(lam, start, held_out) if saving else None
        watch = Overseer(self.design, file, rng, held_out, lam, history)
        saved = None if file is None else file.load()
        if saved is not None:
            begin = begin._replace(saved=saved)
            watch.resume(saved, [(*term.prior.shape, self.problem.n_classes) for term in task.objective.terms])
        earlier = history[-1]["seconds"] if history else 0.0

        def record(entry: Record) -> None:
            history.append({**entry, "seconds": earlier + entry["seconds"]})
            report(history[-1])

        solution = watch.choose(own.solver.solve(task, begin, rng, record, watch), task.objective)
        self._metric = solution.metric
        if file is not None:
            file.remove()
        weights, shift = self.design.coefficients(solution.theta)
        return Fit(weights, shift, solution.duals, history, solution.converged, solution.n_iter, self.design)

    def tell_kinds(self, kinds: Ints, seen: Ints) -> LinearCells:
        """Train a logistic regression of the rows' kinds over the rows as they are standardised here.

        Its penalty is ½ l2 ‖weights‖² with the l2 of the classes' model, or one over the number of rows if that is
        more, lest it learn few rows by heart.
        """
        known = kinds >= 0
        weight = np.where(known, self.problem.weight, 0.0)
        target = np.searchsorted(seen, np.where(known, kinds, seen[0]))
        objective = FairObjective(target, weight / weight.sum(), (), 0.0)
        l2 = max(self.settings.l2, 1.0 / int(known.sum()))
        design, sparse = (replace(one, n_classes=len(seen)) for one in self._with_intercept)
        task, start = Task(sparse, objective, l2, _TELLING), Start(np.zeros(design.shape))
        theta = LBFGS(max_iter=_MOST).solve(task, start, np.random.default_rng(0), unheard).theta
        return LinearCells(*design.coefficients(theta), seen)

    @functools.cached_property
    def _with_intercept(self) -> tuple[Design, Design]:
        """The design, and its sparse view, with an intercept whether the classes' model has one or not."""
        if self.design.intercept:
            return self.design, self._sparse
        weight, m = self.problem.loss_weight, self.problem.n_classes
        design = Design.of(self.problem.X, weight, intercept=True, n_classes=m, l2=self.settings.l2)
        return design, sparse_view(design)

    @functools.cached_property
    def _objective(self) -> FairObjective:
        """The objective, at any λ."""
        return self.problem.objective(0.0)

    @functools.cached_property
    def _sparse(self) -> Design:
        """The design for solvers that go through all rows at once, again and again."""
        return sparse_view(self.design)

    def _checkpoint(self, lam: float, start: Fit | None, held_out: Problem | None) -> Checkpoint | None:
        """The checkpoint of this very fit: the same rows, options, λ, start and judges."""
        own = self.settings
        if own.checkpoint is None:
            return None
        rows = [parts_of(problem) for problem in (self.problem, held_out) if problem]
        around = () if start is None else (start.weights, start.shift, *(start.duals or ()))
        # A function is known by its name: its address differs from process to process.
        steps = {name: getattr(value, "__qualname__", value) for name, value in vars(own.solver).items()}
        apart = {"checkpoint", "verbose", "solver"}  # what changes nothing, and what is told by its steps
        options = {name: value for name, value in vars(own).items() if name not in apart}
        return Checkpoint(own.checkpoint, fingerprint(own.solver.name, steps, options, lam, *rows, "start", *around))
