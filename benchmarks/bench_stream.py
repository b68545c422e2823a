"""Files larger than memory: peak memory, rows per second, and the objective beside that of the rows in memory.

Files of 40 columns are generated (26 numbers, 11 categories of 8 words, two sensitive columns and the label; pyarrow's
default options), 2, 10 and 20 million rows of them. `--dataset FOLDER` says where, and keeps them; otherwise they go
into a temporary folder. `--quick` takes 200,000 rows.

Memory is the largest resident size of a process of its own that does nothing else. Speed is measured in one process,
every entrant in turn and the best of three turns: a scan by pyarrow of the same columns (the faster of its defaults and
of dictionary-encoded text, which `fit_stream` reads), an exact pass, an epoch of sgda. Beside the rows per second of
the clock are those per second of processor time, all threads added up, which other work on the machine changes less.

Once with all cores that the process may use, and then all on one: there Vowpal Wabbit passes over its own cache file (a
binary copy of the rows, so that it neither decodes Parquet nor hashes; run by its library's native driver), and
SGDClassifier.partial_fit takes the very batches, coded by this package as dense rows. Neither is fair: they
minimise the logistic loss alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import fermi
from fermi._typing import Floats
from fermi.engines import engine_of
from fermi.inputs.table_encoder import TableEncoder
from fermi.linear.solvers.sgda import SGDA
from fermi.stream import _epochs as epochs
from fermi.stream import fit as streaming
from fermi.stream import fit_stream
from fermi.stream._evaluation import sparse_rows
from fermi.stream._learned import Learned
from fermi.stream._run import Run
from fermi.stream._shard import Shard, Sizes

PER_FILE = 500_000
SIZES, QUICK = (2_000_000, 10_000_000, 20_000_000), (200_000,)
SENSITIVE = ["sex", "race"]
LAM, TURNS = 2.0, 3
_VW_ROWS = 400_000  # its text file takes a while to write

COMMANDS = {
    "fit_stream, lbfgs": ("fit", "lbfgs"),
    "fit_stream, sgda": ("fit", "sgda"),
    "fermi train": ("train", "auto"),
}


def measure(dataset: str | None = None, quick: bool = False) -> list[dict[str, Any]]:
    """All cases."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(dataset or temporary).absolute()
        sizes = QUICK if quick else SIZES
        # In a process of its own: a child's largest size counts that of the process it was started from.
        _child([__file__, "generate", str(folder / "rows"), str(sizes[-1]), str(min(PER_FILE, sizes[0] // 4))])
        files = sorted((folder / "rows").glob("*.parquet"))
        cases = []
        for n in sizes:
            part = folder / f"rows-{n}"
            part.mkdir(exist_ok=True)
            for file in files[: -(-n * len(files) // sizes[-1])]:
                if not (part / file.name).exists():
                    (part / file.name).hardlink_to(file)
            cases += [_memory(part, n, what) for what in COMMANDS]
        first = folder / f"rows-{sizes[0]}"
        cases.append(_objective(first, sizes[0]))
        for cores in ("all", "one") if len(os.sched_getaffinity(0)) > 1 else ("one",):
            script = [__file__, "speed", cores, str(first), str(folder)]
            cases += json.loads(_child(script)["out"])
        return cases


def generate(
    folder: Path,
    rows: int,
    *,
    numbers: int = 26,
    categories: int = 11,
    levels: int = 8,
    classes: int = 2,
    groups: int = 4,
    per_file: int = PER_FILE,
    seed: int = 0,
) -> list[Path]:
    """Write files of `per_file` rows with pyarrow's own defaults; those that are there already stay."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = np.random.default_rng(seed)
    slopes, steps = truth.normal(size=(numbers, classes)) * 0.3, truth.normal(size=(categories, levels, classes)) * 0.3
    written = []
    for k in range(-(-rows // per_file)):
        path = folder / f"part-{k:04d}.parquet"
        written.append(path)
        if path.exists():
            continue
        n, rng = min(per_file, rows - k * per_file), np.random.default_rng([seed, k])
        table = _table(n, rng, slopes, steps, groups)
        partial = path.with_suffix(".partial")
        pq.write_table(table, partial)
        partial.rename(path)
    return written


def _table(n: int, rng: np.random.Generator, slopes: Floats, steps: Floats, groups: int) -> pa.Table:
    sex, race = rng.integers(0, 2, n), np.minimum(rng.geometric(0.5, n) - 1, groups - 1)
    if groups > 8:
        race = rng.integers(0, groups, n)
    logits = (0.5 * sex - 0.2 * (race % 4))[:, None] * np.linspace(0.0, 1.0, slopes.shape[1])
    columns: dict[str, object] = {}
    for j, slope in enumerate(slopes):
        if j % 13 < 9:
            x = rng.normal(size=n) + 0.3 * sex * (j < 4)
        elif j % 13 < 12:
            x = rng.poisson(3 + j % 13 - 9 + sex, n)
        else:
            x = rng.exponential(size=n)
        columns[f"x{j}"] = x
        logits += ((x - x.mean()) / x.std())[:, None] * slope
    for j, step in enumerate(steps):
        code = np.minimum(rng.geometric(2.4 / step.shape[0], n) - 1, step.shape[0] - 1).astype(np.int32)
        words = pa.array([f"c{j}_{v}" for v in range(step.shape[0])])
        columns[f"c{j}"] = pa.DictionaryArray.from_arrays(pa.array(code), words).cast(pa.string())
        logits += step[code]
    columns["sex"] = pa.array(np.array(["F", "M"])[sex])
    names = pa.array([f"r{v}" for v in range(groups)])
    columns["race"] = pa.DictionaryArray.from_arrays(pa.array(race.astype(np.int32)), names).cast(pa.string())
    drawn = logits + rng.gumbel(size=logits.shape)
    columns["y"] = drawn.argmax(axis=1)
    return pa.table(columns)


def _child(arguments: list[str]) -> dict[str, Any]:
    """Run a process of its own: what it printed, its seconds, and the most memory it had."""
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"{arguments} failed")
    return {"out": out, "seconds": time.perf_counter() - began, "peak_mb": usage.ru_maxrss / 1024}


def _memory(folder: Path, n: int, what: str) -> dict[str, Any]:
    kind, solver = COMMANDS[what]
    if kind == "train":
        with tempfile.TemporaryDirectory() as out:
            options = ["--target", "y", "--sensitive", "sex", "--sensitive", "race", "--lam", str(LAM), "--json"]
            found = _child(["-m", "fermi", "train", str(folder), *options, "--output", f"{out}/model"])
            told = json.loads(found.pop("out"))
            facts = {"passes": told["passes"], "objective": told["objective"]}
    else:
        found = _child([__file__, "fit", solver, str(folder)])
        facts = json.loads(found.pop("out"))
    return {"case": f"memory: {what}, {n:,} rows", "rows": n, **found, **facts}


def fitted(solver: str, folder: str) -> fermi.FermiClassifier:
    """A model of the files."""
    model = fermi.FermiClassifier(lam=LAM, solver=solver, random_state=0)
    return fit_stream(model, folder, target="y", sensitive=SENSITIVE)


def _objective(folder: Path, n: int) -> dict[str, Any]:
    """The objective of both solvers beside that of the rows in memory."""
    features, target, groups, encoder = _loaded(folder)
    exact = fermi.FermiClassifier(lam=LAM, solver="lbfgs").fit(features, target, sensitive_features=groups)
    del features
    best = exact.history_[-1]["objective"]
    streamed = {solver: fitted(solver, str(folder)) for solver in ("lbfgs", "sgda")}
    same = streamed["lbfgs"].encoder_.features == encoder.features
    away = {f"{solver}_away": model.history_[-1]["objective"] / best - 1.0 for solver, model in streamed.items()}
    return {"case": f"objective, {n:,} rows", "in_memory": best, "same_features": same, **away}


def _loaded(folder: Path) -> tuple[Any, Any, Any, TableEncoder]:
    frame = ds.dataset(folder).to_table().to_pandas()
    columns = [name for name in frame.columns if name not in ("y", *SENSITIVE)]
    encoder = TableEncoder.learn(frame[columns])
    parts = [
        encoder.transform(frame[columns].iloc[k : k + 100_000])[0].astype(np.float32)
        for k in range(0, len(frame), 100_000)
    ]
    return np.concatenate(parts), frame["y"].to_numpy(), frame[SENSITIVE], encoder


def speed(cores: str, folder: str, work: str) -> list[dict[str, Any]]:
    """Rows per second of every entrant, each the best of some turns."""
    if cores == "one":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        pa.set_cpu_count(1)
    run, shards, reading, families = _opened(folder)
    n = run.model.tables.rows
    theta = np.zeros(run.evaluation.shape)
    state, pace = epochs.begin(run.evaluation, SGDA(), 100, np.random.default_rng(0))

    def epoch() -> int:
        while epochs._block(state, pace, run.evaluation, shards, 1):
            pass
        return n

    def exact() -> int:
        run.evaluation.of_shards(shards, theta)
        return n

    words = [name for name in reading.columns if families[name] == "words"]
    dictionary: Any = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(dictionary_columns=words))
    entrants: dict[str, Callable[[], int]] = {
        "pyarrow scan": lambda: _scan(ds.dataset(folder), reading.columns),
        "pyarrow scan, dictionaries": lambda: _scan(ds.dataset(folder, format=dictionary), reading.columns),
        "L-BFGS pass": exact,
        "sgda epoch": epoch,
    }
    if cores == "one":
        entrants["SGDClassifier.partial_fit"] = _sgd_classifier(shards, run)
        entrants["Vowpal Wabbit"] = _vowpal(shards, run, Path(work))
    best: dict[str, dict[str, float]] = {
        name: {"rows_per_second": 0.0, "per_processor_second": 0.0} for name in entrants
    }
    for _ in range(TURNS):
        for name, entrant in entrants.items():
            began, worked = time.perf_counter(), time.process_time()
            rows = entrant()
            spent = {
                "rows_per_second": time.perf_counter() - began,
                "per_processor_second": time.process_time() - worked,
            }
            best[name] = {what: max(best[name][what], rows / seconds) for what, seconds in spent.items()}
    scans = [best["pyarrow scan"], best["pyarrow scan, dictionaries"]]
    return [
        {
            "case": f"speed, {cores} core{'s' * (cores == 'all')}: {name}",
            **found,
            "of_the_scan": found["rows_per_second"] / max(scan["rows_per_second"] for scan in scans),
            "of_the_scan_processor": found["per_processor_second"]
            / max(scan["per_processor_second"] for scan in scans),
        }
        for name, found in best.items()
    ]


def _opened(folder: str) -> tuple[Run, Any, Any, Any]:
    """A stream whose first pass is made."""
    asked = streaming.Asked("y", SENSITIVE)
    stream = streaming.Stream(fermi.FermiClassifier(lam=LAM, random_state=0), folder, asked, engine_of("local"))
    reading, families = stream._reading([])
    shards = stream.engine.open(Shard, [(stream.files, reading, families, Sizes(), False)])
    profile, _ = streaming._profiled(shards)
    return (
        Run(stream.estimator, stream.limits, Learned.of(profile, 0, []), reading, shards, None),
        shards,
        reading,
        families,
    )


def _scan(dataset: Any, columns: list[str]) -> int:
    return sum(batch.num_rows for batch in dataset.scanner(columns=columns).to_batches())


def _sgd_classifier(shards: Any, run: Run) -> Callable[[], int]:
    from sklearn.linear_model import SGDClassifier

    shard, width = shards._shards[0], run.model.coding.width

    def entrant() -> int:
        model, n = SGDClassifier(loss="log_loss", alpha=1e-4), 0
        for rows in shard._rows(shard._coder):
            dense = np.zeros((len(rows.target), width + 1))
            dense[:, : rows.numbers.shape[1]] = rows.numbers
            np.put_along_axis(dense, rows.codes.astype(np.int64), 1.0, axis=1)
            model.partial_fit(dense[:, :width], rows.target, classes=[0, 1])
            n += len(rows.target)
        return n

    return entrant


def _vowpal(shards: Any, run: Run, work: Path) -> Callable[[], int]:
    """Vowpal Wabbit's pass over its cache, which its first call writes from text."""
    from vowpalwabbit import Workspace

    text, cache, written = work / "rows.vw", work / "rows.vw.cache", min(_VW_ROWS, run.model.tables.rows)
    options = f"-d {text} --cache_file {cache} --loss_function logistic -b 18 --quiet --holdout_off"
    if not cache.exists():
        _write_for_vowpal(shards._shards[0], run.model.coding.width, text, written)
        Workspace(f"{options} -k").finish()

    def entrant() -> int:
        Workspace(options).finish()  # which passes over the rows
        return written

    return entrant


def _write_for_vowpal(shard: Shard, width: int, text: Path, most: int) -> None:
    """Write rows as text that Vowpal Wabbit reads."""
    assert shard._coder is not None
    written = 0
    with text.open("w") as file:
        for rows in shard._rows(shard._coder):
            X = sparse_rows(rows, width)
            for i in range(min(X.shape[0], most - written)):
                own = slice(X.indptr[i], X.indptr[i + 1])
                entries = " ".join(f"{j}:{v:.6g}" for j, v in zip(X.indices[own], X.data[own], strict=True))
                file.write(f"{2 * rows.target[i] - 1} | {entries}\n")
            written += X.shape[0]
            if written >= most:
                return


def show(cases: list[dict[str, Any]]) -> None:
    """Print the cases."""
    for case in cases:
        facts = {name: value for name, value in case.items() if name != "case"}
        words = ", ".join(
            f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in facts.items()
        )
        print(f"{case['case']}: {words}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "fit":
        found = fitted(*sys.argv[2:4])
        print(json.dumps({"passes": int(found.n_iter_), "objective": found.history_[-1]["objective"]}))
    elif sys.argv[1] == "generate":
        generate(Path(sys.argv[2]), int(sys.argv[3]), per_file=int(sys.argv[4]))
    else:
        print(json.dumps(speed(*sys.argv[2:5])))
