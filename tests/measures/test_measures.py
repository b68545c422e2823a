"""Every measure: inequalities, invariances, independence, conditions."""

from __future__ import annotations

import inspect
import math
import warnings
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fermi
from fermi import Contingency, bounds, optimal_dual
from fermi.formulas.ermi import dual_value
from fermi.measures import MEASURES
from tests.strategies import contingencies

ORDER_FREE = [name for name in MEASURES if name != "pearson_correlation"]
ARGUMENTS: dict[str, dict[str, float]] = {"lq_violation": {"q": 2}}


def value(name: str, contingency: Contingency) -> float:
    return MEASURES[name](contingency, **ARGUMENTS.get(name, {}))


def test_the_contract_lists_these_measures() -> None:
    assert set(MEASURES) >= {
        "ermi",
        "mutual_information",
        "renyi_mutual_information",
        "renyi_correlation",
        "pearson_correlation",
        "lq_violation",
        "linf_violation",
        "parity_difference",
        "parity_ratio",
    }
    for name in MEASURES:
        assert getattr(fermi, name) is MEASURES[name]


@given(contingencies())
def test_every_bound_holds(c: Contingency) -> None:
    for statement, left, right in bounds(c):
        assert left <= right * (1 + 1e-9) + 1e-10, statement
        assert math.isfinite(left), statement
        assert math.isfinite(right), statement


@given(contingencies(conditions=1, min_groups=2, min_classes=2))
def test_bounds_are_equalities_for_two_groups_and_two_classes(c: Contingency) -> None:
    two = Contingency(c.table[:, :2, :2] + 0.5)
    sides = {statement: (left, right) for statement, left, right in bounds(two)}
    for statement in (
        "ρ_R² ≤ ERMI",
        "ERMI ≤ (min(k, m) − 1)·ρ_R²",
        "conditional L∞ ≤ max √(ERMI·p(ŷ)(1−p(ŷ))·(1−p(s))/p(s))",
        "parity difference ≤ max √(ERMI·p(ŷ)(1−p(ŷ))·(1/p(a)+1/p(b)))",
    ):
        left, right = sides[statement]
        assert left == pytest.approx(right, rel=1e-6, abs=1e-7), statement


@given(contingencies(min_groups=2), st.booleans())
def test_ermi_is_the_squared_renyi_correlation_when_either_side_is_binary(c: Contingency, groups: bool) -> None:
    binary = c.table[:, :2] if groups else c.table[:, :, :2]
    if not binary.any():
        return
    for table in binary:
        if table.any():
            one = Contingency(table)
            assert fermi.renyi_correlation(one) ** 2 == pytest.approx(fermi.ermi(one), abs=1e-10)


@given(contingencies())
def test_ranges(c: Contingency) -> None:
    assert 0 <= fermi.ermi(c) <= min(len(c.groups), len(c.classes)) - 1 + 1e-10
    for name in ("mutual_information", "renyi_mutual_information", "lq_violation"):
        assert value(name, c) >= 0
    for name in ("renyi_correlation", "linf_violation", "parity_difference", "parity_ratio"):
        assert 0 <= value(name, c) <= 1 + 1e-12
    assert abs(fermi.pearson_correlation(c)) <= 1


@given(contingencies())
def test_the_table_s_own_forms_of_ermi(c: Contingency) -> None:
    total = c.table.sum()
    direct, variational = 0.0, 0.0
    for counts, W in zip(c.table, optimal_dual(c), strict=True):
        if counts.sum() > 0:
            P = counts / counts.sum()
            outer = np.outer(P.sum(1), P.sum(0))
            direct += counts.sum() / total * ((P[outer > 0] ** 2 / outer[outer > 0]).sum() - 1)
            variational += counts.sum() / total * dual_value(W, P)
        else:
            assert not W.any()
    assert fermi.ermi(c) == pytest.approx(direct, abs=1e-10)
    assert fermi.ermi(c) == pytest.approx(variational, abs=1e-10)


@given(contingencies())
def test_renyi_information_grows_with_its_order_and_joins_shannon_and_ermi(c: Contingency) -> None:
    orders = [0.5, 0.9, 1, 1 + 1e-7, 1.5, 2, 3, 10, 200, math.inf]
    values = [fermi.renyi_mutual_information(c, alpha=a) for a in orders]
    for smaller, larger in pairwise(values):
        assert smaller <= larger + 1e-9
    assert values[3] == pytest.approx(values[2], abs=1e-4)
    assert math.expm1(values[5]) == pytest.approx(fermi.ermi(c), rel=1e-9, abs=1e-10)


