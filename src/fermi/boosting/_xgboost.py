"""XGBoost's side: data, training, and a plain booster that holds the base rate and its own probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.special import expit

from fermi._optional import require
from fermi._typing import Floats
from fermi.boosting._run import Run
from fermi.boosting.custom_objective import BoostingObjective, xgboost_factor
from fermi.errors import bad_argument
from fermi.fitting.problem import Problem

xgboost = require("xgboost", extra="boosting")
Error = xgboost.core.XGBoostError


def canonical(name: str) -> str | None:
    """The name of a parameter as it is: XGBoost warns of those that it does not know."""
    return name


def make_data(problem: Problem, fair: BoostingObjective, params: dict[str, Any], reference: Any = None) -> Any:
    """Make XGBoost's data set of rows, binned as `reference` if given."""
    if params.get("tree_method") in ("exact", "approx"):  # they make bins of their own, or none
        with _refusing_giants():
            return xgboost.DMatrix(_dense(problem.X), problem.target, enable_categorical=True)
    options = {"ref": reference, "enable_categorical": True}
    if "max_bin" in params:
        options["max_bin"] = params["max_bin"]
    with _refusing_giants():
        return xgboost.QuantileDMatrix(_dense(problem.X), problem.target, **options)


def train(data: Any, judges: Any, run: Run, params: dict[str, Any]) -> tuple[Any, int]:
    """Train an XGBoost booster, and say how many rounds it has."""
    m, start = len(run.fair.classes), run.fair.start
    factor = xgboost_factor(m)
    own = {"objective": "binary:logistic", "base_score": float(expit(start[0]))}
    if m > 2:
        own = {"objective": "multi:softprob", "num_class": m, "base_score": start.tolist()}
    booster = xgboost.train(
        {**params, **own, "disable_default_eval_metric": True},  # the objective named here is what links the scores
        data,
        run.rounds,
        obj=lambda scores, rows: run.derivatives(scores, factor),
        evals=() if judges is None else [(judges, "held_out")],
        custom_metric=None if judges is None else lambda scores, rows: ("fair_objective", run.judge(scores)),
        early_stopping_rounds=run.patience,
        verbose_eval=False,
    )
    made = booster.num_boosted_rounds()
    run.last(booster.predict(data, output_margin=True), made)
    rounds = booster.best_iteration + 1 if run.patience else made
    return booster[:rounds] if run.patience else booster, rounds


def raw_scores(booster: Any, X: Any) -> Floats:
    """The raw scores of rows: (n,) of the second of two classes, else (n, m)."""
    with _refusing_giants():
        rows = xgboost.DMatrix(_dense(X), enable_categorical=True)
    return np.asarray(booster.predict(rows, output_margin=True), dtype=np.float64)


@contextmanager
def _refusing_giants() -> Iterator[None]:
    """Say in one sentence what XGBoost says of numbers that become infinite in single precision."""
    try:
        with np.errstate(over="ignore"):
            yield
    except Error as error:
        if "Input data contains" not in str(error):
            raise
        raise bad_argument("X", "holds numbers that single precision cannot", "at most 3e38 in magnitude") from None


def _dense(X: Any) -> Any:
    """Make a sparse matrix dense: XGBoost would take the zeros that it leaves out for missing values."""
    return X.astype(np.float32).toarray() if hasattr(X, "toarray") else X
