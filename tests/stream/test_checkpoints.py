"""Checkpoints of streams: a run that was interrupted ends like one that was not, to the last digit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fermi
from fermi.cli.bench import load
from fermi.fitting.checkpoint import DamagedError, LastTwo
from fermi.stream import _run, _saving, fit_stream
from fermi.stream._shard import Shard
from tests.stream.samples import SENSITIVE, frame_of, write

SOLVERS: dict[str, dict[str, Any]] = {
    "lbfgs": {"solver": "lbfgs", "tol": 1e-11},
    "sgda": {"solver": "sgda", "max_iter": 4},
}


class Interrupted(BaseException):
    """An end that nothing catches."""


def fit(folder: Path, checkpoint: Path | None, **options: Any) -> fermi.FermiClassifier:
    model = fermi.FermiClassifier(lam=2.0, random_state=0, **options)
    return fit_stream(model, folder, target="y", sensitive=SENSITIVE, checkpoint=checkpoint)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_run, "LARGEST_BLOCK", 256)
    monkeypatch.setattr(_run, "LEAST_ROWS", 64)
    monkeypatch.setattr(_saving, "RARELY", 0.0)
    monkeypatch.setattr("fermi.stream._profile._SAMPLE", 300)  # so that L-BFGS has something to do
    return write(frame_of(), tmp_path / "rows")


def interrupt(monkeypatch: pytest.MonkeyPatch, after: int, *, before_the_write: bool = False) -> None:
    """Let the fit end when it has saved so often, or in the middle of doing so."""
    save, count = LastTwo.save, [0]

    def saving(self: LastTwo, state: Any) -> None:
        count[0] += 1
        if before_the_write and count[0] == after:
            self.last.path.replace(self.before.path)
            raise Interrupted
        save(self, state)
        if count[0] == after:
            raise Interrupted

    monkeypatch.setattr(LastTwo, "save", saving)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("after", "midway"), [(1, False), (3, False), (3, True)])
def test_a_resumed_fit_equals_one_that_was_never_interrupted(
    folder: Path, tmp_path: Path, solver: str, after: int, midway: bool
) -> None:
    checkpoint = tmp_path / "state"
    whole = fit(folder, None, **SOLVERS[solver])
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, after, before_the_write=midway)
        with pytest.raises(Interrupted):
            fit(folder, checkpoint, **SOLVERS[solver])
    assert checkpoint.exists() != midway
    resumed = fit(folder, checkpoint, **SOLVERS[solver])
    for name in ("coef_", "intercept_", "dual_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    assert len(resumed.history_) == len(whole.history_)
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_damaged_checkpoint_is_refused_and_the_one_before_it_used(folder: Path, tmp_path: Path, solver: str) -> None:
    checkpoint, before = tmp_path / "state", tmp_path / "state.before"
    whole = fit(folder, None, **SOLVERS[solver])
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 3)
        with pytest.raises(Interrupted):
            fit(folder, checkpoint, **SOLVERS[solver])
    good, earlier = checkpoint.read_bytes(), before.read_bytes()
    assert good != earlier
    altered = bytearray(good)
    altered[len(good) // 2] ^= 1
    for damaged in (good[: len(good) // 2], bytes(altered)):
        checkpoint.write_bytes(damaged)
        before.write_bytes(earlier)
        with pytest.warns(
            UserWarning, match=r"state' is no checkpoint, or damaged: the one before it, .*before', is used"
        ):
            resumed = fit(folder, checkpoint, **SOLVERS[solver])
        np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    checkpoint.write_bytes(good[:100])
    with pytest.raises(DamagedError, match=r"state' is no checkpoint, or damaged"):
        fit(folder, checkpoint, **SOLVERS[solver])


def test_a_checkpoint_of_other_rows_or_options_is_refused(folder: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "state"
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 2)
        with pytest.raises(Interrupted):
            fit(folder, checkpoint, **SOLVERS["sgda"])
    with pytest.raises(fermi.errors.FermiError, match="other data or options"):
        fit(folder, checkpoint, **{**SOLVERS["sgda"], "l2": 0.5})
    frame_of(300, seed=9).to_parquet(folder / "part-0.parquet")
    with pytest.raises(fermi.errors.FermiError, match="other data or options"):
        fit(folder, checkpoint, **SOLVERS["sgda"])


def test_a_lost_sample_is_drawn_again(folder: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "state"
    whole = fit(folder, None, **SOLVERS["sgda"])
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 4)
        with pytest.raises(Interrupted):
            fit(folder, checkpoint, **SOLVERS["sgda"])
    sample = tmp_path / "state.sample"
    sample.write_bytes(sample.read_bytes()[:50])
    np.testing.assert_array_equal(fit(folder, checkpoint, **SOLVERS["sgda"]).coef_, whole.coef_)


@pytest.mark.long
@pytest.mark.slow
def test_a_killed_process_goes_on(tmp_path: Path) -> None:
    bench = load(Path(__file__).parents[2] / "benchmarks" / "bench_kills.py")
    folder = write(frame_of(3000), tmp_path / "rows")
    found = bench.killed_again(folder, tmp_path / "work", "sgda", kills=2, block=1024)
    assert found["equal"]
    assert found["kills"] == 2
    assert found["left"] == []


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_file_that_goes_after_a_checkpoint_makes_the_fit_begin_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    bad, method = folder / "part-1.parquet", {"lbfgs": "evaluate", "sgda": "advance"}[solver]
    own, calls = getattr(Shard, method), [0]

    def going(shard: Shard, *arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == 8:  # by then there is a checkpoint
            assert (tmp_path / "state").exists()
            bad.unlink()
        return own(shard, *arguments)

    monkeypatch.setattr(Shard, method, going)
    asked: dict[str, Any] = {"target": "y", "sensitive": SENSITIVE, "skip_bad_files": True}
    models = [fermi.FermiClassifier(lam=2.0, random_state=0, **SOLVERS[solver]) for _ in range(2)]
    with pytest.warns(UserWarning, match="1 files were left out"):
        found = fit_stream(models[0], folder, checkpoint=tmp_path / "state", **asked)
    assert not bad.exists()
    assert found.skipped_files_ == (str(bad),)
    without = fit_stream(models[1], folder, **asked)
    np.testing.assert_allclose(found.history_[-1]["objective"], without.history_[-1]["objective"], rtol=1e-2)
    assert len(found.history_) == len(without.history_)
