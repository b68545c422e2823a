"""Random batches and rows that the tests of the regularizer and of networks share."""

from __future__ import annotations

from typing import Any

import numpy as np

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]


def batch(n: int = 60, m: int = 3, k: int = 4, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, m)), rng.integers(-1, k, n), rng.integers(0, m, n)


def table(n: int = 1500, m: int = 3, k: int = 3, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, k, n)
    X = rng.standard_normal((n, 5)) + 0.8 * np.eye(k, 5)[s]
    y = (X @ rng.standard_normal((5, m)) + rng.gumbel(size=(n, m))).argmax(axis=1)
    return X, np.array(["one", "two", "three"])[y], np.array(["a", "b", "c"])[s]
