"""Upper confidence limits of gaps: how often they hold the truth, by simulation, and that they say something."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from fermi._typing import Floats, Ints
from fermi.decisions.certificate import gap_limit, one_sided, ratio_shortfall
from fermi.inputs.cells import Cells


def rows_of(counts: Ints, sizes: Ints) -> tuple[Ints, Cells]:
    """Labels and cells of groups of so many rows, so many of them with the second label."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.concatenate([np.arange(size) < count for size, count in zip(sizes, counts, strict=True)])
    nothing = np.zeros(len(groups), dtype=np.int64)
    return labels.astype(np.int64), Cells.of(nothing, groups, (1, len(sizes)), np.ones(len(groups)))


def limits_of_draws(rates: Floats, sizes: Ints, confidence: float, draws: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        labels, cells = rows_of(rng.binomial(sizes, rates), sizes)
        found.append(gap_limit(labels, [cells], 2, confidence))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rates", "sizes", "confidence"),
    [
        ([0.5, 0.55], [400, 150], 0.95),
        ([0.01, 0.02], [400, 150], 0.95),
        ([0.0, 0.03], [60, 90], 0.9),
        ([0.98, 1.0], [100, 30], 0.9),
        ([0.5, 0.5, 0.5, 0.5], [200, 100, 50, 400], 0.8),
        ([0.4, 0.45, 0.5, 0.6], [200, 100, 50, 400], 0.95),
        ([0.02, 0.01, 0.05, 0.03], [200, 100, 50, 400], 0.8),
    ],
)
def test_the_limit_holds_the_true_gap_as_often_as_it_says(
    rates: list[float], sizes: list[int], confidence: float
) -> None:
    draws = 300
    found = limits_of_draws(np.array(rates), np.array(sizes), confidence, draws)
    held = float(np.mean(found >= max(rates) - min(rates)))
    assert held >= confidence - 3.0 * math.sqrt(confidence * (1.0 - confidence) / draws)


def test_the_limit_is_near_the_gap_where_there_are_many_rows_and_far_where_there_are_few() -> None:
    rates = np.array([0.3, 0.35, 0.32])
    many, few = (limits_of_draws(rates, np.full(3, size), 0.95, 40) for size in (20000, 100))
    # One standard error of a difference is 0.0047 with the many, and 0.067 with the few.
    assert 0.05 < many.mean() < 0.05 + 3 * 0.0047
    assert 0.05 + 0.067 < few.mean() < 0.05 + 4 * 0.067


@pytest.mark.slow
def test_a_true_bound_is_certified_and_a_false_one_seldom() -> None:
    sizes = np.array([3000, 1500, 2000, 2500])
    true = limits_of_draws(np.array([0.3, 0.31, 0.3, 0.3]), sizes, 0.95, 400) <= 0.06
    false = limits_of_draws(np.array([0.3, 0.36, 0.33, 0.33]), sizes, 0.95, 400) <= 0.06
    assert true.mean() > 0.8
    assert false.mean() <= 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("n", [1, 7, 250])
def test_single_rates_have_the_exact_limits_of_clopper_and_pearson(n: int) -> None:
    counts = np.unique(np.linspace(0, n, 6).astype(int))
    low, high = one_sided(counts / n, np.full(len(counts), float(n)), 0.95)
    for i, count in enumerate(counts.tolist()):
        above = binomtest(count, n, alternative="less").proportion_ci(0.95, method="exact").high
        below = binomtest(count, n, alternative="greater").proportion_ci(0.95, method="exact").low
        assert (low[i], high[i]) == pytest.approx((below, above), abs=1e-9)


def test_a_group_without_rows_may_have_any_rate() -> None:
    low, high = one_sided(np.zeros(1), np.zeros(1), 0.95)
    assert (low[0], high[0]) == (0.0, 1.0)
    labels, cells = rows_of(np.array([50, 0]), np.array([100, 0]))
    assert gap_limit(labels, [cells], 2, 0.95) >= 0.5


