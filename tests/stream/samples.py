"""Small folders of files, with all kinds of columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fermi
from fermi.inputs.table_encoder import TableEncoder
from fermi.tables.formats import understood

SENSITIVE = ["sex", "race"]


def frame_of(n: int = 1200, classes: int = 2, seed: int = 0) -> pd.DataFrame:
    """Numbers with and without gaps, whole numbers, words, flags, days, numbers written as words, an identifier."""
    rng = np.random.default_rng(seed)
    sex, race = rng.integers(0, 2, n), rng.integers(0, 3, n)
    x, heavy, count = rng.normal(size=n) + 0.5 * sex, rng.exponential(size=n), rng.poisson(4, n)
    city = rng.choice(["Bath", "Cork", "Oslo", "Graz"], n, p=[0.5, 0.3, 0.15, 0.05])
    logits = np.outer(1.2 * x - 0.5 * heavy + 0.8 * (city == "Cork") + 0.4 * sex, np.linspace(-1, 1, classes))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, x),
            "heavy": heavy,
            "count": count,
            "city": pd.Series(city, dtype=object).mask(rng.random(n) < 0.05, None),
            "member": rng.random(n) < 0.3,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "written": [f" {value:.2f}" for value in rng.normal(size=n)],
            "id": [f"person {k}" for k in range(n)],
            "sex": np.array(["F", "M"])[sex],
            "race": pd.Series(np.array(["a", "b", "c"])[race], dtype=object).mask(rng.random(n) < 0.05, None),
            "y": y,
        }
    )


def write(frame: pd.DataFrame, folder: Path, files: int = 4, kind: str = "parquet") -> Path:
    """The rows in several files of one format."""
    folder.mkdir(exist_ok=True)
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        part = frame.iloc[rows].reset_index(drop=True)
        path = folder / f"part-{k}.{kind}"
        if kind == "csv":
            part.to_csv(path, index=False)
        elif kind == "feather":
            part.to_feather(path)
        else:
            part.to_parquet(path, row_group_size=100)
    return folder


def in_memory(frame: pd.DataFrame, **options: Any) -> tuple[fermi.FermiClassifier, TableEncoder]:
    """The model of the same rows, as `fermi train` would make it of one file."""
    features = understood(frame.drop(columns=["y", *SENSITIVE]))
    encoder = TableEncoder.learn(features)
    model = fermi.FermiClassifier(**options)
    return model.fit(encoder.transform(features)[0], frame["y"], sensitive_features=frame[SENSITIVE]), encoder
