"""Labels that hang by a thread are said to: a column gives the label away, and another the group."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from fermi import FairLabels, FermiClassifier, FragileLabelsWarning
from fermi.decisions.fragile import hanging_groups
from fermi.decisions.judged import JudgedRows
from fermi.decisions.rule import Rule
from fermi.inputs.cells import Cells


def students(*, leaks: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Nearly all of the smaller group pass, and a column says who did."""
    rng = np.random.default_rng(0)
    s = (rng.random(1600) < 0.08).astype(int)
    points = rng.normal(size=1600)
    y = (points + 1.1 + 0.7 * s + rng.logistic(size=1600) > 0).astype(int)
    given_away = [8.0 * y, 3.0 * s] if leaks else []
    return np.column_stack([points, *given_away]), y, s


@pytest.mark.parametrize(
    "model",
    [
        FairLabels(LogisticRegression(), max_violation=0.02, random_state=0),
        FermiClassifier(lam=0.0, max_violation=0.02, decision="labels", random_state=0),
    ],
    ids=["any classifier", "a linear model"],
)
def test_labels_that_another_model_would_turn_are_said_to_hang(model: Any) -> None:
    X, y, s = students(leaks=True)
    with pytest.warns(FragileLabelsWarning, match="labels of '1' hang on differences of less than 0.02"):
        model.fit(X, y, sensitive_features=s)
    X, y, s = students(leaks=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FragileLabelsWarning)
        model.fit(X, y, sensitive_features=s)


def test_a_group_hangs_where_many_of_its_scores_are_nearly_level() -> None:
    n = 200
    index = np.repeat([0, 1], n // 2)
    ahead = np.where(index == 1, 0.01, 0.4)
    ahead[: n // 8] = -0.01  # a quarter of the first group, which gets the other label
    F = np.column_stack([0.5 - ahead / 2, 0.5 + ahead / 2])
    cells = Cells.of(np.zeros(n, dtype=np.int64), index, (1, 2), np.ones(n))
    rows = JudgedRows(F, (np.eye(2)[index],), index, (cells,), np.ones(n), F.argmax(axis=1))
    nothing, tiny = np.zeros((2, 2)), np.array([[0.0, 1e-6], [0.0, 0.0]])
    assert hanging_groups(rows, Rule(nothing, np.ones(2), np.zeros(2)), [["a", "b"]]) == []
    rule = Rule(tiny, np.ones(2), np.zeros(2))
    assert hanging_groups(rows, rule, [["a", "b"]]) == ["b"]
    assert hanging_groups(rows, Rule(tiny, np.ones(2), np.zeros(2), np.eye(2)), [["a", "b"]]) == []
