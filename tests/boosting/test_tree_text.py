"""The text of a booster that somebody altered: it is refused, or LightGBM is given whole trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

lightgbm = pytest.importorskip("lightgbm", reason="the extra with lightgbm is not installed")

from fermi.boosting import FermiBoostingClassifier  # noqa: E402
from fermi.boosting.tree_text import checked_text  # noqa: E402


def trained(n_classes: int, **params: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(400, 4))
    X[:, 2] = rng.random(400) < 0.3
    X[rng.random((400, 4)) < 0.05] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0] + X[:, 2]), np.linspace(-0.7, 0.7, n_classes - 1))
    model = FermiBoostingClassifier(
        n_estimators=8, learning_rate=0.4, lam=0.01, booster_params=params or None, random_state=0
    )
    return X, model.fit(X, y, sensitive_features=rng.integers(0, 3, 400)).booster_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("params", [{}, {"num_leaves": 2}, {"zero_as_missing": True}, {"use_missing": False}])
def test_what_is_written_anew_predicts_the_same(n_classes: int, params: dict[str, Any]) -> None:
    X, booster = trained(n_classes, **params)
    again = lightgbm.Booster(model_str=checked_text(booster.model_to_string(), n_classes, 4))
    for raw in (False, True):
        assert np.array_equal(again.predict(X, raw_score=raw), booster.predict(X, raw_score=raw))


@pytest.mark.filterwarnings("ignore::fermi.ConstantPredictionWarning")
def test_trees_of_one_leaf_are_trees() -> None:
    X, booster = trained(2, min_data_in_leaf=390)
    again = lightgbm.Booster(model_str=checked_text(booster.model_to_string(), 2, 4))
    assert np.array_equal(again.predict(X), booster.predict(X))


def _line(text: str, name: str) -> str:
    return next(line for line in text.split("\n") if line.startswith(f"{name}="))


CHANGES = {
    "a child that is the root": ("left_child", 0, "0"),
    "a leaf that there is not": ("left_child", 0, "-99"),
    "a node that there is not": ("right_child", 0, "99"),
    "a child that is twice there": ("right_child", 1, "-1"),
    "a feature that there is not": ("split_feature", 0, "4"),
    "a feature below zero": ("split_feature", 0, "-1"),
    "a decision about categories": ("decision_type", 0, "1"),
    "a decision that there is not": ("decision_type", 0, "14"),
    "no number": ("leaf_value", 0, "nan"),
    "a number without end": ("leaf_value", 0, "1e999"),
    "a word": ("threshold", 0, "x"),
    "more leaves": ("num_leaves", 0, "32"),
    "no leaves": ("num_leaves", 0, "0"),
    "leaves below zero": ("num_leaves", 0, "-1"),
    "categories": ("num_cat", 0, "3"),
    "linear leaves": ("is_linear", 0, "1"),
    "more classes": ("num_class", 0, "2"),
    "more trees of a round": ("num_tree_per_iteration", 0, "2"),
    "more features": ("max_feature_idx", 0, "5"),
    "another link": ("objective", 0, "regression"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_no_tree_is_refused(change: str) -> None:
    name, place, value = CHANGES[change]
    text = trained(2)[1].model_to_string()
    line = _line(text, name)
    entries = line.partition("=")[2].split(" ")
    entries[place] = value
    with pytest.raises(ValueError, match=r"^(the booster|a tree of the booster)"):
        checked_text(text.replace(line, f"{name}={' '.join(entries)}", 1), 2, 4)


def test_a_circle_is_refused() -> None:
    """Two nodes that are below each other, and no node twice: only the order tells."""
    lines = ["num_leaves=4", "num_cat=0", "split_feature=0 0 0", "threshold=0 0 0", "decision_type=2 2 2",
             "left_child=-1 2 1", "right_child=-2 -3 -4", "leaf_value=1 2 3 4", "shrinkage=1"]  # fmt: skip
    head = "num_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\nobjective=binary sigmoid:1\nfeature_infos=none\n"
    block = "\n".join(lines)
    with pytest.raises(ValueError, match="in a circle"):
        checked_text(f"{head}\nTree=0\n{block}\nend of trees\n", 2, 1)
    whole = block.replace("left_child=-1 2 1", "left_child=1 2 -1")
    assert "left_child=1 2 -1" in checked_text(f"{head}\nTree=0\n{whole}\nend of trees\n", 2, 1)


def test_what_the_offsets_say_does_not_matter() -> None:
    booster = trained(2)[1]
    text = booster.model_to_string()
    other = text.replace(_line(text, "tree_sizes"), "tree_sizes=1 99999999999 -5")
    assert checked_text(other, 2, 4) == checked_text(text, 2, 4)
