"""The stage on populations whose law is known: its error is that of the best blind rule, which a linear program gives.

A rule that gives each of some thousand points one label cannot divide a point among two, as the program may; what that
leaves is below a thousandth.
"""

from __future__ import annotations

import numpy as np
import pytest

from fermi._typing import Floats
from fermi.decisions.requirements import Requirements
from fermi.decisions.stage import Stage
from tests.decisions.populations import NOTIONS, Population, best_error, population, with_rare_group

NEAR = 1e-3
SKEWED = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [6.0, 2.0, 0.5]])


def check(law: Population, notion: str, asked: Requirements, costs: Floats | None = None) -> None:
    """Compare with the linear program; the error may be lower only by what the limits are exceeded by rounding."""
    stage = Stage(law.rows(notion), costs)
    choice = stage.choose(asked)
    assert choice.rule.psi.any() or choice.rule.offset.any()  # else nothing is shown
    best = best_error(law, notion, asked, costs)
    assert choice.excess < NEAR
    assert choice.figures.error == pytest.approx(best, abs=NEAR * stage.unit)
    assert choice.figures.error > stage.figures(stage.own_labels).error - 1e-12
    if asked.max_violation is not None:
        assert choice.figures.violation < asked.max_violation + NEAR


def own_gap(law: Population, notion: str, costs: Floats | None = None) -> float:
    stage = Stage(law.rows(notion), costs)
    return stage.figures(stage.own_labels).violation


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("n_classes", "n_groups", "share"), [(2, 3, 0.1), (2, 3, 0.8), (2, 6, 0.3), (3, 2, 0.4)])
def test_the_error_is_that_of_the_best_blind_rule(n_classes: int, n_groups: int, notion: str, share: float) -> None:
    law = population(n_classes, (n_groups,), seed=n_classes, n=3000, bias=0.4)
    check(law, notion, Requirements(share * own_gap(law, notion)))


@pytest.mark.slow
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("n_classes", "n_groups"), [(4, 3), (3, 6)])
def test_so_it_is_with_more_classes_and_groups(n_classes: int, n_groups: int, notion: str) -> None:
    law = population(n_classes, (n_groups,), seed=n_classes, n=2000, bias=0.3)
    check(law, notion, Requirements(0.4 * own_gap(law, notion)))


@pytest.mark.slow
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(
    ("n_classes", "n_groups", "n", "bias"),
    [(2, 2, 3000, 0.4), (2, 5, 3000, 0.4), (3, 4, 2000, 0.3), (4, 2, 2000, 0.3), (4, 4, 1500, 0.3), (4, 6, 1500, 0.3)],
)
def test_so_it_is_from_two_to_four_classes_and_two_to_six_groups(
    n_classes: int, n_groups: int, n: int, bias: float, notion: str
) -> None:
    law = population(n_classes, (n_groups,), seed=7 * n_classes + n_groups, n=n, bias=bias)
    check(law, notion, Requirements(0.4 * own_gap(law, notion)))


@pytest.mark.parametrize("notion", NOTIONS)
def test_so_it_is_without_any_difference_allowed_up_to_one_point(notion: str) -> None:
    law = population(2, (3,), seed=5, n=4000, bias=0.7)
    choice = Stage(law.rows(notion)).choose(Requirements(0.0))
    assert choice.figures.violation < 2e-3
    assert choice.figures.error == pytest.approx(best_error(law, notion, Requirements(0.0)), abs=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        Requirements(None, min_ratio=0.8),
        Requirements(None, min_ratio=1.0),
        Requirements(0.2, min_ratio=0.9),
        Requirements(0.05, selection_rate=(0.0, 0.15)),
        Requirements(0.05, selection_rate=(0.6, 1.0)),
        Requirements(None, selection_rate=(0.25, 0.25)),
        Requirements(None, min_rate=0.4),
        Requirements(0.1, min_ratio=0.7, selection_rate=(0.1, 0.45), min_rate=0.2),
    ],
    ids=str,
)
@pytest.mark.parametrize(("n_classes", "n_groups"), [(2, 4), (3, 2)])
def test_so_it_is_for_ratios_and_rates(n_classes: int, n_groups: int, asked: Requirements) -> None:
    check(population(n_classes, (n_groups,), seed=11, n=3000, bias=0.4), "demographic_parity", asked)


