"""The generated Parquet files of `fermi bench stream`: numbers and categories, a label and two sensitive columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PER_FILE = 500_000


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


def _table(n: int, rng: np.random.Generator, slopes: np.ndarray, steps: np.ndarray, groups: int) -> pa.Table:
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
