"""Labels within a bound: what `fermi.FairLabels` reaches and costs, beside what others reach with the same model.

Every method is given the same training rows, features without the sensitive columns, the same model and the same bound,
and is judged on the same test rows by its labels: the error, and the hard parity difference of the notion (with
`each`, the largest over the attributes). The models are stock LightGBM with 300 rounds at a rate of 0.05 in one thread,
and scikit-learn's logistic regression on one-hot columns. No test row has part in any choice:

- FairLabels is as it comes: three folds, and its own group model. A second bound, or another slack, is the answer of
  `at` from the same training.
- A reduction (fairlearn) is given the bound. Nothing in its training is drawn, so that it is trained once; its
  predictions are drawn, with every seed anew.
- FairGBM bounds false positives and negatives, hence has no demographic parity. The rate of its multipliers, which is
  what trades its error for its gap, is the best on a third of the training rows, held out by the
  seed for that.
- OxonFair's thresholds are chosen on scores of three folds, drawn by the seed, for groups that the same kind of model
  infers from the features, and one more for rows of which it is unsure: so it is as blind as the others.
- ThresholdOptimizer (fairlearn) is given scores of three folds as well, and *the attribute of the test rows*, which a
  star marks. It has no bound for equalized odds: it asks for no gap at all there.
- The search over λ is our own estimator's `max_violation`, with labels that are the most probable class.

On Adult a run is another seed of whatever a method draws, five of them; the plain model draws nothing, and the search
over λ runs once, since it takes minutes. On the smaller data sets a run is another split into training and test rows,
and the search over λ runs on the first split alone; the others are asked for the first of the bounds. A line has the
mean of the runs, the standard error of a gap on the test rows, which for the small sets is larger than the bound, and
the worst of the runs. Where there are more than two groups it also says how many of them are farther from the common
rate of the test rows than half the bound and two standard errors, and the gap between groups of at least 100 rows. The
last parts are what other group models do, and what an answer costs.

`--dataset adult`, `costs`, `others` or `groups` runs one part alone; `--quick` takes 6,000 rows, 100 rounds and two
runs. Data sets are read from the folder that FERMI_DATA names. What is finished of "adult" and "others" is kept in
benchmarks/results/.labels-*.jsonl until all is, so that a run that was interrupted goes on where it was.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import fairlearn.postprocessing
import fairlearn.reductions
import lightgbm
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import fermi
from fermi import datasets
from fermi.boosting import FermiBoostingClassifier
from fermi.datasets import Dataset
from fermi.formulas.gaps import standard_error

RATE, THREADS, FOLDS = 0.05, 1, 3
LARGE = 100  # rows of a group whose rate says something
NOISE = 2.0  # standard errors
MULTIPLIER_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)  # 0.1 is FairGBM's default
SURE, POINTS = 2.0 / 3.0, 3_000_000  # OxonFair's default for inferred groups; of its grid over all thresholds
FURTHER = (0.1, 0.05, 0.03, 0.015, 0.01, 0.005)  # bounds that follow a first answer

REDUCTIONS = {
    "demographic_parity": fairlearn.reductions.DemographicParity,
    "equalized_odds": fairlearn.reductions.EqualizedOdds,
    "equal_opportunity": fairlearn.reductions.TruePositiveRateParity,
}
THRESHOLDS = {
    "demographic_parity": "demographic_parity",
    "equalized_odds": "equalized_odds",
    "equal_opportunity": "true_positive_rate_parity",
}
FAIRGBM = {"equalized_odds": "FPR,FNR", "equal_opportunity": "FNR"}
SMALL_TREES = {"max_leaf_nodes": 8, "min_samples_leaf": 50, "early_stopping": False}
GROUP_MODELS: dict[str, Any] = {
    "the default": None,
    "15 rounds": HistGradientBoostingClassifier(max_iter=15, learning_rate=0.2, **SMALL_TREES),
    "30 rounds": HistGradientBoostingClassifier(max_iter=30, learning_rate=0.1, **SMALL_TREES),
    "strong trees": HistGradientBoostingClassifier(random_state=0),
    "gentle trees": HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=60, max_leaf_nodes=8, min_samples_leaf=50, l2_regularization=10.0, random_state=0
    ),
}


class Scale(NamedTuple):
    """How large a run is."""

    rows: int
    rounds: int
    runs: int


FULL, QUICK = Scale(1_000_000, 300, 5), Scale(6000, 100, 2)


class Rows(NamedTuple):
    """Features as a table and as numbers, classes 0, 1, … and groups."""

    X: pd.DataFrame
    codes: Any
    y: Any
    s: Any

    def take(self, rows: Any) -> Rows:
        """Some of them, by number."""
        s = self.s.iloc[rows] if hasattr(self.s, "iloc") else self.s[rows]
        return Rows(self.X.iloc[rows], self.codes[rows], self.y[rows], s)


@dataclass(frozen=True, eq=False)
class Data:
    """Training and test rows, and the model that all methods share."""

    name: str
    groups: str
    model: str
    rounds: int
    train: Rows
    test: Rows
    categories: list[int]
    attributes: str = "intersection"

    def fresh(self, coded: bool = True) -> Any:
        """The model, not fitted: for rows as numbers, or as the table."""
        if self.model == "logistic":
            return LogisticRegression(max_iter=1000)
        told: dict[str, Any] = {"categorical_feature": self.categories} if coded and self.categories else {}
        return lightgbm.LGBMClassifier(
            n_estimators=self.rounds, learning_rate=RATE, n_jobs=THREADS, verbosity=-1, **told
        )

    @property
    def plain_task(self) -> bool:
        """Whether there are two classes and one attribute, which is all that the other packages know."""
        return self.attributes == "intersection" and int(self.train.y.max()) == 1


class Asked(NamedTuple):
    """What is asked of the labels."""

    notion: str
    bound: float
    slack: float = 0.0


class Answer(NamedTuple):
    """Test labels of a method, the seconds that training and predicting took, and what else there is to say."""

    labels: Any
    seconds: float
    note: str


# ---------------------------------------------------------------------------------------------------------- the data


def prepared(data: Dataset, model: str, scale: Scale, groups: str, attributes: str = "intersection") -> Data:
    """A data set for one of the two models, with at most so many training rows."""
    rows = np.arange(len(data.y_train))
    if len(rows) > scale.rows:
        rows = np.sort(np.random.default_rng(0).choice(rows, scale.rows, replace=False))
    data = replace(
        data, X_train=data.X_train.iloc[rows], y_train=data.y_train.iloc[rows], s_train=data.s_train.iloc[rows]
    )
    data = data.numeric() if model == "logistic" else data
    classes = np.unique(data.y_train)
    categories = [j for j, dtype in enumerate(data.X_train.dtypes) if isinstance(dtype, pd.CategoricalDtype)]

    def read(X: pd.DataFrame, y: Any, s: pd.DataFrame) -> Rows:
        coded = {name: X[name].cat.codes if j in categories else X[name] for j, name in enumerate(X.columns)}
        codes = pd.DataFrame(coded).astype(float)
        codes = codes.mask(codes < 0) if categories else codes
        columns = s.astype(str).reset_index(drop=True)
        sensitive = columns if attributes == "each" else columns.agg(" ".join, axis=1).to_numpy()
        return Rows(X.reset_index(drop=True), codes.to_numpy(), np.searchsorted(classes, y), sensitive)

    return Data(
        data.name,
        groups,
        model,
        scale.rounds,
        read(data.X_train, data.y_train, data.s_train),
        read(data.X_test, data.y_test, data.s_test),
        categories,
        attributes,
    )


def adult(model: str, scale: Scale, *sensitive: str) -> Data:
    data = datasets.load("adult", sensitive=sensitive, include_sensitive=False)
    return prepared(data, model, scale, " × ".join(sensitive))


def compas(model: str, scale: Scale, split: int) -> Data:
    data = datasets.load("compas", sensitive="race", include_sensitive=False, random_state=split)
    return prepared(data, model, scale, "race")


def compas_two(model: str, scale: Scale, split: int) -> Data:
    data = datasets.load("compas", sensitive="race", races="two", include_sensitive=False, random_state=split)
    return prepared(data, model, scale, "two races")


def german(model: str, scale: Scale, split: int) -> Data:
    data = datasets.load("german", sensitive="sex", include_sensitive=False, random_state=split)
    return prepared(data, model, scale, "sex")


def communities(model: str, scale: Scale, split: int) -> Data:
    data = datasets.load("communities", n_attributes=18, include_sensitive=False, random_state=split)
    return prepared(data, model, scale, "each of 18", "each")


def three_classes(model: str, scale: Scale, split: int) -> Data:
    data = datasets.synthetic(n=10_000, n_classes=3, groups=3, bias=0.9, seed=split, rated=False)
    return prepared(data, model, scale, "3 groups")


# -------------------------------------------------------------------------------------------------------- the methods


def fair_labels(data: Data, asks: Sequence[Asked], seed: int, **options: Any) -> Iterator[tuple[Any, float, bool]]:
    """Test labels, seconds and whether the bound was kept on held-out rows, for what is asked first and then."""
    first = asks[0]
    began = time.perf_counter()
    model = fermi.FairLabels(
        data.fresh(coded=False),
        first.notion,
        first.bound,
        slack=first.slack,
        attributes=data.attributes,
        random_state=seed,
        **options,
    )
    model.fit(data.train.X, data.train.y, sensitive_features=data.train.s)
    for asked in asks:
        answer = model if asked is first else model.at(asked.bound, slack=asked.slack)
        seconds = time.perf_counter() - began
        yield answer.predict(data.test.X), seconds, answer.reached_
        began = time.perf_counter()


def plain(data: Data, asked: Asked, seeds: Sequence[int]) -> Iterator[Answer]:
    began = time.perf_counter()
    model = data.fresh(coded=False).fit(data.train.X, data.train.y)
    yield Answer(model.predict(data.test.X), time.perf_counter() - began, "no bound")


def reduction(data: Data, asked: Asked, seeds: Sequence[int]) -> Iterator[Answer]:
    began = time.perf_counter()
    moments = REDUCTIONS[asked.notion](difference_bound=asked.bound)
    model = fairlearn.reductions.ExponentiatedGradient(data.fresh(), moments)
    model.fit(data.train.codes, data.train.y, sensitive_features=data.train.s)
    seconds = time.perf_counter() - began
    for seed in seeds:
        began = time.perf_counter()
        labels = model.predict(data.test.codes, random_state=seed)
        yield Answer(labels, seconds + time.perf_counter() - began, f"{len(model.predictors_)} models")


def fairgbm(data: Data, asked: Asked, seeds: Sequence[int]) -> Iterator[Answer]:
    """Within the bound on rows held out with the smallest error there, or else nearest to the bound."""
    for seed in seeds:
        began = time.perf_counter()
        held_out = np.random.default_rng(seed).permutation(len(data.train.y)) % 3 == 0
        part = replace(
            data, train=data.train.take(np.flatnonzero(~held_out)), test=data.train.take(np.flatnonzero(held_out))
        )

        def badness(rate: float, part: Data = part, seed: int = seed) -> tuple[float, float]:
            reached = judged(fairgbm_at(part, asked.notion, rate, seed), part, asked)
            return max(reached["gap"] - asked.bound, 0.0), reached["error"]

        best = min(MULTIPLIER_RATES, key=badness)
        labels = fairgbm_at(data, asked.notion, best, seed)
        yield Answer(labels, time.perf_counter() - began, f"multipliers' rate {best:g}")


def fairgbm_at(data: Data, notion: str, rate: float, seed: int) -> Any:
    library = import_module("fairgbm")  # its scikit-learn wrapper wants an older scikit-learn
    groups = np.unique(data.train.s, return_inverse=True)[1]
    rows = library.Dataset(data.train.codes, data.train.y, constraint_group=groups, categorical_feature=data.categories)
    params = {
        "objective": "constrained_cross_entropy",
        "constraint_type": FAIRGBM[notion],
        "multiplier_learning_rate": rate,
        "learning_rate": RATE,
        "num_threads": THREADS,
        "seed": seed,
        "verbosity": -1,
    }
    scores = library.train(params, rows, data.rounds).predict(data.test.codes)
    return (np.asarray(scores) > 0.5).astype(int)


def held_out_scores(data: Data, target: Any, seed: int) -> tuple[Any, Any]:
    """The model's probabilities of the training rows, held out, and of the test rows."""
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    F = cross_val_predict(data.fresh(), data.train.codes, target, cv=splits, method="predict_proba")
    return F, data.fresh().fit(data.train.codes, target).predict_proba(data.test.codes)