@pytest.mark.parametrize("notion", NOTIONS[1:])
def test_so_it_is_for_ratios_within_conditions(notion: str) -> None:
    check(population(2, (4,), seed=2, n=2500, bias=0.7), notion, Requirements(None, min_ratio=0.95))


@pytest.mark.parametrize(("notion", "scale"), list(zip(NOTIONS, (1e-3, 1.0, 1e4), strict=True)))
def test_so_it_is_for_costs_in_any_unit(notion: str, scale: float) -> None:
    law, costs = population(3, (2,), seed=8, n=2000, bias=0.7), scale * SKEWED
    check(law, notion, Requirements(0.3 * own_gap(law, notion, costs)), costs)


def test_costs_without_limits_give_the_least_expected_cost() -> None:
    law = population(3, (2,), seed=8, n=2000)
    stage = Stage(law.rows("demographic_parity"), SKEWED)
    choice = stage.choose(Requirements(None))
    assert choice.figures.error == pytest.approx(law.point @ (law.outcome @ SKEWED).min(axis=1), abs=1e-12)
    assert choice.excess == 0.0
    assert not choice.rule.psi.any()


@pytest.mark.parametrize("notion", NOTIONS[:2])
def test_so_it_is_for_several_attributes_each_by_itself(notion: str) -> None:
    law = population(2, (2, 3), seed=4, n=2000, bias=0.7)
    check(law, notion, Requirements(0.03))
    apart = [Population(law.point, law.outcome, (group,)) for group in law.groups]
    together = Stage(law.rows(notion)).choose(Requirements(0.03)).figures.error
    assert together > max(best_error(one, notion, Requirements(0.03)) for one in apart) - NEAR


@pytest.mark.parametrize("share", [0.02, 0.005])
@pytest.mark.parametrize("notion", NOTIONS[:2])
def test_a_rare_group_is_brought_within_the_bound_at_its_price_and_the_others_do_not_pay_for_it(
    notion: str, share: float
) -> None:
    check(with_rare_group(population(2, (4,), seed=2, n=3000), share), notion, Requirements(0.03))


@pytest.mark.slow
@pytest.mark.parametrize("asked", [Requirements(0.02), Requirements(None, min_ratio=0.95), Requirements(0.04, 0.9)])
def test_a_choice_for_something_else_is_as_good_a_start_as_none(asked: Requirements) -> None:
    law = population(2, (3,), seed=23, n=3000)
    stage = Stage(law.rows("equalized_odds"))
    for other in (Requirements(None, min_ratio=0.5), Requirements(0.1), Requirements(0.1, 0.6)):
        warm = stage.choose(other).warm
        assert warm is not None
        choice = stage.choose(asked, warm)
        assert choice.excess < NEAR
        assert choice.figures.error == pytest.approx(best_error(law, "equalized_odds", asked), abs=NEAR)


def test_a_longer_list_of_bounds_costs_less_and_less() -> None:
    law = population(3, (3,), seed=6, n=1500, bias=0.7)
    stage, warm, errors = Stage(law.rows("demographic_parity")), None, []
    bounds = [0.0, 0.05, 0.2, 0.4]
    for bound in bounds:
        choice = stage.choose(Requirements(bound), warm)
        warm = choice.warm or warm
        errors.append(choice.figures.error)
        assert errors[-1] == pytest.approx(best_error(law, "demographic_parity", Requirements(bound)), abs=2e-3)
    assert (np.diff(errors) < NEAR).all()
    assert errors[0] > errors[-1] + 0.02
