"""Building a Contingency against numpy's own counting, on ten million rows.

The peers get arrays that are ready to be counted: one combined code per row, and one contiguous array of weights per
class. fermi gets what a user has: predictions and groups, whose values it must find first.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fermi import Contingency

N, GROUPS, CLASSES = 10_000_000, 1_000, 3
HARD = "10 M hard predictions, 1,000 groups"
SOFT = "10 M × 3 soft predictions, 1,000 groups"
ODDS = "10 M hard predictions, 1,000 groups, equalized odds"
Arrays = dict[str, NDArray[Any]]


@pytest.fixture(scope="module")
def rows() -> Arrays:
    rng = np.random.default_rng(0)
    F = rng.random((N, CLASSES))
    F /= F.sum(axis=1, keepdims=True)
    y, s, target = rng.integers(0, 2, N), rng.integers(0, GROUPS, N), rng.integers(0, 2, N)
    return {
        "F": F,
        "F_by_class": np.ascontiguousarray(F.T),
        "y": y,
        "s": s,
        "target": target,
        "cell": s * 2 + y,
        "conditional_cell": (target * GROUPS + s) * 2 + y,
    }


def time_peer(benchmark: Any, case: str, peer: str, work: Callable[[], object]) -> None:
    benchmark.group = case
    benchmark.extra_info["peer"] = peer
    benchmark.pedantic(work, rounds=15, warmup_rounds=2)


def time_fermi(benchmark: Any, case: str, work: Callable[[], object]) -> None:
    benchmark.group = case
    benchmark.pedantic(work, rounds=15, warmup_rounds=2)
    tracemalloc.start()
    work()
    benchmark.extra_info["peak_extra_mb"] = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()


def test_hard_peer(benchmark: Any, rows: Arrays) -> None:
    time_peer(benchmark, HARD, "np.bincount of the combined code", lambda: np.bincount(rows["cell"]))


def test_hard_fermi(benchmark: Any, rows: Arrays) -> None:
    time_fermi(benchmark, HARD, lambda: Contingency.from_predictions(rows["y"], rows["s"]))


def test_soft_peer(benchmark: Any, rows: Arrays) -> None:
    def count() -> list[NDArray[Any]]:
        return [np.bincount(rows["s"], weights=weight) for weight in rows["F_by_class"]]

    time_peer(benchmark, SOFT, "np.bincount with weights, per class", count)


def test_soft_fermi(benchmark: Any, rows: Arrays) -> None:
    time_fermi(benchmark, SOFT, lambda: Contingency.from_predictions(rows["F"], rows["s"]))


def test_odds_peer(benchmark: Any, rows: Arrays) -> None:
    time_peer(benchmark, ODDS, "np.bincount of the combined code", lambda: np.bincount(rows["conditional_cell"]))


def test_odds_fermi(benchmark: Any, rows: Arrays) -> None:
    def count() -> Contingency:
        return Contingency.from_predictions(rows["y"], rows["s"], y_true=rows["target"], notion="equalized_odds")

    time_fermi(benchmark, ODDS, count)
