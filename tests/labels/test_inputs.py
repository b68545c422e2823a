"""`FairLabels` with every kind of features, labels, groups and weights that people have."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import fermi
from fermi.errors import FermiError
from tests.labels.samples import fair, fitted, gap, rows, table

SOME = rows()
REFERENCE = fitted(SOME)


@pytest.mark.parametrize("kind", ["list", "CSR", "pandas", "polars", "arrow", "single precision", "column order"])
def test_numbers_in_any_form_give_the_same_labels(kind: str) -> None:
    names = list("abcd")
    X: Any = {
        "list": SOME.X.tolist(),
        "CSR": csr_matrix(SOME.X),
        "pandas": pd.DataFrame(SOME.X, columns=names, index=np.arange(900)[::-1]),
        "polars": pl.DataFrame(SOME.X, schema=names),
        "arrow": pa.table({name: SOME.X[:, k] for k, name in enumerate(names)}),
        "single precision": SOME.X.astype(np.float32),
        "column order": np.asfortranarray(SOME.X),
    }[kind]
    y: Any = SOME.y.tolist() if kind == "list" else pl.Series(SOME.y) if kind == "polars" else SOME.y
    s: Any = SOME.s.tolist() if kind == "list" else pl.Series(SOME.s) if kind == "polars" else SOME.s
    model = fair().fit(X, y, sensitive_features=s)
    assert np.mean(model.predict(X) == REFERENCE.predict(SOME.X)) > 0.98
    assert model.reached_


def test_a_table_with_categories_words_and_gaps() -> None:
    X = table(SOME)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    words = make_column_transformer((encoder, ["kind", "word"]), remainder="passthrough")
    model = fair(make_pipeline(words, HistGradientBoostingClassifier(max_iter=10)))
    model.fit(X, pd.Series(SOME.y), sensitive_features=pd.Series(SOME.s, name="tree"))
    assert model.reached_
    assert model.groups_ == ("tree=ash", "tree=birch", "tree=cedar")
    new = X.head(4).assign(word=pd.Series(["x", None, "never", "y"]), gaps=np.nan)
    assert set(model.predict(new)) <= {0, 1}


def test_polars_with_words() -> None:
    X = pl.DataFrame({"a": SOME.X[:, 0], "b": SOME.X[:, 1], "word": SOME.s})
    model = fair(make_pipeline(make_column_transformer((StandardScaler(), ["a", "b"])), LogisticRegression()))
    model.fit(X, pl.Series(SOME.y), sensitive_features=pl.DataFrame({"tree": SOME.s}))
    assert model.reached_
    assert model.predict(X[:7]).shape == (7,)


def test_an_array_of_words_and_numbers() -> None:
    X = np.column_stack([SOME.X[:, :2].round(0).astype(object), SOME.s.astype(object)])
    model = fair(make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()))
    model.fit(X, SOME.y, sensitive_features=SOME.s)
    assert model.reached_
    assert model.predict(X[:3]).shape == (3,)


def test_entries_that_are_missing_in_new_rows_or_in_those_of_the_certificate_alone() -> None:
    X = SOME.X.copy()
    X[3, 1] = np.nan
    for confidence in (None, 0.8):
        trees = HistGradientBoostingClassifier(max_iter=8)
        for seed in range(3):
            model = fair(trees, 0.5, confidence=confidence, random_state=seed, selection_rate=(0.0, 0.45))
            model.fit(X, SOME.y, sensitive_features=SOME.s)
            assert model.multipliers_.any() or model.offset_.any()
            assert model.predict(np.full((2, 4), np.nan)).shape == (2,)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [7, -3], [0.0, 1.0]])
def test_labels_of_any_type_come_back_as_they_were(labels: list[Any]) -> None:
    y = np.array(labels)[SOME.y]
    model = fair().fit(SOME.X, y, sensitive_features=SOME.s)
    predicted = model.predict(SOME.X)
    assert predicted.dtype == y.dtype
    assert set(predicted) == set(labels)
    assert model.classes_.tolist() == sorted(labels)
    if labels != [7, -3]:  # there the last class is the other one
        assert np.array_equal(predicted == labels[1], REFERENCE.predict(SOME.X) == 1)


def test_labels_of_objects_come_back_as_they_were() -> None:
    y = pd.Series(np.array(["no", "yes"], dtype=object)[SOME.y], dtype=object)
    model = fair().fit(SOME.X, y, sensitive_features=SOME.s)
    assert model.predict(SOME.X).dtype == object


@pytest.mark.parametrize("missing", [None, np.nan])
def test_rows_of_unknown_group_count_in_the_error_and_not_in_the_rates(missing: Any) -> None:
    unknown = np.arange(900) % 5 == 0
    s = SOME.s.astype(object)
    s[unknown] = missing
    model = fair().fit(SOME.X, SOME.y, sensitive_features=s)
    assert model.groups_ == ("ash", "birch", "cedar")
    assert model.reached_
    predicted = model.predict(SOME.X)
    assert gap(predicted[~unknown], SOME.s[~unknown]) < 0.12
    numbers = np.where(unknown, np.nan, np.unique(SOME.s, return_inverse=True)[1])
    again = fair().fit(SOME.X, SOME.y, sensitive_features=numbers)
    assert np.array_equal(again.predict(SOME.X), predicted)


COLUMNS = pd.DataFrame({"tree": SOME.s, "side": np.where(SOME.X[:, 3] > 0, "left", "right")})


@pytest.mark.parametrize("form", ["pandas", "polars", "dict", "array", "arrow", "arrays of arrow", "mapping"])
def test_several_columns_in_any_form_are_the_groups_of_their_combinations(form: str) -> None:
    s: Any = {
        "pandas": COLUMNS,
        "polars": pl.DataFrame({name: COLUMNS[name].tolist() for name in COLUMNS}),
        "dict": {name: COLUMNS[name].tolist() for name in COLUMNS},
        "array": COLUMNS.to_numpy(dtype=object),
        "arrow": pa.table({name: COLUMNS[name].tolist() for name in COLUMNS}),
        "arrays of arrow": {name: pa.array(COLUMNS[name].tolist()) for name in COLUMNS},
        "mapping": MappingProxyType({name: COLUMNS[name].to_numpy() for name in COLUMNS}),
    }[form]
    model = fair().fit(SOME.X, SOME.y, sensitive_features=s)
    assert len(model.groups_) == 6
    assert model.multipliers_.shape == (1, 6, 2)
    assert model.reached_
    each = fair(attributes="each").fit(SOME.X, SOME.y, sensitive_features=s)
    assert len(each.groups_) == 5
    assert each.multipliers_.shape == (1, 5, 2)
    assert isinstance(each.group_estimator_, tuple)
    assert each.reached_


def test_each_attribute_by_itself_keeps_the_bound() -> None:
    some = rows(4000)
    columns = pd.DataFrame({"tree": some.s, "high": np.where(some.X[:, 1] > 0, "yes", "no")})
    model = fair(attributes="each", max_violation=0.06).fit(some.X, some.y, sensitive_features=columns)
    predicted = model.predict(some.X)
    for name in columns:
        assert gap(predicted, columns[name].to_numpy()) < 0.1
        assert gap(model.estimator_.predict(some.X), columns[name].to_numpy()) > 0.2


def test_parity_within_a_column_of_conditions() -> None:
    some = rows(3000)
    z = np.where(some.X[:, 3] > 0, "day", "night")
    model = fair(fairness=fermi.ConditionalParity(z), max_violation=0.06)
    model.fit(some.X, some.y, sensitive_features=some.s)
    assert model.conditions_ == ("day", "night")
    assert model.multipliers_.shape == (2, 3, 2)
    predicted = model.predict(some.X)
    assert max(gap(predicted[z == part], some.s[z == part]) for part in ("day", "night")) < 0.12


def test_weights_of_rows_reach_the_classifier_and_the_rates() -> None:
    rng = np.random.default_rng(0)
    weight = np.where(SOME.y == 1, 4.0, 1.0) * rng.uniform(0.5, 1.5, 900)
    model = fair().fit(SOME.X, SOME.y, sensitive_features=SOME.s, sample_weight=weight)
    alone = LogisticRegression().fit(SOME.X, SOME.y, sample_weight=weight)
    assert model.estimator_.coef_ == pytest.approx(alone.coef_)
    inside = fair(make_pipeline(StandardScaler(), LogisticRegression()))
    inside.fit(SOME.X, SOME.y, sensitive_features=SOME.s, sample_weight=weight.tolist())
    assert np.mean(inside.predict(SOME.X)) > np.mean(REFERENCE.predict(SOME.X))


def test_whole_weights_are_repeated_rows_for_a_classifier_that_is_fitted_already() -> None:
    new = rows(1200, seed=3)
    times = np.random.default_rng(1).integers(0, 4, 1200)
    again = np.repeat(np.arange(1200), times)
    own = LogisticRegression().fit(SOME.X, SOME.y)
    weighed = fair(own, prefit=True).fit(new.X, new.y, sensitive_features=new.s, sample_weight=times)
    repeated = fair(own, prefit=True).fit(new.X[again], new.y[again], sensitive_features=new.s[again])
    plain = own.predict(new.X[again])
    at_one = weighed.at(1.0)
    assert at_one.figures_.error == pytest.approx(np.mean(plain != new.y[again]))
    assert at_one.violation_ == pytest.approx(gap(plain, new.s[again]))
    assert weighed.figures_.error == pytest.approx(repeated.figures_.error, abs=0.03)


def test_a_classifier_that_takes_no_weights_says_so() -> None:
    with pytest.raises(FermiError, match="`sample_weight` is given, and KNeighborsClassifier takes none"):
        fair(KNeighborsClassifier()).fit(SOME.X, SOME.y, sensitive_features=SOME.s, sample_weight=np.ones(900))
