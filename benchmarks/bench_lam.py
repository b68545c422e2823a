"""What λ alone can do for the gap of labels under equalized odds: Adult by sex, which is not among the features.

Each variant trains along λ, the linear model and LightGBM (100 rounds at a rate of 0.1, one thread). Labels of the
training rows come from three folds, pooled, with other folds for each seed; those of the test rows from a model of all
training rows. A choice is the setting with the least error of those whose gap on the pooled rows is within the bound;
a line has the error and the gap of the chosen settings on the test rows, the mean over the seeds, and in how many seeds
there was one to choose. No test row has part in a choice. The variants:

- λ: the paper's term, in which conditions count by their shares of the rows.
- λ, balanced: all conditions count alike, `EqualizedOdds(weights="balanced")`.
- λ, equal gaps: weights under which the same gap costs the same in both conditions at the plain model: one over
  p(z) · p(a|z) p(b|z) / (q (1 − q)), q the mean probability there.
- λ and one cut: labels are cut at 0.3 to 0.7, one cut for all rows, chosen with λ.
- λ, one quarter: λ is chosen on a quarter of the rows, and the model is that of the others.
- W of labels (trees): in every round W is the optimal one for the labels of that round instead of the probabilities;
  "averaged" moves it by a tenth of the way.
- search: the smallest λ that `FermiClassifier` finds by itself, `max_violation` with `decision="argmax"` (linear).
- FairLabels: labels within the bound, on λ = 0, which are not λ's.

`--quick` takes 6,000 rows, 30 rounds and two seeds. Adult is read from the folder that FERMI_DATA names.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import pandas as pd
from scipy.special import expit

import fermi
from fermi import datasets
from fermi.boosting import FermiBoostingClassifier, objective
from fermi.boosting._curvature import CurvatureBound
from fermi.boosting._terms import Charges, TermRows
from fermi.inputs.folds import folds

LAMBDAS, BOUNDS, FOLDS = (0.0, 0.3, 1.0, 3.0, 6.0, 12.0, 25.0, 50.0, 100.0), (0.05, 0.03, 0.02), 3
CUTS = np.linspace(0.3, 0.7, 41)
RATE, PACE = 0.1, 0.1


class Scale(NamedTuple):
    """How large a run is."""

    rows: int
    rounds: int
    linear_seeds: int
    tree_seeds: int


FULL, QUICK = Scale(1_000_000, 100, 5, 3), Scale(6000, 30, 2, 2)


class Rows(NamedTuple):
    """Features as one-hot numbers, as codes and as a table; labels 0 and 1, groups 0 and 1."""

    numbers: Any
    codes: Any
    X: pd.DataFrame
    y: Any
    s: Any

    def take(self, rows: Any) -> Rows:
        """Some of them, by number."""
        return Rows(self.numbers[rows], self.codes[rows], self.X.iloc[rows], self.y[rows], self.s[rows])


Train = Callable[[Rows, Sequence[Rows]], list[list[Any]]]
"""Trains along λ on some rows, and gives the probabilities of others, for each λ and each of those."""


class Judged(NamedTuple):
    """The labels of one setting on the pooled training rows and on the test rows."""

    held_out: Any
    test: Any


def load(scale: Scale) -> tuple[Rows, Rows, list[int]]:
    """Training rows, test rows, and which columns of the codes are categories."""
    data = datasets.load("adult", sensitive="sex", include_sensitive=False)
    numeric = data.numeric()
    categories = [j for j, dtype in enumerate(data.X_train.dtypes) if isinstance(dtype, pd.CategoricalDtype)]

    def rows(X: pd.DataFrame, numbers: pd.DataFrame, y: Any, s: pd.DataFrame) -> Rows:
        coded = {name: X[name].cat.codes if j in categories else X[name] for j, name in enumerate(X.columns)}
        codes = pd.DataFrame(coded).astype(float)
        groups = np.unique(s.iloc[:, 0].astype(str), return_inverse=True)[1]
        return Rows(
            numbers.to_numpy(dtype=float),
            codes.mask(codes < 0).to_numpy(),
            X,
            (y == ">50K").to_numpy().astype(int),
            groups,
        )

    train = rows(data.X_train, numeric.X_train, data.y_train, data.s_train)
    if len(train.y) > scale.rows:
        train = train.take(np.sort(np.random.default_rng(0).choice(len(train.y), scale.rows, replace=False)))
    return train, rows(data.X_test, numeric.X_test, data.y_test, data.s_test), categories


def gaps(labels: Any, rows: Rows) -> list[float]:
    """The rate of the second group less that of the first, among the negatives and among the positives."""
    rates = [[labels[(rows.y == z) & (rows.s == a)].mean() for a in (0, 1)] for z in (0, 1)]
    return [float(b - a) for a, b in rates]


def gap(labels: Any, rows: Rows) -> float:
    return max(map(abs, gaps(labels, rows)))


# ------------------------------------------------------------------------------------------------------- the variants


def equal_gaps(rows: Rows, F: Any) -> dict[int, float]:
    """Weights under which a gap costs the same in both conditions, for the probabilities of a plain model."""
    found = {}
    for z in (0, 1):
        inside = rows.y == z
        share, q = rows.s[inside].mean(), F[inside].mean()
        found[z] = float(q * (1.0 - q) / (inside.mean() * share * (1.0 - share)))
    return found


def linear(weights: Any = None) -> Train:
    """The linear model along λ; `weights` of the notion, or a function that finds them from rows and a plain model."""

    def train(rows: Rows, others: Sequence[Rows]) -> list[list[Any]]:
        model = fermi.FermiClassifier(fermi.EqualizedOdds(), 0.0, warm_start=True)
        found = []
        for lam in LAMBDAS:
            model.set_params(lam=lam).fit(rows.numbers, rows.y, sensitive_features=rows.s)
            found.append([model.predict_proba(other.numbers)[:, 1] for other in others])
            if lam == 0.0:
                plain = model.predict_proba(rows.numbers)[:, 1]
                model.set_params(fairness=fermi.EqualizedOdds(weights(rows, plain) if callable(weights) else weights))
        return found

    return train


def trees(categories: list[int], rounds: int, weights: Any = None, terms: type[TermRows] | None = None) -> Train:
    """LightGBM along λ, likewise; `terms` are other fairness terms than the objective's own."""

    def train(rows: Rows, others: Sequence[Rows]) -> list[list[Any]]:
        data = lightgbm.Dataset(rows.codes, rows.y, categorical_feature=categories, free_raw_data=False)
        notion, found = fermi.EqualizedOdds(None if callable(weights) else weights), []
        for lam in LAMBDAS:
            fair = objective(rows.s, rows.y, notion=notion, lam=lam, learning_rate=RATE)
            if terms is not None and lam > 0.0:
                fair._terms = [terms(kept.term, 2, lam * len(rows.y)) for kept in fair._terms]
                fair._bound = CurvatureBound(fair._terms, fair._weight)
            start = float(fair.start[0])
            data.set_init_score(np.full(len(rows.y), start))
            params = {"objective": fair.lightgbm, "learning_rate": RATE, "num_threads": 1, "seed": 0, "verbosity": -1}
            booster = lightgbm.train(params, data, rounds)
            F = [expit(start + np.asarray(booster.predict(other.codes, raw_score=True))) for other in (rows, *others)]
            found.append(F[1:])
            if lam == 0.0 and callable(weights):
                notion = fermi.EqualizedOdds(weights(rows, F[0]))
        return found

    return train


