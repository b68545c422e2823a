"""Where in an estimator its λ, strength or bound is, and how the groups reach what is trained there."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline

from fermi.errors import bad_argument, listed
from fermi.notions import ConditionalParity, Notion, as_notion

BOUND = "max_violation"
ANY = 1.0  # the bound that all labels keep
_NAMES = ("lam", "strength")
_WORDS = {"lam": "λ", "strength": "strength", BOUND: "bound"}


@dataclass(frozen=True)
class Knob:
    """The parameter that a curve turns, of the estimator itself or of one inside of it.

    Attributes
    ----------
    name : "lam", "strength" or "max_violation"
        The parameter; the last is that of `FairLabels`, or of what else gives the model at another bound by `at`.
    prefix : str
        The way to its owner, such as ``"clf__"``; empty if that is the estimator itself.
    own : dict
        The owner's parameters.
    needs_attribute : bool
        Whether prediction needs the groups.
    own_labels : bool
        Whether labels are other than the most probable ones: drawn from the probabilities, or adjusted to a bound.
    fit_argument : str
        The keyword by which `fit` of the whole takes the groups.
    routing : bool
        Whether scikit-learn's metadata routing is on meanwhile.
    in_place : bool
        Whether `fit` of the whole trains the owner itself and not a clone of it, so that a warm start has an effect.
    """

    name: str
    prefix: str
    own: Mapping[str, Any]
    needs_attribute: bool
    own_labels: bool
    fit_argument: str
    routing: bool
    in_place: bool

    @classmethod
    def find(cls, estimator: Any) -> Knob:
        """Find the knob nearest to the estimator; none, or several at the same depth, is an error."""
        usable = hasattr(estimator, "get_params") and not isinstance(estimator, type)
        params = estimator.get_params(deep=True) if usable else {}
        found = sorted((key for key in params if _turns(estimator, params, key)), key=lambda key: key.count("__"))
        nearest = [key for key in found if key.count("__") == found[0].count("__")]
        if len(nearest) != 1:
            without = f"is {_described(estimator)}, without `lam` or `strength`"
            has = f"has {listed(nearest)}" if nearest else without
            raise bad_argument("estimator", has, "one such parameter to draw a curve along, or FairLabels(estimator)")
        path, _, name = nearest[0].rpartition("__")
        owner = params[path] if path else estimator
        if "sensitive_features" not in inspect.signature(owner.fit).parameters:
            has = f"holds {_described(owner)}, whose `fit` takes no `sensitive_features`"
            raise bad_argument("estimator", has, "one that is trained with groups")
        can = getattr(owner, "capabilities", None)
        needs, *apart = (bool(getattr(can, what, False)) for what in ("needs_attribute", "draws", "adjusts_labels"))
        own_labels = any(apart) or name == BOUND
        own = dict(owner.get_params(deep=False))
        knob = cls(name, f"{path}__" if path else "", own, needs, own_labels, *_way(estimator, params, path))
        knob._refuse(estimator)
        return knob

    def _refuse(self, estimator: Any) -> None:
        for option, why in ((BOUND, "chooses λ itself"), ("checkpoint", "is one file for many fits")):
            if option != self.name and self.own.get(option) is not None:
                raise bad_argument(option, f"is {self.own[option]!r}, which {why}", "None along a curve")
        column = self.notion.column
        if column is not None and not isinstance(self.notion, ConditionalParity):
            has = f"is {self.notion.name!r}, with a column that cannot be cut into parts"
            raise bad_argument(self.notion_argument, has, "ConditionalParity(values)")
        if self.needs_attribute and not _takes_groups(estimator.predict):
            has = f"is {_described(estimator)}, whose `predict` hands on no groups, and its method needs them"
            raise bad_argument("estimator", has, "the method itself, or a Pipeline")

    @property
    def word(self) -> str:
        """The name of the knob in a sentence."""
        return _WORDS[self.name]

    @property
    def notion_argument(self) -> str:
        """The name of the owner's parameter that holds the notion."""
        return "notion" if "notion" in self.own and "fairness" not in self.own else "fairness"

    @property
    def notion(self) -> Notion:
        """The notion of the knob's owner: what must be independent of the group."""
        return as_notion(self.own.get(self.notion_argument, "demographic_parity"), self.notion_argument)

    @property
    def attributes(self) -> str:
        """Whether several sensitive columns make joint groups, or groups each."""
        return str(self.own.get("attributes", "intersection"))

    @property
    def warm(self) -> bool:
        """Whether a fit can begin where another one ended."""
        return self.in_place and "warm_start" in self.own

    @property
    def reads_rows(self) -> bool:
        """Whether the owner is handed the rows themselves, the same in every fit, and can read them once."""
        return self.warm and not self.prefix and self.name == "lam"

    @property
    def one_fit(self) -> bool:
        """Whether one fit is enough for all values: each is made of it by `at`."""
        return self.in_place and self.name == BOUND

    @property
    def chained(self) -> bool:
        """Whether the model at one value is made from that at another."""
        return self.warm or self.one_fit

    @property
    def trains_network(self) -> bool:
        """Whether torch trains, in the owner or in the classifier that it wraps."""
        return "module" in self.own or hasattr(self.own.get("estimator"), "module")

    def at(self, model: Any, value: float) -> Any:
        """Make a trained model's like at another value, where one fit is enough; both share what was trained."""
        return _at(model, self.prefix.split("__")[:-1], value)

    def during_fit(self, value: float, notion: Notion | None) -> dict[str, Any]:
        """The parameters to set for a fit; the owner's bar is off, as it would come between those of the curve."""
        wanted: dict[str, Any] = {"warm_start": True, "verbose": 0}
        if notion is not None:
            wanted[self.notion_argument] = notion
        changed = {key: new for key, new in wanted.items() if key in self.own and (key != "warm_start" or self.warm)}
        return {f"{self.prefix}{key}": new for key, new in {**changed, self.name: value}.items()}

    def after_fit(self) -> dict[str, Any]:
        """The parameters to set after a fit: all but the knob as the user gave them."""
        names = [key for key in ("warm_start", "verbose", self.notion_argument) if key in self.own]
        return {f"{self.prefix}{key}": self.own[key] for key in names}


