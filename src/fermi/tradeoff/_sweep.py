"""`tradeoff_curve`: models along λ or a bound, measured on their training rows, on held-out rows and on test rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import FitFailedWarning

from fermi.errors import FermiError
from fermi.fitting.problem import Problem
from fermi.fitting.progress import Progress
from fermi.inputs.arguments import flag
from fermi.inputs.sharing import shared_rows
from fermi.tradeoff._curve import Kept, TradeoffCurve
from fermi.tradeoff._figures import Predicted, figures
from fermi.tradeoff._fits import Chain, CurvePlan, Outcome, Said, repeat, run_chains
from fermi.tradeoff._grid import ROUNDS, Place, between, first_values, read_values
from fermi.tradeoff._knob import BOUND, Knob
from fermi.tradeoff._splits import read_test, read_training, split

_SPLITS = ("train", "validation", "test")


def tradeoff_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    X_test: Any = None,
    y_test: Any = None,
    sensitive_test: Any = None,
    lams: Any = None,
    cv: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> TradeoffCurve:
    """Train an estimator along λ, or once for all bounds, and measure what fairness costs.

    Parameters
    ----------
    estimator : FermiClassifier, FermiNet, FermiBoostingClassifier, FairLabels, a baseline, or a Pipeline around one
        What to train. It is copied, never changed. Its `lam` is what the curve goes along, the `strength` of a
        baseline, or the bound `max_violation` of `FairLabels`, which is trained once and then asked for its labels at
        every bound; its `fairness` or `notion` says what is measured.
    X, y : features and labels
        Rows to train and to choose on.
    sensitive_features : array, Series, DataFrame or dict of columns
        One column or several. A missing entry means unknown: that row trains, and is left out of the violations.
    X_test, y_test, sensitive_test : optional
        Rows that are measured and influence nothing.
    lams : sequence of numbers, optional
        Exactly these values, of λ, strength or bound; one that fails is left out with a warning, unless it is the
        smallest. By default λ is 0 and from 0.0316 to 1000 by half decades (strengths: from 0 to 1 by tenths; bounds:
        twelve from 0 to 1), and up to nine more between the neighbours that lie farthest apart on the validation rows.
    cv : int, splitter or pairs of row numbers, optional
        By default a quarter of the rows, stratified by label and group, judges models trained on the others, and these
        models are the ones returned. With `cv` the predictions for the rows left out of each fold judge, together;
        the models returned are trained on all rows.
    n_jobs : int, optional
        How many fits at once, through joblib and whatever backend `joblib.parallel_config` names. The result does
        not depend on it. An estimator with `warm_start` is trained along λ, each fit from the one before, so that only
        folds and the later values run at once.
    progress : bool
        Whether to show a bar, on a terminal only.

    Returns
    -------
    TradeoffCurve
        The figures, and the models.

    Examples
    --------
    >>> import fermi
    >>> from fermi.tradeoff import tradeoff_curve
    >>> data = fermi.datasets.synthetic(n=4000, bias=0.9, rated=False).numeric()
    >>> curve = tradeoff_curve(
    ...     fermi.FermiClassifier(), data.X_train, data.y_train, sensitive_features=data.s_train, lams=[0, 1, 10, 100]
    ... )
    >>> bool(curve.pareto()["violation"].is_monotonic_increasing)
    True
    >>> model = curve.pick(max_violation=0.1)
    >>> model.lam > 0
    True
    """
    knob, shown = Knob.find(estimator), flag("progress", progress)
    values = first_values(knob) if lams is None else read_values(lams, knob)
    given, coded, classes = read_training(X, y, sensitive_features, knob)
    test = read_test(X_test, y_test, sensitive_test, given, classes, knob)
    folds = split(coded, cv, knob.own.get("random_state"))
    plan = CurvePlan(estimator, knob, given, None if test is None else test.given, folds, classes, values[0])
    held_out = coded.take(np.concatenate([fold.judged for fold in folds]))
    rows = {"train": coded.take(folds[-1].train), "validation": held_out}
    if test is not None:
        rows["test"] = test.coded
    # The rows of several folds at once would be several copies of the data: each chain then keeps its own.
    with Progress(shown) as bar, shared_rows() if knob.reads_rows and len(folds) == 1 else nullcontext():
        sweep = _Sweep(plan, rows, n_jobs, bar)
        sweep.extend(values)
        if lams is None:
            sweep.refine()
    repeat(sweep.said, knob, level=3)
    found = sweep.outcomes
    kept = [{name: Kept.of(p) for name, p in sweep.predicted(value).items()} for value in sweep.values]
    return TradeoffCurve(sweep.frame(), [found[value][-1].model for value in sweep.values], kept, plan, cv)


class _Sweep:
    """The fits so far: for each value one per fold, the last of them that of the model to keep."""

    def __init__(self, plan: CurvePlan, rows: dict[str, Problem], n_jobs: Any, bar: Progress) -> None:
        self.plan, self.rows, self.n_jobs, self.bar = plan, rows, n_jobs, bar
        self.outcomes: dict[float, list[Outcome]] = {}
        self.measured: dict[float, list[dict[str, Any]]] = {}
        self.failed: set[float] = set()
        self.said: list[Said] = []
        self.planned = self.begun = 0

    @property
    def values(self) -> list[float]:
        """The values that have a model, ascending."""
        return sorted(self.outcomes)

    def extend(self, values: Sequence[float]) -> None:
        """Train and measure at more values."""
        chains = self._chains(values)
        self.planned += sum(len(chain.values) for chain in chains)
        found, said = run_chains(self.plan, chains, self.n_jobs, self._say)
        self.said += said
        by_fold: list[dict[float, Outcome]] = [{} for _ in self.plan.folds]
        for chain, outcomes in zip(chains, found, strict=True):
            by_fold[chain.fold] |= {outcome.lam: outcome for outcome in outcomes}
        self.failed |= {value for value in values if not all(value in fold for fold in by_fold)}
        for value in values:
            if value not in self.failed:
                self.outcomes[value] = [fold[value] for fold in by_fold]
                self.measured[value] = self._measure(value)
        if self.failed and len(self.outcomes) == 1:
            reason = next(one.text for one in said if one.category is FitFailedWarning)
            raise FermiError(f"There is no curve: at every {self.plan.knob.word} but {values[0]:g} {reason}.")

    def refine(self) -> None:
        """Add values between neighbours that lie far apart, in a few rounds."""
        for _ in range(ROUNDS):
            more = between([self._place(value) for value in self.values], self.plan.knob, self.failed)
            if not more:
                return
            self.extend(more)

    def frame(self) -> pd.DataFrame:
        """The figures of the curve, one row per value and split."""
        return pd.DataFrame([row for value in self.values for row in self.measured[value]])

    def predicted(self, value: float) -> dict[str, Predicted]:
        """The predictions of the models at one value for the rows of each split; for validation, those of all folds."""
        folds, last = self.outcomes[value], self.outcomes[value][-1]
        judged = [fold.seen["validation"] for fold in folds if "validation" in fold.seen]
        F = [p.F for p in judged if p.F is not None]
        labels = np.concatenate([p.labels for p in judged])
        pooled = Predicted(labels, np.concatenate(F) if len(F) == len(judged) else None)
        return {name: pooled if name == "validation" else last.seen[name] for name in self.rows}

    def _chains(self, values: Sequence[float]) -> list[Chain]:
        n_folds, before, knob = len(self.plan.folds), self.values, self.plan.knob
        if not knob.chained:
            return [Chain(fold, (value,)) for value in values for fold in range(n_folds)]
        if not before:
            return [Chain(fold, tuple(values)) for fold in range(n_folds)]
        if knob.one_fit:  # one chain, so that what comes back from another process holds what was trained once
            return [Chain(p, tuple(values), self.outcomes[before[0]][p].model) for p in range(n_folds)]
        left = {value: max(other for other in before if other < value) for value in values}
        return [Chain(p, (v,), self.outcomes[left[v]][p].model) for v in values for p in range(n_folds)]

    def _measure(self, value: float) -> list[dict[str, Any]]:
        seen, folds = self.predicted(value), self.outcomes[value]
        judging = sum(fold.seconds for fold in folds if "validation" in fold.seen)
        return [
            {
                "lam": value,
                **({"bound": value} if self.plan.knob.name == BOUND else {}),
                "split": name,
                **figures(self.rows[name], seen[name]),
                "seconds": judging if name == "validation" else folds[-1].seconds,
            }
            for name in _SPLITS
            if name in seen
        ]

    def _place(self, value: float) -> Place:
        row = next(row for row in self.measured[value] if row["split"] == "validation")
        noise = math.sqrt(row["error"] * (1.0 - row["error"]) / row["rows"])
        return Place(value, row["violation"], row["error"], row["standard_error"], noise)

    def _say(self, value: float) -> None:
        self.begun += 1
        what = "model" if self.plan.knob.one_fit else "fit"
        self.bar.say(f"{self.plan.knob.word} = {value:.4g}: {what} {self.begun} of {self.planned}")
