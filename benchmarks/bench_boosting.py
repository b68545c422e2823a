"""Error and gap of fair boosted trees on Adult: ours, fairlearn's reductions over the same LightGBM, and FairGBM.

Every method boosts 300 rounds with a learning rate of 0.05 in one thread and one run, on features without the sensitive
columns. The gap is the hard parity difference of the notion on the official test rows, the error that of the same
labels. No method sees a test row before: with `max_violation` λ is chosen by cross-validation on the training rows, a
reduction is given its bound, and the rate of FairGBM's multipliers, which is what trades its error for its gap, is the
best on a third of the training rows, held out for that. The lines with a fixed λ show the whole trade-off and choose
nothing. The predictions of a reduction are drawn at random, once. FairGBM bounds false positives and negatives, and so
has no demographic parity.

The first cases are what the fairness term adds to a fit: the same booster, with our objective at λ = 5 and with a
custom objective that computes the log-loss and nothing else, by turns, in one thread and in two.

Adult is read from the folder that FERMI_DATA names.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import fairlearn.reductions
import lightgbm
import numpy as np
import pandas as pd
from scipy.special import expit

import fermi
from fermi.boosting import FermiBoostingClassifier, objective
from fermi.datasets import adult

ROUNDS, RATE, THREADS = 300, 0.05, 1
LAMBDAS, BOUND = (0.0, 1.0, 5.0, 10.0, 20.0, 50.0), 0.02
MULTIPLIER_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)  # 0.1 is its default
PAIRS = 7

REDUCTIONS = {
    "demographic_parity": fairlearn.reductions.DemographicParity,
    "equalized_odds": fairlearn.reductions.EqualizedOdds,
    "equal_opportunity": fairlearn.reductions.TruePositiveRateParity,
}
FAIRGBM = {"equalized_odds": "FPR,FNR", "equal_opportunity": "FNR"}
CASES: list[tuple[str, tuple[str, ...]]] = [(notion, ("sex",)) for notion in REDUCTIONS]
CASES += [("demographic_parity", ("race", "sex")), ("equalized_odds", ("race", "sex"))]


class Rows(NamedTuple):
    """Features as a table and as codes with the places of the categories, labels 0 and 1, groups in one column."""

    X: pd.DataFrame
    codes: Any
    y: Any
    s: Any

    def take(self, rows: Any) -> Rows:
        """Some of them."""
        return Rows(self.X[rows], self.codes[rows], self.y[rows], self.s[rows])


def load(sensitive: tuple[str, ...]) -> tuple[Rows, Rows, list[int]]:
    """Training rows, test rows, and which columns are categories."""
    data = adult.load(sensitive=sensitive, include_sensitive=False)
    categories = [j for j, dtype in enumerate(data.X_train.dtypes) if isinstance(dtype, pd.CategoricalDtype)]

    def rows(X: pd.DataFrame, y: Any, s: pd.DataFrame) -> Rows:
        coded = {name: X[name].cat.codes if j in categories else X[name] for j, name in enumerate(X.columns)}
        codes = pd.DataFrame(coded).astype(float)
        return Rows(
            X,
            codes.mask(codes < 0).to_numpy(),
            (y == ">50K").astype(int).to_numpy(),
            s.astype(str).agg(" ".join, axis=1).to_numpy(),
        )

    return (
        rows(data.X_train, data.y_train, data.s_train),
        rows(data.X_test, data.y_test, data.s_test),
        categories,
    )


def ours(train: Rows, test: Rows, notion: str, **options: Any) -> tuple[Any, str]:
    model = FermiBoostingClassifier(
        "lightgbm",
        notion,
        n_estimators=ROUNDS,
        learning_rate=RATE,
        random_state=0,
        booster_params={"num_threads": THREADS},
        **options,
    )
    model.fit(train.X, train.y, sensitive_features=train.s)
    return model.predict(test.X), f"λ = {model.lam_:.3g}"


def reduction(train: Rows, test: Rows, notion: str, bound: float, categories: list[int]) -> tuple[Any, str]:
    base = lightgbm.LGBMClassifier(
        n_estimators=ROUNDS, learning_rate=RATE, n_jobs=THREADS, verbosity=-1, categorical_feature=categories
    )
    model = fairlearn.reductions.ExponentiatedGradient(base, REDUCTIONS[notion](difference_bound=bound))
    model.fit(train.codes, train.y, sensitive_features=train.s)
    return model.predict(test.codes, random_state=0), f"{len(model.predictors_)} boosters"


def fairgbm(train: Rows, test: Rows, notion: str, categories: list[int]) -> tuple[Any, str]:
    """Within the bound on rows held out with the smallest error there, or else nearest to the bound."""
    held_out = np.random.default_rng(0).permutation(len(train.y)) % 3 == 0
    learn, judge = train.take(~held_out), train.take(held_out)

    def badness(rate: float) -> tuple[float, float]:
        predicted = fairgbm_at(learn, judge, notion, rate, categories)
        gap = fermi.parity_difference(predicted, judge.s, y_true=judge.y, notion=notion)
        return max(gap - BOUND, 0.0), float(np.mean(predicted != judge.y))

    best = min(MULTIPLIER_RATES, key=badness)
    return fairgbm_at(train, test, notion, best, categories), f"multipliers' rate {best:g}"


def fairgbm_at(train: Rows, test: Rows, notion: str, rate: float, categories: list[int]) -> Any:
    library = import_module("fairgbm")  # its scikit-learn wrapper wants an older scikit-learn

    groups = np.unique(train.s, return_inverse=True)[1]
    data = library.Dataset(train.codes, train.y, constraint_group=groups, categorical_feature=categories)
    params = {
        "objective": "constrained_cross_entropy",
        "constraint_type": FAIRGBM[notion],
        "multiplier_learning_rate": rate,
        "learning_rate": RATE,
        "num_threads": THREADS,
        "seed": 0,
        "verbosity": -1,
    }
    scores = library.train(params, data, ROUNDS).predict(test.codes)
    return (np.asarray(scores) > 0.5).astype(int)


def entries(
    train: Rows, test: Rows, notion: str, categories: list[int]
) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Method, setting, and what trains it and predicts the test rows."""
    for lam in LAMBDAS:
        yield "fermi", f"lam={lam:g}", partial(ours, train, test, notion, lam=lam)
    yield "fermi", f"max_violation={BOUND}", partial(ours, train, test, notion, max_violation=BOUND)
    if notion in FAIRGBM:
        yield "FairGBM", f"bound {BOUND:g}", partial(fairgbm, train, test, notion, categories)
    yield "reduction", f"bound {BOUND:g}", partial(reduction, train, test, notion, BOUND, categories)


