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
    "Contingency": "fermi.measures",
    **dict.fromkeys(
        [
            "ConstantPredictionWarning",
            "FermiError",
            "FragileLabelsWarning",
            "SmallGroupWarning",
            "UnfairTrainingWarning",
        ],
        "fermi.errors",
    ),
    **dict.fromkeys(["Audit", "Comparison", "RunningAudit", "audit", "compare"], "fermi.auditing"),
    "audit_files": "fermi.tables.audited",
    **dict.fromkeys(["TradeoffCurve", "tradeoff_curve"], "fermi.tradeoff"),
    "FairLabels": "fermi.labels",
    "FermiClassifier": "fermi.linear.classifier",
    "GroupEncoder": "fermi.inputs.groups",
}
_MODULES = ["datasets", "measures", "notions", "scorers", "theory"]

__all__ = [*_HOME, *_MODULES]

if TYPE_CHECKING:  # "as" tells type checkers that the name is meant to be imported from here
    from fermi import datasets as datasets
    from fermi import measures as measures
    from fermi import notions as notions
    from fermi import scorers as scorers
    from fermi import theory as theory
    from fermi.auditing import Audit as Audit
    from fermi.auditing import Comparison as Comparison
    from fermi.auditing import RunningAudit as RunningAudit
    from fermi.auditing import audit as audit
    from fermi.auditing import compare as compare
    from fermi.errors import ConstantPredictionWarning as ConstantPredictionWarning
    from fermi.errors import FermiError as FermiError
    from fermi.errors import FragileLabelsWarning as FragileLabelsWarning
    from fermi.errors import SmallGroupWarning as SmallGroupWarning
    from fermi.errors import UnfairTrainingWarning as UnfairTrainingWarning
    from fermi.inputs.groups import GroupEncoder as GroupEncoder
    from fermi.labels import FairLabels as FairLabels
    from fermi.linear.classifier import FermiClassifier as FermiClassifier
    from fermi.measures import Contingency as Contingency
    from fermi.measures import bounds as bounds
    from fermi.measures import ermi as ermi
    from fermi.measures import linf_violation as linf_violation
    from fermi.measures import lq_violation as lq_violation
    from fermi.measures import mutual_information as mutual_information
    from fermi.measures import optimal_dual as optimal_dual
    from fermi.measures import parity_difference as parity_difference
    from fermi.measures import parity_ratio as parity_ratio
    from fermi.measures import pearson_correlation as pearson_correlation
    from fermi.measures import renyi_correlation as renyi_correlation
    from fermi.measures import renyi_mutual_information as renyi_mutual_information
    from fermi.notions import ConditionalParity as ConditionalParity
    from fermi.notions import DemographicParity as DemographicParity
    from fermi.notions import EqualizedOdds as EqualizedOdds
    from fermi.notions import EqualOpportunity as EqualOpportunity
    from fermi.notions import Notion as Notion
    from fermi.tables.audited import audit_files as audit_files
    from fermi.tradeoff import TradeoffCurve as TradeoffCurve
    from fermi.tradeoff import tradeoff_curve as tradeoff_curve


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"fermi.{name}")
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'fermi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
