"""Models that tell groups: every kind of features, folds without some cell, weights, categories never seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csr_array, csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fermi._typing import Floats, Ints
from fermi.decisions.group_models import (
    CellModel,
    default_group_model,
    fit_weights,
    group_features,
    held_out_cells,
    kinds_of_cell,
)
from fermi.inputs.cells import Cells

N = 600


def rows() -> tuple[Floats, Ints]:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, N)
    X = rng.normal(0.0, 1.0, (N, 3))
    X[:, 0] += 2.0 * s
    return X, s


def table() -> pd.DataFrame:
    X, s = rows()
    rng = np.random.default_rng(1)
    gaps = np.where(rng.random(N) < 0.2, np.nan, X[:, 1])
    mixed = [
        ("a", "b", "c")[code] if word else code for code, word in zip(s.tolist(), rng.random(N) < 0.5, strict=True)
    ]
    return pd.DataFrame(
        {
            "number": X[:, 0],
            "gaps": gaps,
            "kind": pd.Series(np.array(["x", "y", "z"])[s]).where(rng.random(N) > 0.2).astype("category"),
            "flag": rng.random(N) < 0.5,
            "mixed": pd.Series(mixed, dtype=object),
            "whole": pd.Series(X[:, 2].round()).where(X[:, 2] < 1).astype("Int64"),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 40, N), unit="D"),
            "empty": np.full(N, np.nan),
            "nothing": pd.Series([None] * N, dtype=object),
            "once": pd.Series([None] * (N - 1) + ["word"], dtype=object),
        }
    )


def as_objects() -> Any:
    X, s = rows()
    return np.column_stack([X.astype(object), np.array(["u", "v", "w"], dtype=object)[s]])


KINDS: dict[str, Callable[[], Any]] = {
    "array": lambda: rows()[0],
    "list": lambda: rows()[0].tolist(),
    "whole numbers": lambda: (10 * rows()[0]).astype(int),
    "array with gaps": lambda: np.where(np.random.default_rng(2).random((N, 3)) < 0.1, np.nan, rows()[0]),
    "array of objects": as_objects,
    "array of words": lambda: np.array(["u", "v", "w"])[rows()[1]][:, None],
    "images": lambda: rows()[0].reshape(N, 3, 1),
    "CSR matrix": lambda: csr_matrix(rows()[0]),
    "CSR array": lambda: csr_array(rows()[0]),
    "table": table,
    "table of numbers": lambda: table()[["number", "gaps", "empty"]],
    "table of flags": lambda: pd.DataFrame({"a": rows()[0][:, 0] > 2, "b": rows()[0][:, 1] > 0}),
    "polars": lambda: pl.DataFrame({"a": rows()[0][:, 0], "word": np.array(["u", "v", "w"])[rows()[1]]}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_groups_are_told_from_features_of_any_kind(kind: str) -> None:
    X, (_, s) = group_features(KINDS[kind]()), rows()
    model = CellModel.fit(default_group_model(X, 3), X, s, 3, np.ones(N))
    q = model.probabilities(X)
    assert q.shape == (N, 3)
    assert q.sum(axis=1) == pytest.approx(np.ones(N))
    assert np.mean(q.argmax(axis=1) == s) > 0.5


def test_entries_may_be_missing_in_new_rows_alone() -> None:
    X, s = rows()
    model = CellModel.fit(default_group_model(X, 3), X, s, 3, np.ones(N))
    new = X[:20].copy()
    new[::3, 1] = np.nan
    assert np.isfinite(model.probabilities(new)).all()
    full = table()[["number", "day", "kind"]]
    full["number"] = full["number"].abs()
    model = CellModel.fit(default_group_model(full, 3), full, s, 3, np.ones(N))
    strange = full.head(6).assign(
        number=np.nan, day=pd.Series([pd.NaT] * 6), kind=pd.Categorical([None] * 5 + ["never"])
    )
    assert np.isfinite(model.probabilities(strange)).all()


def test_a_column_of_many_words_is_no_obstacle() -> None:
    rng, (_, s) = np.random.default_rng(0), rows()
    X = pd.DataFrame({"name": [f"n{i}" for i in rng.integers(0, 500, N)], "x": rows()[0][:, 0]})
    q = CellModel.fit(default_group_model(X, 3), X, s, 3, np.ones(N)).probabilities(X)
    assert np.isfinite(q).all()


def test_a_kind_that_the_rows_do_not_show_has_no_probability() -> None:
    X, s = rows()
    some = s != 1
    q = CellModel.fit(LogisticRegression(), X[some], s[some], 4, np.ones(some.sum())).probabilities(X)
    assert q.shape == (N, 4)
    assert not q[:, [1, 3]].any()
    assert q.sum(axis=1) == pytest.approx(np.ones(N))


def test_one_kind_alone_or_none_needs_no_model() -> None:
    X, _ = rows()
    one = CellModel.fit(LogisticRegression(), X, np.full(N, 2), 3, np.ones(N))
    assert one.model is None
    assert (one.probabilities(X[:5]) == [0.0, 0.0, 1.0]).all()
    none = CellModel.fit(LogisticRegression(), X, np.full(N, -1), 3, np.ones(N))
    assert not none.probabilities(X[:5]).any()
    weightless = CellModel.fit(LogisticRegression(), X, np.arange(N) % 3, 3, np.zeros(N))
    assert not weightless.probabilities(X[:5]).any()


def test_rows_outside_the_conditions_are_a_kind_of_their_own_and_unknown_ones_are_left_out() -> None:
    conditions, groups = np.array([0, 1, -1, 0, -1, 1]), np.array([1, 2, 0, -1, -1, 0])
    cells = Cells.of(conditions, groups, (2, 3), np.ones(6))
    assert kinds_of_cell(cells, groups >= 0).tolist() == [1, 5, 6, -1, -1, 3]


def test_what_is_missing_to_one_is_the_chance_of_being_outside() -> None:
    X, s = rows()
    kinds = np.where(s == 2, 2, s)  # two cells, and the third kind is outside
    model = CellModel.fit(LogisticRegression(), X, kinds, 2, np.ones(N))
    q = model.probabilities(X)
    assert q.shape == (N, 2)
    assert 1.0 - q.sum(axis=1) == pytest.approx(model.model.predict_proba(X)[:, 2])


def test_held_out_cells_come_from_models_that_have_not_seen_the_row() -> None:
    X, s = rows()
    fold = np.arange(N) % 3
    folds = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    q = held_out_cells(KNeighborsClassifier(1), X, s, 3, np.ones(N), folds)
    assert np.mean(q.argmax(axis=1) == s) < 0.95  # the nearest row, itself left out
    alone = CellModel.fit(GaussianNB(), X[fold != 1], s[fold != 1], 3, np.ones(N)[fold != 1])
    assert held_out_cells(GaussianNB(), X, s, 3, np.ones(N), folds)[fold == 1] == pytest.approx(
        alone.probabilities(X[fold == 1])
    )


def test_weights_reach_the_last_step_and_rows_of_no_weight_are_left_out() -> None:
    X, s = rows()
    weight = np.where(s == 0, 5.0, 1.0)
    template = make_pipeline(StandardScaler(), LogisticRegression())
    assert list(fit_weights(template, weight)) == ["logisticregression__sample_weight"]
    assert list(fit_weights(GaussianNB(), weight)) == ["sample_weight"]
    assert fit_weights(KNeighborsClassifier(), weight) == {}
    heavy, even = (CellModel.fit(template, X, s, 3, w).probabilities(X)[:, 0].mean() for w in (weight, np.ones(N)))
    assert heavy > even + 0.1
    none = np.where(np.arange(N) < 300, 1.0, 0.0)
    part = CellModel.fit(template, X[:300], s[:300], 3, np.ones(300)).probabilities(X)
    assert CellModel.fit(template, X, s, 3, none).probabilities(X) == pytest.approx(part)


def test_weights_reach_the_model_when_scikit_learn_routes_metadata() -> None:
    X, s = rows()
    weight = np.where(s == 0, 5.0, 1.0)
    plain = CellModel.fit(default_group_model(X, 3), X, s, 3, weight).probabilities(X)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = CellModel.fit(default_group_model(X, 3), X, s, 3, weight).probabilities(X)
    assert routed == pytest.approx(plain)
