"""The options of `FermiBoostingClassifier`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fermi.boosting._engine import engine
from fermi.errors import bad_argument
from fermi.fitting.options import Common
from fermi.inputs.arguments import AT_LEAST_ONE, chosen, number, whole

BOOSTERS = ("lightgbm", "xgboost")

# What the libraries call the options that are arguments here; of LightGBM one of its names is enough.
_OURS = {
    "learning_rate": ("learning_rate", "eta"),
    "n_estimators": ("num_iterations", "n_estimators", "num_boost_round", "num_round"),
    "early_stopping_rounds": ("early_stopping_round", "early_stopping_rounds"),
    "random_state": ("seed", "random_state"),
    "fairness": ("objective",),
}
_OWNER = {name: argument for argument, names in _OURS.items() for name in names}

# What would contradict the objective, or has no effect with one that is not the library's own.
_NOT_HERE = {
    "num_class", "base_score", "boost_from_average", "init_score", "linear_tree", "metric", "eval_metric",
    "disable_default_eval_metric", "early_stopping_min_delta", "first_metric_only",
    "scale_pos_weight", "is_unbalance", "pos_bagging_fraction", "neg_bagging_fraction", "categorical_feature",
}  # fmt: skip
# Rounds that do not add a tree to those before.
_NO_BOOSTING = {"boosting": ("dart", "rf", "random_forest"), "booster": ("dart", "gblinear")}


@dataclass(frozen=True)
class BoostingSettings(Common):
    """The options of `FermiBoostingClassifier`, checked."""

    booster: str
    n_estimators: int
    learning_rate: float
    early_stopping_rounds: int | None
    params: dict[str, Any]

    @classmethod
    def read(cls, model: Any) -> BoostingSettings:
        """Check every option that does not depend on the data."""
        patience = model.early_stopping_rounds
        if patience is not None:
            patience = whole("early_stopping_rounds", patience, f"{AT_LEAST_ONE}, or None", low=1)
        booster = chosen("booster", model.booster, BOOSTERS)
        return cls(
            **Common.of(model),
            booster=booster,
            n_estimators=whole("n_estimators", model.n_estimators, AT_LEAST_ONE, low=1),
            learning_rate=number(
                "learning_rate", model.learning_rate, "a number above 0, at most 1", low=0.0, high=1.0, open_low=True
            ),
            early_stopping_rounds=patience,
            params=read_params(model.booster_params, booster),
        )


def read_params(given: Any, booster: str) -> dict[str, Any]:
    """Read the user's parameters for the library; those that would contradict ours or mean nothing are refused."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise bad_argument("booster_params", f"is {given!r}", "a dict of the library's parameters, or None")
    for name, value in given.items():
        known = engine(booster).canonical(name) if isinstance(name, str) else None
        if known is None:
            raise bad_argument("booster_params", f"holds {name!r}", f"names of parameters that {booster} has")
        if known in _OWNER:
            raise bad_argument("booster_params", f"holds {name!r}", f"the argument `{_OWNER[known]}` instead")
        if known in _NOT_HERE:
            raise bad_argument("booster_params", f"holds {name!r}", "parameters that mean something to this objective")
        if value in _NO_BOOSTING.get(known, ()):
            raise bad_argument("booster_params", f"has {name}={value!r}", "trees that add up round by round")
    return dict(given)
