"""Every measure of one table, with its interval and the inequality that ties it to ERMI."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fermi.auditing._intervals import Intervals
from fermi.auditing._noise import Sums
from fermi.auditing._tally import Tally
from fermi.formulas.bounds import Bound
from fermi.formulas.stacked import NAMES
from fermi.measures import MEASURES, bounds
from fermi.measures.contingency import Contingency
from fermi.records import Estimate, MeasureRecord

BOUNDS = {
    "ermi": "ERMI ≤ min(k, m) − 1",
    "mutual_information": "I₁ ≤ I₂ = log(1 + ERMI)",
    "renyi_mutual_information": "I₂ = log(1 + ERMI) ≤ ERMI",
    "renyi_correlation": "ρ_R² ≤ ERMI",
    "pearson_correlation": "|Pearson| ≤ ρ_R",
    "lq_violation(q=1)": "L_1 ≤ √ERMI",
    "lq_violation(q=2)": "L_2 ≤ √ERMI",
    "linf_violation": "conditional L∞ ≤ max √(ERMI·p(ŷ)(1−p(ŷ))·(1−p(s))/p(s))",
    "parity_difference": "parity difference ≤ max √(ERMI·p(ŷ)(1−p(ŷ))·(1/p(a)+1/p(b)))",
}


_ONE_GROUP = "no two groups with rows"


@dataclass(frozen=True)
class Measured:
    """The measures of one table with their intervals, ERMI less its bias, and a p-value of independence."""

    records: tuple[MeasureRecord, ...]
    corrected: Estimate
    p_value: float | None


def measured(sums: Sums, shown: Tally, confidence: float, n_boot: int, seed: int) -> Measured:
    """Measure one table: every measure with its interval, ERMI less its bias, and a p-value."""
    contingency = Contingency(
        sums.table, shown.conditions, shown.groups, shown.classes, 0.0, shown.title, sums.soft, shown.columns
    )
    values = [value_of(name, contingency) for name in NAMES]
    inequalities = {bound.statement: bound for bound in bounds(contingency)}
    why = _nothing_to_compare(sums)
    if why.startswith(_ONE_GROUP):
        values = [math.nan] * len(NAMES)  # an absence of groups is no parity
    if why:
        low = high = [math.nan] * len(NAMES)
        p_value = None
    else:
        intervals = Intervals(sums, confidence, n_boot, seed)
        low, high, p_value = intervals.low.tolist(), intervals.high.tolist(), intervals.p_value
    records = tuple(
        MeasureRecord(
            name, sums.soft, Estimate(value, a, b, why), _written(value, inequalities.get(BOUNDS.get(name, "")))
        )
        for name, value, a, b in zip(NAMES, values, low, high, strict=True)
    )
    corrected = values[0] if math.isnan(values[0]) else max(values[0] - sums.ermi_bias(), 0.0)
    return Measured(records, Estimate(corrected, low[0], high[0], why), p_value)


def value_of(name: str, contingency: Contingency) -> float:
    """The value of a measure for a table, by the name that records have for it."""
    plain, _, q = name.removesuffix(")").partition("(q=")
    return float(MEASURES[plain](contingency, **({"q": float(q)} if q else {})))


def _nothing_to_compare(sums: Sums) -> str:
    """Say why a table allows no intervals; empty where it does."""
    several = (sums.weight > 0).sum(axis=1) > 1
    if not several.any():
        return f"{_ONE_GROUP}: nothing to compare"
    if ((sums.table.sum(axis=1) > 0).sum(axis=1)[several] < 2).all():
        where = " under each condition" if len(several) > 1 else ""
        return f"every prediction is the same{where}, which does not tell how rare other ones are"
    return ""


def _written(value: float, bound: Bound | None) -> str:
    return "" if bound is None or math.isnan(value) else f"{bound.statement}: {bound.left:.3g} ≤ {bound.right:.3g}"