class LabelTerm(TermRows):
    """A term whose W is the best one for the labels of the round."""

    def charges(self, F: Any, laws: Any) -> Charges:
        """What that W charges each row; the second class is the label where its probability is above one half."""
        labels = np.empty_like(F)
        labels[1] = F[1] > F[0]
        labels[0] = 1.0 - labels[1]
        return super().charges(F, self._moved(self.laws(labels)))

    def _moved(self, laws: Any) -> Any:
        return laws


class AveragedLabelTerm(LabelTerm):
    """The same with a W that follows the labels slowly."""

    _last: Any = None

    def _moved(self, laws: Any) -> Any:
        self._last = laws if self._last is None else self._last + PACE * (laws - self._last)
        return self._last


# -------------------------------------------------------------------------------------------------------- the choices


def held_out(train: Train, rows: Rows, seed: int) -> list[Any]:
    """The probabilities of all rows, each from a model of the other folds, for each λ."""
    strata = 2 * rows.y + rows.s
    fold = folds(strata, FOLDS, np.random.default_rng(seed))
    pooled = [np.empty(len(rows.y)) for _ in LAMBDAS]
    for f in range(FOLDS):
        found = train(rows.take(np.flatnonzero(fold != f)), [rows.take(np.flatnonzero(fold == f))])
        for F, (part,) in zip(pooled, found, strict=True):
            F[fold == f] = part
    return pooled


