"""Rows, objectives and fitted models that the tests of boosting share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi._typing import Floats
from fermi.boosting import BoostingObjective, FermiBoostingClassifier, objective

# Every test of boosting needs both.
pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")
pytest.importorskip("xgboost", reason="the extra `boosting` is not installed")

BOOSTERS = ("lightgbm", "xgboost")
THREADS = {"lightgbm": {"num_threads": 1}, "xgboost": {"nthread": 1}}  # small trees would only wait for a second one
NOTIONS = ("demographic_parity", "equalized_odds", "equal_opportunity", "conditional")


def drawn(
    m: int, k: int, notion: str = "demographic_parity", n: int = 40, seed: int = 0, **options: Any
) -> tuple[BoostingObjective, Floats]:
    """An objective of random rows with weights and unknown groups, and random scores."""
    rng = np.random.default_rng(seed)
    y, s = rng.permutation(np.arange(n) % m), rng.permutation(np.arange(n) % k)
    groups = [None if rng.random() < 0.15 else int(group) for group in s]
    chosen: Any = fermi.ConditionalParity(rng.integers(0, 3, n)) if notion == "conditional" else notion
    fair = objective(groups, y, notion=chosen, sample_weight=rng.random(n) + 0.2, **{"lam": 3.0, **options})
    return fair, 1.5 * rng.standard_normal(n if m == 2 else (n, m))


def differences(function: Any, x: Floats, step: float) -> Floats:
    """Central differences of a function of an array, one entry after the other along the last axis."""
    moved = np.eye(x.size).reshape(-1, *x.shape) * step
    return np.stack([(function(x + d) - function(x - d)) / (2 * step) for d in moved], axis=-1)


def table(n: int = 800, m: int = 2, k: int = 3, seed: int = 0) -> tuple[pd.DataFrame, Any, Any]:
    """Numbers with gaps and a column of words, labels and groups."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, k, n)
    X = rng.standard_normal((n, 4)) + 0.8 * np.eye(k, 4)[s]
    y = (X @ rng.standard_normal((4, m)) + rng.gumbel(size=(n, m))).argmax(axis=1)
    frame = pd.DataFrame(np.where(rng.random(X.shape) < 0.1, np.nan, X), columns=list("abcd"))
    frame["word"] = pd.Series(np.where(rng.random(n) < 0.1, None, np.array(["x", "y", "z"])[(s + y) % 3]), dtype=object)
    return frame, np.array(["one", "two", "three"])[y], np.array(["f", "g", "h"])[s]


def fitted(booster: str = "lightgbm", m: int = 2, **options: Any) -> FermiBoostingClassifier:
    X, y, s = table(m=m)
    params = {**THREADS.get(booster, {}), **options.pop("booster_params", {})}
    model = FermiBoostingClassifier(booster, **{"n_estimators": 40, "booster_params": params, **options})
    return model.fit(X, y, sensitive_features=s)
