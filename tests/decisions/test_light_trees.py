"""LightGBM's small trees as a group model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from fermi.decisions.group_models import CellModel, default_group_model
from fermi.decisions.light_trees import LightTrees

lightgbm = pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")


def table(n: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Words whose order says nothing, a number, and cells that both tell."""
    rng = np.random.default_rng(seed)
    word, number = rng.integers(6, size=n), rng.normal(size=n)
    high = np.isin(word, [0, 2, 4])
    cell = np.where(rng.random(n) < np.where(high, 0.9, 0.1), 1, 0) + 2 * (number + 0.3 * rng.normal(size=n) > 0.5)
    X = pd.DataFrame({"x": number, "word": pd.Categorical(np.array(list("abcdef"))[word])})
    X.loc[::50, "x"] = np.nan
    X.loc[::70, "word"] = None
    return X, cell


@pytest.mark.parametrize("n_cells", [2, 4])
def test_light_trees_tell_cells_as_well_as_those_of_scikit_learn(n_cells: int) -> None:
    (X, cell), (new, true) = table(), table(seed=1)
    cell, true = cell % n_cells, true % n_cells
    losses = []
    for beside in (lightgbm.LGBMClassifier(n_jobs=1), LogisticRegression()):
        model = CellModel.fit(default_group_model(X, n_cells, beside), X, cell, n_cells, np.ones(len(cell)))
        q = model.probabilities(new)
        np.testing.assert_allclose(q.sum(axis=1), 1.0)
        losses.append(-np.log(q[np.arange(len(true)), true]).mean())
    shares = np.bincount(true) / len(true)
    assert losses[0] < losses[1] + 0.02
    assert losses[0] < 0.8 * -(shares * np.log(shares)).sum()


def test_light_trees_are_taken_beside_lightgbm_alone_and_in_its_threads() -> None:
    X, _ = table(200)
    light = default_group_model(X, 2, lightgbm.LGBMClassifier(n_jobs=3))[-1]
    assert isinstance(light, LightTrees)
    assert (light.words, light.n_jobs) == (1, 3)
    assert not isinstance(default_group_model(X, 2, LogisticRegression())[-1], LightTrees)
    assert not isinstance(default_group_model(X, 2)[-1], LightTrees)


def test_codes_are_words_and_weights_count() -> None:
    X, cell = table()
    codes = default_group_model(X, 2, lightgbm.LGBMClassifier(n_jobs=1))[0].fit(X).transform(X)
    model = LightTrees(1, n_jobs=1).fit(codes, cell % 2)
    assert model.model_.booster_.dump_model()["tree_info"][0]["tree_structure"]["decision_type"] == "=="
    assert model.model_.n_estimators_ == 30
    heavy = LightTrees(1, n_jobs=1).fit(codes, cell % 2, np.where(cell % 2, 10.0, 1.0))
    assert heavy.predict_proba(codes)[:, 1].mean() > model.predict_proba(codes)[:, 1].mean() + 0.2
    again = make_pipeline(LightTrees(1, n_jobs=1)).fit(codes, cell % 2)
    assert np.array_equal(again.predict_proba(codes), model.predict_proba(codes))
