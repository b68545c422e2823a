"""Where the solvers of linear models end: made-up rows and Adult."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from fermi.datasets import Dataset
from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.linear.solvers.contract import Start, Task
from fermi.linear.solvers.newton import Newton
from tests.linear.samples import coded, fit, problem, rows, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("lam", [0.1, 1.0, 5.0, 20.0])
def test_adult_converges(adult_numbers: Dataset, notion: str, lam: float) -> None:
    X, y, s = coded(adult_numbers)
    design, objective = problem(X, y, s, lam=lam, notion=notion)
    _, history = fit(design, objective, tol=1e-5, l2=1e-4)
    assert history[-1]["grad_norm"] <= 1e-5
    assert len(history) < 200


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("terms", [1, 2])
def test_sgda_lands_near_the_exact_optimum(classes: int, terms: int) -> None:
    X, y, s = rows(classes)
    for matrix in (X, csr_matrix(np.where(np.median(X, axis=0) < X, X - 3.0, 0.0))):
        design, objective = problem(matrix, y, s, lam=2.0)
        if terms == 2:
            other = Term.of(Cells.of(np.zeros(len(y), dtype=np.int64), s % 2, (1, 2), np.ones(len(y))))
            objective = FairObjective(objective.target, objective.weight, (*objective.terms, other), 2.0)
        exact, _ = fit(design, objective, tol=1e-5)
        best = objective.evaluate(design.logits(exact)).objective + design.penalty(exact, 1e-3)[0]
        for batch in (1, 16):
            _, history = run(design, objective, batch=batch, epochs=60)
            assert history[-1]["objective"] == pytest.approx(best, rel=0.02)
            assert 0.0 <= history[-1]["dual_gap"] < 0.02
            assert history[-1]["step"] == 60 * -(-len(y) // batch)


@pytest.mark.parametrize("batch", [1, 8, 1500])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bare", [True, False])
def test_without_terms_or_lambda_it_is_plain_sgd(classes: int, batch: int, bare: bool) -> None:
    X, y, s = rows(classes)
    design, objective = problem(X, y, s, lam=0.0)
    if bare:
        objective = FairObjective(objective.target, objective.weight, (), 0.0 if classes == 2 else 5.0)
    _, history = fit(design, objective, l2=1e-2)
    for output in ("last", "average", "random"):
        found, records = run(
            design, objective, l2=1e-2, batch=batch, epochs=1500 if batch == 1500 else 40, output=output
        )
        assert records[-1]["objective"] <= 1.02 * history[-1]["objective"]
        assert records[-1]["dual_gap"] == 0.0
        assert [W.shape for W in found.duals] == [(1, 3, classes)] * (not bare)
        assert not any(W.any() for W in found.duals)


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize(("lam", "batch"), [(0.1, 1), (5.0, 4), (20.0, 64)])
def test_adult_by_sgda_untuned_is_within_one_percent(
    adult_numbers: Dataset, notion: str, lam: float, batch: int
) -> None:
    X, y, s = coded(adult_numbers)
    design, objective = problem(X, y, s, lam=lam, notion=notion)
    _, exact = fit(design, objective, tol=1e-5, l2=1e-4)
    _, history = run(design, objective, l2=1e-4, batch=batch, epochs=30)
    assert history[-1]["objective"] <= 1.01 * exact[-1]["objective"]


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("lam", [0.0, 0.1, 1.0, 5.0, 10.0, 100.0, 1000.0])
def test_newton_ends_where_lbfgs_does_in_at_most_fifteen_steps(adult_numbers: Dataset, notion: str, lam: float) -> None:
    X, y, s = coded(adult_numbers)
    design, objective = problem(X, y, s, lam=lam, notion=notion)
    _, history = fit(design, objective, tol=1e-5, l2=1e-4)
    found: list[Record] = []
    task, start = Task(design, objective, 1e-4, 1e-5), Start(np.zeros(design.shape))
    assert Newton().solve(task, start, np.random.default_rng(0), found.append).converged
    assert len(found) <= 15
    assert len(history) <= 40
    assert found[-1]["objective"] == pytest.approx(history[-1]["objective"], abs=1e-6)
