"""SREDA ends at the exact optimum, for every notion and every λ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from tests.linear.samples import adult, problem, rows
from tests.linear.sreda_samples import NOTIONS, optimum, run


def two_terms(objective: FairObjective, s: Any) -> FairObjective:
    other = Term.of(Cells.of(np.zeros(len(s), dtype=np.int64), s % 2, (1, 2), np.ones(len(s))))
    return replace(objective, terms=(*objective.terms, other))


@pytest.mark.parametrize("terms", [1, 2])
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("classes", [2, 3])
def test_it_lands_on_the_exact_optimum(classes: int, notion: str, terms: int) -> None:
    X, y, s = rows(classes)
    sparse = csr_matrix(np.where(np.median(X, axis=0) < X, X - 3.0, 0.0))
    for matrix in (X, X.astype(np.float32), sparse):
        design, objective = problem(matrix, y, s, lam=2.0, notion=notion)
        objective = two_terms(objective, s) if terms == 2 else objective
        found, history = run(design, objective, epochs=40)
        assert history[-1]["objective"] == pytest.approx(optimum(design, objective, 1e-3), rel=0.01)
        assert abs(history[-1]["dual_gap"]) < 0.01
        assert 1 <= found.n_iter <= 40
        values = [entry["objective"] for entry in history]
        assert np.all(np.diff(values) <= 1e-8 * values[0])


@pytest.mark.parametrize("lam", [0.0, 1.0, 20.0, 200.0, 1000.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_lands_there_for_any_lambda(classes: int, lam: float) -> None:
    X, y, s = rows(classes)
    for notion in NOTIONS:
        design, objective = problem(X, y, s, lam=lam, notion=notion)
        _, history = run(design, objective, epochs=60 if lam < 1000.0 else 120)
        assert history[-1]["objective"] <= 1.01 * optimum(design, objective, 1e-3), notion


@pytest.mark.parametrize("notion", NOTIONS)
def test_adult_untuned_is_within_one_percent(adult_home: Path, notion: str) -> None:
    X, y, s = adult(adult_home)
    for lam, passes in ((5.0, 20), (200.0, 30)):
        design, objective = problem(X, y, s, lam=lam, notion=notion)
        _, history = run(design, objective, l2=1e-4, epochs=passes)
        assert history[-1]["objective"] <= 1.01 * optimum(design, objective, 1e-4), lam
