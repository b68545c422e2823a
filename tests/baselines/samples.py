"""Rows that the tests of linear rivals share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi import baselines
from fermi.baselines.common.protocol import Rows

Floats = NDArray[np.float64]
NOTIONS = ("demographic_parity", "equalized_odds", "equal_opportunity")


def draw(n: int = 400, k: int = 3, m: int = 2, d: int = 4, seed: int = 0) -> tuple[Floats, Any, Any]:
    """Features that tell the group, classes and groups."""
    rng = np.random.default_rng(seed)
    s = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    X = rng.normal(size=(n, d)) + 0.8 * s[:, None] * np.linspace(1.0, -0.3, d)
    y = np.digitize(X @ np.linspace(1.0, 0.2, d) + rng.logistic(size=n), np.linspace(0.5, 3.0, m - 1))
    return X, y, s


def coded(notion: str = "demographic_parity", **options: Any) -> Rows:
    """The same as a method's `_fit` sees it."""
    X, y, s = draw(**options)
    return baselines.make("none", notion=notion)._read(X, y, s)


def fit(name: str, strength: float, notion: str = "demographic_parity", **options: Any) -> tuple[Any, Any, Any, Any]:
    X, y, s = draw(**options)
    return baselines.make(name, strength, notion, 0).fit(X, y, sensitive_features=s), X, y, s


def conditions(notion: str, y: Any) -> list[Any]:
    """The rows of each condition."""
    return {
        "demographic_parity": [y >= 0],
        "equalized_odds": [y == label for label in np.unique(y)],
        "equal_opportunity": [y == y.max()],
    }[notion]