def test_more_confidence_asks_for_more_and_a_larger_sample_for_less() -> None:
    labels, cells = rows_of(np.array([30, 40, 20]), np.array([100, 100, 80]))
    tenfold, ten_cells = rows_of(np.array([300, 400, 200]), np.array([1000, 1000, 800]))
    by_confidence = [gap_limit(labels, [cells], 2, confidence) for confidence in (0.6, 0.9, 0.99)]
    assert sorted(by_confidence) == by_confidence
    assert len(set(by_confidence)) == 3
    assert 0.15 < gap_limit(tenfold, [ten_cells], 2, 0.95) < gap_limit(labels, [cells], 2, 0.95)


def test_weights_of_one_value_change_nothing_and_uneven_ones_widen_the_limit() -> None:
    rng = np.random.default_rng(0)
    labels, cells = rows_of(np.array([120, 90]), np.array([400, 300]))
    plain = gap_limit(labels, [cells], 2, 0.95)
    assert gap_limit(labels, [cells.weighed(np.full(700, 7.0))], 2, 0.95) == pytest.approx(plain)
    uneven = np.concatenate([rng.permutation(np.repeat([0.1, 1.9], part // 2)) for part in (120, 280, 90, 210)])
    assert gap_limit(labels, [cells.weighed(uneven)], 2, 0.95) > plain + 0.01


def test_the_worst_class_condition_and_attribute_counts() -> None:
    rng = np.random.default_rng(3)
    n = 6000
    z, s, t = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    labels = rng.integers(0, 3, n)
    labels = np.where((z == 1) & (s == 2) & (rng.random(n) < 0.3), 1, labels)
    by_s, by_t = (Cells.of(z, group, (2, size), np.ones(n)) for group, size in ((s, 3), (t, 2)))
    alone = gap_limit(labels, [by_s], 3, 0.9)
    assert alone > 0.2
    assert gap_limit(labels, [by_t], 3, 0.9) < 0.1
    assert gap_limit(labels, [by_t, by_s], 3, 0.9) == alone
    inside = Cells.of(np.where(z == 1, 0, -1), s, (1, 3), np.ones(n))
    assert gap_limit(labels, [inside], 3, 0.9) == alone


def test_one_group_or_no_attribute_has_no_gap() -> None:
    labels, cells = rows_of(np.array([5]), np.array([20]))
    assert gap_limit(labels, [cells], 2, 0.95) == 0.0
    assert gap_limit(labels, [], 2, 0.95) == 0.0


@pytest.mark.parametrize("rates", [[0.3, 0.24], [0.3, 0.3, 0.24, 0.28], [0.05, 0.04]])
def test_a_ratio_at_its_bound_is_certified_as_seldom_as_it_should_be(rates: list[float]) -> None:
    rng, draws, ratio = np.random.default_rng(1), 300, 0.8
    sizes = np.linspace(200, 500, len(rates)).astype(int)
    certified = 0
    for _ in range(draws):
        labels, cells = rows_of(rng.binomial(sizes, rates), sizes)
        certified += ratio_shortfall(labels, [cells], 2, 0.9, ratio) <= 0.0
    assert certified / draws <= 0.1 + 3.0 * math.sqrt(0.1 * 0.9 / draws)


def test_a_ratio_well_above_its_bound_is_certified() -> None:
    labels, cells = rows_of(np.array([3000, 2900, 1500]), np.array([10000, 10000, 5000]))
    assert ratio_shortfall(labels, [cells], 2, 0.95, 0.8) < 0.0
    assert ratio_shortfall(labels, [cells], 2, 0.95, 0.99) > 0.0


def test_a_cell_that_never_occurs_takes_no_part_and_one_that_is_only_missing_here_spoils_the_limit() -> None:
    rng = np.random.default_rng(3)
    n = 3000
    cells = Cells.of(rng.integers(0, 2, n), rng.integers(0, 2, n), (2, 3), np.ones(n))  # the third group has no rows
    labels = rng.integers(0, 2, n)
    never = np.array([[True, True, False], [True, True, False]])
    assert gap_limit(labels, [cells], 2, 0.95, [never]) < 0.2
    assert gap_limit(labels, [cells], 2, 0.95) == gap_limit(labels, [cells], 2, 0.95, [np.ones((2, 3), dtype=bool)])
    assert gap_limit(labels, [cells], 2, 0.95) > 0.4
