"""Agreement with implementations that are not ours, on hundreds of random inputs each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")

from fairlearn.metrics import (
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equalized_odds_difference,
    equalized_odds_ratio,
)
from numpy.typing import NDArray
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score

import fermi
from fermi import Contingency

SEEDS = range(200)  # the odd ones weighted
FEW = range(40)  # fairlearn takes its time


def draw(seed: int, classes: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Predictions, groups, labels and weights; every (group, label) pair occurs, as fairlearn's rates need."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    pairs = np.array([(s, y) for s in range(k) for y in range(classes)])
    more = rng.integers(0, [k, classes], size=(int(rng.integers(5, 300)), 2))
    s, y = np.concatenate([pairs, more]).T
    y_pred = np.where(rng.random(len(s)) < rng.random(), y, rng.integers(0, classes, len(s)))
    return y_pred, s, y, rng.integers(1, 4, len(s)).astype(float) if seed % 2 else None


def test_ermi_is_scipy_s_chi_squared_over_n() -> None:
    for seed in SEEDS:
        y_pred, s, _, w = draw(seed, classes=1 + seed % 5)
        c = Contingency.from_predictions(y_pred, s, sample_weight=w)
        chi2 = chi2_contingency(c.table[0], correction=False).statistic
        assert fermi.ermi(c) == pytest.approx(chi2 / c.total, abs=1e-12)


def test_mutual_information_is_scikit_learn_s() -> None:
    for seed in SEEDS:
        y_pred, s, _, _ = draw(seed, classes=1 + seed % 5)
        assert fermi.mutual_information(y_pred, s) == pytest.approx(mutual_info_score(s, y_pred), abs=1e-12)


@pytest.mark.parametrize(
    ("notion", "theirs"),
    [
        ("demographic_parity", demographic_parity_difference),
        pytest.param("equalized_odds", equalized_odds_difference, marks=pytest.mark.slow),
        pytest.param("equal_opportunity", equal_opportunity_difference, marks=pytest.mark.slow),
    ],
)
def test_parity_difference_is_fairlearn_s(notion: str, theirs: Any) -> None:
    for seed in FEW:
        y_pred, s, y, weight = draw(seed, classes=2)
        ours = fermi.parity_difference(y_pred, s, y_true=y, notion=notion, sample_weight=weight)
        assert ours == pytest.approx(theirs(y, y_pred, sensitive_features=s, sample_weight=weight), abs=1e-12)


@pytest.mark.parametrize(
    ("notion", "theirs"),
    [
        ("demographic_parity", demographic_parity_ratio),
        pytest.param("equalized_odds", equalized_odds_ratio, marks=pytest.mark.slow),
    ],
)
def test_parity_ratio_of_the_positive_label_is_fairlearn_s(notion: str, theirs: Any) -> None:
    compared = 0
    for seed in FEW:
        y_pred, s, y, _ = draw(seed, classes=2)
        with np.errstate(invalid="ignore"):
            expected = theirs(y, y_pred, sensitive_features=s)
        if np.isnan(expected):  # 0/0: nobody is predicted positive
            continue
        ours = fermi.parity_ratio(y_pred, s, y_true=y, notion=notion, classes=[0, 1], outcome=1)
        assert ours == pytest.approx(expected, abs=1e-12)
        compared += 1
    assert compared > 30
