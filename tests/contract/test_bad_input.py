"""Bad input gets one sentence that names the argument, what was found and what is expected."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import fermi
from fermi import ConditionalParity, Contingency, EqualOpportunity, FermiError

GOOD: dict[str, Any] = {"y_pred": [0, 1, 1], "sensitive_features": ["a", "b", "a"]}
NO_LABELS: list[Any] = [3, 7.5]  # what are no labels
F = np.array([[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]])


def index(*labels: int) -> pd.Index[Any]:
    return pd.Index(labels)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "groups too short": (
        {"sensitive_features": ["a", "b"]},
        "`sensitive_features` has 2 rows; expected 3, as many as `y_pred`.",
    ),
    "labels too long": ({"y_true": [0, 1, 1, 0]}, "`y_true` has 4 rows; expected 3, as many as `y_pred`."),
    "weights too short": ({"sample_weight": [1.0]}, "`sample_weight` has 1 rows; expected 3, as many as `y_pred`."),
    "columns of unequal length": (
        {"sensitive_features": {"sex": [1, 2, 1], "race": [1, 2]}},
        "`sensitive_features['race']` has 2 rows; expected 3, as many as `y_pred`.",
    ),
    "empty": ({"y_pred": [], "sensitive_features": []}, "`y_pred` is empty; expected at least one row."),
    "no columns": ({"sensitive_features": {}}, "`sensitive_features` has no columns; expected at least one."),
    "negative probability": (
        {"y_pred": F - [[0, 0], [0.3, -0.3], [0, 0]]},
        "`y_pred` has the row 1 [-0.1, 1.1]; expected probabilities: at least zero, none missing, summing to one",
    ),
    "NaN probability": ({"y_pred": np.where(F == 0.8, np.nan, F)}, "`y_pred` has the row 1 [0.2, nan]; expected prob"),
    "infinite probability": ({"y_pred": np.where(F == 0.8, np.inf, F)}, "`y_pred` has the row 1 [0.2, inf]; expected"),
    "probabilities that do not sum to one": (
        {"y_pred": F * [[1.0], [1.0], [0.9]]},
        "`y_pred` has the row 2 [0.9, 0]; expected probabilities: at least zero, none missing, summing to one",
    ),
    "scores of one class": (
        {"y_pred": F[:, 0]},
        "`y_pred` holds numbers such as 0.2; expected labels, or an (n, m) matrix of probabilities",
    ),
    "a column of labels": (
        {"y_pred": [[0], [1], [1]]},
        "`y_pred` has the row 0 [0]; expected probabilities",
    ),
    "three dimensions": ({"y_pred": F[None]}, "`y_pred` has the shape (1, 3, 2); expected (n,) labels or (n, m)"),
    "a matrix of words": ({"y_pred": [["a", "b"]] * 3}, "`y_pred` is a matrix of <U1; expected (n,) labels or"),
    "missing predictions": ({"y_pred": [0, None, 1]}, "`y_pred` has 1 missing entries; expected a prediction in every"),
    "a scalar": ({"y_pred": 1}, "`y_pred` is 1; expected (n,) labels or (n, m) probabilities."),
    "an unknown notion": (
        {"notion": "equalised_odds"},
        "`notion` is 'equalised_odds'; expected one of 'demographic_parity', 'equalized_odds', 'equal_opportunity'",
    ),
    "a notion of another type": ({"notion": 3}, "`notion` is 3; expected one of 'demographic_parity'"),
    "y_true missing where equalized odds needs it": (
        {"notion": "equalized_odds"},
        "`y_true` is missing, and 'equalized_odds' conditions on it; expected the true labels.",
    ),
    "y_true missing where equal opportunity needs it": (
        {"notion": "equal_opportunity"},
        "`y_true` is missing, and 'equal_opportunity' conditions on it; expected the true labels.",
    ),
    "holes in y_true": (
        {"notion": "equalized_odds", "y_true": [0, None, 1]},
        "`y_true` has 1 missing entries; expected a label in every row.",
    ),
    "one-hot y_true": (
        {"notion": "equalized_odds", "y_true": np.eye(3)},
        "`y_true` has the shape (3, 3); expected one dimension per column.",
    ),
    "advantaged labels that do not occur": (
        {"notion": EqualOpportunity({2, 1}), "y_true": [0, 1, 1]},
        "`advantaged` holds 2, which does not occur in `y_true`; expected labels among 0, 1 (`classes` can name labels",
    ),
    "a column for Z of another length": (
        {"notion": ConditionalParity([0, 1])},
        "`notion` has 2 rows; expected 3, as many as `y_pred`.",
    ),
    "all groups of any weight unknown": (
        {"sensitive_features": ["a", None, None], "sample_weight": [0, 1, 1]},
        "`sensitive_features` is unknown in every row; expected a known group in at least one.",
    ),
    "labels of another type than the classes": (
        {"notion": "equalized_odds", "y_true": ["0", "1", "1"], "classes": [0, 1]},
        "`y_true` holds '0', '1'; expected labels of the same type as the classes 0, 1.",
    ),
    "y_true that is a number": (
        {"y_true": 5},
        "`y_true` is 5; expected one value per row (an array, a Series or a list).",
    ),
    "weights that are a generator": (
        {"sample_weight": (w for w in [1, 2, 3])},
        "`sample_weight` is a generator; expected one number of at least zero per row.",
    ),
    "a masked weight": (
        {"sample_weight": np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])},
        "`sample_weight` holds negative, missing or infinite numbers",
    ),
    "a masked probability": (
        {"y_pred": np.ma.array(F, mask=F == 0.2)},
        "`y_pred` has the row 1 [nan, 0.8]; expected probabilities",
    ),
    "weights whose sum overflows": ({"sample_weight": [1e308] * 3}, "`sample_weight` has no finite sum; expected"),
    "weights that are text": (
        {"sample_weight": np.array(["1", "2", "3"])},
        "`sample_weight` is of the type <U1; expected",
    ),
    "classes that are a number of classes": ({"classes": 2}, "`y_pred` holds 0; expected one of 2."),
    "two columns of one name": (
        {"sensitive_features": {1: ["a", "b", "a"], "1": ["c", "d", "c"]}},
        "`sensitive_features` has two columns named '1'; expected different names.",
    ),
    "two columns of one name in a frame": (
        {"sensitive_features": pd.DataFrame([[1, 2], [1, 3], [1, 2]], columns=["a", "a"])},
        "`sensitive_features` cannot be read",
    ),
    "values that are lists": (
        {"sensitive_features": np.array([[1], [2, 3], [1]], dtype=object)},
        "`sensitive_features` cannot be coded (unhashable type: 'list'); expected numbers, words, dates or categories.",
    ),
    "the third of three indexes disagrees": (
        {
            "y_pred": pd.Series([0, 1, 1]),
            "sensitive_features": pd.Series(["a", "b", "a"]),
            "sample_weight": pd.Series([1.0, 1.0, 1.0], index=index(2, 1, 0)),
        },
        "`sample_weight` has another index than `y_pred`; expected the same rows in the same order",
    ),
    "a slightly negative probability": (
        {"y_pred": F - [[0, 0], [0, 0], [-1e-4, 1e-4]]},
        "`y_pred` has the row 2 [1, -0.0001]; expected probabilities",
    ),
    "a sum a little above one": (
        {"y_pred": F * 1.002},
        "`y_pred` has the row 0 [0.501, 0.501]; expected probabilities",
    ),
    "a bad row far down": (
        {
            "y_pred": np.vstack([np.tile([0.5, 0.5], (40_000, 1)), [[0.5, 0.6]]]),
            "sensitive_features": np.zeros(40_001),
        },
        "`y_pred` has the row 40000 [0.5, 0.6]; expected probabilities",
    ),
    "a bad row after rows of weight zero": (
        {"y_pred": F * [[1.0], [1.0], [0.9]], "sample_weight": [0, 0, 1]},
        "`y_pred` has the row 2 [0.9, 0]; expected probabilities",
    ),
    "a sparse column": (
        {"sensitive_features": csr_matrix(np.eye(3))},
        "`sensitive_features` is sparse; expected a dense array.",
    ),
    "a lazy frame": (
        {"sensitive_features": pl.DataFrame({"a": [1, 2, 1]}).lazy()},
        "`sensitive_features` is a LazyFrame; expected one value per row",
    ),
    "an index that disagrees inside a dict": (
        {
            "sensitive_features": {
                "a": pd.Series([0, 1, 0]),
                "b": pd.Series([0, 1, 0], index=index(2, 1, 0)),
            },
        },
        "`sensitive_features['b']` has another index than `sensitive_features['a']`; expected the same rows",
    ),
    "an index of Z that disagrees": (
        {
            "y_pred": pd.Series([0, 1, 1]),
            "notion": ConditionalParity(pd.Series([0, 0, 1], index=index(2, 1, 0))),
        },
        "`notion` has another index than `y_pred`; expected the same rows in the same order",
    ),
    "all groups unknown": (
        {"sensitive_features": [None, None, float("nan")]},
        "`sensitive_features` is unknown in every row; expected a known group in at least one.",
    ),
    "one column known, no row complete": (
        {"sensitive_features": {"sex": ["F", None, None], "race": [None, "B", "B"]}},
        "`sensitive_features` is unknown in every row; expected a known group in at least one.",
    ),
    "groups given as one word": (
        {"sensitive_features": "sex"},
        "`sensitive_features` is 'sex'; expected one value per row (an array, Series, DataFrame or dict of columns).",
    ),
    "groups with three dimensions": (
        {"sensitive_features": np.zeros((3, 2, 2))},
        "`sensitive_features` has the shape (3, 2, 2); expected one dimension per column.",
    ),
    "indexes that disagree": (
        {
            "y_pred": pd.Series([0, 1, 1], index=index(0, 1, 2)),
            "sensitive_features": pd.Series(["a", "b", "a"], index=index(2, 1, 0)),
        },
        "`sensitive_features` has another index than `y_pred`; expected the same rows in the same order",
    ),
    "indexes that disagree in a frame": (
        {
            "y_pred": pd.DataFrame(F, index=index(0, 1, 2)),
            "sensitive_features": pd.DataFrame({"sex": [0, 1, 0]}, index=index(3, 4, 5)),
        },
        "`sensitive_features['sex']` has another index than `y_pred`; expected the same rows in the same order",
    ),
    "indexes that disagree with the weights": (
        {
            "y_pred": pd.Series([0, 1, 1]),
            "sample_weight": pd.Series([1.0, 1.0, 1.0], index=index(1, 2, 3)),
        },
        "`sample_weight` has another index than `y_pred`; expected the same rows in the same order",
    ),
    "a label outside the declared classes": ({"classes": [0, 2]}, "`y_pred` holds 1; expected one of 0, 2."),
    "too few classes": (
        {"y_pred": F, "classes": [0]},
        "`classes` has 1 labels; expected 2, one per column of `y_pred`.",
    ),
    "the same class twice": (
        {"classes": [0, 1, 1]},
        "`classes` is [0, 1, 1]; expected at least one label, none missing",
    ),
    "negative weights": (
        {"sample_weight": [1, -1, 1]},
        "`sample_weight` holds negative, missing or infinite numbers; expected one number of at least zero per row.",
    ),
    "NaN weights": (
        {"sample_weight": [1, np.nan, 1]},
        "`sample_weight` holds negative, missing or infinite",
    ),
    "weights that are all zero": (
        {"sample_weight": [0, 0, 0]},
        "`sample_weight` is zero in every row; expected a positive weight in at least one.",
    ),
    "weights that are words": (
        {"sample_weight": ["a", "b", "c"]},
        "`sample_weight` is not numeric; expected one number",
    ),
    "a matrix of weights": (
        {"sample_weight": F},
        "`sample_weight` has the shape (3, 2); expected one dimension per column.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_clear_sentence(case: str) -> None:
    arguments, words = CASES[case]
    with pytest.raises(FermiError, match=re.escape(words)) as caught:
        Contingency.from_predictions(**{**GOOD, **arguments})
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: fermi.lq_violation(c, q=0.5), "`q` is 0.5; expected a number of at least 1."),
        (lambda c: fermi.lq_violation(c, q=float("nan")), "`q` is nan; expected a number of at least 1."),
        (lambda c: fermi.renyi_mutual_information(c, alpha=0), "`alpha` is 0; expected a number above 0."),
        (lambda c: fermi.parity_ratio(c, outcome=7), "`outcome` is 7; expected one of 0, 1."),
        (lambda c: Contingency([[1.0, -1.0]]), "`table` holds negative or non-finite weights; expected"),
        (lambda c: Contingency([1.0, 1.0]), "`table` has 1 dimensions; expected conditions × groups × classes."),
        (lambda c: Contingency([[1.0, 1.0]], classes=("a",)), "`classes` is 'a'; expected 2 different labels."),
        (lambda c: Contingency([[1.0, 1.0]], classes=NO_LABELS[0]), "`classes` is 3; expected 2 different labels."),
        (lambda c: Contingency([[1.0], [1.0]], groups=NO_LABELS[1]), "`groups` is '7.5'; expected 2 different labels."),
        (lambda c: EqualOpportunity([]), "`advantaged` is []; expected at least one label, none missing and none of"),
        (lambda c: EqualOpportunity([[1]]), "`advantaged` is [[1]]; expected labels: numbers, words or dates."),
        (lambda c: ConditionalParity([1, 2], within=3), "`within` holds 3, which does not occur; expected among 1, 2."),
        (lambda c: fermi.lq_violation(c, "2"), "`q` is '2'; expected a number of at least 1."),
        (lambda c: fermi.parity_ratio(c, outcome=np.array([0])), "`outcome` is array([0]); expected one of 0, 1."),
        (
            lambda c: Contingency([[1, 2]]) + Contingency([[1, 2]], notion="equalized_odds"),
            "Cannot merge hard demographic_parity with hard equalized_odds: both tables must measure the same thing.",
        ),
        (lambda c: Contingency([["a", "b"]]), "`table` is not an array of numbers; expected conditions × groups"),
        (lambda c: Contingency([[1, 2], [3]]), "`table` is not an array of numbers; expected conditions × groups"),
        (lambda c: Contingency([[1, 2]], n_unknown=-1), "`n_unknown` is -1; expected a weight of at least zero."),
        (lambda c: Contingency([[1], [2]], groups=[1, "1"]), "`groups` is '1', '1'; expected 2 different labels."),
        (
            lambda c: c + Contingency.from_predictions([0, 1], {"sex": ["a", "b"]}),
            "Cannot merge groups of the columns None with groups of 'sex': both tables must have the same sensitive",
        ),
        (
            lambda c: c + Contingency.from_predictions(["0", "1"], ["a", "b"]),
            "Cannot merge the classes 0, 1 with '0', '1': their types differ.",
        ),
        (lambda c: ConditionalParity(np.eye(2)), "`values` has the shape (2, 2); expected one dimension per column."),
        (lambda c: fermi.ermi(Contingency([[0.0, 0.0]])), "No row counts: none has a known group and a condition"),
        (
            lambda c: c + Contingency.from_predictions(F, ["a", "b", "a"]),
            "Cannot merge hard demographic_parity with soft demographic_parity: both tables must measure the same",
        ),
    ],
)
def test_one_clear_sentence_elsewhere(call: Any, words: str) -> None:
    with pytest.raises(FermiError, match=re.escape(words)):
        call(Contingency.from_predictions(**GOOD))


def test_unknown_keywords_are_refused() -> None:
    with pytest.raises(TypeError, match="group_column"):
        fermi.ermi([0, 1], ["a", "b"], group_column=1)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        fermi.ermi(Contingency.from_predictions(**GOOD), y_true=[0, 1, 1])  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        Contingency.from_predictions([0, 1], ["a", "b"]) + 1


def test_what_is_not_bad() -> None:
    """Aligned indexes, mixed libraries and three printed decimals are fine."""
    same = pd.Series(["a", "b", "a"], index=index(5, 6, 7))
    c = Contingency.from_predictions(pd.Series([0, 1, 1], index=index(5, 6, 7)), same)
    assert c == Contingency.from_predictions(pl.Series([0, 1, 1]), same)
    rounded = Contingency.from_predictions(np.array([[0.333, 0.333, 0.333]]), ["a"])
    assert rounded.total == pytest.approx(0.999)
    one_class = Contingency.from_predictions(np.ones((3, 1)), ["a", "b", "a"])
    assert fermi.ermi(one_class) == 0.0


@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[s]"])
@pytest.mark.parametrize("model", ["fermi.FermiClassifier", "fermi.boosting.FermiBoostingClassifier"])
def test_arrays_of_dates_are_no_numbers(model: str, kind: str) -> None:
    room, _, name = model.rpartition(".")
    if room == "fermi.boosting":
        pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")
    X, y, s = np.arange(40).reshape(20, 2).astype(kind), np.arange(20) % 2, np.arange(20) % 3
    with pytest.raises(FermiError, match=re.escape(f"`X` is an array of {kind}; expected numbers")):
        getattr(import_module(room), name)().fit(X, y, sensitive_features=s)


def _rows() -> tuple[Any, Any, Any]:
    return np.arange(40.0).reshape(20, 2), np.arange(20) % 2, np.arange(20) % 3


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (None, np.zeros((2, 20)), "`X` or `y` cannot be read: y should be a 1d array, got an array of shape (2, 20)"),
        (None, np.float64(1.0), "`X` or `y` cannot be read: "),
        (None, np.linspace(0, 1, 20), "`X` or `y` cannot be read: Unknown label type: continuous"),
        (np.zeros(0), None, "`X` or `y` cannot be read: Expected 2D array, got 1D array instead: array=[]."),
        ([[10**400, 1]] * 20, None, "`X` or `y` cannot be read: "),
        ([[{}, 1]] * 20, None, "`X` or `y` cannot be read: float() argument must be a string or a real number"),
        (pd.Series(list(range(20))), None, "`X` or `y` cannot be read: "),
    ],
)
def test_what_scikit_learn_says_of_rows_is_one_sentence(X: Any, y: Any, words: str) -> None:
    good = _rows()
    X, y = good[0] if X is None else X, good[1] if y is None else y
    calls: list[Any] = [
        lambda: fermi.FermiClassifier().fit(X, y, sensitive_features=good[2]),
        lambda: fermi.FermiClassifier().partial_fit(X, y, sensitive_features=good[2]),
    ]
    for call in calls:
        with pytest.raises(FermiError, match=re.escape(words)) as caught:
            call()
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Contingency([[1.0, 1.0]], n_unknown="x"), "`n_unknown` is 'x'; expected a weight of at least zero."),  # type: ignore[arg-type]
        (lambda: Contingency([[1.0, 10**400]]), "`table` is not an array of numbers; expected conditions × groups"),
        (lambda: Contingency([[1j, 2.0]]), "`table` is not an array of numbers; expected conditions × groups"),
        (lambda: fermi.scorers.violation(np.array(["a", "b"])), "`measure` is array(['a', 'b']"),  # type: ignore[arg-type]
        (lambda: fermi.scorers.violation(pd.NA), "`measure` is <NA>; expected one of "),  # type: ignore[arg-type]
        (lambda: Contingency([[1.0]], classes=pd.NA), "`classes` is <NA>; expected at least one label, none missing"),  # type: ignore[arg-type]
        (lambda: Contingency([[1.0]], classes=np.eye(2)), "`classes` has the shape (2, 2); expected labels in one"),  # type: ignore[arg-type]
        (
            lambda: Contingency.from_counts(pd.DataFrame({"p": [1]}), prediction="p", group=3, weight="p"),  # type: ignore[arg-type]
            "`group` is 3; expected a column of the table: 'p'.",
        ),
        (
            lambda: Contingency.from_counts(pd.DataFrame({"p": [1]}), prediction=np.eye(2), group="p", weight="p"),  # type: ignore[arg-type]
            "`prediction` is array(",
        ),
        (
            lambda: Contingency.from_counts(pd.Series([1, "a"]), prediction="p", group="g", weight="w"),
            "`frame` is a Series; expected a table of pandas, polars or pyarrow",
        ),
        (
            lambda: fermi.tradeoff_curve(
                fermi.FermiClassifier(), *_rows()[:2], sensitive_features=_rows()[2], lams=[0.0], cv=[1, 2]
            ),
            "`cv` is [1, 2], by which the rows cannot be split; expected",
        ),
        (
            lambda: fermi.theory.constants(_rows()[0], 3, sensitive_features=_rows()[2]),
            "`y` has the shape (); expected one label per row, at least one.",
        ),
    ],
)
def test_one_clear_sentence_where_the_fuzzer_found_none(call: Any, words: str) -> None:
    with pytest.raises(FermiError, match=re.escape(words)):
        call()


def test_columns_of_counts_may_have_numbers_for_names() -> None:
    frame = pd.DataFrame([[0, "a", 3], [1, "b", 4]])
    found = Contingency.from_counts(frame, prediction="0", group="1", weight="2")
    assert found.total == 7


def test_bounds_of_a_group_of_next_to_no_weight_are_none() -> None:
    found = Contingency.from_predictions([0, 1, 1, 0], ["a", "a", "b", "b"], sample_weight=[1.0, 1.0, 1e-309, 2e-309])
    assert all(np.isfinite(bound.left) for bound in fermi.bounds(found))
