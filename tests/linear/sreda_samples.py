"""Problems, runs and optima that the tests of SREDA share."""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.linear.solvers.anchor import Point
from fermi.linear.solvers.contract import Solution, Start, Task
from fermi.linear.solvers.lbfgs import LBFGS
from fermi.linear.solvers.sreda import SREDA
from tests.linear.samples import rows

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]


def optimum(design: Design, objective: FairObjective, l2: float) -> float:
    history: list[Record] = []
    task, start = Task(design, objective, l2, tol=1e-4), Start(np.zeros(design.shape))
    LBFGS(max_iter=2000).solve(task, start, np.random.default_rng(0), history.append)
    return history[-1]["objective"]


def run(design: Design, objective: FairObjective, **options: Any) -> tuple[Solution, list[Record]]:
    history: list[Record] = []
    rest: dict[str, Any] = {"l2": 1e-3, "batch": None, "epochs": 100, "tol": 0.0, "seed": 0, **options}
    task = Task(design, objective, rest.pop("l2"), rest.pop("tol"))
    start = Start(rest.pop("theta", np.zeros(design.shape)), rest.pop("duals", None))
    rng, batch, epochs = np.random.default_rng(rest.pop("seed")), rest.pop("batch"), rest.pop("epochs")
    batch = None if batch is None else min(batch, len(objective.target))
    found = SREDA(batch_size=batch, max_iter=epochs, **rest).solve(task, start, rng, history.append)
    assert np.isfinite(found.theta).all()
    return found, history


def tiny(classes: int, lam: float = 3.0) -> tuple[Design, FairObjective]:
    """Few rows, some of an unknown group, uneven weights, two terms."""
    X, y, s = rows(classes)
    X, y, s = X[:60], y[:60], s[:60].copy()
    s[::7] = -1
    weight = np.random.default_rng(1).random(60)
    codes = np.where(s >= 0, y % 2, -1)
    terms = (
        Term.of(Cells.of(codes, s, (2, 3), weight)),
        Term.of(Cells.of(np.zeros(60, dtype=np.int64), np.where(s >= 0, s % 2, -1), (1, 2), weight)),
    )
    design = Design.of(X, weight / weight.sum(), intercept=True, n_classes=classes)
    return design, FairObjective(y, weight / weight.sum(), terms, lam)


def somewhere(design: Design, objective: FairObjective, seed: int) -> Point:
    rng = np.random.default_rng(seed)
    m = design.n_classes
    return Point(
        0.3 * rng.standard_normal(design.shape),
        tuple(rng.standard_normal((*term.prior.shape, m)) for term in objective.terms),
    )