def oxonfair(data: Data, asked: Asked, seeds: Sequence[int]) -> Iterator[Answer]:
    """The most accurate thresholds of inferred groups whose gap is within the bound, or else those of the least gap."""
    library, train = import_module("oxonfair"), data.train
    metrics = library.group_metrics
    gap = {
        "demographic_parity": metrics.pos_pred_rate.max_diff,
        "equalized_odds": metrics.equalized_odds_max,
        "equal_opportunity": metrics.true_pos_rate.max_diff,
    }[asked.notion]
    s = np.unique(train.s, return_inverse=True)[1]
    for seed in seeds:
        began = time.perf_counter()
        F, F_test = held_out_scores(data, train.y, seed)
        given, given_test = (
            np.where(G.max(axis=1) < SURE, -1, G.argmax(axis=1)) for G in held_out_scores(data, s, seed)
        )
        used, codes = np.unique(given, return_inverse=True)  # the search trips over numbers that do not occur
        (accuracies, gaps), found = library.learners.efficient_compute.grid_search(
            train.y,
            F[:, 0] - F[:, 1],
            (metrics.accuracy, gap),
            codes,
            s,
            steps=min(30.0, POINTS ** (1.0 / len(used))),
            directions=np.array([1.0, -1.0]),
        )
        best = np.argmax(np.where(gaps <= max(asked.bound, gaps.min()), accuracies, -np.inf))
        offsets = np.zeros(int(s.max()) + 2)  # the last for rows whose group is not sure
        offsets[used] = found[:, best]
        labels = (F_test[:, 1] + 0.5 * offsets[given_test] > 0.5).astype(int)
        note = f"{len(used)} inferred groups, gap {gaps[best]:.3f} on held-out rows"
        yield Answer(labels, time.perf_counter() - began, note)


