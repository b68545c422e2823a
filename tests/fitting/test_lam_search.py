"""The search for the smallest λ within a bound, on violations that are known functions of λ."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fermi.fitting.lam_search import Choice, Path, Violation, held_out_parts, smallest, violation
from fermi.fitting.problem import Attribute, Problem
from fermi.inputs.folds import folds


def run(gap: Callable[[float], float], bound: float, first: float = 0.1, error: float = 0.01) -> Choice:
    return smallest(lambda lam: Violation(gap(lam), error), bound, first)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 400.0])
@pytest.mark.parametrize("bound", [0.1, 0.02])
def test_a_falling_violation_is_met_at_its_crossing_whatever_the_scale(scale: float, bound: float) -> None:
    choice = run(lambda lam: 0.2 / (1.0 + lam / scale), bound, first=0.01 * scale)
    crossing = scale * (0.2 / bound - 1.0)
    assert choice.reached
    assert crossing <= choice.trial.lam <= 1.1 * crossing
    assert choice.trial.violation.gap <= bound
    assert len(choice.trials) < 20


def test_a_fair_model_needs_no_lambda() -> None:
    choice = run(lambda lam: 0.01, 0.02)
    assert choice.reached
    assert choice.trial.lam == 0.0
    assert len(choice.trials) == 1


@pytest.mark.parametrize("zero", [3.0, 5.7, 8.0, 11.0])
def test_a_gap_that_changes_sign_and_grows_again_is_met_in_its_dip(zero: float) -> None:
    # The dip below the bound is narrower than the steps of the search, so that doublings alone may jump over it.
    choice = run(lambda lam: 0.1 * abs(math.log((lam + 1e-3) / zero)), 0.02)
    assert choice.reached
    assert zero * math.exp(-0.2) <= choice.trial.lam <= zero * math.exp(0.2)
    outside = [trial.lam for trial in choice.trials if trial.lam < choice.trial.lam]
    assert all(trial.violation.gap > 0.02 for trial in choice.trials if trial.lam in outside)


def test_the_first_of_two_windows_is_taken() -> None:
    choice = run(lambda lam: 0.01 if 1.0 <= lam <= 4.0 or lam >= 100.0 else 0.1, 0.02)
    assert 1.0 <= choice.trial.lam <= 1.1


def test_the_best_is_kept_when_no_lambda_will_do_and_the_search_ends() -> None:
    choice = run(lambda lam: 0.05 + 0.1 / (1.0 + lam), 0.02)
    assert not choice.reached
    assert choice.trial.violation.gap == pytest.approx(0.0525, abs=0.0026)
    assert len(choice.trials) < 25
    # Beyond this λ nothing changes that could be told from noise: a larger one would cost accuracy for nothing.
    assert choice.trial.lam < 100.0


def test_the_violation_is_that_of_the_worst_attribute_with_its_standard_error() -> None:
    rng = np.random.default_rng(0)
    n = 4000
    sex, age = rng.integers(-1, 2, n), rng.integers(0, 3, n)
    conditions = rng.integers(-1, 2, n)
    predicted = (rng.random(n) < 0.3 + 0.2 * (sex == 1) * (conditions == 1)).astype(np.int64)
    problem = Problem(
        None, predicted, np.ones(n), conditions, np.ones(2), ("no", "yes"),
        (Attribute(("F", "M"), sex), Attribute(("a", "b", "c"), age)),
    )  # fmt: skip
    found = violation(problem, predicted)
    inside = [predicted[(conditions == 1) & (sex == s)] for s in (0, 1)]
    assert found.gap == pytest.approx(inside[1].mean() - inside[0].mean())
    assert found.error == pytest.approx(math.sqrt(sum(part.var() / len(part) for part in inside)))


def test_weights_enter_the_standard_error_by_their_squares() -> None:
    predicted, sex = np.array([1, 0, 1, 0, 1, 1]), np.array([0, 0, 0, 1, 1, 1])
    weight = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    problem = Problem(
        None, predicted, weight, np.zeros(6, dtype=np.int64), np.ones(2), ("all",), (Attribute(("a", "b"), sex),)
    )
    found = violation(problem, predicted)
    assert found.gap == pytest.approx(0.5 - 0.4)
    assert found.error == pytest.approx(math.sqrt(0.25 * 6 / 16 + 0.24 * 11 / 25))


def test_folds_hold_every_stratum() -> None:
    strata = np.repeat([0, 1, 2], [300, 30, 3])
    fold = folds(strata, 3, np.random.default_rng(0))
    assert [np.bincount(fold[strata == s]).tolist() for s in range(3)] == [[100] * 3, [10] * 3, [1] * 3]
    assert not np.array_equal(fold, folds(strata, 3, np.random.default_rng(1)))


class Remembering:
    """A trainer whose fits know the rows that trained them: X holds the numbers of rows."""

    def __init__(self, problem: Problem) -> None:
        self.seen = {*problem.X[:, 0].tolist()}
        self.history: list[dict[str, float]] = []

    def fit(self, lam: float, rng: np.random.Generator, start: object = None) -> Remembering:
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        assert self.seen.isdisjoint(X[:, 0].tolist())
        labels: NDArray[np.int64] = (X[:, 0] % 3 == 0).astype(np.int64)
        return labels


def test_a_search_judges_every_row_once_by_a_model_that_has_not_seen_it_and_all_together() -> None:
    n, rng = 900, np.random.default_rng(0)
    sex = rng.integers(-1, 2, n)
    problem = Problem(
        np.arange(n, dtype=float)[:, None], rng.integers(0, 2, n), np.ones(n), rng.integers(0, 2, n), np.ones(2),
        ("no", "yes"), (Attribute(("F", "M"), sex),),
    )  # fmt: skip
    parts = held_out_parts(problem, None, np.random.default_rng(1))
    judged = np.concatenate([rows.X[:, 0] for _, rows in parts])
    assert len(parts) > 1
    assert sorted(judged) == list(range(n))
    trainer: Any = Remembering
    path: Path[Any] = Path(parts, trainer, rng)
    found = violation(path.rows, path.labels_at(1.0))
    whole = violation(problem, (np.arange(n) % 3 == 0).astype(np.int64))  # the same labels, row by row
    assert found == pytest.approx(whole)
    assert all(found.gap != violation(rows, (rows.X[:, 0] % 3 == 0).astype(np.int64)).gap for _, rows in parts)
