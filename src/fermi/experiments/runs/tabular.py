"""One training run on a table: the same rows, split and measurements for every method."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fermi import baselines
from fermi.datasets import Dataset, load
from fermi.experiments.figure import Cell, CellRecord
from fermi.formulas.gaps import standard_error
from fermi.inputs.folds import folds
from fermi.measures import parity_difference
from fermi.measures.contingency import Contingency
from fermi.torch.models import logistic

WAY, VERSION = "tabular", 3  # of `run`
STRENGTHS = (0.0, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
QUICK_STRENGTHS = (0.0, 0.5, 1.0)
_PARTS = 4  # one row of the training part in so many chooses the knob
ADAM_LR = 0.05  # where it steps over all rows: the default, made for batches, leaves 300 steps short of the minimum
_BLOCKS = 20  # parts of the test rows, whose spread says how other test rows would differ


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
    """All combinations that the methods know; `datasets` says how many splits of each, `more` holds for all.

    Several splits are as good as several seeds. One that draws nothing needs one, unless its groups are drawn.
    """
    everything = product(methods, datasets, blind, notions, strengths)
    for method, (dataset, splits), hidden, notion, strength in everything:
        can = baselines.find(method).capabilities
        if notion not in can.notions or (method == "none" and strength > 0.0):
            continue
        drawn_groups = more.get("missing") or more.get("forced")
        drawn_rows = can.stochastic and more.get("batch_size") != "all"
        draws = drawn_rows or drawn_groups or can.draws or can.adversarial
        for split, seed in product(range(splits), range(seeds if draws and splits == 1 else 1)):
            yield {
                "dataset": dataset,
                "split": split,
                "blind": hidden,
                "method": method,
                "notion": notion,
                "strength": strength,
                "seed": seed,
                **more,
            }


class TabularSplit(NamedTuple):
    """The rows of a cell as numbers: a data set, the groups of training and test rows, and who chooses the knob."""

    data: Dataset
    s_train: pd.Series[Any]
    s_test: pd.Series[Any]
    judges: Any


@functools.lru_cache(maxsize=64)
def rows(dataset: str, split: int, blind: bool, limit: int | None) -> TabularSplit:
    """Load the rows of a split; `limit` keeps the first so many training rows."""
    options: dict[str, Any] = {"include_sensitive": not blind}
    if dataset == "compas":
        options["races"] = "two"  # as the paper's figures compare
    if dataset != "adult":  # whose split is its publisher's
        options["random_state"] = split
    data = load(dataset, **options)
    if limit is not None:
        data = replace(data, X_train=data.X_train[:limit], y_train=data.y_train[:limit], s_train=data.s_train[:limit])
    data = data.numeric()
    s_train, s_test = joined(data.s_train), joined(data.s_test)
    strata = np.unique(data.y_train.astype(str) + " " + s_train, return_inverse=True)[1]
    # A quarter of the training rows, with all groups and classes in proportion.
    return TabularSplit(data, s_train, s_test, folds(strata, _PARTS, np.random.default_rng(split)) == 0)


def joined(columns: pd.DataFrame) -> pd.Series[Any]:
    """Join several sensitive columns into one."""
    first, *others = (columns[name].astype(str) for name in columns)
    for other in others:
        first = first + " " + other
    return first


def run(cell: Cell) -> CellRecord:
    """Fit one method, and measure it on the rows that train it, on those that choose the knob and on the test rows."""
    data, s_train, s_test, judged = rows(cell["dataset"], cell["split"], cell["blind"], cell.get("rows"))
    train = np.flatnonzero(~judged)
    groups = corrupted(s_train.iloc[train].astype(object), cell)
    model = baselines.make(cell["method"], cell["strength"], cell["notion"], cell["seed"], **training(cell, len(train)))
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X_train.iloc[train], data.y_train.iloc[train], sensitive_features=groups)
    record: CellRecord = {"seconds": time.perf_counter() - began}
    parts = {
        "val": (data.X_train[judged], data.y_train[judged], s_train[judged]),
        "test": (data.X_test, data.y_test, s_test),
    }
    majority = data.y_train.iloc[train].mode()[0]
    trained = data.X_train.iloc[train], data.y_train.iloc[train], s_train.iloc[train]
    record |= {f"train_{key}": value for key, value in measured(model, *trained, cell["notion"]).items()}
    for name, part in parts.items():
        record |= {f"{name}_{key}": value for key, value in measured(model, *part, cell["notion"]).items()}
        record |= {f"{name}_{key}": value for key, value in constant(part[1], majority).items()}
    return record


def training(cell: Cell, n: int) -> dict[str, Any]:
    """The batch size and steps of a cell, for the methods that have them; "all" rows at once is L-BFGS for FERMI.

    Where steps are counted, FERMI is a linear network trained by Adam as the others are: what differs is the penalty.
    """
    known = baselines.find(cell["method"])._get_param_names()
    options = {"batch_size": cell.get("batch_size"), "steps": cell.get("steps")}
    if options["batch_size"] == "all":
        options = {} if cell["method"] == "fermi" else {**options, "batch_size": n, "lr": ADAM_LR}
    elif cell["method"] == "fermi" and options["steps"] is not None:
        options |= {"module": logistic, "options": {"lr": 0.02}}
    return {name: value for name, value in options.items() if name in known and value is not None}


def corrupted(s: Any, cell: Cell) -> Any:
    """Spoil groups as the cell asks: some become missing, some are forced to the first group."""
    rng = np.random.default_rng(1000 + cell["seed"])
    first = min(s)
    if cell.get("forced"):
        s = s.mask(rng.random(len(s)) < cell["forced"], first)
    if cell.get("missing"):
        s = s.mask(rng.random(len(s)) < cell["missing"], None)
    return s


def measured(model: Any, X: Any, y: Any, s: Any, notion: str) -> CellRecord:
    """Measure hard error with hard violation and soft with soft: labels on both axes, or draws on both."""
    predicted, F = model.predict(X, s), model.predict_proba(X, s)
    wrong = predicted != np.asarray(y)
    known = model.classes_.tolist()
    hard, soft = (
        Contingency.from_predictions(made, s, y_true=y, notion=notion, classes=known) for made in (predicted, F)
    )
    own = np.searchsorted(model.classes_, np.asarray(y))
    return {
        "error": float(np.mean(wrong)),
        "block_errors": block_errors(wrong),
        "violation": parity_difference(hard),
        "gaps": signed_gaps(hard),
        "soft_error": float(1.0 - F[np.arange(len(F)), own].mean()),
        "soft_violation": parity_difference(soft),
        "soft_gaps": signed_gaps(soft),
        "standard_error": standard_error(hard.table, hard.table),
        "table": hard.table.tolist(),
        "soft_table": soft.table.round(6).tolist(),
    }


def constant(y: Any, label: Any) -> CellRecord:
    """The errors of giving all rows one label, over all rows and by blocks."""
    wrong = np.asarray(y) != label
    return {"constant_error": float(np.mean(wrong)), "constant_block_errors": block_errors(wrong)}


def block_errors(wrong: Any) -> list[float]:
    """The error in each of equal parts of the rows, the same parts for all methods."""
    order = np.random.default_rng(0).permutation(len(wrong))
    return [round(float(wrong[part].mean()), 6) for part in np.array_split(order, _BLOCKS)]


def signed_gaps(table: Contingency) -> list[float]:
    """The difference of rates of every two groups, in every condition and class: the violation is the largest size.

    A group without rows in a condition differs from none.
    """
    rates = table.rates()
    first, second = np.triu_indices(rates.shape[1], 1)
    return [round(float(gap), 8) for gap in np.nan_to_num(rates[:, second] - rates[:, first]).ravel()]