def thresholds(data: Data, asked: Asked, seeds: Sequence[int]) -> Iterator[Answer]:
    scores = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])  # gives back what it is given
    bounded = asked.notion != "equalized_odds"
    for seed in seeds:
        began = time.perf_counter()
        F, F_test = held_out_scores(data, data.train.y, seed)
        model = fairlearn.postprocessing.ThresholdOptimizer(
            estimator=scores,
            constraints=THRESHOLDS[asked.notion],
            prefit=True,
            predict_method="predict",
            tol=asked.bound if bounded else None,
        )
        model.fit(F[:, 1:], data.train.y, sensitive_features=data.train.s)
        labels = model.predict(F_test[:, 1:], sensitive_features=data.test.s, random_state=seed)
        note = "is given the attribute" + ("" if bounded else ", takes no bound")
        yield Answer(labels, time.perf_counter() - began, note)


def search(data: Data, asked: Asked, seeds: Sequence[int]) -> Iterator[Answer]:
    model: Any
    if data.model == "logistic":
        model = fermi.FermiClassifier(asked.notion, max_violation=asked.bound, attributes=data.attributes)
    else:
        model = FermiBoostingClassifier(
            "lightgbm",
            asked.notion,
            attributes=data.attributes,
            max_violation=asked.bound,
            n_estimators=data.rounds,
            learning_rate=RATE,
            booster_params={"num_threads": THREADS},
        )
    for seed in seeds:
        began = time.perf_counter()
        model.set_params(random_state=seed, **most_probable(model))
        model.fit(data.train.X, data.train.y, sensitive_features=data.train.s)
        yield Answer(model.predict(data.test.X), time.perf_counter() - began, f"λ = {model.lam_:.3g}")