@given(contingencies(), st.integers(0, 10**6))
def test_relabelling_changes_nothing(c: Contingency, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = [rng.permutation(n) for n in c.table.shape]
    other = Contingency(c.table[np.ix_(*shuffled)])
    for name in ORDER_FREE:
        assert value(name, other) == pytest.approx(value(name, c), rel=1e-9, abs=1e-10), name


@given(contingencies())
def test_empty_groups_classes_and_conditions_contribute_nothing(c: Contingency) -> None:
    padded = Contingency(np.pad(c.table, [(0, 1), (0, 2), (0, 1)]))
    for name in MEASURES:
        assert value(name, padded) == pytest.approx(value(name, c), abs=1e-10), name


@given(contingencies(), st.floats(1e-6, 1e6))
def test_the_unit_of_weight_does_not_matter(c: Contingency, unit: float) -> None:
    scaled = Contingency(c.table * unit)
    for name in MEASURES:
        assert value(name, scaled) == pytest.approx(value(name, c), rel=1e-7, abs=1e-10), name


@given(contingencies())
def test_independence_is_zero(c: Contingency) -> None:
    rows, columns = c.table.sum(axis=2), c.table.sum(axis=1)
    independent = Contingency(rows[:, :, None] * columns[:, None, :])
    for name in MEASURES:
        expected = 1.0 if name == "parity_ratio" else 0.0
        tolerance = 1e-28 if name == "ermi" else 1e-13
        assert value(name, independent) == pytest.approx(expected, abs=tolerance, rel=1e-12), name


@given(contingencies())
def test_legal_input_raises_no_warning(c: Contingency) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in MEASURES:
            value(name, c)
        bounds(c)
        optimal_dual(c)


@given(contingencies())
def test_conditions_are_averaged_except_by_the_parity_measures(c: Contingency) -> None:
    parts = [(t.sum() / c.table.sum(), Contingency(t)) for t in c.table if t.any()]
    for name in ("ermi", "mutual_information", "renyi_correlation", "pearson_correlation", "linf_violation"):
        mean = sum(p * value(name, part) for p, part in parts)
        assert value(name, c) == pytest.approx(mean, abs=1e-10), name
    assert fermi.parity_difference(c) == max(fermi.parity_difference(part) for _, part in parts)
    assert fermi.parity_ratio(c) == min(fermi.parity_ratio(part) for _, part in parts)


def test_equal_opportunity_drops_the_extra_factor_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    y_pred, s, y = rng.integers(0, 3, 400), rng.integers(0, 4, 400), rng.integers(0, 3, 400)
    expected = 0.0
    for label in (1, 2):
        rows = y == label
        P = np.histogram2d(s[rows], y_pred[rows], bins=[4, 3])[0] / rows.sum()
        expected += rows.sum() / (y != 0).sum() * ((P**2 / np.outer(P.sum(1), P.sum(0))).sum() - 1)
    got = fermi.ermi(y_pred, s, y_true=y, notion=fermi.EqualOpportunity({1, 2}))
    assert got == pytest.approx(expected, abs=1e-12)


def test_pearson_is_numpy_s_correlation_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        s = rng.integers(0, 4, 200)
        y = np.minimum(rng.integers(0, 3, 200) + (s > 2), 2)
        assert fermi.pearson_correlation(y, s) == pytest.approx(np.corrcoef(y, s)[0, 1], abs=1e-12)


def test_a_group_absent_under_a_condition_has_no_rate_there() -> None:
    # Group b has no row with y = 1: fairlearn would call its true positive rate 0 and report a gap of 1.
    y_pred, s, y = [1, 1, 0, 0], ["a", "a", "a", "b"], [1, 1, 0, 0]
    assert fermi.parity_difference(y_pred, s, y_true=y, notion="equalized_odds") == 0.0


def test_parity_ratio_of_one_outcome() -> None:
    y_pred, s = [1, 1, 1, 0, 1, 1, 1, 1], ["a"] * 4 + ["b"] * 4
    assert fermi.parity_ratio(y_pred, s, outcome=1) == 0.75
    assert fermi.parity_ratio(y_pred, s) == 0.0  # label 0 is given to group a alone
    assert fermi.parity_difference(y_pred, s, outcome=1) == 0.25


@pytest.mark.parametrize("n", [200, 2000])
def test_an_independent_attribute_is_consistent_with_zero(n: int) -> None:
    """Plug-in ERMI of independent labels is about (k − 1)(m − 1)/n."""
    rng = np.random.default_rng(0)
    values = [fermi.ermi(rng.integers(0, 3, n), rng.integers(0, 4, n)) for _ in range(400)]
    assert n * np.mean(values) == pytest.approx(6, abs=4 * math.sqrt(12 / 400))


def test_measures_take_the_arguments_of_from_predictions() -> None:
    F: NDArray[np.float64] = np.array([[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]])
    c = Contingency.from_predictions(F, ["a", "b", "b"], sample_weight=[1, 2, 1])
    assert fermi.ermi(F, ["a", "b", "b"], sample_weight=[1, 2, 1]) == fermi.ermi(c)
    assert fermi.lq_violation(F, sensitive_features=["a", "b", "b"], q=1) == fermi.lq_violation(
        Contingency.from_predictions(F, ["a", "b", "b"]), 1
    )


@pytest.mark.parametrize("tiny", [1e-12, 1e-100, 1e-200, 1e-300])
def test_perfect_dependence_of_a_very_rare_group(tiny: float) -> None:
    c = Contingency([[1.0, 0.0], [0.0, tiny]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fermi.ermi(c) == pytest.approx(1.0)
        assert fermi.renyi_correlation(c) == pytest.approx(1.0)
        assert fermi.pearson_correlation(c) == pytest.approx(1.0)
        assert fermi.linf_violation(c) == pytest.approx(1.0)
        assert fermi.mutual_information(c) == pytest.approx(-tiny * math.log(tiny) + tiny, rel=1e-3, abs=1e-16)
        assert fermi.lq_violation(c, q=2) == pytest.approx(2 * tiny, rel=1e-3)
        assert all(left <= right * (1 + 1e-9) for _, left, right in bounds(c))


@pytest.mark.parametrize("huge", [1e300, 1e308])
def test_huge_weights_do_not_overflow(huge: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in MEASURES:
            big, small = Contingency(huge * np.array([[1, 0.5], [0.25, 1]])), Contingency([[1, 0.5], [0.25, 1]])
            assert value(name, big) == pytest.approx(value(name, small), rel=1e-12), name
        assert optimal_dual(big) == pytest.approx(optimal_dual(small), rel=1e-12)


def test_extreme_orders() -> None:
    c = Contingency.from_predictions([1, 1, 0, 0], list("aabb"))
    for alpha in (1100.0, 1e6, 1e-9, math.inf):
        assert fermi.renyi_mutual_information(c, alpha=alpha) == pytest.approx(math.log(2), rel=1e-6)
    for q in (500, 1000, 1e6):
        assert fermi.lq_violation(c, q=q) == pytest.approx(0.25, rel=0.01)


def test_bounds_keep_their_digits_where_one_class_is_nearly_certain() -> None:
    tables: list[list[list[float]]] = [
        [[3, 0], [1, 3e-10]],
        [[2.8e-4, 4.5e-7, 0.049, 0], [1.9e-6, 7.9e-11, 0, 4830651824.1]],
    ]
    for table in tables:
        for statement, left, right in bounds(Contingency(table)):
            assert left <= right * (1 + 1e-9) + 1e-16, statement


@given(contingencies(conditions=2))
def test_lq_against_its_definition(c: Contingency) -> None:
    for q in (1, 1.5, 3):
        expected = 0.0
        for counts in c.table:
            if counts.any():
                P = counts / counts.sum()
                difference = np.abs(P - np.outer(P.sum(1), P.sum(0)))
                expected += counts.sum() / c.table.sum() * (difference**q).sum() ** (1 / q)
        assert fermi.lq_violation(c, q=q) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_both_sides_of_every_bound() -> None:
    """Against the formulas written out, on one law: a bound that is valid but too loose would show here."""
    P = np.array([[0.30, 0.10, 0.05], [0.05, 0.20, 0.05], [0.02, 0.08, 0.15], [0.0, 0.0, 0.0]])
    p_s, p_y = P.sum(1)[:3], P.sum(0)
    Q = P[:3] / np.sqrt(np.outer(p_s, p_y))
    D, rho = (Q**2).sum() - 1, np.linalg.svd(Q)[1][1]
    spread = (p_y * (1 - p_y)).max()
    W = Q / np.sqrt(p_y)
    rates = P[:3] / p_s[:, None]
    linf = np.abs(rates - p_y).max()
    E = np.abs(P[:3] - np.outer(p_s, p_y))
    information = (P[P > 0] * np.log((P[:3] / np.outer(p_s, p_y))[P[:3] > 0])).sum()
    codes = np.arange(3)
    covariance = codes @ (P[:3] - np.outer(p_s, p_y)) @ codes
    pearson = covariance / np.sqrt((p_s @ codes**2 - (p_s @ codes) ** 2) * (p_y @ codes**2 - (p_y @ codes) ** 2))
    two = np.sort(p_s)[:2]
    expected = [
        (D, 2.0),
        (information, math.log1p(D)),
        (math.log1p(D), D),
        (abs(pearson), rho),
        (rho**2, D),
        (D, 2 * rho**2),
        (E.sum(), math.sqrt(D)),
        (math.sqrt((E**2).sum()), math.sqrt(D)),
        (E.max(), math.sqrt(D)),
        (linf, math.sqrt(D * spread * (1 - p_s.min()) / p_s.min())),
        (linf, math.sqrt(D / p_s.min())),
        (linf, math.sqrt(D) / p_s.min()),
        ((rates.max(0) - rates.min(0)).max(), math.sqrt(D * spread * (1 / two).sum())),
        ((W**2).sum(), (1 + D) / p_y.min()),
        ((W**2).sum(), 3 / p_y.min()),
    ]
    got = [(left, right) for _, left, right in bounds(Contingency(P))]
    assert np.array(got) == pytest.approx(np.array(expected), rel=1e-12)
    negative = Contingency(P[::-1])  # the correlation changes sign, its bound does not
    assert [b.left for b in bounds(negative)] == pytest.approx([b.left for b in bounds(Contingency(P))], rel=1e-12)


def test_bounds_over_conditions_average_or_take_the_worst() -> None:
    rng = np.random.default_rng(0)
    c = Contingency(rng.random((3, 4, 2)) ** 2)
    parts = [(t.sum() / c.table.sum(), bounds(Contingency(t))) for t in c.table]
    for j, (statement, left, _) in enumerate(bounds(c)):
        sides = [b[j].left for _, b in parts]
        if statement.startswith(("parity", "‖W*‖")):
            assert left == pytest.approx(max(sides)), statement
        elif statement.startswith(("ERMI", "conditional", "I₁", "L_")):
            assert left == pytest.approx(sum(p * side for (p, _), side in zip(parts, sides, strict=True))), statement


@pytest.mark.parametrize("shift", [1e-3, 1e-6, 1e-9])
def test_no_digits_are_lost_near_independence(shift: float) -> None:
    """Against exact rational arithmetic, then 50 digits."""
    p_s, p_y = [Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    d = Fraction(shift) / 12
    exact = [[s * y for y in p_y] for s in p_s]
    exact[0][0] += d
    exact[1][0] -= d
    exact[0][1] -= d
    exact[1][1] += d
    laws = [float(cell) for row in exact for cell in row]
    P = [[Fraction(laws[3 * i + j]) for j in range(3)] for i in range(2)]  # what the floats really are
    total = sum(map(sum, P))
    rows, columns = [sum(row) for row in P], [sum(column) for column in zip(*P, strict=True)]
    D = sum(P[i][j] ** 2 / (rows[i] * columns[j]) for i in range(2) for j in range(3)) - 1
    with mpmath.workdps(50):
        information = sum(
            mpmath.mpf(p.numerator)
            / p.denominator
            / (mpmath.mpf(total.numerator) / total.denominator)
            * mpmath.log(
                mpmath.mpf((p * total / (rows[i] * columns[j])).numerator)
                / (p * total / (rows[i] * columns[j])).denominator
            )
            for i in range(2)
            for j in range(3)
            for p in [P[i][j]]
        )
    c = Contingency([laws[:3], laws[3:]])
    tolerance = 1e-6 + 1e-15 / shift  # the margins themselves are rounded
    assert fermi.ermi(c) == pytest.approx(float(D), rel=tolerance)
    assert fermi.mutual_information(c) == pytest.approx(float(information), rel=tolerance)
    assert fermi.renyi_mutual_information(c) == pytest.approx(math.log1p(float(D)), rel=tolerance)


def test_mutual_information_and_empty_cells() -> None:
    c = Contingency([[2, 0, 1], [0, 3, 0]])
    assert fermi.mutual_information(c) == pytest.approx(math.log(2), rel=1e-12)
    assert fermi.parity_ratio(Contingency([[1, 0], [1, 0]])) == 1.0


def test_the_contract_s_argument_name() -> None:
    c = Contingency([[1, 2], [2, 1]])
    assert fermi.ermi(contingency=c) == fermi.ermi(c)
    assert fermi.lq_violation(contingency=c, q=2) == fermi.lq_violation(c, 2)
    assert inspect.signature(bounds).return_annotation == "list[Bound]"
    assert list(inspect.signature(fermi.lq_violation).parameters) == [
        "y_pred",
        "sensitive_features",
        "y_true",
        "notion",
        "classes",
        "sample_weight",
        "q",
    ]
