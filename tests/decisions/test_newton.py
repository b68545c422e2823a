"""The solver of the convex stage: against scipy's minimisers, from any start, with limits that cannot be kept."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from fermi._typing import Floats
from fermi.decisions.newton import AGAIN, PATH, Limits, solve
from fermi.decisions.program import Program
from fermi.decisions.requirements import Requirements, limits
from fermi.decisions.stage import Stage
from tests.decisions.populations import population

CASES = [
    (2, 3, Requirements(0.03)),
    (3, 2, Requirements(0.1)),
    (2, 4, Requirements(None, min_ratio=0.8)),
    (3, 3, Requirements(0.1, min_ratio=0.9, selection_rate=(0.2, 0.4))),
]


def stage(n_classes: int, n_groups: int, n: int = 400) -> Stage:
    return Stage(population(n_classes, (n_groups,), seed=n_classes + n_groups, n=n).rows("demographic_parity"))


def limits_of(some: Stage, asked: Requirements) -> Limits:
    layout = some.layout
    return limits(asked, layout, np.zeros((layout.size, layout.n_classes)), np.zeros((layout.size + 1, layout.columns)))


def smooth_dual(program: Program, asked: Limits, tau: float, mu: Floats) -> tuple[float, Floats]:
    found = program.expand((asked.L.T @ mu).reshape(program.shape), tau)
    return found.value + float(asked.b @ mu), asked.b - asked.L @ found.rates.ravel()


@pytest.mark.parametrize(("n_classes", "n_groups", "asked"), CASES)
def test_the_end_of_the_path_is_the_minimum_that_a_general_solver_finds(
    n_classes: int, n_groups: int, asked: Requirements
) -> None:
    some, tau = stage(n_classes, n_groups), 0.02
    kept = limits_of(some, asked)
    ours = solve(some.program, kept, (0.05, tau))
    balance = [LinearConstraint(kept.M.T, 0.0, 0.0)] if kept.M.shape[1] else []
    dual: Any = partial(smooth_dual, some.program, kept, tau)
    found = minimize(
        dual,
        0.01 * kept.start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, cap) for cap in kept.cap],
        constraints=balance,
        options={"maxiter": 500, "ftol": 1e-12},
    )
    value, _ = smooth_dual(some.program, kept, tau, ours.mu)
    # The barrier's weight is a fiftieth of τ for each of the two ends of a multiplier.
    assert found.fun - 1e-9 <= value <= found.fun + 2 * len(kept.b) * 0.02 * tau


@pytest.mark.parametrize(("n_classes", "n_groups", "asked"), CASES)
def test_multipliers_stay_inside_and_in_balance_and_the_drawn_rates_keep_the_limits(
    n_classes: int, n_groups: int, asked: Requirements
) -> None:
    some = stage(n_classes, n_groups)
    kept = limits_of(some, asked)
    found = solve(some.program, kept)
    assert (found.mu > 0.0).all()
    assert (found.mu < kept.cap).all()
    assert np.abs(kept.M.T @ found.mu).max(initial=0.0) < 1e-9
    assert found.psi.ravel() == pytest.approx(kept.L.T @ found.mu, abs=1e-12)
    rates = some.program.expand(found.psi, PATH[-1]).rates
    assert found.rates == pytest.approx(rates, abs=1e-12)
    if asked.max_violation is not None:
        assert np.ptp(rates[:-1], axis=0).max() <= asked.max_violation + 2e-3
    if asked.min_ratio is not None:
        assert rates[:-1, -1].min() >= asked.min_ratio * rates[:-1, -1].max() - 2e-3
    assert asked.selection_rate[0] - 2e-3 <= rates[-1, -1] <= asked.selection_rate[1] + 2e-3


def test_limits_of_no_weight_have_multipliers_next_to_nothing() -> None:
    some = stage(3, 3)
    found = solve(some.program, limits_of(some, Requirements(1.0)))
    assert np.abs(found.psi).max() < 1e-3


@pytest.mark.parametrize("scale", [1e-4, 0.1, 0.9])
def test_the_end_does_not_depend_on_the_start(scale: float) -> None:
    some = stage(3, 3)
    kept = limits_of(some, Requirements(0.05))
    from_afar = scale * kept.start * (kept.cap / kept.start).min()
    assert kept.admit(from_afar)
    cold, warm = solve(some.program, kept), solve(some.program, kept, PATH, from_afar)
    assert warm.rates == pytest.approx(cold.rates, abs=1e-3)
    assert warm.mu.sum() == pytest.approx(cold.mu.sum(), rel=1e-2)


def test_the_multipliers_of_a_bound_nearby_lead_to_the_same_end_in_few_steps() -> None:
    some = stage(2, 5)
    near, kept = limits_of(some, Requirements(0.04)), limits_of(some, Requirements(0.03))
    cold, warm = solve(some.program, kept), solve(some.program, kept, AGAIN, solve(some.program, near).mu)
    assert warm.psi == pytest.approx(cold.psi, abs=5e-3)
    assert warm.steps < cold.steps


def test_multipliers_of_other_limits_are_not_admitted() -> None:
    some = stage(2, 3)
    ratio, other, bound, all_of_it = (
        limits_of(some, asked)
        for asked in (
            Requirements(None, min_ratio=0.6),
            Requirements(None, min_ratio=0.9),
            Requirements(0.02),
            Requirements(0.02, selection_rate=(0.1, 1.0)),
        )
    )
    found = solve(some.program, ratio).mu
    assert ratio.admit(found)
    assert len(other.b) == len(bound.b) == len(found)  # so that their number does not give them away
    assert not other.admit(found)
    assert not bound.admit(found)
    assert not all_of_it.admit(found)
    assert not replace(ratio, cap=0.5 * found).admit(found)


def test_a_limit_that_cannot_be_kept_ends_at_its_price() -> None:
    some = stage(2, 3)
    kept = limits_of(some, Requirements(None, selection_rate=(0.0, 0.3)))
    beyond = replace(kept, b=kept.b - 10.0)
    found = solve(some.program, beyond)
    assert np.isfinite(found.psi).all()
    assert found.mu == pytest.approx(kept.cap, rel=0.01)


def test_rows_that_are_all_the_same_are_solved_too() -> None:
    n = 50
    flat = Program(np.full((n, 3), 1.0 / 3.0), np.ones((n, 4)), np.full(n, 1.0 / n))
    kept = limits_of(stage(3, 3), Requirements(0.0))
    assert np.isfinite(solve(flat, kept).psi).all()


@pytest.mark.parametrize("price", [1.0, 1e4, 1e8])
def test_limits_that_cannot_be_kept_run_to_their_caps_and_never_into_a_singular_matrix(price: float) -> None:
    some = stage(2, 4)
    asked = limits_of(some, Requirements(0.0)).at_price(price)
    impossible = replace(asked, b=asked.b - np.where(np.arange(len(asked.b)) % 4 < 2, 0.6, 0.0))
    found = solve(some.program, impossible)
    again = solve(some.program, impossible, AGAIN, found.mu)
    for one in (found, again):
        assert np.isfinite(one.psi).all()
        assert (one.mu > 0.0).all()
        assert (one.mu < impossible.cap).all()
