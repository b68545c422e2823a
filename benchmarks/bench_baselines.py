"""Error and hard gap of every method of `fermi.baselines` on the test rows of one data set, at several strengths.

All methods see the same rows, as numbers and without the sensitive columns. The notion is demographic parity, or the
first that a method knows. A star marks a method that is given the sensitive attribute of the test rows. `--quick` takes
4,000 training rows, fewer strengths and fewer steps. Raw files are read from the folder that FERMI_DATA names.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import fermi
from fermi import baselines, datasets
from fermi.datasets import Dataset

STRENGTHS, QUICK_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.5, 1.0)
QUICK_ROWS, QUICK_STEPS = 4000, 300
VARIANTS: dict[str, list[dict[str, Any]]] = {"oxonfair": [{}, {"groups": "inferred"}]}


def load(name: str, quick: bool) -> Dataset:
    """The rows, without the sensitive columns among the features."""
    takes = inspect.signature(datasets.find(name).load).parameters
    options: dict[str, Any] = {"include_sensitive": False} if "include_sensitive" in takes else {}
    data = datasets.load(name, **options)
    sensitive = list(data.s_train.columns)
    X_train, X_test = (X.drop(columns=sensitive, errors="ignore") for X in (data.X_train, data.X_test))
    data = dataclasses.replace(data, X_train=X_train, X_test=X_test).numeric()
    if not quick or len(data.y_train) <= QUICK_ROWS:
        return data
    rows = np.random.default_rng(0).choice(len(data.y_train), QUICK_ROWS, replace=False)
    return dataclasses.replace(
        data, X_train=data.X_train.iloc[rows], y_train=data.y_train.iloc[rows], s_train=data.s_train.iloc[rows]
    )


def measure(dataset: str = "adult", quick: bool = False) -> list[dict[str, Any]]:
    """A case for every method and strength; one that fails says why."""
    data = load(dataset, quick)
    cases = []
    for name in baselines.available():
        for variant in VARIANTS.get(name, [{}]):
            label = " ".join([name, *variant.values()])
            for case in entries(name, variant, data, quick):
                cases.append({"dataset": dataset, "quick": quick, "method": label, **case})
                print(line(cases[-1]), file=sys.stderr, flush=True)  # minutes pass before the table
    return cases


def entries(name: str, variant: dict[str, Any], data: Dataset, quick: bool) -> Iterator[dict[str, Any]]:
    """What one method reaches at every strength."""
    try:
        method = baselines.find(name)
    except Exception as error:  # its package is missing, say: the rest goes on
        yield {"failed": reason(error)}
        return
    notions = method.capabilities.notions
    notion = "demographic_parity" if "demographic_parity" in notions else notions[0]
    options = {"steps": QUICK_STEPS} if quick and "steps" in method._get_param_names() else {}
    for strength in QUICK_STRENGTHS if quick else STRENGTHS:
        model = baselines.make(name, strength, notion, 0, **options, **variant)
        case = {"notion": notion, "strength": strength, "needs_attribute": model.capabilities.needs_attribute}
        try:
            yield case | reached(model, data, notion)
        except Exception as error:
            yield case | {"failed": reason(error)}


def reached(model: baselines.Baseline, data: Dataset, notion: str) -> dict[str, float]:
    """Error and gap on the test rows, and how long the fit took."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
        seconds = time.perf_counter() - began
        labels = model.predict(data.X_test, data.s_test if model.capabilities.needs_attribute else None)
    violation = fermi.parity_difference(labels, data.s_test, y_true=data.y_test, notion=notion)
    return {"error": float(np.mean(labels != data.y_test)), "violation": violation, "seconds": seconds}


def reason(error: Exception) -> str:
    """The first line of the message."""
    words = str(error).strip().splitlines() or [""]
    return words[0] if isinstance(error, fermi.FermiError) else f"{type(error).__name__}: {words[0]}"


def line(case: dict[str, Any]) -> str:
    strength = f"{case['strength']:8.2f}" if "strength" in case else " " * 8
    head = f"{case['method'] + '*' * case.get('needs_attribute', False):<20} {case.get('notion', ''):<18} {strength}"
    if "failed" in case:
        return f"{head}  {case['failed']}"
    return f"{head} {case['error']:8.4f} {case['violation']:10.4f} {case['seconds']:8.1f}"


def show(cases: list[dict[str, Any]]) -> None:
    """A line per case."""
    names = ("method", "notion", "strength", "error", "violation", "seconds")
    print("{:<20} {:<18} {:>8} {:>8} {:>10} {:>8}".format(*names))
    for case in cases:
        print(line(case))
    print("* is given the sensitive attribute of the test rows")
