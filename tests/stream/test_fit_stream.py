"""`fit_stream` against the fit of the same rows in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

import fermi
from fermi.engines import LocalEngine
from fermi.stream import fit as streaming
from fermi.stream import fit_stream
from fermi.stream._coding import Coder
from fermi.stream._evaluation import Evaluation
from fermi.stream._learned import Learned
from fermi.stream._run import Run
from fermi.stream._shard import Shard, Sizes
from tests.stream.samples import SENSITIVE, frame_of, in_memory, write


def streamed(source: Any, **options: Any) -> fermi.FermiClassifier:
    return fit_stream(fermi.FermiClassifier(**options), source, target="y", sensitive=SENSITIVE)


@pytest.mark.heart
@pytest.mark.parametrize("kind", ["parquet", "csv", "feather"])
def test_exact_passes_reach_the_model_of_the_rows_in_memory(tmp_path: Path, kind: str) -> None:
    frame = frame_of()
    folder = write(frame, tmp_path / "rows", kind=kind)
    told = frame
    if kind == "csv":
        parts = [pd.read_csv(path, dtype=str, na_filter=False) for path in sorted(folder.iterdir())]
        told = pd.concat(parts, ignore_index=True).replace("", None)
        told["y"] = told["y"].astype(int)
    expected, encoder = in_memory(told, lam=3.0, tol=1e-9)
    found = streamed(folder, lam=3.0, tol=1e-9, solver="lbfgs")
    for own, other in zip(found.encoder_.columns, encoder.columns, strict=True):
        assert (own.name, own.kind, own.missing, own.categories) == (
            other.name,
            other.kind,
            other.missing,
            other.categories,
        )
        assert own.mean == pytest.approx(other.mean, rel=1e-12)
        assert own.scale == pytest.approx(other.scale, rel=1e-12)
    assert found.groups_ == expected.groups_
    assert found.history_[-1]["objective"] == pytest.approx(expected.history_[-1]["objective"], rel=1e-9)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-5)
    np.testing.assert_allclose(found.dual_, expected.dual_, atol=1e-5)
    labels = found.predict(found.encoder_.transform(frame)[0])
    assert (labels == frame["y"]).mean() > 0.6


@pytest.mark.parametrize(
    ("classes", "options"),
    [
        (3, {"fairness": "equalized_odds", "lam": 5.0}),
        (3, {"fairness": "equal_opportunity", "attributes": "each", "class_weight": "balanced"}),
        (4, {"attributes": "each", "fit_intercept": False, "l2": 1e-2}),
        (2, {"fairness": fermi.EqualizedOdds(weights="balanced"), "lam": 2.0}),
    ],
)
def test_notions_attributes_and_classes_mean_the_same(tmp_path: Path, classes: int, options: dict[str, Any]) -> None:
    frame = frame_of(classes=classes)
    expected, _ = in_memory(frame, tol=1e-8, **options)
    found = streamed(write(frame, tmp_path / "rows"), tol=1e-8, solver="lbfgs", **options)
    assert found.history_[-1]["objective"] == pytest.approx(expected.history_[-1]["objective"], rel=1e-8)
    assert found.dual_.shape == expected.dual_.shape
    assert found.classes_.tolist() == expected.classes_.tolist()


def test_epochs_come_within_a_hundredth_of_the_minimum(tmp_path: Path) -> None:
    frame = frame_of(3000, classes=3)
    expected, _ = in_memory(frame, lam=2.0)
    found = streamed(write(frame, tmp_path / "rows"), lam=2.0, solver="sgda", random_state=0)
    assert found.history_[-1]["objective"] == pytest.approx(expected.history_[-1]["objective"], rel=0.01)
    other = streamed(tmp_path / "rows", lam=2.0, solver="sgda", random_state=1)
    assert not np.array_equal(found.coef_, other.coef_)
    again = streamed(tmp_path / "rows", lam=2.0, solver="sgda", random_state=0)
    np.testing.assert_array_equal(found.coef_, again.coef_)


def test_one_pass_uses_each_row_once_and_returns_a_step_drawn_uniformly(tmp_path: Path) -> None:
    folder = write(frame_of(1000), tmp_path / "rows")
    models = []
    for seed in range(3):
        model = fermi.FermiClassifier(batch_size=10, random_state=seed)
        fit_stream(model, folder, target="y", sensitive=SENSITIVE, passes=1)
        assert model.n_iter_ == 1
        assert [entry["step"] for entry in model.history_] == [100]
        models.append(model)
    last = fit_stream(
        fermi.FermiClassifier(batch_size=10, max_iter=1, random_state=0), folder, target="y", sensitive=SENSITIVE
    )
    assert not np.array_equal(last.coef_, models[0].coef_)
    with pytest.raises(fermi.errors.FermiError, match=r"`passes` is 1 with solver='lbfgs'"):
        fit_stream(fermi.FermiClassifier(solver="lbfgs"), folder, target="y", sensitive=SENSITIVE, passes=1)


def stream_of(folder: Path, workers: int = 1) -> tuple[streaming.Stream, Any, Any]:
    class Several(LocalEngine):
        pass

    Several.workers = workers
    asked = streaming.Asked("y", SENSITIVE)
    stream = streaming.Stream(fermi.FermiClassifier(lam=3.0), folder, asked, Several())
    reading, families = stream._reading([])
    parts = streaming._parts(stream.files, workers)
    shards = stream.engine.open(Shard, [(part, reading, families, Sizes(64, 128), False) for part in parts])
    profile, _ = streaming._profiled(shards)
    learned = Learned.of(profile, 0, [])
    return stream, Run(stream.estimator, stream.limits, learned, reading, shards, None), shards


@pytest.mark.heart
def test_sums_do_not_depend_on_the_number_of_shards_nor_on_one_round_or_two(tmp_path: Path) -> None:
    folder = write(frame_of(classes=3), tmp_path / "rows")
    _, one, shards = stream_of(folder)
    _, three, others = stream_of(folder, workers=3)
    theta = np.random.default_rng(0).normal(size=one.evaluation.shape)
    expected = one.evaluation.of_shards(shards, theta)
    assert one.evaluation.one_pass
    two_rounds = Evaluation(one.model, one.evaluation.lam, one.evaluation.l2, most_pairs=0)
    assert not two_rounds.one_pass
    for found in (three.evaluation.of_shards(others, theta), two_rounds.of_shards(shards, theta)):
        assert found.record["objective"] == pytest.approx(expected.record["objective"], rel=1e-12)
        np.testing.assert_allclose(found.gradient, expected.gradient, atol=1e-12)
    shift = 1e-6 * np.random.default_rng(1).normal(size=theta.shape)
    up, down = (one.evaluation.of_shards(shards, theta + sign * shift).record["objective"] for sign in (1, -1))
    assert (up - down) / 2 == pytest.approx(float((expected.gradient * shift).sum()), rel=1e-5)


def test_an_epoch_holds_every_row_once_in_another_order_each_time(tmp_path: Path) -> None:
    frame = frame_of(1000)
    frame["heavy"] = np.arange(1000.0)
    _, run, shards = stream_of(write(frame, tmp_path / "rows"))
    shard = shards._shards[0]
    shard.sizes = Sizes(64, 128)
    column = [rule.name for rule in Coder(run.model.coding).coding.numbers].index("heavy")
    orders = []
    for epoch in (0, 1):
        blocks = [rows.numbers[order, column].copy() for rows, order in shard._blocks(3, epoch)]
        assert [len(block) for block in blocks] == [128] * 7 + [104]
        orders.append(np.concatenate(blocks))
        np.testing.assert_allclose(np.sort(orders[-1]), np.sort((frame["heavy"] - 499.5) / frame["heavy"].std(ddof=0)))
    assert not np.array_equal(orders[0], orders[1])
    assert abs(np.corrcoef(orders[0], np.arange(1000))[0, 1]) < 0.8


def test_a_dataset_with_a_partition_and_a_plain_model(tmp_path: Path) -> None:
    frame = frame_of()
    ds.write_dataset(
        ds.dataset(write(frame, tmp_path / "rows")).to_table(), tmp_path / "parted", format="parquet",
        partitioning=["sex"],
        partitioning_flavor="hive",
    )  # fmt: skip
    found = streamed(ds.dataset(tmp_path / "parted", partitioning="hive"), solver="lbfgs", tol=1e-8)
    expected = streamed(tmp_path / "rows", solver="lbfgs", tol=1e-8)
    assert found.history_[-1]["objective"] == pytest.approx(expected.history_[-1]["objective"], rel=1e-9)
    with pytest.warns(fermi.errors.UnfairTrainingWarning):
        plain = fit_stream(fermi.FermiClassifier(), tmp_path / "rows", target="y", sensitive=None)
    assert plain.groups_ == ()


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"max_violation": 0.1}, {}, "`max_violation` is 0.1"),
        ({"solver": "newton"}, {}, "`solver` is 'newton'"),
        ({"eta_theta": "theory", "solver": "sgda"}, {}, "`eta_theta` is 'theory'"),
        ({"fairness": fermi.ConditionalParity([0, 1])}, {}, "whose column is in memory"),
        ({}, {"target": "z"}, "`target` is 'z', which is no column"),
        ({}, {"sensitive": ["y"]}, "`sensitive` holds the target"),
        ({}, {"memory": "plenty"}, "`memory` is 'plenty'"),
        ({}, {"memory": "1MB"}, "at least 50MB"),
        ({}, {"passes": 0}, "`passes` is 0"),
        ({}, {"engine": "spark"}, "`engine` is 'spark'"),
        ({}, {"source": "nowhere/*.parquet"}, "There is no file in 'nowhere"),
    ],
)
def test_what_a_stream_cannot_do_is_one_sentence(
    tmp_path: Path, options: dict[str, Any], arguments: dict[str, Any], message: str
) -> None:
    folder = write(frame_of(100), tmp_path / "rows")
    given: dict[str, Any] = {"source": folder, "target": "y", "sensitive": SENSITIVE, **arguments}
    source = given.pop("source")
    with pytest.raises(fermi.errors.FermiError, match=message):
        fit_stream(fermi.FermiClassifier(**options), source, **given)
