"""What is asked of labels: how it is read, what is refused, and the limits that it becomes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fermi.decisions.requirements import Layout, Requirements, allowances, limits, misses
from fermi.errors import FermiError


def layout(n_classes: int) -> Layout:
    """Two conditions of three groups, one of which is missing in the second."""
    return Layout(
        (np.array([0, 1, 2]), np.array([3, 5])),
        np.array([0.3, 0.2, 0.1, 0.25, 0.0, 0.15]),
        np.array([300.0, 200.0, 100.0, 250.0, 0.0, 150.0]),
        n_classes,
    )


@pytest.mark.parametrize("name", ["max_violation", "min_ratio", "min_rate"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "0.1", True, [0.1], 1j])
def test_what_is_no_rate_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(FermiError, match=f"`{name}` is .*expected a number from 0 to 1, or None"):
        Requirements.read(**{"max_violation": None, name: value})


@pytest.mark.parametrize("value", [-1.0, math.nan, "one", None, True])
def test_slack_is_a_number_of_at_least_zero(value: Any) -> None:
    with pytest.raises(FermiError, match=r"`slack` is .*expected a finite number of at least 0"):
        Requirements.read(0.1, slack=value)


@pytest.mark.parametrize("value", [0.3, "ab", (0.1,), (0.1, 0.2, 0.3), (-0.1, 0.5), (0.1, 1.5), ("a", "b"), {0.1, 0.2}])
def test_a_selection_rate_is_a_pair_of_rates(value: Any) -> None:
    with pytest.raises(FermiError, match=r"`selection_rate` is .*expected a pair of numbers from 0 to 1"):
        Requirements.read(0.1, selection_rate=value)


def test_a_reversed_selection_rate_is_refused() -> None:
    with pytest.raises(FermiError, match=r"`selection_rate` is \(0.5, 0.2\); expected the least rate first"):
        Requirements.read(0.1, selection_rate=(0.5, 0.2))


def test_a_floor_of_every_group_above_the_cap_of_all_rows_is_refused() -> None:
    asked = Requirements.read(None, min_rate=0.5, selection_rate=(None, 0.3))
    with pytest.raises(FermiError, match=r"`min_rate` is 0.5 with `selection_rate` of at most 0.3; .* 0.3 then"):
        asked.check_rows(1.0)
    with pytest.raises(FermiError, match=r"expected at most 0.375 then"):
        asked.check_rows(0.8)
    asked.check_rows(0.6)  # half of so many rows are 0.3 of all
    Requirements.read(None, min_rate=0.3, selection_rate=(None, 0.3)).check_rows(1.0)
    Requirements.read(None, min_rate=1.0).check_rows(1.0)


def test_a_cell_that_is_compared_with_nobody_has_a_rate_of_its_own_all_the_same() -> None:
    some = Layout((np.array([0, 1]),), np.array([0.4, 0.3, 0.3]), np.array([400.0, 300.0, 300.0]), 2, (np.array([2]),))
    rates = np.array([[0.5, 0.5], [0.5, 0.5], [0.8, 0.2], [0.6, 0.4]])
    asked = Requirements(0.1, min_rate=0.35)
    (miss,) = misses(asked, some, rates)
    assert (miss.cell, miss.sign) == (2, 1.0)
    assert miss.amount == pytest.approx(0.15)
    kept = limits(Requirements(None, min_rate=0.35), some, np.zeros((3, 2)), np.zeros((4, 1)))
    assert (kept.L @ rates[:, 1] - kept.b).max() == pytest.approx(0.15)
    assert allowances(some, rates, 1.0)[2, 1] == pytest.approx(math.sqrt(0.16 / 300.0))


def test_what_is_left_out_asks_for_nothing() -> None:
    empty = Requirements.read(None)
    assert not empty.about_groups
    assert not empty.about_all
    assert Requirements.read(None, min_ratio=0).min_ratio is None
    assert Requirements.read(None, selection_rate=(None, None)) == empty
    assert Requirements.read(None, selection_rate=[None, np.float32(0.5)]).selection_rate == (0.0, 0.5)
    assert Requirements.read(np.float64(0.1)).about_groups


def test_a_share_of_requirements_is_tighter_from_none_to_all() -> None:
    asked = Requirements(0.1, min_ratio=0.8, selection_rate=(0.2, 0.4), min_rate=0.1, slack=1.0)
    assert asked.tightened(1.0) == asked
    none = asked.tightened(0.0)
    assert (none.max_violation, none.min_ratio) == (0.0, 1.0)
    half = asked.tightened(0.5)
    assert (half.max_violation, half.min_ratio) == pytest.approx((0.05, 0.9))
    assert (half.selection_rate, half.min_rate, half.slack) == ((0.2, 0.4), 0.1, 1.0)
    assert asked.at(None).max_violation is None
    assert asked.at(None).min_ratio == 0.8


CASES = [
    Requirements(0.1),
    Requirements(None, min_ratio=0.7),
    Requirements(None, min_rate=0.35),
    Requirements(None, selection_rate=(0.3, 0.4)),
    Requirements(0.2, min_ratio=0.6, selection_rate=(0.1, 0.6), min_rate=0.05),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("asked", CASES, ids=str)
def test_rates_keep_the_limits_for_some_centres_just_where_nothing_is_missed(
    asked: Requirements, n_classes: int
) -> None:
    from scipy.optimize import linprog

    some, rng = layout(n_classes), np.random.default_rng(n_classes)
    kept = limits(asked, some, np.zeros((6, n_classes)), np.zeros((7, some.columns)))
    outcomes = set()
    for spread in np.repeat([0.5, 3.0, 30.0, 300.0], 15):
        rates = rng.dirichlet(spread * np.ones(n_classes), 7)
        room = kept.b - kept.L @ rates[:, -some.columns :].ravel()
        free = kept.M.shape[1]
        if free:
            found = linprog(np.zeros(free), kept.M, room, bounds=[(None, None)] * free, method="highs")
            feasible = found.status == 0
        else:
            feasible = bool((room >= 0.0).all())
        assert feasible == (not misses(asked, some, rates))
        outcomes.add(feasible)
    assert outcomes == {True, False} or n_classes == 3


@pytest.mark.parametrize("asked", CASES, ids=str)
def test_the_first_multipliers_are_positive_and_in_balance(asked: Requirements) -> None:
    kept = limits(asked, layout(3), np.zeros((6, 3)), np.zeros((7, 3)))
    assert (kept.start > 0.0).all()
    assert (kept.cap > 0.0).all()
    assert np.abs(kept.M.T @ kept.start).max(initial=0.0) < 1e-12


def test_a_shift_of_the_rates_is_taken_off_the_limits() -> None:
    some, shift = layout(3), np.random.default_rng(0).normal(0.0, 0.05, (7, 3))
    plain, moved = (limits(CASES[-1], some, np.zeros((6, 3)), by) for by in (np.zeros((7, 3)), shift))
    rates = np.random.default_rng(1).random((7, 3))
    assert moved.b - moved.L @ (rates - shift).ravel() == pytest.approx(plain.b - plain.L @ rates.ravel())


def test_allowances_are_standard_errors_of_the_common_rate_of_a_condition() -> None:
    some, rates = layout(2), np.array([[0.5, 0.5], [0.6, 0.4], [0.8, 0.2], [0.9, 0.1], [0.0, 0.0], [0.7, 0.3]])
    found = allowances(some, rates, 2.0)
    common = (0.25 * 0.1 + 0.15 * 0.3) / 0.4
    assert found[3, 1] == pytest.approx(2.0 * math.sqrt(common * (1.0 - common) / 250.0))
    assert found[5, 1] == pytest.approx(2.0 * math.sqrt(common * (1.0 - common) / 150.0))
    assert not found[4].any()
    assert not allowances(some, rates, 0.0).any()


def test_rates_of_one_have_no_standard_error_whatever_rounding_does() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        share = rng.dirichlet(np.ones(6))
        some = Layout((np.arange(6),), share, 100.0 * share, 2)
        found = allowances(some, np.tile([0.0, 1.0], (6, 1)), 1.0)
        assert found == pytest.approx(np.zeros((6, 2)), abs=1e-7)


def test_a_miss_says_which_rate_should_move_which_way_and_how_far() -> None:
    some = layout(2)
    rates = np.array([[0.5, 0.5], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3], [0.0, 0.0], [0.7, 0.3], [0.6, 0.4]])
    above, below = misses(Requirements(0.1), some, rates)
    assert (above.cell, above.label, above.sign) == (0, 1, -1.0)
    assert (below.cell, below.label, below.sign) == (2, 1, 1.0)
    assert above.amount == below.amount == pytest.approx(0.2)
    floor, other = misses(Requirements(None, min_rate=0.35), some, rates)
    assert (floor.cell, floor.sign) == (2, 1.0)
    assert floor.amount == pytest.approx(0.15)
    assert other.cell in (3, 5)
    (cap,) = misses(Requirements(None, selection_rate=(0.0, 0.3)), some, rates)
    assert (cap.cell, cap.sign) == (6, -1.0)
    assert cap.amount == pytest.approx(0.1)
