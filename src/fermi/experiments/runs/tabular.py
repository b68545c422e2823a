"""One setting on a table, trained out of fold: the same rows, folds and measurements for every method.

The training rows are cut into folds, and a setting is trained once without each. The rows that each model did not see
choose the knob, all of them together; the test figures are means over the models.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fermi import baselines
from fermi.baselines.common.several import fit_each
from fermi.datasets import Dataset, load
from fermi.experiments.figure import Cell, CellRecord, Together
from fermi.formulas.gaps import standard_error
from fermi.inputs.folds import folds
from fermi.measures import parity_difference
from fermi.measures.contingency import Contingency
from fermi.torch.models import logistic

WAY, VERSION = "tabular", 4  # of `run`
STRENGTHS = (0.0, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
QUICK_STRENGTHS = (0.0, 0.5, 1.0)
FOLDS, _FOLDS = {"adult": 2}, 3  # half of Adult is enough to train on; of the small data sets two thirds are
_PARTS = 4  # where a cell has no folds, one row of the training part in so many chooses the knob
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
    out_of_fold: bool = True,
    **more: Any,
) -> Iterator[Cell]:
    """All combinations that the methods know; `datasets` says how many splits of each, `more` holds for all.

    `out_of_fold` says whether all training rows choose the knob, in folds, or one quarter of them.
    Strength 0 is the unmitigated model for every method, and is trained once, as `none`. Several splits are as good as
    several seeds. A method that starts from nothing random needs one seed, unless its groups are drawn; one that draws
    its labels too, since what is measured is what it draws on average.
    """
    everything = product(methods, datasets, blind, notions, strengths)
    for method, (dataset, splits), hidden, notion, strength in everything:
        can = baselines.find(method).capabilities
        if notion not in can.notions or (method == "none") != (strength == 0.0):
            continue
        drawn_groups = more.get("missing") or more.get("forced")
        drawn_rows = can.stochastic and more.get("batch_size") != "all"
        draws = drawn_rows or drawn_groups or can.adversarial
        for split, seed in product(range(splits), range(seeds if draws and splits == 1 else 1)):
            yield {
                "dataset": dataset,
                "split": split,
                "blind": hidden,
                "method": method,
                "notion": notion,
                "strength": strength,
                "seed": seed,
                **({"folds": FOLDS.get(dataset, _FOLDS)} if out_of_fold else {}),
                **more,
            }


class TabularSplit(NamedTuple):
    """The rows of a cell as numbers: a data set, the groups of training and test rows, and the kinds of training rows.

    A kind is a class and a group; folds hold all of them in proportion.
    """

    data: Dataset
    s_train: pd.Series[Any]
    s_test: pd.Series[Any]
    kinds: Any

    def parts(self, split: int, count: int | None) -> list[Any]:
        """Say which training rows choose the knob: those of each fold in turn or, without folds, of one quarter."""
        own = folds(self.kinds, count or _PARTS, np.random.default_rng(split))
        return [own == fold for fold in range(count or 1)]


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
    arrays: dict[str, Any] = {"X_train": data.X_train.to_numpy(), "X_test": data.X_test.to_numpy()}
    data = replace(data, **arrays)  # read faster than tables
    s_train, s_test = joined(data.s_train), joined(data.s_test)
    return TabularSplit(
        data, s_train, s_test, np.unique(data.y_train.astype(str) + " " + s_train, return_inverse=True)[1]
    )


def joined(columns: pd.DataFrame) -> pd.Series[Any]:
    """Join several sensitive columns into one."""
    first, *others = (columns[name].astype(str) for name in columns)
    for other in others:
        first = first + " " + other
    return first


def run(cell: Cell) -> CellRecord:
    """Fit one method without each fold, and measure it on rows that trained it, on the others, and on the test rows."""
    return run_together([cell])[0]


def alike(cell: Cell) -> Hashable:
    """What is the same for the cells that run together: everything but the strength."""
    return tuple(sorted((name, value) for name, value in cell.items() if name != "strength"))


def run_together(cells: Sequence[Cell]) -> list[CellRecord]:
    """Run cells that differ in their strength alone.

    Groups are spoilt as the cells ask before anything sees them: the rows that choose have the groups that training
    sees, and only the test rows are judged by the true ones.
    """
    cell = cells[0]
    split = rows(cell["dataset"], cell["split"], cell["blind"], cell.get("rows"))
    data, seen = split.data, corrupted(split.s_train.astype(object), cell)
    began, parts = time.perf_counter(), split.parts(cell["split"], cell.get("folds"))
    by_fold = []
    for held in parts:
        own = training(cell, int((~held).sum()))
        method = baselines.make(cell["method"], cell["strength"], cell["notion"], cell["seed"], **own)
        rest = data.X_train[~held], data.y_train[~held]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            strengths = [one["strength"] for one in cells]
            by_fold.append(fit_each(method, strengths, *rest, sensitive_features=seen[~held]))
    seconds = (time.perf_counter() - began) / len(parts) / len(cells)
    by_cell = zip(cells, zip(*by_fold, strict=True), strict=True)
    return [{"seconds": seconds, **judged(one, list(models), split, parts, seen)} for one, models in by_cell]


def judged(cell: Cell, models: list[Any], split: TabularSplit, parts: list[Any], seen: Any) -> CellRecord:
    """Measure the models of the folds on all three parts of the rows; `seen` are the groups that training saw."""
    data, s = split.data, split.s_train
    every = np.ones(len(data.y_test), dtype=bool)
    found = {
        "train": mean_of([measured(model, data.X_train, data.y_train, s, seen, [~held], cell["notion"])
                          for model, held in zip(models, parts, strict=True)]),
        "val": measured(models, data.X_train, data.y_train, s, seen, parts, cell["notion"]),
        "test": mean_of([measured(model, data.X_test, data.y_test, split.s_test, split.s_test, [every], cell["notion"])
                         for model in models]),
    }  # fmt: skip
    majority, chose = data.y_train.mode()[0], np.any(parts, axis=0)
    found["val"] |= constant(data.y_train[chose], majority)
    found["test"] |= constant(data.y_test, majority)
    return {f"{part}_{key}": value for part, own in found.items() for key, value in own.items()}


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


def measured(models: Any, X: Any, y: Any, s: Any, seen: Any, parts: Sequence[Any], notion: str) -> CellRecord:
    """Measure hard error with hard violation and soft with soft: labels on both axes, or draws on both.

    Each model predicts its part of the rows, and all parts are measured together. `s` holds the groups that a method
    may need to predict, `seen` those by which it is judged. Where a method draws its labels, hard stands for what it
    draws on average.
    """
    models = models if isinstance(models, list) else [models]
    predicted = np.empty(len(y), dtype=np.asarray(y).dtype)
    known = models[0].classes_
    F = np.zeros((len(y), len(known)))
    for model, part in zip(models, parts, strict=True):
        predicted[part], F[part] = model.predict(X[part], s[part]), model.predict_proba(X[part], s[part])
    rows = np.any(parts, axis=0)
    predicted, F, y, seen = predicted[rows], F[rows], np.asarray(y)[rows], seen[rows]
    wrong, soft_wrong = (predicted != y).astype(float), 1.0 - F[np.arange(len(F)), np.searchsorted(known, y)]
    law: Any = predicted
    if models[0].capabilities.draws:
        wrong, law = soft_wrong, F
    hard, soft = (
        Contingency.from_predictions(made, seen, y_true=y, notion=notion, classes=known.tolist()) for made in (law, F)
    )
    return {
        "error": float(np.mean(wrong)),
        "block_errors": block_errors(wrong),
        "violation": parity_difference(hard),
        "gaps": signed_gaps(hard),
        "soft_error": float(soft_wrong.mean()),
        "soft_violation": parity_difference(soft),
        "soft_gaps": signed_gaps(soft),
        "standard_error": standard_error(hard.table, hard.table),
        "table": hard.table.round(6).tolist(),
        "soft_table": soft.table.round(6).tolist(),
    }


def mean_of(found: Sequence[CellRecord]) -> CellRecord:
    """The means of what was measured of several models; gaps and tables stay apart, a list entry for each model."""
    apart = ("gaps", "soft_gaps", "table", "soft_table")
    means: CellRecord = {name: np.mean([own[name] for own in found], axis=0).tolist() for name in found[0]}
    return means | {name: [own[name] for own in found] for name in apart}


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


TOGETHER = Together(alike, run_together)