def _turns(estimator: Any, params: Mapping[str, Any], key: str) -> bool:
    """Whether a parameter is a knob; a bound is one where models at other bounds need no training."""
    path, _, name = key.rpartition("__")
    return name in _NAMES or (name == BOUND and hasattr(params[path] if path else estimator, "at"))


def _at(model: Any, steps: list[str], value: float) -> Any:
    """A copy of nested pipelines whose innermost model is at another value."""
    if not steps:
        return model.at(value)
    outer = copy.copy(model)
    outer.steps = [(name, _at(step, steps[1:], value) if name == steps[0] else step) for name, step in model.steps]
    return outer


def _described(estimator: Any) -> str:
    if isinstance(estimator, type):
        return f"the class {estimator.__name__}"
    name = type(estimator).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _way(estimator: Any, params: Mapping[str, Any], path: str) -> tuple[str, bool, bool]:
    """How groups reach the owner: the keyword of `fit`, whether routing must be on, whether it is trained in place."""
    routing = bool(get_config()["enable_metadata_routing"])
    steps = path.split("__") if path else []
    around = [estimator, *(params["__".join(steps[: i + 1])] for i in range(len(steps) - 1))] if steps else []
    pipelines = all(isinstance(outer, Pipeline) for outer in around)
    if not steps or routing:
        return "sensitive_features", routing, pipelines
    if pipelines:
        return f"{path}__sensitive_features", False, True
    return "sensitive_features", True, False


def _takes_groups(method: Any) -> bool:
    parameters = inspect.signature(method).parameters
    return "sensitive_features" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