def most_probable(model: Any) -> dict[str, str]:
    """The option by which an estimator's labels are its most probable classes, where it knows any others."""
    return {"decision": "argmax"} if "decision" in model.get_params() else {}


Method = Callable[[Data, Asked, Sequence[int]], Iterator[Answer]]
SLOW = "search over λ"


def others(data: Data, notion: str) -> Iterator[tuple[str, Method]]:
    """The other methods that can be asked this."""
    if data.plain_task:
        yield "reduction", reduction
        if notion in FAIRGBM and data.model != "logistic":
            yield "FairGBM", fairgbm
        yield "OxonFair, blind", oxonfair
        yield "ThresholdOptimizer*", thresholds
    yield SLOW, search


# ------------------------------------------------------------------------------------------------------- what they do


def judged(labels: Any, data: Data, asked: Asked) -> dict[str, float]:
    """Error and gap on the test rows, the gap between large groups, and how many groups are beyond noise."""
    rows = data.test
    columns = [rows.s[name] for name in rows.s] if data.attributes == "each" else [rows.s]
    gaps, large, beyond, count = [(0.0, 0.0)], [0.0], 0, 0
    for column in columns:
        table = fermi.Contingency.from_predictions(labels, column, y_true=rows.y, notion=asked.notion).table
        n = table.sum(axis=2)
        rates = table / np.maximum(n, 1.0)[..., None]
        common = table.sum(axis=1, keepdims=True) / np.maximum(n.sum(axis=1), 1.0)[:, None, None]
        noise = np.sqrt(common * (1.0 - common) / np.maximum(n, 1.0)[..., None])
        off = np.abs(rates - common) > 0.5 * asked.bound + NOISE * noise
        beyond += int((off & (n > 0)[..., None]).any(axis=(0, 2)).sum())
        count += n.shape[1]
        gaps.append((fermi.parity_difference(labels, column, y_true=rows.y, notion=asked.notion), noise_of_gap(table)))
        large += [spread(r[there]) for r, there in zip(rates, n >= LARGE, strict=True)]
    return {
        "error": float(np.mean(labels != rows.y)),
        "gap": max(gaps)[0],
        "gap_noise": max(gaps)[1],
        "gap_of_large": max(large),
        "beyond": beyond,
        "n_groups": count,
    }


