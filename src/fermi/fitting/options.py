"""The options that every estimator has, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi.errors import bad_argument
from fermi.inputs.arguments import AT_LEAST_ZERO, chosen, number, whole
from fermi.notions import Notion, as_notion

DECISIONS = ("auto", "argmax", "labels")


@dataclass(frozen=True)
class Common:
    """The options that every estimator has, checked."""

    fairness: Notion
    lam: float
    attributes: str
    max_violation: float | None
    decision: str
    verbose: int

    @staticmethod
    def of(estimator: Any) -> dict[str, Any]:
        """Read the options that every estimator has from an estimator, and check them."""
        bound = estimator.max_violation
        if bound is not None:
            bound = number("max_violation", bound, "a number from 0 to 1, or None", low=0.0, high=1.0)
        decision = chosen("decision", estimator.decision, DECISIONS)
        if decision == "labels" and bound is None:
            raise bad_argument("decision", "is 'labels' without `max_violation`", "a bound for the labels to keep")
        return {
            "fairness": as_notion(estimator.fairness, "fairness"),
            "lam": number("lam", estimator.lam, AT_LEAST_ZERO, low=0.0),
            "attributes": chosen("attributes", estimator.attributes, ("intersection", "each")),
            "max_violation": bound,
            "decision": decision,
            "verbose": whole("verbose", _whole_of_flag(estimator.verbose), "0 or 1", low=0),
        }


def _whole_of_flag(value: Any) -> Any:
    return int(value) if isinstance(value, bool | np.bool_) else value
