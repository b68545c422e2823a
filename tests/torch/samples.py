"""Random batches that the tests of the regularizer share."""

from __future__ import annotations

from typing import Any

import numpy as np

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]


def batch(n: int = 60, m: int = 3, k: int = 4, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, m)), rng.integers(-1, k, n), rng.integers(0, m, n)
