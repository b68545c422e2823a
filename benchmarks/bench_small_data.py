"""What a bound of 0.02 does on little data: 1,000 rows, three groups, one of them of 30 rows.

Rows are drawn from the made-up applicants of `fermi.datasets.synthetic`, whose third group is thinned out to 30 of
1,000 rows, and the models are linear. Every seed draws other training rows and other folds; all are judged on the same
200,000 test rows of the same law, so that the spread is that of the methods and not that of the test. The gap is the
hard parity difference of demographic parity over all three groups, the smallest included, and once more between the two
large ones. Compared are logistic regression, `FermiClassifier` with `max_violation` by the search over λ ("argmax") and
by whichever errs less ("auto"), and `FairLabels`, whose answers are all from one training. A line says the mean, the
standard deviation and the extremes over the seeds, in how many of them the gap is larger than the plain model's, and in
how many the method says that it kept the bound.

20 seeds; `--quick` takes four.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import fermi
from fermi import datasets
from fermi.datasets import Dataset

SEEDS, QUICK_SEEDS, ROWS, SMALL, TEST_ROWS, BIAS = 20, 4, 1000, 30, 200_000, 0.9
BOUND, LOOSER = 0.02, 0.05
TEST_SEED = 10_000  # none of the training rows'


class Answer(NamedTuple):
    """A method's labels of the test rows, whether it says that the bound is kept, seconds, and λ where there is one."""

    method: str
    labels: Any
    kept: bool
    seconds: float
    lam: float | None = None


def thinned(data: Dataset, n: int, rng: np.random.Generator) -> Any:
    """Numbers of n training rows, of which the right share is of the third group."""
    third = (data.s_train["group"] == "G3").to_numpy()
    few = round(n * SMALL / ROWS)
    rows = np.concatenate([rng.permutation(np.flatnonzero(third))[:few], np.flatnonzero(~third)[: n - few]])
    assert len(rows) == n
    return rng.permutation(rows)


def drawn(seed: int, n: int) -> Dataset:
    """So many rows of the thinned law, as training rows."""
    data = datasets.synthetic(n=2 * n, groups=3, bias=BIAS, seed=seed, rated=False)
    rows = thinned(data, n, np.random.default_rng(seed))
    return Dataset(
        data.name,
        *(part.iloc[rows].reset_index(drop=True) for part in (data.X_train, data.y_train, data.s_train)),
        *(part.iloc[:0] for part in (data.X_test, data.y_test, data.s_test)),
    )


def answers(data: Dataset, seed: int) -> Iterator[Answer]:
    """What every method makes of one draw."""
    train = (data.X_train, data.y_train)

    began = time.perf_counter()
    plain = LogisticRegression(max_iter=1000).fit(*train)
    yield Answer("plain", plain.predict(data.X_test), True, time.perf_counter() - began)

    for decision in ("argmax", "auto"):
        began = time.perf_counter()
        search = fermi.FermiClassifier(max_violation=BOUND, decision=decision, random_state=seed)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            search.fit(*train, sensitive_features=data.s_train)
        seconds = time.perf_counter() - began
        kept = not any(issubclass(one.category, ConvergenceWarning) for one in said)
        name = f"FermiClassifier, {BOUND:g}, {decision}"
        yield Answer(name, search.predict(data.X_test), kept, seconds, float(search.lam_))

    began = time.perf_counter()
    labels = fermi.FairLabels(LogisticRegression(max_iter=1000), max_violation=BOUND, random_state=seed)
    labels.fit(*train, sensitive_features=data.s_train)
    for bound, slack in ((BOUND, 0.0), (BOUND, 1.0), (LOOSER, 0.0)):
        answer = labels if (bound, slack) == (BOUND, 0.0) else labels.at(bound, slack=slack)
        seconds = time.perf_counter() - began
        yield Answer(f"FairLabels, {bound:g}, slack {slack:g}", answer.predict(data.X_test), answer.reached_, seconds)
        began = time.perf_counter()


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """A case per method."""
    test = drawn(TEST_SEED, TEST_ROWS)
    large = (test.s_train["group"] != "G3").to_numpy()
    found: dict[str, list[dict[str, float]]] = {}
    seeds = QUICK_SEEDS if quick else SEEDS
    for seed in range(seeds):
        data = replace(drawn(seed, ROWS), X_test=test.X_train, y_test=test.y_train, s_test=test.s_train).numeric()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for one in answers(data, seed):
                gap = fermi.parity_difference(one.labels, data.s_test)
                entry = {
                    "error": float(np.mean(one.labels != data.y_test)),
                    "gap": gap,
                    "gap_of_large": fermi.parity_difference(one.labels[large], data.s_test[large]),
                    "kept": one.kept,
                    "seconds": one.seconds,
                }
                found.setdefault(one.method, []).append(entry if one.lam is None else {**entry, "lam": one.lam})
        print(f"seed {seed + 1} of {seeds}", file=sys.stderr, flush=True)
    plain = [entry["gap"] for entry in found["plain"]]
    return [case(method, entries, plain) for method, entries in found.items()]


def case(method: str, entries: list[dict[str, float]], plain: list[float]) -> dict[str, Any]:
    """The seeds of one method as one case."""
    columns = {name: np.array([entry[name] for entry in entries]) for name in entries[0]}
    spread = {
        name: {"mean": v.mean(), "deviation": v.std(ddof=1), "least": v.min(), "most": v.max()}
        for name, v in columns.items()
        if name in ("error", "gap", "gap_of_large", "lam")
    }
    return {
        "method": method,
        "seeds": len(entries),
        **{name: {k: float(v) for k, v in four.items()} for name, four in spread.items()},
        "gap_above_plain": int((columns["gap"] > np.array(plain)).sum()),
        "kept": int(columns["kept"].sum()),
        "seconds": float(columns["seconds"].mean()),
    }


def line(case: dict[str, Any]) -> str:
    def four(name: str) -> str:
        return "{mean:.4f} ± {deviation:.4f} ({least:.3f} to {most:.3f})".format(**case[name])

    lam = "; λ from {least:.3g} to {most:.3g}".format(**case["lam"]) if "lam" in case else ""
    return (
        f"{case['method']:<26} {four('error')}   {four('gap')}   {four('gap_of_large')}   "
        f"{case['gap_above_plain']:2d} {case['kept']:2d} {case['seconds']:6.2f} s{lam}"
    )


def show(cases: list[dict[str, Any]]) -> None:
    """A line per method."""
    print(
        f"{ROWS} rows, three groups, one of {SMALL} rows, {cases[0]['seeds']} seeds: error, gap, gap of the two large "
        "groups, seeds in which the gap is above the plain model's and in which the method says that it kept the bound"
    )
    for case in cases:
        print(line(case))
