"""Tables of predictions and what is read off them: `Contingency`, and one function for every measure of violation.

Each takes a `Contingency`, or the arrays that `Contingency.from_predictions` takes, and returns a float. Under a
notion that conditions, measures are averaged over the conditions with their weights p(z), as in the paper's appendix
C, except the parity difference and ratio, which report the worst condition, as fairlearn does.
"""

from __future__ import annotations

from fermi.formulas.bounds import Bound
from fermi.measures._calling import MEASURES, Measure
from fermi.measures.contingency import Contingency
from fermi.measures.functions import (
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

__all__ = [
    "MEASURES",
    "Bound",
    "Contingency",
    "Measure",
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
]
