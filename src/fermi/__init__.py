"""Accurate and fair classifiers, and honest measures of fairness violation.

Names are loaded when first used, so that ``import fermi`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_HOME = {
    **dict.fromkeys(
        [
            "bounds",
            "ermi",
            "linf_violation",
            "lq_violation",
            "mutual_information",
            "optimal_dual",
            "parity_difference",
            "parity_ratio",
            "pearson_correlation",
            "renyi_correlation",
            "renyi_mutual_information",
        ],
        "fermi.measures",
    ),
    **dict.fromkeys(
        ["ConditionalParity", "DemographicParity", "EqualOpportunity", "EqualizedOdds", "Notion"], "fermi.notions"
    ),
    "Contingency": "fermi.contingency",
    "FermiError": "fermi.errors",
    "GroupEncoder": "fermi.groups",
}
_MODULES = ["datasets", "measures", "notions"]

__all__ = [*_HOME, *_MODULES]

if TYPE_CHECKING:
    from fermi import datasets, measures, notions
    from fermi.contingency import Contingency
    from fermi.errors import FermiError
    from fermi.groups import GroupEncoder
    from fermi.measures import (
        bounds,
        ermi,
        linf_violation,
        lq_violation,
        mutual_information,
        optimal_dual,
        parity_difference,
        parity_ratio,
        pearson_correlation,
        renyi_correlation,
        renyi_mutual_information,
    )
    from fermi.notions import ConditionalParity, DemographicParity, EqualizedOdds, EqualOpportunity, Notion


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"fermi.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'fermi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
