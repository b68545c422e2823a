"""The table against a loop over rows, and its algebra."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fermi
from fermi import ConditionalParity, Contingency, EqualOpportunity, FermiError
from fermi.compiled.parallel import _PARTS, _WORTH_THREADS
from tests.strategies import Rows, rows

NOTIONS: list[Any] = ["demographic_parity", "equalized_odds", EqualOpportunity({0}), EqualOpportunity([0, 2])]


def build(r: Rows, notion: Any = "demographic_parity", keep: slice = slice(None), **options: Any) -> Contingency:
    return Contingency.from_predictions(
        r.y_pred[keep], r.sensitive[keep], y_true=r.y_true[keep], notion=notion, **options
    )


def brute(r: Rows, inside: Any) -> dict[tuple[Any, str, int], float]:
    cells: dict[tuple[Any, str, int], float] = {}
    for label, group, target, weight in zip(r.y_pred, r.sensitive, r.y_true, r.weight, strict=True):
        if group is not None and weight and target in inside:
            key = (target, group, label)
            cells[key] = cells.get(key, 0.0) + weight
    return cells


@given(rows())
def test_every_cell_is_what_a_loop_over_rows_counts(r: Rows) -> None:
    c = build(r, "equalized_odds", sample_weight=r.weight)
    got = {
        (z, s, y): c.table[i, j, k]
        for i, z in enumerate(c.conditions)
        for j, s in enumerate(c.groups)
        for k, y in enumerate(c.classes)
        if c.table[i, j, k]
    }
    assert got == brute(r, {0, 1, 2})
    assert c.n_unknown == sum(w for w, s in zip(r.weight, r.sensitive, strict=True) if s is None)


@given(rows())
def test_equal_opportunity_is_a_slice_of_equalized_odds(r: Rows) -> None:
    odds = build(r, "equalized_odds")
    label = max(r.y_true)
    opportunity = build(r, "equal_opportunity")
    assert opportunity.conditions == (label,)
    assert opportunity.groups == odds.groups  # groups without a row in 𝒵 are still there
    assert np.array_equal(opportunity.table[0], odds.table[odds.conditions.index(label)])
    parity = build(r)
    assert np.array_equal(parity.table[0], odds.table.sum(axis=0))


@given(rows(), st.sampled_from([0, 1, 2]), st.data())
def test_tables_add_exactly(r: Rows, which: int, data: st.DataObject) -> None:
    notion = ["demographic_parity", "equalized_odds", "equal_opportunity"][which]
    columns: list[list[Any]] = [r.y_pred, r.sensitive, r.y_true, r.weight]
    for column in columns:
        column.append(column[0])  # a known group on either side of any cut
    cut = data.draw(st.integers(1, len(r.y_pred) - 1))
    r.y_true[0] = r.y_true[-1] = 2  # and the label that equal opportunity conditions on
    whole = build(r, notion, sample_weight=r.weight)
    left = build(r, notion, slice(None, cut), sample_weight=r.weight[:cut])
    right = build(r, notion, slice(cut, None), sample_weight=r.weight[cut:])
    for merged in (left + right, right + left, sum([right], start=left)):
        assert merged == whole
        assert (merged.groups, merged.classes, merged.conditions) == (whole.groups, whole.classes, whole.conditions)
        assert np.array_equal(merged.table, whole.table)


@given(rows(missing=True))
def test_integer_weights_equal_repeated_rows(r: Rows) -> None:
    repeated = Rows(*(np.repeat(np.array(c, dtype=object), r.weight).tolist() for c in vars(r).values()))
    assert build(r, "equalized_odds", sample_weight=r.weight, classes=range(5)).table.sum() == sum(
        w for w, s in zip(r.weight, r.sensitive, strict=True) if s is not None
    )
    weighted, plain = build(r, sample_weight=r.weight), build(repeated)
    # A label that only rows of weight zero have is as absent as they are.
    assert weighted == plain


@given(rows())
def test_soft_equals_hard_on_one_hot_probabilities(r: Rows) -> None:
    for notion in ("demographic_parity", "equalized_odds"):
        hard = build(r, notion, classes=range(5), sample_weight=r.weight)
        one_hot = np.eye(5)[r.y_pred]
        soft = Contingency.from_predictions(
            one_hot, r.sensitive, y_true=r.y_true, notion=notion, sample_weight=r.weight
        )
        assert np.array_equal(hard.table, soft.table)
        assert (hard.soft, soft.soft) == (False, True)
        assert fermi.ermi(hard) == fermi.ermi(soft)


def test_soft_tables_are_sums_of_probabilities() -> None:
    rng = np.random.default_rng(0)
    F = rng.dirichlet([1.0, 2.0, 3.0], size=500)
    s, y, w = rng.integers(0, 4, 500), rng.integers(0, 2, 500), rng.random(500)
    c = Contingency.from_predictions(F, s, y_true=y, notion="equalized_odds", sample_weight=w)
    for z, group in np.ndindex(2, 4):
        chosen = (y == z) & (s == group)
        assert c.table[z, group] == pytest.approx((w[chosen, None] * F[chosen]).sum(axis=0), rel=1e-13)
    assert c.table.dtype == np.float64
    single = Contingency.from_predictions(F.astype(np.float32), s)
    assert single.table == pytest.approx(Contingency.from_predictions(F, s).table, rel=1e-6)
    fortran = Contingency.from_predictions(np.asfortranarray(F), s)
    assert np.array_equal(fortran.table, Contingency.from_predictions(F, s).table)


def test_many_rows_go_through_threads_and_give_the_same() -> None:
    n = _WORTH_THREADS + 12345
    rng = np.random.default_rng(0)
    s, y, z = rng.integers(-5, 40, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    F = rng.dirichlet([1.0, 1.0], size=n)
    w = rng.random(n)
    c = Contingency.from_predictions(y, s, y_true=z, notion="equalized_odds")
    expected = np.bincount((z * 45 + s + 5) * 3 + y, minlength=2 * 45 * 3).reshape(2, 45, 3)
    assert np.array_equal(c.table, expected)
    soft = Contingency.from_predictions(F, s, sample_weight=w)
    for j in (0, 1):
        assert soft.table[0, :, j] == pytest.approx(np.bincount(s + 5, weights=w * F[:, j]), rel=1e-12)
    pairs = Contingency.from_predictions(y, {"a": s, "b": z})
    assert np.array_equal(pairs.table[0], np.bincount(((s + 5) * 2 + z) * 3 + y).reshape(90, 3))
    assert _PARTS > 1


def test_group_sets_that_differ_are_aligned() -> None:
    a = Contingency.from_predictions([0, 1], ["g2", "g10"])
    b = Contingency.from_predictions([2, 1], ["g1", "g10"])
    assert (a + b).groups == ("g1", "g2", "g10")
    assert (a + b).classes == (0, 1, 2)
    assert (a + b).table.tolist() == [[[0, 0, 1], [1, 0, 0], [0, 2, 0]]]


def test_equality_looks_at_labels_not_at_order() -> None:
    a = Contingency([[1, 2], [3, 4]], groups=("x", "y"), classes=(0, 1))
    b = Contingency([[4, 3], [2, 1]], groups=("y", "x"), classes=(1, 0))
    assert a == b
    assert a != Contingency([[1, 2], [3, 4]], groups=("x", "z"), classes=(0, 1))
    assert a != Contingency([[1, 2], [3, 5]], groups=("x", "y"), classes=(0, 1))
    assert a != Contingency([[1, 2], [3, 4]], groups=("x", "y"), classes=(0, 1), soft=True)
    assert a != "something else"


def test_a_label_in_an_array_of_no_dimension_is_one() -> None:
    label: Any = np.array("x")
    assert Contingency([[1, 2]], groups=label).groups == ("x",)
    with pytest.raises(FermiError, match="`groups` is 'x'; expected 2 different labels"):
        Contingency([[1, 2], [3, 4]], groups=label)


def test_the_table_cannot_be_changed() -> None:
    source = np.ones((1, 2, 2))
    c = Contingency(source)
    source[:] = 7
    assert c.table.max() == 1
    with pytest.raises(ValueError, match="read-only"):
        c.table[0, 0, 0] = 2.0
    with pytest.raises(AttributeError):
        c.soft = True  # type: ignore[misc]


def test_tables_survive_pickle_and_copy() -> None:
    c = Contingency.from_predictions([0, 1, 1], ["a", "b", None])
    for twin in (pickle.loads(pickle.dumps(c)), copy.deepcopy(c)):
        assert twin == c
        assert not twin.table.flags.writeable


def test_rates_say_nothing_where_there_is_nothing() -> None:
    c = Contingency.from_predictions([1, 0, 1], ["a", "a", "b"], y_true=[0, 0, 1], notion="equalized_odds")
    assert np.isnan(c.rates()[0, 1]).all()
    assert c.rates()[0, 0].tolist() == [0.5, 0.5]


def test_conditional_parity_conditions_on_a_column_of_the_user_s() -> None:
    y_pred, s, z = [1, 0, 1, 0], ["a", "a", "b", "b"], ["x", "y", "x", None]
    c = Contingency.from_predictions(y_pred, s, notion=ConditionalParity(z))
    assert c.conditions == ("x", "y")
    assert c.total == 3
    only = Contingency.from_predictions(y_pred, s, notion=ConditionalParity(z, within=["x"]))
    assert (only.conditions, only.total, only.groups) == (("x",), 2, ("a", "b"))
    same = Contingency.from_predictions(y_pred, s, y_true=[0, 1, 1, 0], notion="equalized_odds")
    other = Contingency.from_predictions(y_pred, s, notion=ConditionalParity([0, 1, 1, 0]))
    assert np.array_equal(same.table, other.table)


def test_repr_says_hard_or_soft() -> None:
    assert repr(Contingency.from_predictions([0, 1], ["a", "b"])) == (
        "Contingency(hard demographic_parity, 1 conditions × 2 groups × 2 classes, weight 2, unknown 0)"
    )


def test_shards_that_condition_on_different_labels_do_not_merge() -> None:
    negative = Contingency.from_predictions([1, 0], ["a", "b"], y_true=[0, 0], notion="equal_opportunity")
    positive = Contingency.from_predictions([1, 1], ["a", "b"], y_true=[1, 1], notion="equal_opportunity")
    with pytest.raises(FermiError, match="Cannot merge hard equal_opportunity of 0 with hard equal_opportunity of 1"):
        negative + positive
    declared = [
        Contingency.from_predictions(p, ["a", "b"], y_true=y, notion="equal_opportunity", classes=[0, 1])
        for p, y in (([1, 0], [0, 0]), ([1, 1], [1, 1]))
    ]
    assert fermi.parity_difference(declared[0] + declared[1]) == 0.0


def test_columns_in_another_order_do_not_merge() -> None:
    frame = pd.DataFrame({"sex": list("FMFM"), "race": list("BBBB")})
    a = Contingency.from_predictions([1, 0, 1, 0], frame)
    b = Contingency.from_predictions([0, 1, 0, 1], frame[["race", "sex"]])
    with pytest.raises(
        FermiError, match="Cannot merge groups of the columns 'sex', 'race' with groups of 'race', 'sex'"
    ):
        a + b


def test_rows_of_weight_zero_are_absent_everywhere() -> None:
    y_pred, s, y, w = [0, 1, 1, 0, 7], list("ababc"), [0, 1, 0, 1, 2], [1, 1, 1, 1, 0]
    for notion in ("demographic_parity", "equalized_odds", "equal_opportunity"):
        weighted = Contingency.from_predictions(y_pred, s, y_true=y, notion=notion, sample_weight=w)
        assert weighted == Contingency.from_predictions(y_pred[:4], s[:4], y_true=y[:4], notion=notion)
    z = ConditionalParity(["x", "y", "x", "y", "z"])
    kept = Contingency.from_predictions(y_pred, s, notion=z, sample_weight=w)
    assert kept.table.sum() == 4
    F = np.eye(2)[[0, 1, 1, 0, 1]]
    soft = Contingency.from_predictions(F, s, sample_weight=w)
    assert soft == Contingency.from_predictions(F[:4], s[:4])


def test_unknown_weight_counts_rows_outside_the_notion_too() -> None:
    F = np.full((5, 3), 1 / 3).round(3)
    s, y = ["a", None, None, "b", "a"], [1, 0, 1, 1, 0]
    for prediction in (F, [0, 1, 2, 0, 1]):
        c = Contingency.from_predictions(prediction, s, y_true=y, notion="equal_opportunity")
        assert c.n_unknown == 2.0  # whatever the probabilities sum to
    weighted = Contingency.from_predictions([0, 1, 2, 0, 1], s, sample_weight=[1, 2, 3, 4, 5])
    assert weighted.n_unknown == 5.0
    assert Contingency([[1, 2]], n_unknown=1) != Contingency([[1, 2]])


def test_declared_classes_choose_the_advantaged_label() -> None:
    c = Contingency.from_predictions([0, 1], ["a", "b"], y_true=[0, 0], notion="equal_opportunity", classes=[0, 1])
    assert c.conditions == (1,)
    assert c.notion == "equal_opportunity of 1"
    F = pd.DataFrame([[0.5, 0.5], [0.1, 0.9]], columns=["p", "q"])
    assert Contingency.from_predictions(F, ["a", "b"], classes=["no", "yes"]).classes == ("no", "yes")


def test_merging_keeps_a_declared_order_and_every_digit() -> None:
    a = Contingency.from_predictions(["low", "high"], ["a", "b"], classes=["low", "middle", "high"])
    b = Contingency.from_predictions(["low"], ["b"], classes=["low", "middle"])
    assert (a + b).classes == (b + a).classes == ("low", "middle", "high")
    fine = Contingency([[1 / 3, 2 / 7]])
    assert (fine + Contingency([[0.0, 0.0]])).table.tolist() == fine.table.tolist()


def test_a_notion_does_not_follow_changes_of_the_caller_s_array() -> None:
    z = np.array([0, 1] * 50)
    notion = ConditionalParity(z)
    before = Contingency.from_predictions(np.zeros(100), np.arange(100) % 3, notion=notion)
    z[:] = 10**9
    assert Contingency.from_predictions(np.zeros(100), np.arange(100) % 3, notion=notion) == before
