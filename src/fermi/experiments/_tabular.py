"""One training run on a table: the same rows, split and measurements for every method."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np

from fermi import baselines
from fermi.datasets import Dataset, load
from fermi.experiments._figure import Cell, Record
from fermi.measures import parity_difference
from fermi.search import folds

STRENGTHS = (0.0, 0.2, 0.4, 0.55, 0.7, 0.85, 1.0)
QUICK_STRENGTHS = (0.0, 0.5, 1.0)
_PARTS = 4  # one row of the training part in so many chooses the knob


def cells(
    methods: Iterable[str],
    *,
    notions: Iterable[str] = ("demographic_parity",),
    datasets: Iterable[tuple[str, int]] = (("adult", 1),),
    blind: Iterable[bool] = (True, False),
    seeds: int = 1,
    strengths: Iterable[float] = STRENGTHS,
    **more: Any,
) -> Iterator[Cell]:
    """All combinations that the methods know; `datasets` says how many splits of each, `more` is the same for all.

    Several splits are as good as several seeds, and a method that draws nothing needs neither.
    """
    everything = product(methods, datasets, blind, notions, strengths)
    for method, (dataset, splits), hidden, notion, strength in everything:
        can = baselines.find(method).capabilities
        if notion not in can.notions or (method == "none" and strength > 0.0):
            continue
        draws = can.stochastic and method not in ("none",)
        for split, seed in product(range(splits), range(seeds if draws and splits == 1 else 1)):
            yield {
                "dataset": dataset, "split": split, "blind": hidden, "method": method, "notion": notion,
                "strength": strength, "seed": seed, **more,
            }  # fmt: skip


@functools.lru_cache(maxsize=4)
def rows(dataset: str, split: int, blind: bool, limit: int | None) -> Dataset:
    """The rows of a cell, as numbers; `limit` keeps the first so many training rows."""
    options: dict[str, Any] = {"include_sensitive": not blind}
    if dataset == "compas":
        options["races"] = "two"  # as the paper's figures compare
    if dataset != "adult":  # whose split is its publisher's
        options["random_state"] = split
    data = load(dataset, **options)
    if limit is not None:
        data = data.__class__(
            data.name, data.X_train[:limit], data.y_train[:limit], data.s_train[:limit],
            data.X_test, data.y_test, data.s_test, note=data.note,
        )  # fmt: skip
    return data.numeric()


def run(cell: Cell) -> Record:
    """Fit one method, and measure it on the rows that choose the knob and on the test rows."""
    data = rows(cell["dataset"], cell["split"], cell["blind"], cell.get("rows"))
    s = data.s_train.astype(str).agg(" ".join, axis=1)
    judged = chosen_rows(data, cell["split"])
    train = np.flatnonzero(~judged)
    groups = corrupted(s.iloc[train].astype(object), cell)
    model = baselines.make(cell["method"], cell["strength"], cell["notion"], cell["seed"], **training(cell, len(train)))
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X_train.iloc[train], data.y_train.iloc[train], sensitive_features=groups)
    record: Record = {"seconds": time.perf_counter() - began}
    s_test = data.s_test.astype(str).agg(" ".join, axis=1)
    parts = {
        "val": (data.X_train[judged], data.y_train[judged], s[judged]),
        "test": (data.X_test, data.y_test, s_test),
    }
    for name, part in parts.items():
        record |= {f"{name}_{key}": value for key, value in measured(model, *part, cell["notion"]).items()}
    return record


def training(cell: Cell, n: int) -> dict[str, Any]:
    """Batch size and steps for the methods that have them; "all" rows at once is L-BFGS for FERMI."""
    known = baselines.find(cell["method"])._get_param_names()
    options = {"batch_size": cell.get("batch_size"), "steps": cell.get("steps")}
    if options["batch_size"] == "all":
        options = {} if cell["method"] == "fermi" else {**options, "batch_size": n}
    return {name: value for name, value in options.items() if name in known and value is not None}


def chosen_rows(data: Dataset, split: int) -> Any:
    """Which training rows choose the knob: a fixed quarter, with all groups and classes in proportion."""
    strata = data.y_train.astype(str) + " " + data.s_train.astype(str).agg(" ".join, axis=1)
    codes = np.unique(strata, return_inverse=True)[1]
    return folds(codes, _PARTS, np.random.default_rng(split)) == 0


def corrupted(s: Any, cell: Cell) -> Any:
    """The groups as the cell's training sees them: some missing, some forced to the first group."""
    rng = np.random.default_rng(1000 + cell["seed"])
    first = min(s)
    if cell.get("forced"):
        s = s.mask(rng.random(len(s)) < cell["forced"], first)
    if cell.get("missing"):
        s = s.mask(rng.random(len(s)) < cell["missing"], None)
    return s


def measured(model: Any, X: Any, y: Any, s: Any, notion: str) -> dict[str, float]:
    """Hard error with hard violation, soft with soft: labels on both axes, or draws from the probabilities on both."""
    predicted, F = model.predict(X, s), model.predict_proba(X, s)
    own = np.searchsorted(model.classes_, np.asarray(y))
    return {
        "error": float(np.mean(predicted != np.asarray(y))),
        "violation": parity_difference(predicted, s, y_true=y, notion=notion, classes=model.classes_.tolist()),
        "soft_error": float(1.0 - F[np.arange(len(F)), own].mean()),
        "soft_violation": parity_difference(F, s, y_true=y, notion=notion, classes=model.classes_.tolist()),
        "standard_error": standard_error(predicted, np.asarray(y), np.asarray(s), notion),
    }


def standard_error(predicted: Any, y: Any, s: Any, notion: str) -> float:
    """That of the gap between two groups' rates, the largest over the conditions."""
    last = np.unique(y)[-1]
    conditions = {
        "demographic_parity": [np.ones(len(y), dtype=bool)],
        "equalized_odds": [y == label for label in np.unique(y)],
    }
    found = []
    for inside in conditions.get(notion, [y == last]):
        rates = [
            (np.mean(predicted[inside & (s == g)] == last), (inside & (s == g)).sum()) for g in np.unique(s[inside])
        ]
        found.append(np.sqrt(sum(p * (1.0 - p) / n for p, n in rates)))
    return float(max(found))
