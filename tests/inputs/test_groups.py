"""Sensitive columns of any kind to groups, and the same groups again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermi import FermiError, GroupEncoder


@pytest.mark.parametrize(
    ("column", "codes", "labels"),
    [
        (["b", None, "a", "b"], [1, -1, 0, 1], ("a", "b")),
        (["b", float("nan"), "a"], [1, -1, 0], ("a", "b")),
        ([3, 1, 3], [1, 0, 1], ("1", "3")),
        ([10, 9, -2], [2, 1, 0], ("-2", "9", "10")),
        ([True, False], [1, 0], ("False", "True")),
        (np.array([1.0, np.nan, 2.0]), [0, -1, 1], ("1", "2")),
        (np.array([0.5, 0.25], dtype=np.float16), [1, 0], ("0.25", "0.5")),
        (np.array([2, 1], dtype=np.uint64), [1, 0], ("1", "2")),
        (np.array([5, 3, 3], dtype=np.int8), [1, 0, 0], ("3", "5")),
        (np.array([True, False, True]), [1, 0, 1], ("False", "True")),
        (np.array(["x", "y"]), [0, 1], ("x", "y")),
        (np.ma.masked_array([1, 2, 1], mask=[False, True, False]), [0, -1, 0], ("1",)),
        (np.array([1, "1", None, "b"], dtype=object), [0, 0, -1, 1], ("1", "b")),
        (np.array(["2020-02-01", "2020-01-05", "NaT"], dtype="datetime64[D]"), [1, 0, -1],
         ("2020-01-05", "2020-02-01")),
        (pd.Series([1, None, 2]), [0, -1, 1], ("1", "2")),
        (pd.Series([1, None, 2], dtype="Int64"), [0, -1, 1], ("1", "2")),
        (pd.Series(["b", None, "a"]), [1, -1, 0], ("a", "b")),
        (pd.Series(["b", None, "a"], dtype="category"), [1, -1, 0], ("a", "b")),
        (pd.Series(["b", pd.NA, "a"], dtype="string"), [1, -1, 0], ("a", "b")),
        (pd.Series([True, None, False], dtype="boolean"), [1, -1, 0], ("False", "True")),
        (pl.Series([1, None, 2]), [0, -1, 1], ("1", "2")),
        (pl.Series([1.0, None, float("nan"), 2.0]), [0, -1, -1, 1], ("1", "2")),
        (pl.Series(["b", None, "a"]), [1, -1, 0], ("a", "b")),
        (pl.Series(["b", None, "a"]).cast(pl.Categorical), [1, -1, 0], ("a", "b")),
        (pl.Series([True, None]), [0, -1], ("True",)),
        (pl.Series([None, None]), [-1, -1], ()),
        (np.array([0.1, 2.5], dtype=np.float32), [0, 1], ("0.1", "2.5")),
        (pd.Series([pd.Timestamp("2020-01-05"), pd.NaT]), [0, -1], ("2020-01-05",)),
        (pl.Series(["2020-01-05"]).str.to_date(), [0], ("2020-01-05",)),
        ([2**53 + 1, float("nan"), 2**53], [1, -1, 0], (str(2**53), str(2**53 + 1))),
        (pa.array(["b", None, "a"]), [1, -1, 0], ("a", "b")),
        ([["F", "B"], ["M", None], ["F", "W"]], [0, -1, 1], ("F, B", "F, W")),
        ({"sex": ["F", "M"]}, [0, 1], ("sex=F", "sex=M")),
        ({"a": ["x=y", "x"], "b": [1, 1]}, [0, 1], ('a="x=y", b=1', "a=x, b=1")),
        (pd.Series(["F", "M"], name="sex"), [0, 1], ("sex=F", "sex=M")),
        (pl.Series("sex", ["F", "M"]), [0, 1], ("sex=F", "sex=M")),
        ({"a": ["x, b=y", "x"], "b": [1.0, 2.0]}, [0, 1], ('a="x, b=y", b=1', "a=x, b=2")),
    ],
)  # fmt: skip
def test_columns_of_every_kind(column: Any, codes: list[int], labels: tuple[str, ...]) -> None:
    encoder = GroupEncoder()
    assert encoder.fit_transform(column).tolist() == codes
    assert encoder.groups_ == labels
    assert encoder.transform(column).tolist() == codes


def test_only_combinations_that_occur_are_groups() -> None:
    frame = pd.DataFrame({"sex": ["F", "M", "F"], "race": ["Black", "White", "White"], "old": [1, 1, 0]})
    encoder = GroupEncoder().fit(frame)
    assert encoder.groups_ == ("sex=F, race=Black, old=1", "sex=F, race=White, old=0", "sex=M, race=White, old=1")
    assert encoder.columns_ == ("sex", "race", "old")


def test_new_rows_are_matched_by_name_then_by_position() -> None:
    encoder = GroupEncoder().fit({"sex": ["F", "M"], "race": ["B", "W"]})
    assert encoder.transform(pd.DataFrame({"race": ["W"], "sex": ["M"]})).tolist() == [1]
    assert encoder.transform([["M", "W"]]).tolist() == [1]
    with pytest.raises(FermiError, match=r"`sensitive_features` has the columns 'sex'; expected the columns 'sex'"):
        encoder.transform({"sex": ["F"]})
    with pytest.raises(FermiError, match="expected the columns 'sex', 'race'"):
        encoder.transform({"sex": ["F"], "age": [3]})
    with pytest.raises(FermiError, match="has the columns 'race'; expected the columns 'sex'"):
        GroupEncoder().fit({"sex": ["F"]}).transform({"race": ["F"]})
    with pytest.raises(FermiError, match="has another index"):
        encoder.fit({"a": pd.Series([1, 2]), "b": pd.Series([1, 2], index=[1, 0])})


def test_a_column_that_turned_into_floats_keeps_its_groups() -> None:
    encoder = GroupEncoder().fit(pd.Series([0, 1, 1]))
    assert encoder.transform(pd.Series([1.0, np.nan, 0.0])).tolist() == [1, -1, 0]


def test_a_group_never_seen_is_an_error_or_unknown() -> None:
    encoder = GroupEncoder().fit({"sex": ["F", "M"], "race": ["B", "W"]})
    new = {"sex": ["F", "F", "X"], "race": ["B", "W", "B"]}
    with pytest.raises(FermiError, match=r"holds the group 'sex=F, race=W', never seen before; expected one of"):
        encoder.transform(new)
    assert encoder.transform(new, unseen="unknown").tolist() == [0, -1, -1]
    with pytest.raises(FermiError, match="`unseen` is 'ignore'; expected 'error' or 'unknown'"):
        encoder.transform(new, unseen="ignore")  # type: ignore[arg-type]
    with pytest.raises(FermiError, match="call `fit` first"):
        GroupEncoder().transform(new)


@given(st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", None])] * 3), min_size=1, max_size=60))
def test_codes_agree_with_a_dictionary_of_tuples(rows: list[tuple[str | None, ...]]) -> None:
    columns = {f"c{j}": [row[j] for row in rows] for j in range(3)}
    encoder = GroupEncoder()
    codes = encoder.fit_transform(columns)
    for code, row in zip(codes, rows, strict=True):
        assert (code == -1) == (None in row)
        if code >= 0:
            assert encoder.groups_[code] == ", ".join(f"c{j}={value}" for j, value in enumerate(row))
    assert set(codes.tolist()) - {-1} == set(range(len(encoder.groups_)))


def test_order_and_labels_do_not_depend_on_the_rows_order() -> None:
    rng = np.random.default_rng(0)
    values = rng.choice([f"g{j}" for j in range(30)], 500)
    first, second = GroupEncoder().fit(values), GroupEncoder().fit(values[::-1])
    assert first.groups_ == second.groups_ == tuple(f"g{j}" for j in range(30))


def test_very_many_columns_do_not_overflow() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 1000, (300, 25))
    encoder = GroupEncoder()
    assert sorted(encoder.fit_transform(table).tolist()) == list(range(300))


def test_many_groups_from_two_wide_columns() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.permutation(3000), rng.permutation(3000)  # a table of all pairs would have nine million cells
    codes = GroupEncoder().fit_transform({"a": a, "b": b})
    assert sorted(codes.tolist()) == list(range(3000))
