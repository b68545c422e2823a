"""Rows, problems and runs that the tests of the solvers share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import fermi
from fermi.fitting.objective import FairObjective, Term
from fermi.linear.design import Design
from fermi.linear.solvers import lbfgs, sgda
from fermi.linear.solvers.contract import Solution
from fermi.notions import as_notion


def problem(
    X: Any, y: Any, s: Any, *, lam: float, notion: str = "demographic_parity", intercept: bool = True
) -> tuple[Design, FairObjective]:
    n, classes = len(y), int(y.max()) + 1
    weight = np.full(n, 1.0 / n)
    conditions = as_notion(notion).conditions(y, n)
    shape = (len(conditions.values_of), int(s.max()) + 1)
    term = Term.from_codes(conditions.dense(), s, shape, np.ones(n))
    return Design.of(X, weight, intercept=intercept, n_classes=classes), FairObjective(y, weight, (term,), lam)


def rows(classes: int, seed: int = 0) -> tuple[Any, Any, Any]:
    data = fermi.datasets.synthetic(1500, classes, 3, bias=0.9, seed=seed).numeric()
    X = data.X_train.to_numpy() * np.linspace(0.01, 100, data.X_train.shape[1]) + 3.0  # raw scales
    return X, data.y_train.to_numpy(), fermi.GroupEncoder().fit_transform(data.s_train)


def fit(design: Design, objective: FairObjective, tol: float = 1e-6, l2: float = 1e-3) -> Any:
    history: list[dict[str, float]] = []
    found = lbfgs.solve(design, objective, np.zeros(design.shape), l2=l2, max_iter=2000, tol=tol, report=history.append)
    assert found.converged
    assert found.n_iter == len(history)
    return found.theta, history


def adult(home: Path) -> tuple[Any, Any, Any]:
    data = fermi.datasets.load("adult", data_home=home)
    y = (data.y_train == ">50K").to_numpy().astype(np.int64)
    return data.numeric().X_train.to_numpy(), y, fermi.GroupEncoder().fit_transform(data.s_train)


def run(design: Design, objective: FairObjective, **options: Any) -> tuple[Solution, list[sgda.Record]]:
    """sgda with automatic steps and the defaults that most tests want."""
    history: list[sgda.Record] = []
    settings: dict[str, Any] = {"l2": 1e-3, "batch": 1, "epochs": 3, "tol": 0.0, "seed": 0, **options}
    total = settings["epochs"] * -(-len(objective.target) // settings["batch"])
    steps = settings.pop("steps", None) or sgda.automatic(design, objective, settings["batch"], total)
    rng = np.random.default_rng(settings.pop("seed"))
    start = settings.pop("theta", np.zeros(design.shape))
    return sgda.solve(design, objective, start, steps=steps, rng=rng, report=history.append, **settings), history