def measure() -> list[dict[str, Any]]:
    """Error, gap and seconds of every method, and what the fairness term adds to a fit."""
    cases = [overhead(threads) for threads in (1, 2)]
    for notion, sensitive in CASES:
        train, test, categories = load(sensitive)
        for method, setting, run in entries(train, test, notion, categories):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                began = time.perf_counter()
                predicted, note = run()
            seconds = time.perf_counter() - began
            gap = fermi.parity_difference(predicted, test.s, y_true=test.y, notion=notion)
            cases.append(
                {
                    "notion": notion,
                    "groups": " × ".join(sensitive),
                    "method": method,
                    "setting": setting,
                    "error": float(np.mean(predicted != test.y)),
                    "gap": gap,
                    "seconds": seconds,
                    "note": note,
                }
            )
            print(line(cases[-1]), file=sys.stderr, flush=True)  # minutes pass before the table
    return cases


def overhead(threads: int) -> dict[str, Any]:
    """The same booster with our objective and with a custom log-loss."""
    train, _, _ = load(("sex",))
    fair = objective(train.s, train.y, lam=5.0, learning_rate=RATE)
    data = lightgbm.Dataset(train.X, train.y, init_score=np.full(len(train.y), fair.start[0])).construct()

    def log_loss(scores: Any, rows: Any) -> tuple[Any, Any]:
        F = expit(scores)
        return F - train.y, F * (1.0 - F)

    def seconds(custom: Any) -> float:
        began = time.perf_counter()
        params = {"objective": custom, "learning_rate": RATE, "verbosity": -1, "num_threads": threads}
        lightgbm.train(params, data, ROUNDS)
        return time.perf_counter() - began

    fair.lightgbm(np.zeros(len(train.y)))  # compiles
    pairs = np.array([[seconds(fair.lightgbm), seconds(log_loss)] for _ in range(PAIRS)])
    best = pairs.min(axis=0)
    return {
        "method": "overhead",
        "threads": threads,
        "fermi_seconds": best[0],
        "peer_seconds": best[1],
        "ratio": best[0] / best[1],
        "median_ratio_of_pairs": float(np.median(pairs[:, 0] / pairs[:, 1])),
    }


def line(case: dict[str, Any]) -> str:
    if case["method"] == "overhead":
        return (
            f"A fit at λ = 5 takes {case['ratio']:.2f} of one with a custom log-loss, threads: {case['threads']}; "
            f"{case['fermi_seconds']:.2f} s against {case['peer_seconds']:.2f} s, the best of each; "
            f"median ratio {case['median_ratio_of_pairs']:.2f}"
        )
    return (
        f"{case['notion']:<18} {case['groups']:<10} {case['method']:<9} {case['setting']:<22} {case['error']:.4f}"
        f" {case['gap']:.4f} {case['seconds']:7.1f} s  {case['note']}"
    )


def show(cases: list[dict[str, Any]]) -> None:
    """A line per case."""
    print("Adult, test rows: notion, groups, method, setting, error, gap, seconds")
    for case in cases:
        print(line(case))