def chosen(settings: Sequence[Judged], rows: Rows, bound: float) -> Judged | None:
    """The setting with the least error on the pooled rows of those within the bound there."""
    within = [one for one in settings if gap(one.held_out, rows) <= bound]
    return min(within, key=lambda one: float(np.mean(one.held_out != rows.y)), default=None)


def choice(method: str, model: str, bound: float, found: Sequence[Any], test: Rows) -> dict[str, Any]:
    """A case: what the labels chosen with each seed, None where nothing was within the bound, do on the test rows."""
    made = [labels for labels in found if labels is not None]
    errors, reached = (
        [float(f(labels)) for labels in made] for f in (lambda x: np.mean(x != test.y), lambda x: gap(x, test))
    )
    return {
        "case": "choice",
        "model": model,
        "method": method,
        "bound": bound,
        "seeds": len(found),
        "found": len(made),
        "error": float(np.mean(errors)) if made else None,
        "gap": float(np.mean(reached)) if made else None,
        "worst_gap": max(reached, default=None),
    }


def along(method: str, model: str, pooled: list[list[Any]], tested: list[Any], rows: Rows, test: Rows) -> list[Any]:
    """The cases of a path: error and gaps at each λ, on the pooled rows (means over the seeds) and on the test rows."""
    cases = []
    for i, lam in enumerate(LAMBDAS):
        labels = [F[i] > 0.5 for F in pooled]
        signed = np.mean([gaps(one, rows) for one in labels], axis=0)
        cases.append(
            {
                "case": "path",
                "model": model,
                "method": method,
                "lam": lam,
                "held_out_error": float(np.mean([np.mean(one != rows.y) for one in labels])),
                "held_out_gap": float(np.mean([gap(one, rows) for one in labels])),
                "held_out_gaps": [float(one) for one in signed],
                "error": float(np.mean((tested[i] > 0.5) != test.y)),
                "gaps": gaps(tested[i] > 0.5, test),
            }
        )
    return cases


def variant(method: str, model: str, train: Train, rows: Rows, test: Rows, seeds: int) -> list[dict[str, Any]]:
    """The path of one variant and its choices; of the paper's term also those with a cut of their own."""
    tested = [F for (F,) in train(rows, [test])]
    pooled = []
    for seed in range(seeds):
        pooled.append(held_out(train, rows, seed))
        print(f"{model}, {method}: seed {seed + 1} of {seeds}", file=sys.stderr, flush=True)
    cases = along(method, model, pooled, tested, rows, test)
    cut_at: dict[str, Any] = {method: [0.5]} | ({"λ and one cut": CUTS} if method == "λ" else {})
    for name, cuts in cut_at.items():
        for bound in BOUNDS:
            found = []
            for paths in pooled:
                both = list(zip(paths, tested, strict=True))
                settings = [Judged(one > cut, other > cut) for one, other in both for cut in cuts]
                best = chosen(settings, rows, bound)
                found.append(None if best is None else best.test)
            cases.append(choice(name, model, bound, found, test))
    return cases


def one_quarter(rows: Rows, test: Rows, seeds: int) -> list[dict[str, Any]]:
    """The linear model with λ chosen on a quarter of the rows."""
    found: dict[float, list[Any]] = {bound: [] for bound in BOUNDS}
    for seed in range(seeds):
        quarter = folds(2 * rows.y + rows.s, 4, np.random.default_rng(seed)) == 0
        judge = rows.take(np.flatnonzero(quarter))
        path = linear()(rows.take(np.flatnonzero(~quarter)), [judge, test])
        settings = [Judged(F > 0.5, T > 0.5) for F, T in path]
        for bound in BOUNDS:
            best = chosen(settings, judge, bound)
            found[bound].append(None if best is None else best.test)
    return [choice("λ, one quarter", "linear", bound, labels, test) for bound, labels in found.items()]