def noise_of_gap(table: Any) -> float:
    """The standard error of the gap on the test rows."""
    return standard_error(table, table)  # every row weighs one, and so does its square


def spread(rates: Any) -> float:
    """The largest difference between two groups' rates of a class."""
    return float(np.ptp(rates, axis=0).max()) if len(rates) else 0.0


def asked_of(part: str, data: Data, asked: Asked, method: str) -> dict[str, Any]:
    """Which case it is."""
    return {
        "part": part,
        "data": data.name,
        "model": data.model,
        "notion": asked.notion,
        "groups": data.groups,
        "bound": asked.bound,
        "slack": asked.slack,
        "method": method,
    }


def case(
    part: str, data: Data, asked: Asked, method: str, reached: list[dict[str, float]], note: str
) -> dict[str, Any]:
    """The runs of one method as one case."""
    mean = {name: float(np.mean([one[name] for one in reached])) for name in reached[0]}
    return asked_of(part, data, asked, method) | {
        "runs": len(reached),
        **mean,
        "worst_error": max(one["error"] for one in reached),
        "worst_gap": max(one["gap"] for one in reached),
        "worst_beyond": max(one["beyond"] for one in reached),
        "note": note,
    }


def failure(part: str, data: Data, asked: Asked, method: str, error: Exception) -> dict[str, Any]:
    """The case of a method that fails, which says why; the rest goes on."""
    words = str(error).strip().splitlines() or [""]
    return asked_of(part, data, asked, method) | {"failed": f"{type(error).__name__}: {words[0]}"}


