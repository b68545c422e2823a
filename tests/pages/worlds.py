"""What a reader of a page has at hand: rows and files, and nothing where a page begins from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fermi
from fermi.cli.demo import applicants

# Pages that a newcomer follows from the first line on: all that their code needs, it makes.
FROM_NOTHING = {"README", "start", "choose", "case", "understand", "deploy", "training"}
PACKAGES = {
    "README": ("torch",),
    "start": ("torch",),
    "audit": ("duckdb",),
    "baselines": ("fairlearn",),
    "boosting": ("lightgbm",),
    "deploy": ("fastapi", "skl2onnx", "onnxruntime"),
    "labels": ("lightgbm",),
    "torch": ("torch",),
    "tradeoff": ("lightgbm", "matplotlib"),
}


def names_for(page: str) -> dict[str, Any]:
    """The names that are defined when a page begins; writes files that it reads into the present folder."""
    if page in FROM_NOTHING:
        return {}
    _write_files()
    data = fermi.datasets.synthetic(1200, rated=False).numeric()
    names: dict[str, Any] = {"X": data.X_train, "y": data.y_train, "s": data.s_train}
    for name in ("new", "val"):
        names |= {f"X_{name}": data.X_test, f"y_{name}": data.y_test, f"s_{name}": data.s_test}
    names |= {"fermi": fermi, "np": np, "pd": pd}
    return names | _EXTRA.get(page, dict)()


def _write_files() -> None:
    """Rows of applicants as the command reads them: one file, new rows, scores, a folder, and a folder of decisions."""
    frame = applicants(0).iloc[:3000].reset_index(drop=True)
    frame.to_csv("applicants.csv", index=False)
    frame.iloc[:50].to_csv("new.csv", index=False)
    rng = np.random.default_rng(0)
    frame.assign(
        score=np.clip(0.3 + 0.4 * frame["outcome"] + 0.2 * rng.standard_normal(len(frame)), 0.01, 0.99)
    ).to_csv("scored.csv", index=False)
    told = frame[["group", "outcome"]].assign(id=np.arange(len(frame)))
    told.assign(prediction=rng.permutation(frame["outcome"])).to_csv("present.csv", index=False)
    better = np.where(rng.random(len(frame)) < 0.2, 1 - frame["outcome"], frame["outcome"])
    told.assign(prediction=better).to_csv("candidate.csv", index=False)
    people = frame.assign(sex=rng.choice(["F", "M"], len(frame)), race=rng.choice(["A", "B"], len(frame)))
    for folder, column in (("applicants", None), ("rows", None), ("predictions", "prediction")):
        Path(folder).mkdir()
        rows = people if column is None else people.assign(prediction=rng.permutation(people["outcome"]))
        for part, name in enumerate(("2026-01.parquet", "2026-02.parquet")):
            rows.iloc[part::2].to_parquet(Path(folder) / name)


def _audit() -> dict[str, Any]:
    import duckdb

    counted = "SELECT outcome, sex, race, prediction, COUNT(*) AS n FROM read_parquet('predictions/*.parquet')"
    rng = np.random.default_rng(0)
    p = rng.random(60)
    batch = pd.DataFrame({"outcome": p > 0.4, "p0": 1 - p, "p1": p, "sex": rng.choice(["F", "M"], 60)})
    return {
        "duckdb": duckdb,
        "query": f"{counted} GROUP BY outcome, sex, race, prediction",
        "RunningAudit": fermi.RunningAudit,
        "batches": [batch.astype({"outcome": int})] * 3,
    }


def _labels() -> dict[str, Any]:
    return {"F": np.full((4, 2), 0.5), "q": np.full((4, 4), 0.25)}


def _scale() -> dict[str, Any]:
    return {"new_rows": pd.read_parquet("applicants").head(), "model": fermi.FermiClassifier()}


def _torch() -> dict[str, Any]:
    import torch

    return {"torch": torch}


def _tradeoff() -> dict[str, Any]:
    from lightgbm import LGBMClassifier

    return {"LGBMClassifier": LGBMClassifier}


_EXTRA = {"audit": _audit, "labels": _labels, "scale": _scale, "torch": _torch, "tradeoff": _tradeoff}
