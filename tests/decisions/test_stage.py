"""The choice of multipliers on rows: nothing where nothing is needed, the true groups' rates, weights, odd rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fermi._typing import Floats, Ints
from fermi.decisions.judged import JudgedRows
from fermi.decisions.requirements import Requirements
from fermi.decisions.rule import Rule
from fermi.decisions.stage import Stage, badness
from fermi.inputs.cells import Cells


def drawn(n: int, n_classes: int, n_groups: int, seed: int = 0, weight: Floats | None = None) -> JudgedRows:
    """Rows whose models are only roughly right, some of them of unknown group."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, n_groups, n)
    x = rng.normal(0.0, 1.0, n) + 0.5 * s
    logits = np.outer(x, np.linspace(-1.0, 1.0, n_classes)) + rng.normal(0.0, 0.4, (n, n_classes))
    F = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (rng.random((n, 1)) > F.cumsum(axis=1)).sum(axis=1).clip(max=n_classes - 1)
    q = np.exp(np.outer(x, np.linspace(-0.4, 0.4, n_groups)))
    known = np.where(rng.random(n) < 0.1, -1, s)
    weight = np.ones(n) if weight is None else weight
    cells = Cells.of(np.zeros(n, dtype=np.int64), known, (1, n_groups), weight)
    return JudgedRows(F, (q / q.sum(axis=1, keepdims=True),), y, (cells,), weight, F.argmax(axis=1))


def taken(rows: JudgedRows, which: Ints, weight: Floats) -> JudgedRows:
    cells = tuple(replace(c.take(which), weight=weight) for c in rows.cells)
    q = tuple(one[which] for one in rows.q)
    return JudgedRows(rows.F[which], q, rows.target[which], cells, weight, rows.labels[which])


def rates(rows: JudgedRows, labels: Ints, j: int) -> Floats:
    cells = rows.cells[0]
    return np.array([np.average(labels[cells.index == c] == j) for c in range(cells.size)])


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_labels_that_keep_what_is_asked_stay_and_multipliers_are_exactly_zero(n_classes: int) -> None:
    rows = drawn(500, n_classes, 3)
    odd = replace(rows, labels=(rows.labels + 1) % n_classes)  # a classifier whose labels are not the most probable
    for some in (rows, odd):
        for asked in (Requirements(1.0), Requirements(None), Requirements(0.9, 0.01, (0.01, 0.99))):
            choice = Stage(some).choose(asked)
            assert choice.rule.changes_nothing
            assert not choice.rule.psi.any()
            assert not choice.rule.offset.any()
            assert np.array_equal(choice.labels, some.labels)
            assert choice.excess == 0.0


@pytest.mark.parametrize("bound", [0.02, 0.1])
@pytest.mark.parametrize(("n_classes", "n_groups"), [(2, 3), (3, 2), (3, 5)])
def test_the_true_rates_of_the_groups_keep_the_bound_though_the_models_are_off(
    n_classes: int, n_groups: int, bound: float
) -> None:
    rows = drawn(4000, n_classes, n_groups)
    choice = Stage(rows).choose(Requirements(bound))
    gaps = [np.ptp(rates(rows, choice.labels, j)) for j in range(n_classes)]
    assert max(gaps) <= bound + 1e-12
    assert choice.figures.violation == pytest.approx(max(gaps))
    assert choice.figures.error == pytest.approx(np.mean(choice.labels != rows.target))
    assert choice.excess == 0.0


def test_the_rule_gives_the_labels_that_were_measured() -> None:
    rows = drawn(2000, 3, 4)
    choice = Stage(rows).choose(Requirements(0.05, selection_rate=(0.0, 0.3)))
    assert np.array_equal(choice.rule.labels(rows.F, rows.q[0]), choice.labels)
    again = Rule.from_arrays(choice.rule.arrays())
    assert np.array_equal(again.labels(rows.F, rows.q[0]), choice.labels)


