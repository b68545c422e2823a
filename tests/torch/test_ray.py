"""The Ray Train example for real: two workers, one of them killed in the middle of an epoch."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import fermi
from fermi.torch import FermiRegularizer
from tests.example_files import load
from tests.ray_cluster import DEPRECATED, running

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytest.importorskip("ray.train.torch", exc_type=ImportError)

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings(DEPRECATED)]

EPOCHS, STEPS = 3, 125  # 4000 rows in batches of 2 × 16
KILLED_AFTER = 2 * STEPS + 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with running():
        yield


def watched(train_worker: Callable[[dict[str, Any]], None], notes: Path, killed: int | None) -> Callable[..., None]:
    """The example's worker; it notes its steps, and on the first attempt worker `killed` kills itself."""

    def worker(config: dict[str, Any]) -> None:
        from ray import train
        from torch.optim.optimizer import register_optimizer_step_post_hook

        rank, marker, steps = train.get_context().get_world_rank(), notes / "killed", []
        attempt = 2 if marker.exists() else 1

        def after_step(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
            steps.append(optimizer)
            if attempt == 1 and rank == killed and len(steps) == KILLED_AFTER:
                train.get_all_reported_checkpoints()  # returns when Ray has noted the last one
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)

        register_optimizer_step_post_hook(after_step)
        train_worker(config)
        parameters = [p.tolist() for group in steps[-1].param_groups for p in group["params"]]
        (notes / f"attempt {attempt}, rank {rank}.json").write_text(
            json.dumps({"steps": len(steps), "parameters": parameters})
        )

    return worker


def run(folder: Path, killed: int | None) -> dict[str, Any]:
    """The example's scores, its last checkpoint, and what its workers noted, by attempt and rank."""
    example = load("ray_train")  # not in sys.modules: Ray sends its functions by value, no worker can import it
    storage, notes = folder / "storage", folder / "notes"
    notes.mkdir()
    example.train_worker = watched(example.train_worker, notes, killed)
    scores = example.main(10.0, EPOCHS, str(storage))
    states = [torch.load(path) for path in storage.rglob("state.pt")]
    return {
        "scores": scores,
        "state": max(states, key=lambda state: int(state["epoch"])),
        "killed": (notes / "killed").exists(),
        "workers": {path.stem: json.loads(path.read_text()) for path in sorted(notes.glob("*.json"))},
    }


@pytest.fixture(scope="module")
def resumed(cluster: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("resumed"), killed=1)


def in_one_process() -> dict[str, Any]:
    """The model and W of the example without Ray: every step takes the batches of both workers, half of each mean."""
    data = fermi.datasets.synthetic(4000, bias=0.9, rated=False).numeric()
    x, y = torch.tensor(data.X_train.to_numpy("float32")), torch.tensor(data.y_train.to_numpy())
    s = torch.tensor(fermi.GroupEncoder().fit_transform(data.s_train))
    rows: Any = TensorDataset(x, y, s)
    samplers: list[Any] = [DistributedSampler(rows, num_replicas=2, rank=rank, shuffle=True) for rank in (0, 1)]
    loaders = [DataLoader(rows, batch_size=16, sampler=sampler) for sampler in samplers]
    torch.manual_seed(0)
    model = torch.nn.Linear(x.shape[1], 2)
    reg = FermiRegularizer.from_labels(s, n_classes=2, lam=10.0)
    groups: list[Any] = [{"params": model.parameters()}, {"params": reg.parameters(), "lr": 0.1}]
    optimizer = torch.optim.Adam(groups)
    for epoch in range(EPOCHS):
        for sampler in samplers:
            sampler.set_epoch(epoch)
        for batches in zip(*loaders, strict=True):
            optimizer.zero_grad()
            for x, y, s in batches:
                logits = model(x)
                (0.5 * (torch.nn.functional.cross_entropy(logits, y) + reg(logits, s))).backward()
            optimizer.step()
    return {"model": model.state_dict(), "reg": reg.state_dict()}


def test_two_workers_train_one_model_and_one_W(resumed: dict[str, Any]) -> None:
    first, second = resumed["workers"].values()
    assert first["parameters"] == second["parameters"]
    assert resumed["state"]["reg"]["W"].abs().min() > 0.1
    accuracy, gap = resumed["scores"]
    assert accuracy > 0.7
    assert gap < 0.12


@pytest.mark.usefixtures("one_thread")
def test_after_a_kill_training_resumes_to_the_model_of_one_process(resumed: dict[str, Any]) -> None:
    assert resumed["killed"]
    assert list(resumed["workers"]) == ["attempt 2, rank 0", "attempt 2, rank 1"]  # nobody came to the end of the first
    assert {worker["steps"] for worker in resumed["workers"].values()} == {STEPS}  # the third epoch, not from scratch
    assert resumed["state"]["epoch"] == EPOCHS - 1
    whole = in_one_process()
    for part, name in (("model", "weight"), ("model", "bias"), ("reg", "W")):
        assert resumed["state"][part][name].numpy() == pytest.approx(whole[part][name].numpy(), abs=1e-4)