def runs_of_ours(
    part: str, runs: Sequence[tuple[Data, int]], asks: Sequence[Asked], method: str = "FairLabels", **options: Any
) -> Iterator[dict[str, Any]]:
    """A case for each bound, over all runs."""
    reached: list[list[dict[str, float]]] = [[] for _ in asks]
    kept = [0] * len(asks)
    for data, seed in runs:
        try:
            for k, (labels, seconds, holds) in enumerate(fair_labels(data, asks, seed, **options)):
                reached[k].append({**judged(labels, data, asks[k]), "seconds": seconds})
                kept[k] += holds
        except Exception as error:
            yield failure(part, data, asks[0], method, error)
            return
    for k, asked in enumerate(asks):
        note = f"kept on held-out rows in {kept[k]} of {len(runs)}" + (", by `at`" if k else "")
        yield case(part, runs[0][0], asked, method, reached[k], note)


def runs_of(
    part: str, method: str, run: Method, runs: Sequence[tuple[Data, Sequence[int]]], asked: Asked
) -> Iterator[dict[str, Any]]:
    """The case of another method, over data sets and the seeds on each."""
    reached, note = [], ""
    for data, seeds in runs:
        try:
            for labels, seconds, said in run(data, asked, seeds):
                reached.append({**judged(labels, data, asked), "seconds": seconds})
                note = said
        except Exception as error:
            yield failure(part, data, asked, method, error)
            return
    yield case(part, runs[0][0], asked, method, reached, note if len(reached) == 1 else f"{note} (the last run)")


class Runs(NamedTuple):
    """Where FairLabels runs, data sets with one seed each, and where others do, with the seeds on each data set."""

    ours: Sequence[tuple[Data, int]]
    others: Sequence[tuple[Data, Sequence[int]]]
    slow: Sequence[tuple[Data, Sequence[int]]]


def on_adult(scale: Scale, kept: Kept) -> Iterator[dict[str, Any]]:
    """Adult: boosted trees by sex and by race and sex, and a linear model."""
    odds, parity = "equalized_odds", "demographic_parity"
    by_sex = [
        [Asked(odds, 0.02), Asked(odds, 0.01)],
        [Asked("equal_opportunity", 0.02)],
        [Asked(parity, 0.02)],
    ]
    tasks = [(adult("LightGBM", scale, "sex"), asks) for asks in by_sex]
    tasks.append((adult("LightGBM", scale, "race", "sex"), [Asked(parity, 0.02), Asked(parity, 0.02, 1.0)]))
    tasks.append((adult("logistic", scale, "sex"), [Asked(odds, 0.02)]))
    seeds = range(scale.runs)
    for data, asks in tasks:
        runs = Runs([(data, seed) for seed in seeds], [(data, seeds)], [(data, seeds[:1])])
        yield from compared("Adult", runs, asks, [asked for asked in asks if asked.slack == 0.0], kept)


