"""Two processes of XGBoost's distributed training: a tracker and its workers, on this machine alone.

Run as a program it is one worker: it trains on its shard and writes what it found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import fermi.boosting

ROUNDS = 8
PARAMS = {"learning_rate": 0.3, "max_depth": 3, "nthread": 1, "tree_method": "hist", "max_bin": 64}


def rows(m: int, n: int = 3000) -> dict[str, Any]:
    """Rows whose features have few distinct values, so that bins are the same whoever makes them."""
    rng = np.random.default_rng(m)
    s = rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    X = np.column_stack([rng.integers(0, 20, n), rng.integers(0, 9, n) + 2 * (s == 1), rng.integers(0, 5, n)])
    noisy = X[:, 0] / 4 + X[:, 1] + rng.normal(0, 3, n)
    y = np.digitize(noisy, np.quantile(noisy, np.arange(1, m) / m))
    group = np.array(["a", "b", "c", "d"], dtype=object)[s]
    group[rng.random(n) < 0.1] = None
    weight = rng.integers(1, 4, n).astype(float)
    order = np.lexsort((rng.random(n), s == 3))  # the last group is in one shard alone
    return {"X": X[order].astype(float), "y": y[order], "group": group[order], "weight": weight[order]}


def train(data: dict[str, Any], *, notion: str, distributed: bool) -> dict[str, Any]:
    """The trees of some rows, and what the objective said on the way."""
    import xgboost

    fair = fermi.boosting.objective(
        data["group"], data["y"], notion=notion, lam=3.0, learning_rate=0.3, sample_weight=data["weight"],
        distributed=distributed,
    )  # fmt: skip
    m = len(fair.classes)
    start = {"base_score": float(expit(fair.start[0])), "objective": "binary:logistic"}
    if m > 2:
        start = {"base_score": fair.start.tolist(), "objective": "multi:softprob", "num_class": m}
    matrix = xgboost.QuantileDMatrix(data["X"], fair.target, max_bin=64)
    told: dict[str, Any] = {}
    booster = xgboost.train(
        {**PARAMS, **start, "disable_default_eval_metric": True},
        matrix,
        ROUNDS,
        obj=fair.xgboost,
        evals=[(matrix, "train")],
        custom_metric=fair.xgboost_metric,
        evals_result=told,
        verbose_eval=False,
    )
    trees = booster.trees_to_dataframe()
    return {
        "splits": [list(map(str, node)) for node in trees[["Tree", "Node", "Feature", "Split", "Yes"]].to_numpy()],
        "leaves": trees["Gain"].where(trees["Feature"] == "Leaf", 0.0).tolist(),
        "objective": told["train"]["fair_objective"],
        "start": fair.start.tolist(),
    }


def start_tracker(n_workers: int) -> dict[str, Any]:
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(n_workers, "127.0.0.1", sortby="task", timeout=120)
    tracker.start()
    threading.Thread(target=tracker.wait_for, daemon=True).start()
    found: dict[str, Any] = tracker.worker_args()
    return found


def train_on_workers(folder: Path, m: int, notion: str, n_workers: int = 2) -> list[dict[str, Any]]:
    """What each worker found, all of them trained together."""
    arguments = start_tracker(n_workers)
    command = [sys.executable, "-m", "tests.boosting.workers", json.dumps(arguments), str(n_workers), str(m), notion]
    workers = [subprocess.Popen([*command, str(rank), str(folder)]) for rank in range(n_workers)]
    try:
        assert [worker.wait(timeout=120) for worker in workers] == [0] * n_workers
    finally:
        for worker in workers:
            worker.kill()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(n_workers)]


def worker(arguments: dict[str, Any], n_workers: int, m: int, notion: str, rank: int, folder: Path) -> None:
    from xgboost.collective import CommunicatorContext

    data = rows(m)
    own = np.array_split(np.arange(len(data["y"])), n_workers)[rank]
    with CommunicatorContext(**arguments, dmlc_task_id=str(rank)):
        found = train({name: values[own] for name, values in data.items()}, notion=notion, distributed=True)
    (folder / f"{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    given, size, classes, asked, place, target = sys.argv[1:]
    worker(json.loads(given), int(size), int(classes), asked, int(place), Path(target))
    sys.stdout.flush()
    os._exit(0)
