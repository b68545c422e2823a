"""What one row, one evaluation and one message cost: the constants of the cost model in docs/scale.md."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fermi import FermiClassifier
from fermi.engines import RayEngine
from fermi.stream import _run, fit_stream
from fermi.stream._evaluation import Evaluation
from fermi.stream._shard import Shard

ROWS, FEATURES, GROUPS = 16_000, 1000, 10_000
SAMPLE = 400_000  # entries of the rows that a fit begins on: it is passes that are measured here
MEGABYTES = (0.1, 1.0, 10.0, 80.0)
ONE_ROUND = "an evaluation of L-BFGS, one round, per row and feature"
TWO_ROUNDS = "an evaluation of L-BFGS, two rounds, per row and feature"
EPOCH = "an epoch of sgda, batches of 256, per row and feature"
SILENT = "a round of two Ray workers with nothing to say"


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """One case per constant: seconds, and of what."""
    rows = ROWS // 10 if quick else ROWS
    with tempfile.TemporaryDirectory() as name:
        files = _write(Path(name), rows)
        return [_scan(files, rows), *_passes(Path(name), rows), *_messages()]


def show(cases: list[dict[str, Any]]) -> None:
    """Print the constants, one per line, and what they predict."""
    for case in cases:
        print(f"{case['what']:60s} {case['value']:12.4g} {case['unit']}")
    for workers in (1, 16, 256):
        found = ", ".join(f"{what} {seconds:,.0f} s" for what, seconds in predicted(cases, workers).items())
        print(f"{workers} workers: {found}")


def predicted(
    cases: list[dict[str, Any]],
    workers: int,
    *,
    rows: float = 1e9,
    features: int = 1000,
    groups: int = 10_000,
    classes: int = 2,
    network: float = 1.25e9,
    block: int = 1 << 17,
) -> dict[str, float]:
    """Seconds of one evaluation and one epoch on so many cores, with a network of so many bytes per second."""
    found = {case["what"]: case["value"] for case in cases}
    one, two, epoch = (found[what] * 1e-9 * rows * features / workers for what in (ONE_ROUND, TWO_ROUNDS, EPOCH))
    latency = found[SILENT] * 1e-3
    rates = {size: min(network, 2e6 * size / (found[_loud(size)] * 1e-3)) for size in (10.0, 80.0)}  # of two workers
    gradient, table = 8.0 * (classes - 1) * (features + 1), 8.0 * groups * classes
    pairs = 8.0 * groups * (classes * (classes - 1) // 2) * (features + 1)
    blocks = rows / (workers * block)
    alone = workers == 1

    def sending(size: float) -> float:
        return 0.0 if alone else latency + workers * size / rates[80.0 if size > 3e7 else 10.0]

    return {
        "an evaluation in one round": one + sending(table + gradient + pairs),
        "in two rounds": two + sending(2 * table) + sending(gradient),
        "an epoch of sgda": epoch + blocks * sending(2 * (2 * gradient + table)),
    }


def _write(folder: Path, rows: int) -> list[Path]:
    """Rows of many features in single precision, as wide tables are stored, and many groups."""
    rng = np.random.default_rng(0)
    paths = [folder / f"{k}.parquet" for k in range(4)]
    for path in paths:
        n = rows // len(paths)
        X = rng.standard_normal((n, FEATURES), dtype=np.float32)
        columns = {f"x{j}": X[:, j] for j in range(FEATURES)}
        y = (X[:, :10].sum(axis=1) + rng.normal(size=n) > 0).astype(np.int8)
        group = pa.array([f"g{g}" for g in rng.integers(0, GROUPS, n)])
        pq.write_table(pa.table({**columns, "y": y, "group": group}), path, row_group_size=5000, compression="snappy")
    return paths


def _scan(files: list[Path], rows: int) -> dict[str, Any]:
    def read() -> None:
        for path in files:
            for batch in pq.ParquetFile(path).iter_batches(4096, use_threads=False):
                assert batch.num_rows

    stored = sum(path.stat().st_size for path in files)
    return _case("reading and decoding Parquet, one core", stored / _best(read, time.process_time) / 1e6, "MB/s") | {
        "bytes_per_row": stored / rows
    }


def _passes(folder: Path, rows: int) -> list[dict[str, Any]]:
    """Seconds of an exact evaluation in one round and in two, and of an epoch of sgda, by watching a fit."""
    found = []
    for words, options in (
        (ONE_ROUND, {"solver": "lbfgs", "rounds": 1}),
        (TWO_ROUNDS, {"solver": "lbfgs", "rounds": 2}),
        (EPOCH, {"solver": "sgda", "rounds": 1}),
    ):
        spent: list[float] = []
        solver = str(options["solver"])
        model = FermiClassifier(lam=1.0, solver=solver, batch_size=256 if solver == "sgda" else None, tol=1e-3)
        with _watched("evaluate" if solver == "lbfgs" else "advance", spent, two_rounds=options["rounds"] == 2):
            passes = 3 if solver == "lbfgs" else 2
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # so few passes do not converge, and so many groups are small
                fit_stream(model, folder, target="y", sensitive="group", passes=passes, memory="1GB")
        # The second of two epochs: the first may have had to compile.
        per = min(spent) if solver == "lbfgs" else sum(spent[len(spent) // 2 :])
        per = per * 2 if words == TWO_ROUNDS else per
        found.append(_case(words, per / rows / FEATURES * 1e9, "ns"))
    return found


class _watched:
    """A context in which the seconds of each call of a method of `Shard` are noted."""

    def __init__(self, method: str, spent: list[float], *, two_rounds: bool) -> None:
        self.method, self.spent, self.own = method, spent, getattr(Shard, method)
        self.two_rounds, self.one_pass = two_rounds, Evaluation.one_pass

    def __enter__(self) -> None:
        def timed(shard: Shard, *arguments: Any) -> Any:
            began = time.process_time()  # of all threads: what a core would take, however busy the machine is
            try:
                return self.own(shard, *arguments)
            finally:
                self.spent.append(time.process_time() - began)

        setattr(Shard, self.method, timed)
        self.entries, _run._SAMPLE_ENTRIES = _run._SAMPLE_ENTRIES, SAMPLE
        if self.two_rounds:  # with batches as large as those of one round
            Evaluation.one_pass = property(lambda evaluation: False)  # type: ignore[method-assign, assignment]

    def __exit__(self, *error: object) -> None:
        setattr(Shard, self.method, self.own)
        _run._SAMPLE_ENTRIES = self.entries
        Evaluation.one_pass = self.one_pass  # type: ignore[method-assign]


def _loud(size: float) -> str:
    return f"the same with {size:g} MB from each"


def _messages() -> list[dict[str, Any]]:
    """The seconds in which two workers answer with arrays, and these are added."""
    found, engine = [], RayEngine(workers=2)
    for what, size in ((SILENT, 1e-5), *((_loud(size), size) for size in MEGABYTES)):
        shards = engine.open(np.ones, [(int(size * 1e6 / 8),)] * 2)

        def added(shards: Any = shards) -> Any:
            return sum(shards.each("copy"))

        try:
            added()
            found.append(_case(what, _best(added) * 1e3, "ms"))
        finally:
            shards.close()
    return found


def _best(work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    spent = []
    for _ in range(5):
        began = clock()
        work()
        spent.append(clock() - began)
    return min(spent)


def _case(what: str, value: float, unit: str) -> dict[str, Any]:
    return {"what": what, "value": value, "unit": unit}
