"""The options of `FermiBoostingClassifier`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fermi.errors import bad_argument
from fermi.settings import AT_LEAST_ONE, Common, chosen, number, whole

BOOSTERS = ("lightgbm", "xgboost")

# What the libraries call the options that are arguments here.
_OURS = {
    "learning_rate": ("learning_rate", "eta", "shrinkage_rate"),
    "n_estimators": (
        "n_estimators", "num_iterations", "num_iteration", "n_iter", "num_tree", "num_trees", "num_round", "num_rounds",
        "nrounds", "num_boost_round", "max_iter",
    ),
    "early_stopping_rounds": (
        "early_stopping_rounds", "early_stopping_round", "early_stopping", "n_iter_no_change",
    ),
    "random_state": ("random_state", "seed", "random_seed"),
    "fairness": ("objective", "objective_type", "app", "application", "loss"),
}  # fmt: skip
_OWNER = {name: argument for argument, names in _OURS.items() for name in names}
_SET_BY_THE_ROWS = ("num_class", "num_classes", "base_score", "init_score", "boost_from_average", "linear_tree")


@dataclass(frozen=True)
class BoostingSettings(Common):
    """The options, checked."""

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
        return cls(
            **Common.of(model),
            booster=chosen("booster", model.booster, BOOSTERS),
            n_estimators=whole("n_estimators", model.n_estimators, AT_LEAST_ONE, low=1),
            learning_rate=number(
                "learning_rate", model.learning_rate, "a number above 0, at most 1", low=0.0, high=1.0, open_low=True
            ),
            early_stopping_rounds=patience,
            params=_params(model.booster_params),
        )


def _params(given: Any) -> dict[str, Any]:
    """The user's parameters for the library, without those that would contradict ours."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise bad_argument("booster_params", f"is {given!r}", "a dict of the library's parameters, or None")
    for name in given:
        if name in _OWNER:
            raise bad_argument("booster_params", f"holds {name!r}", f"the argument `{_OWNER[name]}` instead")
        if name in _SET_BY_THE_ROWS:
            raise bad_argument("booster_params", f"holds {name!r}", "parameters that the objective does not set")
    return dict(given)
