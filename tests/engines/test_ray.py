"""Sums over shards on a Ray cluster, one of whose workers is killed."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import delayed
from numpy.typing import NDArray

pytest.importorskip("ray", reason="the extra `ray` is not installed")

import fermi
import fermi.boosting
from fermi.cli import main
from fermi.engines import LocalEngine, RayEngine, as_finished, engine_of, task_pool
from fermi.errors import DataError, FermiError
from fermi.stream import fit_stream
from fermi.stream._shard import Shard
from tests.example_files import load
from tests.ray_cluster import DEPRECATED, running
from tests.tradeoff.samples import curve, same

pytestmark = [pytest.mark.slow, pytest.mark.first, pytest.mark.filterwarnings(DEPRECATED)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with running():
        yield


class Numbers:
    """A shard that holds some numbers, and kills its process when a file says so."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers, self.shift = np.array(numbers), 0.0

    def tell(self, shift: float) -> None:
        self.shift += shift

    def moments(self, power: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        power += 0.0  # what arrives can be written to
        return np.array(len(self.numbers)), ((self.numbers - self.shift)[:, None] ** power).sum(axis=0)

    def die(self, notes: str, first: float) -> tuple[NDArray[Any], ...]:
        marker = Path(notes)
        if self.numbers[0] == first and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.moments(np.array([1.0, 2.0]))

    def always_die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def blame(self) -> None:
        raise DataError("The file 'a' is bad.")


PARTS = [([1.0, 2.5, -3.0],), ([8.0, 0.25],)]


@pytest.mark.usefixtures("cluster")
def test_sums_are_those_of_one_process_and_survive_a_kill(tmp_path: Path) -> None:
    engine = engine_of("ray")
    assert engine.workers == 2
    shards, local = engine.open(Numbers, PARTS), LocalEngine().open(Numbers, PARTS)
    for both in (shards, local):
        both.each("tell", 0.5)
        both.each("tell", 0.25)
    powers = np.array([1.0, 2.0, 3.0])
    for ours, theirs in zip(shards.sum("moments", powers), local.sum("moments", powers), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    found = shards.sum("die", str(tmp_path / "killed"), 8.0)
    assert (tmp_path / "killed").exists()
    for ours, theirs in zip(found, local.sum("moments", np.array([1.0, 2.0])), strict=True):
        np.testing.assert_array_equal(ours, theirs)  # the new shard was told the shifts again
    with pytest.raises(DataError, match="The file 'a' is bad"):
        shards.each("blame")
    shards.close()


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_always_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fermi.engines.ray._MOST_DEATHS", 2)
    shards = RayEngine(workers=1).open(Numbers, PARTS[:1])
    with pytest.raises(FermiError, match="A worker died 2 times at the same work"):
        shards.each("always_die")
    shards.close()


class Killable(Shard):
    """A shard of files that kills its process at some call of a method, once in all."""

    def __init__(self, notes: str, method: str, call: int, *part: Any) -> None:
        super().__init__(*part)
        self._notes, self._left = Path(notes), {method: call}

    def _count(self, method: str) -> None:
        self._left[method] = self._left.get(method, 0) - 1
        if self._left[method] == 0:
            with contextlib.suppress(FileExistsError):  # the other shard was first
                self._notes.touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)

    def evaluate(self, *arguments: Any) -> Any:
        self._count("evaluate")
        return super().evaluate(*arguments)

    def advance(self, *arguments: Any) -> Any:
        self._count("advance")
        return super().advance(*arguments)


class Deadly(RayEngine):
    """A Ray of which one worker is killed in the middle of a fit."""

    def __init__(self, notes: Path, method: str, call: int) -> None:
        super().__init__()
        self._killing = str(notes), method, call

    def open(self, make: Any, parts: Any) -> Any:
        assert make is Shard
        self.shards = super().open(Killable, [(*self._killing, *part) for part in parts])
        return self.shards


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows in four files."""
    data = fermi.datasets.synthetic(12_000, bias=0.9, rated=False)
    rows = pd.concat([data.X_train, data.s_train], axis=1).assign(outcome=data.y_train.to_numpy())
    path = tmp_path_factory.mktemp("rows")
    for k, part in enumerate(np.array_split(np.arange(len(rows)), 4)):
        rows.iloc[part].to_parquet(path / f"{k}.parquet", row_group_size=700)
    return path


def fitted(folder: Path, engine: Any, **options: Any) -> fermi.FermiClassifier:
    model = fermi.FermiClassifier(lam=2.0, random_state=0, **options)
    return fit_stream(model, folder, target="outcome", sensitive="group", engine=engine)


@pytest.mark.usefixtures("cluster")
def test_exact_passes_are_those_of_one_process_though_a_worker_dies(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fermi.stream._run._SAMPLE_ENTRIES", 4_000)  # a start that is not the solution already
    engine = Deadly(tmp_path / "killed", "evaluate", 3)
    ours = fitted(folder, engine, solver="lbfgs", tol=1e-9)
    assert (tmp_path / "killed").exists()
    assert engine.shards.deaths == 1
    local = fitted(folder, "local", solver="lbfgs", tol=1e-9)
    np.testing.assert_allclose(ours.coef_, local.coef_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_, local.intercept_, rtol=0, atol=1e-10)
    assert ours.history_[-1]["objective"] == pytest.approx(local.history_[-1]["objective"], rel=1e-10)
    assert ours.n_iter_ > 2


@pytest.mark.usefixtures("cluster")
def test_data_parallel_steps_reach_the_objective_of_one_process_though_a_worker_dies(
    folder: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"solver": "sgda", "batch_size": 64, "max_iter": 6}
    engine = Deadly(tmp_path / "killed", "advance", 2)
    ours = fitted(folder, engine, **options)
    assert (tmp_path / "killed").exists()
    assert engine.shards.deaths == 1
    local = fitted(folder, "local", **options)
    assert ours.history_[-1]["objective"] == pytest.approx(local.history_[-1]["objective"], rel=5e-3)


@pytest.mark.usefixtures("cluster")
def test_a_curve_and_other_tasks_run_on_the_cluster() -> None:
    with task_pool("ray"):
        found = list(as_finished([delayed(divmod)(k, 2) for k in range(5)]))
        ours = curve(lams=[0.0, 3.0], cv=2)
    assert sorted(found) == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    same(ours, curve(lams=[0.0, 3.0], cv=2))


@pytest.mark.long
@pytest.mark.usefixtures("cluster")
def test_trees_go_on_from_the_last_checkpoint_when_a_worker_dies(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost", reason="the extra `boosting` is not installed")
    example, marker = load("ray_xgboost"), tmp_path / "killed"
    example.rows = few_values  # so that bins are the same whoever makes them
    example.train_worker = killed_once(example.train_worker, str(marker))
    accuracy, gap = example.main(10.0, 12, str(tmp_path / "storage"))
    assert marker.exists()
    booster = latest(tmp_path / "storage")
    assert booster.num_boosted_rounds() == 12
    whole = in_one_process(example, 10.0, 12)
    rows = xgboost.DMatrix(few_values().X_test)
    ours, theirs = (trees.predict(rows, output_margin=True) for trees in (booster, whole))
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert accuracy > 0.65
    assert gap < 0.2


def few_values() -> Any:
    """The rows of the example, none of whose features has more than a hundred values."""
    import fermi

    data = fermi.datasets.synthetic(4000, bias=0.9, rated=False).numeric()
    parts = {name: getattr(data, name).rank(pct=True).round(2) for name in ("X_train", "X_test")}
    return dataclasses.replace(data, **parts)


def killed_once(train_worker: Any, marker: str) -> Any:
    """The example's worker; the second one kills itself in the eighth round of the first attempt."""

    def worker(config: dict[str, Any]) -> None:
        import xgboost
        from ray import train

        class Kill(xgboost.callback.TrainingCallback):
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                if epoch == 7 and not Path(marker).exists():
                    train.get_all_reported_checkpoints()  # returns when Ray has noted the last one
                    Path(marker).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return False

        own = xgboost.train
        if train.get_context().get_world_rank() == 1:
            xgboost.train = lambda *given, callbacks, **named: own(*given, callbacks=[*callbacks, Kill()], **named)
        try:
            train_worker(config)
        finally:
            xgboost.train = own

    return worker


def latest(storage: Path) -> Any:
    import xgboost

    boosters = [xgboost.Booster(model_file=str(path)) for path in storage.rglob("model.ubj")]
    return max(boosters, key=lambda booster: int(booster.num_boosted_rounds()))


def in_one_process(example: Any, lam: float, rounds: int) -> Any:
    import xgboost

    data = few_values()
    fair = fermi.boosting.objective(data.s_train, data.y_train, lam=lam, learning_rate=0.3)
    options = {**example.PARAMS, "base_score": 1 / (1 + np.exp(-fair.start[0])), "disable_default_eval_metric": True}
    return xgboost.train(options, xgboost.QuantileDMatrix(data.X_train, fair.target), rounds, obj=fair.xgboost)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("asked", [{"prediction": "label"}, {"probability": "p", "notion": "equalized_odds"}])
def test_audits_on_the_cluster_are_sums_of_tables(tmp_path: Path, asked: dict[str, Any]) -> None:
    rng, n = np.random.default_rng(0), 900
    frame = pd.DataFrame({"y": rng.integers(0, 2, n), "s": rng.choice(["a", "b", "c"], n), "p": rng.random(n)})
    frame["label"] = (frame["p"] + 0.1 * (frame["s"] == "a") > 0.5).astype(int)
    for k, part in enumerate(np.array_split(np.arange(n), 3)):
        frame.iloc[part].to_parquet(tmp_path / f"{k}.parquet")
    ours, local = (fermi.audit_files(tmp_path, target="y", sensitive="s", engine=e, **asked) for e in ("ray", "local"))
    pd.testing.assert_frame_equal(ours.frame, local.frame, rtol=1e-9)
    pd.testing.assert_frame_equal(ours.measures, local.measures, rtol=1e-9)
    assert ours.record.notes == local.record.notes


@pytest.mark.usefixtures("cluster")
def test_the_command_trains_on_the_cluster(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--target", "outcome", "--sensitive", "group", "--engine", "ray", "--json", "--drop-sensitive"]
    assert main(["train", str(folder), *asked, "--output", str(tmp_path / "model")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"]["train"] > 5000
    assert (tmp_path / "model" / "model.json").exists()