def test_costs_stay_with_a_rule_that_is_written_and_read() -> None:
    rows, costs = drawn(1000, 3, 2), np.array([[0.0, 1.0, 9.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    choice = Stage(rows, costs).choose(Requirements(0.1))
    again = Rule.from_arrays(choice.rule.arrays())
    assert np.array_equal(again.labels(rows.F, rows.q[0]), choice.labels)
    assert choice.figures.error == pytest.approx(costs[rows.target, choice.labels].mean())
    assert not choice.rule.changes_nothing


@pytest.mark.parametrize("n_classes", [2, 3])
def test_whole_weights_are_repeated_rows_and_rows_of_no_weight_are_none(n_classes: int) -> None:
    rng = np.random.default_rng(5)
    rows = drawn(1500, n_classes, 3)
    times = rng.integers(0, 4, 1500)
    weighed = taken(rows, np.arange(1500), times.astype(float))
    again = np.repeat(np.arange(1500), times)
    repeated = taken(rows, again, np.ones(len(again)))
    asked = Requirements(0.05, min_ratio=0.5)
    one, other = Stage(weighed).choose(asked), Stage(repeated).choose(asked)
    assert one.excess == other.excess == 0.0
    assert one.figures.error == pytest.approx(other.figures.error, abs=2e-3)
    present = np.flatnonzero(times)
    without = Stage(taken(rows, present, times[present].astype(float))).choose(asked)
    assert without.rule.psi == pytest.approx(one.rule.psi, abs=1e-3)
    assert np.mean(without.labels != one.labels[present]) < 1e-3


def test_the_scale_of_the_weights_means_nothing() -> None:
    weight = np.random.default_rng(2).uniform(0.1, 2.0, 1000)
    one, other = (Stage(drawn(1000, 3, 3, weight=scale * weight)).choose(Requirements(0.05)) for scale in (1.0, 1e6))
    assert one.rule.psi == pytest.approx(other.rule.psi, abs=1e-6)


def test_the_order_of_groups_and_rows_means_nothing() -> None:
    rows = drawn(1500, 2, 3)
    order, renamed = np.random.default_rng(1).permutation(1500), np.array([2, 0, 1])
    cells = rows.cells[0].take(order)
    index = np.where(cells.index >= 0, renamed[cells.index], -1)
    turned = replace(taken(rows, order, np.ones(1500)), cells=(replace(cells, index=index),))
    turned = replace(turned, q=(rows.q[0][order][:, np.argsort(renamed)],))
    one, other = (Stage(each).choose(Requirements(0.05)) for each in (rows, turned))
    assert other.figures.error == pytest.approx(one.figures.error, abs=2e-3)
    assert np.mean(other.labels != one.labels[order]) < 0.01


def test_slack_widens_the_bound_by_standard_errors_and_labels_cost_less() -> None:
    rows = drawn(400, 2, 4)
    strict, loose = (Stage(rows).choose(Requirements(0.02, slack=z)) for z in (0.0, 1.0))
    assert loose.excess == 0.0
    assert loose.figures.violation > 0.02
    assert loose.figures.error < strict.figures.error
    sizes = np.array([(rows.cells[0].index == c).sum() for c in range(4)])
    found = rates(rows, loose.labels, 1)
    common = sizes @ found / sizes.sum()
    allowed = np.sqrt(common * (1.0 - common) / sizes)
    assert (found - allowed).max() - (found + allowed).min() <= 0.02 + 1e-9


def test_a_group_that_the_group_model_never_finds_is_not_passed_over_in_silence() -> None:
    rows = drawn(2000, 2, 3)
    blind = rows.q[0].copy()
    blind[:, 0] = 0.0
    choice = Stage(replace(rows, q=(blind / blind.sum(axis=1, keepdims=True),))).choose(Requirements(0.02))
    gap = np.ptp(rates(rows, choice.labels, 1))
    assert (choice.excess == 0.0) == (gap <= 0.02)
    assert gap < 0.05  # the others' rates are brought to its own, which nothing can charge
    assert not choice.rule.psi[0].any()


def test_hard_probabilities_are_charged_like_others() -> None:
    rows = drawn(3000, 3, 3)
    hard = np.eye(3)[rows.labels]
    choice = Stage(replace(rows, F=hard)).choose(Requirements(0.05))
    assert choice.excess == 0.0
    assert choice.figures.violation <= 0.05


def test_probabilities_that_do_not_vary_keep_any_bound() -> None:
    rows = drawn(300, 2, 3)
    flat = replace(rows, F=np.tile([0.7, 0.3], (300, 1)), labels=np.zeros(300, dtype=np.int64))
    choice = Stage(flat).choose(Requirements(0.0))
    assert choice.rule.changes_nothing
    assert choice.figures.violation == 0.0


def test_rates_that_rows_all_alike_cannot_have_are_missed_and_said_so() -> None:
    rows = drawn(300, 2, 3)
    alike = replace(rows, F=np.tile([0.7, 0.3], (300, 1)), q=(np.full((300, 3), 1.0 / 3.0),))
    choice = Stage(replace(alike, labels=np.zeros(300, dtype=np.int64))).choose(
        Requirements(None, selection_rate=(0.4, 0.6))
    )
    assert choice.excess == pytest.approx(0.4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_answer_is_worse_in_every_way_than_one_label_for_all(n_classes: int) -> None:
    # Probabilities and group model both tell the group and nothing else: a label per group is all that can be had.
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 900)
    rows = drawn(900, n_classes, 3)
    F = np.linspace(0.3, 0.7, 3)[s]
    F = np.column_stack([F, *((1.0 - F) / (n_classes - 1) for _ in range(n_classes - 1))])
    cells = Cells.of(np.zeros(900, dtype=np.int64), s, (1, 3), np.ones(900))
    by_group = replace(rows, F=F, q=(np.eye(3)[s],), cells=(cells,), labels=F.argmax(axis=1))
    choice = Stage(by_group).choose(Requirements(0.05))
    constant = min(np.mean(rows.target != j) for j in range(n_classes))
    assert choice.excess == 0.0
    assert choice.figures.error <= constant + 1e-12
    assert len(np.unique(choice.labels)) == 1
    assert np.array_equal(choice.rule.labels(F, by_group.q[0]), choice.labels)


@pytest.mark.parametrize("seed", range(4))
def test_little_data_has_an_answer_no_farther_off_than_the_plain_labels(seed: int) -> None:
    rows = drawn(150, 3, 4, seed=seed)
    stage = Stage(rows)
    plain = stage.figures(rows.labels)
    choice = stage.choose(Requirements(0.02))
    assert choice.figures.violation <= plain.violation + 1e-12
    assert (choice.excess == 0.0) == (choice.figures.violation <= 0.02 + 1e-12)


def test_one_group_is_compared_with_nobody() -> None:
    rows = drawn(200, 2, 1)
    assert Stage(rows).choose(Requirements(0.0)).rule.changes_nothing


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0.0, 0.30, 0.05), (0.02, 0.28, 0.05)),  # a bound that is kept is worth some points of error
        ((0.02, 0.30, 0.05), (0.0, 0.60, 0.05)),  # but not every second row, where the rest is noise
        ((0.0, 0.60, 0.005), (0.02, 0.30, 0.005)),  # beyond noise it is
        ((0.01, 0.30, 0.05), (0.02, 0.30, 0.05)),
        ((0.0, 0.29, 0.05), (0.0, 0.30, 0.05)),
    ],
)
def test_what_is_lacking_within_noise_is_worth_some_error_and_not_any(
    one: tuple[float, float, float], other: tuple[float, float, float]
) -> None:
    assert badness(*one) < badness(*other)