def compared(
    part: str,
    runs: Runs,
    asks: Sequence[Asked],
    for_others: Sequence[Asked],
    kept: Kept,
) -> Iterator[dict[str, Any]]:
    """The plain model, FairLabels at every bound, and the others at theirs, which have no slack."""
    first = runs.ours[0][0]
    yield from kept.or_made(first, asks[0], "plain", runs_of(part, "plain", plain, runs.others, asks[0]))
    yield from kept.or_made(first, asks[0], "FairLabels", runs_of_ours(part, runs.ours, asks))
    for asked in for_others:
        for name, run in others(first, asked.notion):
            its = runs.slow if name == SLOW else runs.others
            yield from kept.or_made(first, asked, name, runs_of(part, name, run, its, asked))


def on_others(scale: Scale, kept: Kept) -> Iterator[dict[str, Any]]:
    """COMPAS, German credit, Communities and the three-class set, both models on several splits."""
    odds, parity = "equalized_odds", "demographic_parity"
    both = [Asked(parity, 0.02), Asked(parity, 0.02, 1.0)]
    tasks: list[tuple[Callable[[str, Scale, int], Data], list[Asked]]] = [
        (compas, both),
        (compas_two, both),
        (compas_two, [Asked(odds, 0.02), Asked(odds, 0.02, 1.0)]),
        (german, both),
        (communities, [*both, Asked(parity, 0.1)]),
        (three_classes, [Asked(parity, 0.02)]),
        (three_classes, [Asked(odds, 0.02)]),
    ]
    for load, asks in tasks:
        for model in ("logistic", "LightGBM"):
            ours = [(load(model, scale, k), k) for k in range(scale.runs)]
            splits = [(data, [0]) for data, _ in ours]
            yield from compared("others", Runs(ours, splits, splits[:1]), asks, asks[:1], kept)


class Kept:
    """What is finished of a long run, in a file of one line per method: another run goes on where it was."""

    def __init__(self, name: str) -> None:
        self.path = Path(__file__).parent / "results" / f".labels-{name}.jsonl"
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        self.found: dict[str, list[dict[str, Any]]] = {}
        for line in lines:
            self.found.update(json.loads(line))

    def or_made(self, data: Data, asked: Asked, method: str, cases: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        """The cases of a method on a data set for a bound, made if they are not there yet."""
        name = " ".join(map(str, (data.name, data.model, data.groups, asked.notion, asked.bound, method)))
        if name not in self.found:
            self.found[name] = list(cases)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({name: self.found[name]}, ensure_ascii=False) + "\n")
        return self.found[name]

    def forget(self) -> None:
        """All is finished."""
        self.path.unlink(missing_ok=True)


def group_models(scale: Scale) -> Iterator[dict[str, Any]]:
    """What tells the groups apart: the default, and boosted trees."""
    tasks = [
        (adult("LightGBM", scale, "sex"), Asked("equalized_odds", 0.02)),
        (adult("LightGBM", scale, "race", "sex"), Asked("demographic_parity", 0.02)),
    ]
    for data, asked in tasks:
        runs = [(data, seed) for seed in range(scale.runs)]
        for name, model in GROUP_MODELS.items():
            yield from runs_of_ours("group models", runs, [asked], name, group_estimator=model)


def costs(scale: Scale) -> Iterator[dict[str, Any]]:
    """Seconds of a plain fit, of an answer, and of further bounds: the best of each by turns."""
    crowd = datasets.synthetic(n=40_000, groups={"region": 10, "origin": 10}, rated=False)
    tasks = [
        (adult("LightGBM", scale, "sex"), "demographic_parity"),
        (adult("LightGBM", scale, "sex"), "equalized_odds"),
        (adult("LightGBM", scale, "race", "sex"), "demographic_parity"),
        (adult("logistic", scale, "sex"), "demographic_parity"),
        (prepared(crowd, "LightGBM", scale, "100 groups"), "demographic_parity"),
    ]
    for data, notion in tasks:
        yield cost(data, notion, scale.runs)


