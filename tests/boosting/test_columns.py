"""Columns of any kind go to the boosters."""

from __future__ import annotations

import warnings
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import fermi
from fermi.boosting import FermiBoostingClassifier
from fermi.boosting.features import safe_names
from tests.boosting.samples import BOOSTERS, THREADS, fitted, table


@pytest.mark.parametrize("booster", BOOSTERS)
def test_columns_go_to_the_booster_as_they_are(booster: str) -> None:
    polars: Any = pytest.importorskip("polars")
    X, y, s = table()
    model = fitted(booster)
    assert (model.booster_.num_feature() if booster == "lightgbm" else model.booster_.num_features()) == 5
    F = model.predict_proba(X)
    strange = X.assign(word="never seen")
    assert model.predict_proba(strange) == pytest.approx(model.predict_proba(X.assign(word=None)))
    assert model.predict_proba(X.assign(word=X["word"].astype("category"))) == pytest.approx(F)
    assert model.predict_proba(X.assign(a=X["a"].astype("Float64"))) == pytest.approx(F)
    assert model.predict_proba(polars.from_pandas(X)) == pytest.approx(F)
    numbers = X[list("abcd")].round().clip(-1, 1)  # with zeros, which a sparse matrix leaves out
    options: dict[str, Any] = {"n_estimators": 20, "booster_params": THREADS[booster]}
    fits = [
        FermiBoostingClassifier(booster, **options).fit(rows, y, sensitive_features=s).predict_proba(rows)
        for rows in (numbers, numbers.to_numpy(), csr_matrix(numbers.to_numpy()))
    ]
    assert fits[1] == pytest.approx(fits[0])
    assert fits[2] == pytest.approx(fits[0])


AWKWARD = {
    "truths and None": [True, None, False, True] * 50,
    "numbers and words": [1, "b", "c", 2.5] * 50,
    "nothing": [None] * 200,
    "decimals": [Decimal("1.5"), Decimal(2)] * 100,
    "dates": [date(2020, 1, 1), date(2021, 1, 1)] * 100,
    "whole numbers and None": [1, None, 2, 3] * 50,
    "intervals": pd.cut(pd.Series(np.arange(200)), 3),
    "float categories": pd.Series([1.5, 2.5] * 100).astype("category"),
    "nullable": pd.Series([True, None] * 100, dtype="boolean"),
    "income [$], <1": np.arange(200) % 7 - 3.0,
}


@pytest.mark.parametrize("booster", BOOSTERS)
@pytest.mark.parametrize("name", list(AWKWARD))
def test_columns_that_the_libraries_do_not_take(name: str, booster: str) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.standard_normal(200), name: AWKWARD[name]})
    y = X["a"] + (X[name].astype(object) == X[name].iloc[0]) + rng.standard_normal(200) > 0.5
    model = FermiBoostingClassifier(booster, n_estimators=5, learning_rate=0.3, booster_params=THREADS[booster])
    F = model.fit(X, y, sensitive_features=rng.integers(0, 2, 200)).predict_proba(X)
    record = pd.DataFrame([{"a": X["a"][0], name: X[name].iloc[0]}], dtype=object)  # as it comes from JSON
    assert model.predict_proba(record) == pytest.approx(F[:1], abs=1e-6)
    assert np.isfinite(model.predict_proba(record.assign(**{"a": None, name: None}))).all()
    with pytest.raises(fermi.FermiError, match="`X` holds 'much' in the column 'a'; expected numbers, as in `fit`"):
        model.predict(record.assign(a="much"))


@pytest.mark.parametrize("booster", BOOSTERS)
def test_tables_and_arrays_may_change_places_where_that_means_one_thing(booster: str) -> None:
    X, y, s = table()
    numbers = X[list("abcd")]
    model = FermiBoostingClassifier(booster, n_estimators=5, booster_params=THREADS[booster])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn's, about names
        model.fit(X, y, sensitive_features=s)
        with pytest.raises(fermi.FermiError, match="`X` is an array; expected a table with the columns of the fit"):
            model.predict(np.zeros((3, 5)))
        F = model.fit(numbers, y, sensitive_features=s).predict_proba(numbers)
        assert model.predict_proba(numbers.to_numpy()) == pytest.approx(F)
        model.fit(numbers.to_numpy(), y, sensitive_features=s, eval_set=(numbers, y, s))
        assert model.predict_proba(numbers) == pytest.approx(F)
        with pytest.raises(fermi.FermiError, match="`X` holds 'x' in the column 'd'; expected numbers"):
            model.predict(numbers.assign(d="x"))


def test_names_that_differ_in_refused_letters_alone_stay_apart() -> None:
    assert safe_names(["a<", "a>", "a_", "b"]) == ["a__", "a___", "a_", "b"]


def test_bad_rows() -> None:
    X, y, s = table(100)
    model = FermiBoostingClassifier(n_estimators=2)
    cases: list[tuple[Any, Any, Any, str]] = [
        (X.assign(a=np.inf), y, s, "`X` holds inf, first in column 'a'; expected finite numbers, or NaN"),
        (np.full((100, 2), np.inf), y, s, "`X` holds inf, first in column 0"),
        (X.assign(day=pd.Timestamp("2020-01-01")), y, s, "`X` has the column 'day' of datetime64"),
        (X, np.zeros(100), s, "`y` holds one class only"),
        (X, y, s[:50], "`sensitive_features` has 50 rows; expected 100"),
        (X, y, [None] * 100, "`sensitive_features` is unknown in every row"),
        (X, pd.Series(y, index=X.index[::-1]), s, "`y` has another index than `X`"),
    ]
    for rows, labels, groups, words in cases:
        with pytest.raises(fermi.FermiError, match=words):
            model.fit(rows, labels, sensitive_features=groups)
        assert not hasattr(model, "n_features_in_")
    with pytest.raises(fermi.FermiError, match="`booster_params` is 3; expected a dict"):
        FermiBoostingClassifier(booster_params=3).fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match="feature names should match"):
        model.fit(X, y, sensitive_features=s).predict(X.rename(columns={"a": "A"}))
