"""Tables as numbers for trees, beside scikit-learn's encoder and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.preprocessing import OrdinalEncoder

from fermi.decisions.table_codes import TableCodes

N = 400


def words(kind: str) -> pd.Series[Any]:
    rng = np.random.default_rng(0)
    column = pd.Series(np.array(["c", "a", "d", "b"])[rng.integers(0, 4, N)]).where(rng.random(N) > 0.2)
    if kind == "days":
        return pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9, N), unit="D"))
    dtypes: dict[str, Any] = {"objects": object, "strings": "string", "categories": "category"}
    found: pd.Series[Any] = column.astype(dtypes[kind])
    return found


@pytest.mark.parametrize("kind", ["objects", "strings", "categories", "days"])
def test_words_are_told_apart_as_scikit_learn_does(kind: str) -> None:
    X = pd.DataFrame({"x": np.arange(N) / 7.0, "word": words(kind)})
    found = clone(TableCodes([1], [0])).fit_transform(X)
    assert (found[:, 1] == X["x"]).all()
    theirs = OrdinalEncoder(encoded_missing_value=-1).fit_transform(X[["word"]].astype(object).mask(X.isna()))[:, 0]
    assert (np.isnan(found[:, 0]) == (theirs == -1)).all()
    pairs = set(zip(np.nan_to_num(found[:, 0], nan=-1.0).tolist(), theirs.tolist(), strict=True))
    assert len(pairs) == len({ours for ours, _ in pairs}) == len({one for _, one in pairs}) >= 5


def test_rows_to_come_are_read_as_those_of_the_fit_whatever_holds_the_words() -> None:
    X = pd.DataFrame({"word": words("categories")})
    codes = TableCodes([0]).fit(X)
    expected = codes.transform(X)
    for kind in ("objects", "strings"):
        assert np.array_equal(codes.transform(pd.DataFrame({"word": words(kind)})), expected, equal_nan=True)
    shuffled = X["word"].cat.set_categories(["b", "never", "d", "c", "a"])
    assert np.array_equal(codes.transform(shuffled.to_frame()), expected, equal_nan=True)
    assert np.isnan(codes.transform(pd.DataFrame({"word": ["never", None]}))).all()


def test_words_beyond_what_a_tree_takes_share_the_last_code() -> None:
    often = [f"often{i}" for i in range(249)] * 2
    X = pd.DataFrame({"word": [*often, *(f"rare{i}" for i in range(30))]})
    found = TableCodes([0]).fit(X).transform(X)[:, 0]
    assert len(np.unique(found[: len(often)])) == 249
    assert (found[len(often) :] == 249).all()
    assert found[: len(often)].max() == 248


def test_numbers_among_words_are_words_and_missing_numbers_are_nan() -> None:
    mixed, whole = pd.Series([1, "1", "x", None], dtype=object), pd.array([3, None, 5, 7], "Int64")
    X = pd.DataFrame({"mixed": mixed, "whole": whole})
    found = TableCodes([0], [1]).fit(X).transform(X)
    assert found[0, 0] == found[1, 0] != found[2, 0]
    assert np.isnan(found[3, 0])
    assert np.array_equal(found[:, 1], [3.0, np.nan, 5.0, 7.0], equal_nan=True)