def searched(method: str, weights: Any, rows: Rows, test: Rows, seeds: int) -> list[dict[str, Any]]:
    """The linear model at the λ of its own search, whose folds the seed draws."""
    cases = []
    for bound in BOUNDS:
        found = []
        for seed in range(seeds):
            model = fermi.FermiClassifier(
                fermi.EqualizedOdds(weights), max_violation=bound, decision="argmax", random_state=seed
            )
            model.fit(rows.numbers, rows.y, sensitive_features=rows.s)
            within = model.held_out_.violation <= bound
            found.append(model.predict(test.numbers) if within else None)
        cases.append(choice(method, "linear", bound, found, test))
        print(f"linear, {method}: {bound:g}", file=sys.stderr, flush=True)
    return cases


def fair_labels(model: str, rounds: int, rows: Rows, test: Rows, seeds: int) -> list[dict[str, Any]]:
    """Labels within the bound on the same model without λ."""
    found: dict[float, list[Any]] = {bound: [] for bound in BOUNDS}
    for seed in range(seeds):
        if model == "linear":
            base, X, X_test = fermi.FermiClassifier(lam=0.0), rows.numbers, test.numbers
        else:
            params = {"num_threads": 1}
            base = FermiBoostingClassifier(
                lam=0.0, n_estimators=rounds, learning_rate=RATE, booster_params=params, random_state=0
            )
            X, X_test = rows.X, test.X
        labels = fermi.FairLabels(base, "equalized_odds", BOUNDS[0], random_state=seed)
        labels.fit(X, rows.y, sensitive_features=rows.s)
        for bound in BOUNDS:
            answer = labels.at(bound)
            found[bound].append(answer.predict(X_test) if answer.reached_ else None)
    return [choice("FairLabels", model, bound, answers, test) for bound, answers in found.items()]


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """The cases of all variants."""
    scale = QUICK if quick else FULL
    rows, test, categories = load(scale)
    cases: list[dict[str, Any]] = []
    weighed = {"λ": None, "λ, balanced": "balanced", "λ, equal gaps": equal_gaps}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, weights in weighed.items():
            cases += variant(method, "linear", linear(weights), rows, test, scale.linear_seeds)
        cases += one_quarter(rows, test, scale.linear_seeds)
        for method, weights in (("search", None), ("search, balanced", "balanced")):
            cases += searched(method, weights, rows, test, scale.linear_seeds)
        cases += fair_labels("linear", scale.rounds, rows, test, scale.linear_seeds)
        for method, weights in weighed.items():
            cases += variant(method, "trees", trees(categories, scale.rounds, weights), rows, test, scale.tree_seeds)
        for method, terms in (("W of labels", LabelTerm), ("W of labels, averaged", AveragedLabelTerm)):
            train = trees(categories, scale.rounds, None, terms)
            cases += variant(method, "trees", train, rows, test, scale.tree_seeds)
        cases += fair_labels("trees", scale.rounds, rows, test, scale.tree_seeds)
    return cases


def show(cases: list[dict[str, Any]]) -> None:
    """The paths, then the choices."""
    for case in cases:
        if case["case"] == "path":
            signed = " ".join(f"{one:+.4f}" for one in (*case["held_out_gaps"], *case["gaps"]))
            print(
                f"{case['model']:<7} {case['method']:<22} λ = {case['lam']:<5g} pooled {case['held_out_error']:.4f} "
                f"at {case['held_out_gap']:.4f}; gaps, pooled and test: {signed}; test {case['error']:.4f}"
            )
    print("\nleast error within a bound on the pooled rows: test error and gap, worst gap, seeds with a choice")
    for case in cases:
        if case["case"] == "choice":
            figures = "{error:.4f} at {gap:.4f} ({worst_gap:.4f})".format(**case) if case["found"] else "nothing"
            asked = f"{case['model']:<7} {case['method']:<22} {case['bound']:<5g}"
            print(f"{asked} {figures}  {case['found']}/{case['seeds']}")
