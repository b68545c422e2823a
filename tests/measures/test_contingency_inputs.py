"""Columns of any library, any labels and any order give the same table."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fermi import Contingency
from fermi.compiled.parallel import _WORTH_THREADS
from fermi.inputs.groups import label_order


@pytest.mark.parametrize(
    "wrap",
    [
        np.asarray,
        list,
        pd.Series,
        pl.Series,
        lambda x: pd.Series(x, dtype="category"),
        lambda x: pl.Series(x).cast(pl.Categorical),
        lambda x: pd.Series(x, dtype="string"),
        lambda x: pa.chunked_array([x[:2], x[2:]]),
        lambda x: np.array(x, dtype=object),
    ],
)
def test_inputs_of_any_library_give_the_same_table(wrap: Any) -> None:
    y_pred, s, y = ["no", "yes", "no", "yes", "no"], ["b", "a", "b", "c", "a"], ["no", "no", "yes", "yes", "yes"]
    expected = Contingency.from_predictions(y_pred, s, y_true=y, notion="equalized_odds")
    got = Contingency.from_predictions(wrap(y_pred), wrap(s), y_true=wrap(y), notion="equalized_odds")
    assert got == expected
    assert np.array_equal(got.table, expected.table)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_several_columns_equal_the_column_merged_by_hand(frame: Any) -> None:
    rng = np.random.default_rng(0)
    sex, race = rng.choice(["F", "M"], 200), rng.choice(["A", "B", "C"], 200)
    y_pred = rng.integers(0, 3, 200)
    several = Contingency.from_predictions(y_pred, frame({"sex": sex, "race": race}))
    merged = Contingency.from_predictions(y_pred, [f"{a}|{b}" for a, b in zip(sex, race, strict=True)])
    assert several.groups[:2] == ("sex=F, race=A", "sex=F, race=B")
    assert np.array_equal(several.table, merged.table)
    matrix = Contingency.from_predictions(y_pred, np.column_stack([sex, race]))
    assert matrix.groups[:2] == ("F, A", "F, B")
    assert np.array_equal(matrix.table, merged.table)


def test_classes_keep_the_order_of_the_matrix() -> None:
    F = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
    c = Contingency.from_predictions(F, ["a", "b"], classes=["low", "middle", "high"])
    assert c.classes == ("low", "middle", "high")
    assert np.array_equal(c.table[0], F)
    named = Contingency.from_predictions(pd.DataFrame(F, columns=["low", "middle", "high"]), ["a", "b"])
    assert named == c
    assert (c + c).classes == ("low", "middle", "high")
    hard = Contingency.from_predictions(["high", "low"], ["a", "b"], classes=["low", "middle", "high"])
    assert hard.table.tolist() == [[[0, 0, 1], [1, 0, 0]]]


def test_a_wide_range_of_integers_costs_no_memory() -> None:
    ids = np.array([10**15, 5, -(10**12), 5])
    c = Contingency.from_predictions([0, 1, 1, 0], ids)
    assert c.groups == ("-1000000000000", "5", "1000000000000000")
    assert c.table.tolist() == [[[0, 1], [1, 1], [1, 0]]]


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, 2, 1], dtype=">i8"),
        np.array([1.0, 2.0, 1.0], dtype=">f8"),
        range(1, 4),
        np.array([1, 0, 2, 0, 1, 0])[::2],
        pd.DataFrame([[1], [2], [1]]),
        pl.Series([1, 2, 1], dtype=pl.Int128),
        pd.array([1, 2, 1], dtype="Int64"),
    ],
)
def test_columns_from_unusual_places(column: Any) -> None:
    c = Contingency.from_predictions([0, 1, 1], column)
    assert c.groups[0] == "1"
    assert c.total == 3


def test_columns_and_probabilities_that_are_tensors() -> None:
    torch: Any = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    for column in (
        torch.tensor([1, 2, 1]),
        torch.tensor([1.0, 2.0, 1.0], requires_grad=True),
        torch.tensor([1.0, 2.0, 1.0], dtype=torch.bfloat16),
    ):
        test_columns_from_unusual_places(column)
    F = np.array([[0.25, 0.75], [0.5, 0.5]])
    expected = Contingency.from_predictions(F, ["a", "b"])
    found = Contingency.from_predictions(torch.tensor(F, requires_grad=True), ["a", "b"])
    assert np.array_equal(found.table, expected.table)


def test_a_frame_with_numbered_columns() -> None:
    frame = pd.DataFrame([[1, 2], [1, 3], [1, 2], [2, 2]])
    assert Contingency.from_predictions([1, 0, 1, 0], frame).groups == ("1, 2", "1, 3", "2, 2")


def test_probabilities_from_any_library() -> None:
    F = np.array([[0.25, 0.75], [0.5, 0.5]])
    expected = Contingency.from_predictions(F, ["a", "b"])
    for matrix in (
        F.tolist(),
        F.astype(object),
        pd.DataFrame(F),
        pd.DataFrame(F, dtype="float64[pyarrow]"),
        F.astype(">f8"),
    ):
        assert np.array_equal(Contingency.from_predictions(matrix, ["a", "b"]).table, expected.table)
    named = Contingency.from_predictions(
        pl.DataFrame(F, schema=["no", "yes"]), ["a", "b"], y_true=[0, 1], notion="equal_opportunity"
    )
    assert (named.classes, named.conditions) == (("no", "yes"), (1,))


def test_large_integers_keep_every_digit() -> None:
    ids = [2**64 - 1, 2**64 - 2, 5, 2**64 - 2]
    expected = ("5", str(2**64 - 2), str(2**64 - 1))
    assert Contingency.from_predictions([1, 0, 1, 0], ids).groups == expected
    assert Contingency.from_predictions([1, 0, 1, 0], np.array(ids, dtype=np.uint64)).groups == expected
    assert Contingency.from_predictions(ids, list("abab")).classes == (5, 2**64 - 2, 2**64 - 1)
    low = np.array([-(2**63), -(2**63) + 1])
    assert Contingency.from_predictions([0, 1], low).groups == (str(-(2**63)), str(-(2**63) + 1))


def test_sparse_labels_do_not_blow_up_the_table() -> None:
    n = _WORTH_THREADS + 1
    y_pred = np.where(np.arange(n) % 2, 60_000, 0)
    tracemalloc.start()
    c = Contingency.from_predictions(y_pred, np.arange(n) % 500)
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()
    assert c.table.shape == (1, 500, 2)


@pytest.mark.slow
def test_many_groups_of_many_columns() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (10_000, 18))
    c = Contingency.from_predictions(rng.integers(0, 3, 10_000), table)
    assert len(c.groups) == len(np.unique(table, axis=0))
    assert list(c.groups) == label_order(c.groups)
    assert c + c == Contingency(2 * c.table, c.conditions, c.groups, c.classes, columns=c.columns)


def test_one_and_the_word_one_are_one_group() -> None:
    c = Contingency.from_predictions([0, 1, 1], np.array([1, "1", "b"], dtype=object))
    assert c.groups == ("1", "b")
    assert c.table.tolist() == [[[1, 1], [0, 1]]]


def test_many_pairs_with_unknown_entries() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2000, 3000).astype(float), rng.integers(0, 2000, 3000)
    a[::7] = np.nan
    c = Contingency.from_predictions(np.zeros(3000), {"a": a, "b": b})
    assert c.n_unknown == np.isnan(a).sum()
    pairs = {(int(x), int(y)) for x, y in zip(a, b, strict=True) if not np.isnan(x)}
    assert set(c.groups) == {f"a={x}, b={y}" for x, y in pairs}
