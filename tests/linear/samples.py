"""Rows, problems and runs that the tests of the solvers share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fermi
from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.linear.solvers._loop import Loop
from fermi.linear.solvers.contract import Solution, Start, Task
from fermi.linear.solvers.lbfgs import LBFGS
from fermi.linear.solvers.sgda import SGDA
from fermi.linear.solvers.step_sizes import Steps
from fermi.notions import as_notion


def problem(
    X: Any, y: Any, s: Any, *, lam: float, notion: str = "demographic_parity", intercept: bool = True
) -> tuple[Design, FairObjective]:
    n, classes = len(y), int(y.max()) + 1
    weight = np.full(n, 1.0 / n)
    conditions = as_notion(notion).conditions(y, n)
    shape = (len(conditions.values_of), int(s.max()) + 1)
    term = Term.of(Cells.of(conditions.dense(), s, shape, np.ones(n)))
    return Design.of(X, weight, intercept=intercept, n_classes=classes), FairObjective(y, weight, (term,), lam)


def rows(classes: int, seed: int = 0) -> tuple[Any, Any, Any]:
    data = fermi.datasets.synthetic(1500, classes, 3, bias=0.9, seed=seed).numeric()
    X = data.X_train.to_numpy() * np.linspace(0.01, 100, data.X_train.shape[1]) + 3.0  # raw scales
    return X, data.y_train.to_numpy(), fermi.GroupEncoder().fit_transform(data.s_train)


def fit(design: Design, objective: FairObjective, tol: float = 1e-6, l2: float = 1e-3) -> Any:
    history: list[Record] = []
    task, start = Task(design, objective, l2, tol), Start(np.zeros(design.shape))
    found = LBFGS(max_iter=2000).solve(task, start, np.random.default_rng(0), history.append)
    assert found.converged
    assert found.n_iter == len(history)
    return found.theta, history


def adult(home: Path) -> tuple[Any, Any, Any]:
    data = fermi.datasets.load("adult", data_home=home)
    y = (data.y_train == ">50K").to_numpy().astype(np.int64)
    return data.numeric().X_train.to_numpy(), y, fermi.GroupEncoder().fit_transform(data.s_train)


def constant(eta: float, eta_w: float) -> Steps:
    """The same sizes in every step."""
    return linear(eta, eta_w, np.inf)


def linear(eta: float, eta_w: float, total: float, *, automatic: bool = False) -> Steps:
    """Sizes that fall linearly from these at the first step to zero after the last of `total`."""

    def left(step: Any) -> Any:
        return np.asarray(1.0 - (step - 1) / total)

    return Steps(lambda step: eta * left(step), lambda step: eta_w * left(step), automatic)


@dataclass(frozen=True)
class Stepping(SGDA):
    """sgda with steps of the test's own, perhaps through rows drawn with replacement."""

    steps: Steps | None = None
    replacing: bool = False

    def _steps(self, task: Task, eta_theta: Any, eta_w: Any, batch: int, total: int) -> Steps:
        return self.steps or super()._steps(task, eta_theta, eta_w, batch, total)

    def _order(self, loop: Loop, rng: np.random.Generator) -> Any:
        return rng.integers(loop.n, size=loop.n) if self.replacing else super()._order(loop, rng)


def run(design: Design, objective: FairObjective, **options: Any) -> tuple[Solution, list[Record]]:
    """sgda with automatic steps and the defaults that most tests want."""
    history: list[Record] = []
    rest: dict[str, Any] = {"l2": 1e-3, "batch": 1, "epochs": 3, "tol": 0.0, "seed": 0, **options}
    task = Task(design, objective, rest.pop("l2"), rest.pop("tol"))
    start = Start(rest.pop("theta", np.zeros(design.shape)), rest.pop("duals", None))
    rng, batch, epochs = np.random.default_rng(rest.pop("seed")), rest.pop("batch"), rest.pop("epochs")
    return Stepping(batch_size=batch, max_iter=epochs, **rest).solve(task, start, rng, history.append), history
