"""The Hessian of the objective over a linear model, against differences of its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.design import Design
from fermi.linear.gram import weighted_grams
from fermi.linear.hessian import hessian
from fermi.linear.solvers._conjugate import hessian_product
from fermi.linear.solvers.contract import Task
from tests.linear.samples import problem, rows


def sample(classes: int, notion: str, kind: Any = np.asarray, *, intercept: bool = True) -> Any:
    """Few rows of uneven weight, some of unknown group, under two terms."""
    X, y, s = (part[:200] for part in rows(classes))
    rng = np.random.default_rng(classes)
    known = np.where(rng.random(len(y)) < 0.2, -1, s)
    design, objective = problem(kind(np.where(np.median(X, axis=0) < X, X, 0.0)), y, known, lam=3.0, notion=notion)
    if not intercept:
        design = Design.of(design.X, objective.weight, intercept=False, n_classes=classes)
    weight = rng.random(len(y))
    other = Term.of(Cells.of(np.zeros(len(y), dtype=np.int64), s % 2, (1, 2), weight))
    objective = FairObjective(y, weight / weight.sum(), (*objective.terms, other), 3.0)
    return design, objective, 0.5 * rng.standard_normal(design.shape)


def gradient(design: Design, objective: FairObjective, theta: Any) -> Any:
    _, by_row = objective.value_and_gradient(design.logits(theta))
    return (design.pull_back(by_row) + design.penalty(theta, 0.1)[1]).ravel()


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_derivative_of_the_gradient(classes: int, notion: str, intercept: bool, kind: Any) -> None:
    design, objective, theta = sample(classes, notion, kind, intercept=intercept)
    H = hessian(design, objective, design.logits(theta), 0.1)
    for a, nudge in enumerate(1e-5 * np.eye(theta.size)):
        up, down = (gradient(design, objective, theta + sign * nudge.reshape(theta.shape)) for sign in (1, -1))
        assert H[a] == pytest.approx((up - down) / 2e-5, abs=1e-6 * np.abs(H).max())
    product, diagonal = hessian_product(Task(design, objective, 0.1, 0.0), design.logits(theta))
    for direction in np.random.default_rng(0).standard_normal((3, theta.size)):
        assert product(direction) == pytest.approx(H @ direction, abs=1e-6 * np.abs(H).max())
    assert (diagonal > 0.0).all()
    part = hessian(design, objective, design.logits(theta), 0.1, exact=False)
    assert np.linalg.eigvalsh(part)[0] > -1e-7
    plain = FairObjective(objective.target, objective.weight, (), 0.0)
    assert np.linalg.eigvalsh(part - hessian(design, plain, design.logits(theta), 0.1))[0] > -1e-7


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, np.float32])
def test_grams_are_those_of_the_standardised_rows(kind: Any) -> None:
    X, y, s = rows(2)
    design, _ = problem(kind(X), y, s, lam=1.0)
    A = np.column_stack([(np.asarray(X) - design.centre) / design.scale, np.ones(len(X))])
    r = np.random.default_rng(0).standard_normal((2, len(X)))
    r[0] = np.abs(r[0])
    for found, weight in zip(weighted_grams(design, list(r)), r, strict=True):
        assert found == pytest.approx(A.T @ (weight[:, None] * A), rel=1e-5, abs=2e-6 * len(X))
