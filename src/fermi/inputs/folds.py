"""Folds for cross-validation that keep strata even."""

from __future__ import annotations

import numpy as np

from fermi._typing import Ints


def folds(strata: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Choose a fold for every row, such that each stratum is spread evenly over all of them."""
    shuffled = rng.permutation(len(strata))
    ordered = shuffled[np.argsort(strata[shuffled], kind="stable")]
    fold = np.empty(len(strata), dtype=np.int64)
    fold[ordered] = np.arange(len(strata)) % count
    return fold
