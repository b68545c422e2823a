"""XGBoost on several processes with the fair objective: the trees of one process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("xgboost", reason="the extra `boosting` is not installed")

import fermi.boosting
from fermi import FermiError
from tests.boosting.workers import rows, train, train_on_workers


@pytest.mark.parametrize(
    ("m", "notion"),
    [(2, "equalized_odds"), pytest.param(3, "demographic_parity", marks=pytest.mark.slow)],
)
def test_two_workers_grow_the_trees_of_one_process(tmp_path: Path, m: int, notion: str) -> None:
    first, second = train_on_workers(tmp_path, m, notion)
    assert first == second
    whole = train(rows(m), notion=notion, distributed=False)
    assert first["splits"] == whole["splits"]
    # Leaves are sums in single precision, in another order.
    assert first["leaves"] == pytest.approx(whole["leaves"], rel=1e-4, abs=1e-6)
    assert first["objective"] == pytest.approx(whole["objective"], rel=1e-6)
    assert first["start"] == pytest.approx(whole["start"], rel=1e-12)
    assert whole["objective"][-1] < whole["objective"][0]


def test_a_shard_alone_would_grow_other_trees() -> None:
    data = rows(2)
    half = {name: values[: len(data["y"]) // 2] for name, values in data.items()}
    alone = train(half, notion="equalized_odds", distributed=False)
    assert not np.allclose(alone["objective"], train(data, notion="equalized_odds", distributed=False)["objective"])


def test_distributed_needs_workers() -> None:
    with pytest.raises(FermiError, match="`distributed` is for the workers of XGBoost's distributed training"):
        fermi.boosting.objective(["a", "b"], [0, 1], distributed=True)
