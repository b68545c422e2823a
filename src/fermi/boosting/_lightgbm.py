"""LightGBM's side: data sets, training, and a plain booster that holds the base rate and its own probabilities."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from fermi._optional import require
from fermi._typing import Floats
from fermi.boosting._run import Run
from fermi.boosting.custom_objective import BoostingObjective, lightgbm_factor
from fermi.errors import bad_argument
from fermi.fitting.problem import Problem

lightgbm = require("lightgbm", extra="boosting")
Error = lightgbm.basic.LightGBMError

# Filtered, a few rows would have no feature left, which LightGBM refuses where the objective is the user's.
_QUIET = {"verbosity": -1, "feature_pre_filter": False}


@functools.cache
def _names() -> dict[str, str]:
    """All names of every parameter, with the one that LightGBM itself uses for it."""
    table = lightgbm.basic._ConfigAliases._get_all_param_aliases()
    return {alias: name for name, aliases in table.items() for alias in (name, *aliases)}


def canonical(name: str) -> str | None:
    """The name that LightGBM itself uses for a parameter, or None for one that it would ignore in silence."""
    return _names().get(name)


def make_data(problem: Problem, fair: BoostingObjective, params: dict[str, Any], reference: Any = None) -> Any:
    """Make LightGBM's data set of rows, binned as `reference` if given, with scores that start at the base rates."""
    first = np.tile(fair.start, (len(problem.target), 1))
    return lightgbm.Dataset(
        problem.X,
        problem.target,
        init_score=first[:, 0] if first.shape[1] == 1 else first,
        reference=reference,
        params=_QUIET | params,
    )


def train(data: Any, judges: Any, run: Run, params: dict[str, Any]) -> tuple[Any, int]:
    """Train a LightGBM booster, and say how many rounds of it count."""
    m = len(run.fair.classes)
    factor = lightgbm_factor(m)

    def judge(scores: Any, rows: Any) -> tuple[str, float, bool]:
        return "fair_objective", run.judge(scores), False

    own = {"objective": lambda scores, rows: run.derivatives(scores, factor), "metric": "none"}
    try:
        booster = lightgbm.train(
            {**_QUIET, **params, **own, "num_class": 1 if m == 2 else m},
            data,
            run.rounds,
            valid_sets=None if judges is None else [judges],
            feval=None if judges is None else judge,
            callbacks=[lightgbm.early_stopping(run.patience, verbose=False)] if run.patience else None,
            keep_training_booster=True,
        )
    except Error as error:
        if "num_features" not in str(error):
            raise
        raise bad_argument("X", "has no column that LightGBM could split", "one with two values at least") from None
    made = booster.current_iteration()
    booster.eval_train(feval=lambda scores, rows: ("fair_objective", run.last(scores, made), False))
    rounds = booster.best_iteration if booster.best_iteration > 0 else made
    return _finished(booster, run.fair.start, rounds), rounds


def _finished(booster: Any, start: Floats, rounds: int) -> Any:
    """A trained booster without its data, with the base rate in its first trees and its link in the model's text.

    LightGBM does the first itself when it boosts from an average, and writes the second for its own objectives.
    """
    first = booster.dump_model(num_iteration=1)["tree_info"]
    for t, tree in enumerate(first):
        for leaf in range(tree["num_leaves"]):
            booster.set_leaf_output(t, leaf, booster.get_leaf_output(t, leaf) + start[t])
    name, its = ("binary", "sigmoid:1") if len(start) == 1 else ("multiclass", f"num_class:{len(start)}")
    text = booster.model_to_string(num_iteration=rounds)
    text = text.replace("\nfeature_names=", f"\nobjective={name} {its}\nfeature_names=", 1)
    # Converters to other formats look at the parameters instead.
    return lightgbm.Booster(model_str=text.replace("\n[objective: custom]\n", f"\n[objective: {name}]\n", 1))


def raw_scores(booster: Any, X: Any) -> Floats:
    """The raw scores of rows: (n,) of the second of two classes, else (n, m)."""
    return np.asarray(booster.predict(X, raw_score=True), dtype=np.float64)