def cost(data: Data, notion: str, runs: int) -> dict[str, Any]:
    plains, answers, model = [], [], None
    for seed in range(runs):
        began = time.perf_counter()
        data.fresh(coded=False).fit(data.train.X, data.train.y)
        plains.append(time.perf_counter() - began)
        began = time.perf_counter()
        model = fermi.FairLabels(data.fresh(coded=False), notion, 0.02, random_state=seed)
        model.fit(data.train.X, data.train.y, sensitive_features=data.train.s)
        answers.append(time.perf_counter() - began)
    assert model is not None
    further = []
    for bound in FURTHER:
        began = time.perf_counter()
        model.at(bound)
        further.append(time.perf_counter() - began)
    return {
        "part": "cost",
        "data": data.name,
        "model": data.model,
        "notion": notion,
        "groups": data.groups,
        "rows": len(data.train.y),
        "plain_seconds": min(plains),
        "answer_seconds": min(answers),
        "ratio": min(answers) / min(plains),
        "median_ratio": float(np.median(np.array(answers) / np.array(plains))),
        "further_seconds": float(np.mean(further)),
        "worst_further_seconds": max(further),
        "further_share": float(np.mean(further)) / min(answers),
    }


PARTS: dict[str, Callable[[Scale, Kept], Iterator[dict[str, Any]]]] = {
    "adult": on_adult,
    "costs": lambda scale, kept: costs(scale),
    "others": on_others,
    "groups": lambda scale, kept: group_models(scale),
}


def measure(dataset: str | None = None, quick: bool = False) -> list[dict[str, Any]]:
    """All cases, or those of one part: "adult", "costs", "others" or "groups"."""
    cases = []
    for name in PARTS if dataset is None else [dataset]:
        kept = Kept(f"{name}-quick" if quick else name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for found in PARTS[name](QUICK if quick else FULL, kept):
                cases.append(found)
                print(line(found), file=sys.stderr, flush=True)  # minutes pass before the table
        kept.forget()
    return cases


def line(case: dict[str, Any]) -> str:
    head = f"{case['data']:<11} {case['model']:<8} {case['notion']:<18} {case['groups']:<10} "
    if case["part"] == "cost":
        return (
            f"{head} {case['rows']} rows: a plain fit {case['plain_seconds']:.2f} s, an answer "
            f"{case['answer_seconds']:.2f} s, {case['ratio']:.1f} times as much (median {case['median_ratio']:.1f}); a "
            f"further bound {case['further_seconds']:.3f} s, {100 * case['further_share']:.1f}% of the answer, at most "
            f"{case['worst_further_seconds']:.3f} s"
        )
    asked = f"{case['bound']:<5g} {case['slack']:<3g} "
    head += f"{asked if case['method'] != 'plain' else ' ' * len(asked)}{case['method']:<20}"
    if "failed" in case:
        return f"{head} {case['failed']}"
    many = ""
    if case["n_groups"] > 2:
        many = f"; beyond noise {case['beyond']:.1f} of {case['n_groups']:.0f}, large groups {case['gap_of_large']:.3f}"
    return (
        f"{head} {case['runs']} {case['error']:.4f} {case['worst_error']:.4f}  {case['gap']:.4f} "
        f"±{case['gap_noise']:.3f} {case['worst_gap']:.4f} {case['seconds']:7.1f} s  {case['note']}{many}"
    )


def show(cases: list[dict[str, Any]]) -> None:
    """A line per case, by parts."""
    columns = (
        "data, model, notion, groups, bound, slack, method, runs, error (mean, worst), gap (mean, its standard error "
        "on the test rows, worst), seconds"
    )
    titles = {
        "Adult": f"Adult, test rows: {columns}",
        "cost": "What an answer costs, in one thread",
        "others": f"Other data sets, test rows, a run is a split: {columns}",
        "group models": f"Adult with other group models, named in place of the method: {columns}",
    }
    for part, title in titles.items():
        print(title)
        for case in cases:
            if case["part"] == part:
                print(f"  {line(case)}")
    print("* is given the sensitive attribute of the test rows")
