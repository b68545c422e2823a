"""The benchmark of solvers, in small: entrants reach the gradient they are compared at, and take turns."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fermi import FermiClassifier
from fermi.cli import main
from fermi.cli.bench import load
from tests.linear.samples import rows

BENCH = load(Path(__file__).parents[2] / "benchmarks" / "bench_solvers.py")


def few() -> Any:
    X, y, s = rows(2)
    return BENCH.standardised(BENCH.Rows(X, y, (s > 0).astype(np.int64)))


def test_the_gradient_is_that_of_the_objective_in_the_units_of_the_matrix() -> None:
    data = few()
    model = FermiClassifier(lam=3.0, l2=BENCH.L2).fit(data.X, data.y, sensitive_features=data.s)
    assert BENCH.gradient_norm(data, 3.0, model) < 3e-5
    _, objective = BENCH.problem(data, 3.0)

    def value(weights: Any) -> float:
        margin = data.X @ weights + model.intercept_[0]
        logits = np.column_stack([np.zeros(len(margin)), margin])
        return float(objective.evaluate(logits).objective + 0.5 * BENCH.L2 * (weights**2).sum())

    model.coef_ = model.coef_ + 1.0
    slopes = [
        (value(model.coef_[0] + nudge) - value(model.coef_[0] - nudge)) / 2e-5
        for nudge in 1e-5 * np.eye(data.X.shape[1])
    ]
    assert BENCH.gradient_norm(data, 3.0, model) >= np.abs(slopes).max() * (1.0 - 1e-6)


def test_tolerances_are_lowered_until_the_gradient_is_reached() -> None:
    data = few()
    for made in (
        lambda tol: FermiClassifier(lam=0.0, l2=BENCH.L2, tol=tol),
        lambda tol: LogisticRegression(C=1.0 / (BENCH.L2 * len(data.y)), tol=tol, max_iter=10_000),
    ):
        work, reached = BENCH.reaching(data, 0.0, made)
        assert BENCH.gradient_norm(data, 0.0, work()) == pytest.approx(reached)
        assert reached <= BENCH.GRADIENT


def test_entrants_take_turns_and_the_first_round_does_not_count() -> None:
    made: list[str] = []
    taken = BENCH.in_turns({"a": lambda: made.append("a"), "b": lambda: made.append("b")}, 3)
    assert "".join(made) == "abababab"
    assert [len(seconds) for seconds in taken.values()] == [3, 3]


def test_a_benchmark_that_needs_an_extra_names_it(monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "pytest_benchmark", None)
    assert main(["bench", "measures"]) != 0
    assert 'This needs `pytest_benchmark`: pip install "fermi-fair[dev]".' in capsys.readouterr().err
