"""What can be told: groups with enough rows, the rates behind a gap, the ratio people know, and labels of no use."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from fermi import parity_difference, parity_ratio
from fermi.auditing import judged, usefulness
from fermi.errors import FermiError


def rows(sizes: dict[str, int], given: dict[str, float]) -> tuple[list[str], list[str]]:
    """Groups of these sizes, of which these parts are given "yes"."""
    groups = [name for name, n in sizes.items() for _ in range(n)]
    labels = ["yes" if i < round(given[name] * n) else "no" for name, n in sizes.items() for i in range(n)]
    return groups, labels


def test_a_handful_of_rows_makes_no_headline() -> None:
    groups, labels = rows(
        {"White": 3000, "Black": 600, "Amerindian": 18}, {"White": 0.6, "Black": 0.5, "Amerindian": 0}
    )
    found = judged(None, labels, sensitive_features=groups, favourable="yes")
    assert parity_difference(labels, groups) == pytest.approx(0.6), "which is about 18 people"
    assert found.gap.value == pytest.approx(0.1)
    assert 0.04 < found.gap.low < 0.1 < found.gap.high < 0.16
    assert found.few == ("Amerindian (18)",)
    assert found.behind is not None
    assert (found.behind.called, found.behind.label) == ("rate", "yes")
    assert (found.behind.highest, found.behind.lowest) == ("White", "Black")
    assert (found.behind.high.value, found.behind.low.value) == pytest.approx((0.6, 0.5))
    assert (found.behind.high_rows, found.behind.low_rows) == (3000, 600)


def test_the_ratio_is_of_the_label_that_people_want() -> None:
    groups, labels = rows({"a": 1000, "b": 1000}, {"a": 0.66, "b": 0.52})
    wanted = judged(None, labels, sensitive_features=groups, favourable="yes").ratio
    other = judged(None, labels, sensitive_features=groups, favourable="no").ratio
    assert wanted is not None
    assert other is not None
    assert wanted.value == pytest.approx(parity_ratio(labels, groups, outcome="yes")) == pytest.approx(0.52 / 0.66)
    assert other.value == pytest.approx(0.34 / 0.48) == pytest.approx(parity_ratio(labels, groups))
    assert 0.7 < wanted.low < wanted.value < wanted.high < 0.9
    assert judged(None, labels, sensitive_features=groups).ratio is None
    with pytest.raises(FermiError, match="`favourable` is 'si'; expected one of 'no', 'yes'"):
        judged(None, labels, sensitive_features=groups, favourable="si")


@pytest.mark.parametrize(
    ("worse", "called", "condition"), [(1, "true positive rate", "1"), (0, "false positive rate", "0")]
)
def test_the_rate_behind_equalized_odds(worse: int, called: str, condition: str) -> None:
    y = np.tile([0, 1], 400)
    groups = np.repeat(["a", "b"], 400)
    given = np.where(np.arange(800) // 2 % 4 < 2, 1, 0)
    given[(groups == "b") & (y == worse)] = 0
    found = judged(y, given, sensitive_features=groups, notion="equalized_odds").behind
    assert found is not None
    assert (found.called, found.condition, found.label) == (called, condition, "1")
    assert (found.highest, found.lowest) == ("a", "b")
    assert (found.high.value, found.low.value, found.high_rows) == (0.5, 0.0, 200)


def test_where_everybody_is_given_the_same_the_interval_is_that_of_a_rate_of_nothing() -> None:
    groups, labels = rows({"a": 400, "b": 100}, {"a": 1.0, "b": 1.0})
    found = judged(None, labels, sensitive_features=groups, classes=["no", "yes"], favourable="yes")
    assert (found.gap.value, found.gap.low) == (0.0, 0.0)
    assert found.gap.high == pytest.approx(1.96**2 / (100 + 1.96**2), abs=1e-4), "Wilson's for 0 of 100"
    assert found.behind is None
    nobody = judged(None, labels, sensitive_features=groups, classes=["yes", "no"], favourable="no").ratio
    assert nobody is not None
    assert math.isnan(nobody.value)


def test_groups_that_are_all_small_are_not_judged() -> None:
    groups, labels = rows({"a": 20, "b": 25, "c": 400}, {"a": 1.0, "b": 0.0, "c": 0.5})
    found = judged(None, labels, sensitive_features=groups)
    assert math.isnan(found.gap.value)
    assert found.gap.note == "no two groups with 30 rows to compare"
    assert found.few == ("a (20)", "b (25)")


def test_usefulness_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    y = rng.choice(["n", "y"], 500, p=[0.7, 0.3])
    p = np.clip(0.3 + 0.3 * (y == "y") + 0.2 * rng.normal(size=500), 0, 1).round(2)  # with ties
    labels = np.where(p > 0.5, "y", "n")
    found = usefulness(y, labels, ["n", "y"], np.column_stack([1 - p, p]))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, labels))
    assert found.auc == pytest.approx(roc_auc_score(y == "y", p))
    assert found.constant == "n"
    assert found.constant_error == pytest.approx((y == "y").mean())
    assert found.better
    three = rng.choice(3, 500)
    F = rng.dirichlet(np.ones(3), 500)
    whole = usefulness(three, F.argmax(axis=1), [0, 1, 2], F)
    assert whole.auc == pytest.approx(roc_auc_score(three, F, multi_class="ovr"))


def test_labels_no_better_than_a_constant_are_told_from_those_that_are() -> None:
    y = np.repeat([1, 0], [890, 110])
    almost_all = np.ones(1000, dtype=int)
    almost_all[[3, 700, 995]] = 0  # two of them wrongly
    found = usefulness(y, almost_all, [0, 1])
    assert not found.better
    assert (found.common, found.alike) == ("1", 0.997)
    of_use = np.where(np.arange(1000) >= 930, 0, 1)
    assert usefulness(y, of_use, [0, 1]).better
