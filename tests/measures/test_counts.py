"""The result of a GROUP BY as a table: of any library, as the rows themselves would give it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fermi
from fermi import Contingency, FermiError


def sample(n: int = 700) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "y": rng.choice(["no", "yes"], n),
            "label": rng.choice(["no", "perhaps", "yes"], n, p=[0.5, 0.2, 0.3]),
            "sex": rng.choice(np.array(["F", "M", None]), n, p=[0.4, 0.5, 0.1]),
            "age": rng.choice([9.0, 10.0, 60.0, np.nan], n, p=[0.3, 0.3, 0.3, 0.1]),
            "region": rng.choice(["north", "south", "west"], n),
        }
    )
    frame.loc[5, "region"] = None
    return frame


def grouped(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return frame.groupby(by, dropna=False).size().rename("n").reset_index()


KINDS = [
    pytest.param(lambda f: f, id="pandas"),
    pytest.param(lambda f: pl.from_arrow(pa.table(f)), id="polars"),
    pytest.param(pa.table, id="pyarrow"),
    pytest.param(lambda f: {name: f[name].tolist() for name in f}, id="dict"),
    pytest.param(lambda f: pa.RecordBatchReader.from_batches(pa.table(f).schema, pa.table(f).to_batches()), id="arrow"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_counts_give_the_table_of_the_rows(kind: Any) -> None:
    frame = sample()
    counts = kind(grouped(frame, ["label", "sex", "age"]))
    found = Contingency.from_counts(counts, prediction="label", group=["sex", "age"], weight="n")
    assert found == Contingency.from_predictions(frame.label, frame[["sex", "age"]])
    assert found.groups[:2] == ("sex=F, age=9", "sex=F, age=10")
    assert found.conditions == ("all",)
    assert found.n_unknown == frame[["sex", "age"]].isna().any(axis=1).sum() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_is_any_column(kind: Any) -> None:
    frame = sample()
    counts = kind(grouped(frame, ["label", "sex", "region"]))
    found = Contingency.from_counts(counts, prediction="label", group="sex", weight="n", condition="region")
    notion = fermi.ConditionalParity(frame.region)
    assert found == Contingency.from_predictions(frame.label, frame[["sex"]], notion=notion)
    assert found.conditions == ("north", "south", "west")


@pytest.mark.parametrize("notion", ["equalized_odds", "equal_opportunity", fermi.EqualOpportunity("no")])
def test_the_condition_may_be_the_true_label(notion: Any) -> None:
    frame = sample()
    by = {"prediction": "label", "group": "sex", "weight": "n", "condition": "y", "notion": notion}
    found = Contingency.from_counts(grouped(frame, ["label", "sex", "y"]), **by)
    whole = Contingency.from_predictions(frame.label, frame[["sex"]], y_true=frame.y, notion=notion)
    assert found == whole
    assert found + whole == Contingency.from_counts(grouped(pd.concat([frame, frame]), ["label", "sex", "y"]), **by)


def test_rows_of_one_combination_are_added_and_weights_may_be_decimals() -> None:
    frame = {
        "p": [1, 0, 1, 1],
        "s": ["a", "a", "b", "a"],
        "w": [Decimal("0.5"), Decimal(2), Decimal(0), Decimal("1.25")],
    }
    found = Contingency.from_counts(frame, prediction="p", group="s", weight="w")
    assert found.groups == ("s=a",)  # what weighs nothing is absent
    assert found.table.tolist() == [[[2.0, 1.75]]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prediction": "x"}, r"`prediction` is 'x'; expected a column of the table: 'p', 's', 'w', 'z', 'v'\."),
        ({"group": []}, "`group` names no column"),
        ({"group": np.array(0.5)}, r"`group` is array\(0.5\); expected a column of the table"),
        ({"group": ["s", "s"]}, r"`frame` would give a column two roles"),
        ({"weight": "v"}, "`weight` is not numeric; expected one number of at least zero per row"),
        ({"frame": {"p": [1], "s": ["a"], "w": [-1.0]}}, "`weight` holds negative, missing or infinite numbers"),
        ({"frame": {"p": [1], "s": ["a"], "w": [float("nan")]}}, "`weight` holds negative, missing or infinite"),
        ({"frame": {"p": [1], "s": [None], "w": [3]}}, "`group` is unknown in every row"),
        ({"frame": {"p": [None, 1], "s": ["a", "b"], "w": [3, 4]}}, "`prediction` has 1 missing entries"),
        ({"frame": {"p": [0.25, 1], "s": ["a", "b"], "w": [3, 4]}}, "`prediction` holds numbers such as 0.25"),
        ({"frame": {"p": [], "s": [], "w": []}}, "`frame` has no rows"),
        ({"frame": 3}, "`frame` is a int; expected a table of pandas"),
        ({"notion": "equalized_odds"}, "`condition` is None; expected the column of true labels"),
        ({"notion": "demographic_parity", "condition": "z"}, "`condition` is a column; expected None"),
        ({"notion": "equalized_odds", "condition": "z"}, "`condition` has 1 missing entries; expected a true label"),
        ({"notion": fermi.ConditionalParity([1])}, "`notion` holds a column of its own; expected None"),
    ],
)
def test_bad_counts_get_one_sentence(change: dict[str, Any], message: str) -> None:
    asked: dict[str, Any] = {
        "frame": {"p": [1, 0], "s": ["a", "b"], "w": [3, 4], "z": [None, 1], "v": ["x", "y"]},
        "prediction": "p",
        "group": "s",
        "weight": "w",
    }
    with pytest.raises(FermiError, match=message):
        Contingency.from_counts(**{**asked, **change})
