"""How ERMI controls the other measures (appendix C as corrected: docs/corrections.md).

The functions take the conditions as pairs (p(z), law of (S, Ŷ) given z).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from fermi._typing import Law
from fermi.formulas import dependence
from fermi.formulas.ermi import ermi, optimal_dual


class Bound(NamedTuple):
    """An inequality between two measures, with both of its sides evaluated.

    Attributes
    ----------
    statement : str
        The inequality in symbols, such as "ρ_R² ≤ ERMI".
    left, right : float
        Its two sides; `left` is at most `right`.
    """

    statement: str
    left: float
    right: float


def ermi_bounds(laws: Sequence[tuple[float, Law]]) -> list[Bound]:
    """Every inequality that ties ERMI to another measure, for laws by condition."""

    def mean(of_law: Callable[[Law], float]) -> float:
        return sum(p_z * float(of_law(law)) for p_z, law in laws)

    def worst(of_law: Callable[[Law], float]) -> float:
        return max(float(of_law(law)) for _, law in laws)

    D = mean(ermi)
    correlation = mean(dependence.renyi_correlation)
    linf = mean(dependence.linf_violation)
    p_min = min(float(p_s[p_s > 0].min()) for _, law in laws for p_s in [law.sum(1)])
    dual_norm = worst(lambda law: float((optimal_dual(law) ** 2).sum()))
    return [
        Bound("ERMI ≤ min(k, m) − 1", D, mean(lambda law: _rank(law) - 1)),
        Bound("I₁ ≤ I₂ = log(1 + ERMI)", mean(dependence.mutual_information), float(np.log1p(D))),
        Bound("I₂ = log(1 + ERMI) ≤ ERMI", float(np.log1p(D)), D),
        Bound("|Pearson| ≤ ρ_R", abs(mean(dependence.pearson_correlation)), correlation),
        Bound("ρ_R² ≤ ERMI", correlation**2, D),
        Bound(
            "ERMI ≤ (min(k, m) − 1)·ρ_R²",
            D,
            mean(lambda law: (_rank(law) - 1) * dependence.renyi_correlation(law) ** 2),
        ),
        *(Bound(f"L_{q:g} ≤ √ERMI", mean(partial(dependence.lq_violation, q=q)), D**0.5) for q in (1, 2, np.inf)),
        Bound("conditional L∞ ≤ max √(ERMI·p(ŷ)(1−p(ŷ))·(1−p(s))/p(s))", linf, mean(_linf_bound)),
        Bound("conditional L∞ ≤ √(ERMI/p_min)", linf, (D / p_min) ** 0.5),
        Bound("conditional L∞ ≤ √ERMI/p_min, as published", linf, D**0.5 / p_min),
        Bound(
            "parity difference ≤ max √(ERMI·p(ŷ)(1−p(ŷ))·(1/p(a)+1/p(b)))", worst(_difference), worst(_difference_bound)
        ),
        Bound("‖W*‖² ≤ (1 + ERMI)/min p(ŷ)", dual_norm, worst(lambda law: (1 + ermi(law)) / _least(law.sum(0)))),
        Bound("‖W*‖² ≤ min(k, m)/min p(ŷ)", dual_norm, worst(lambda law: _rank(law) / _least(law.sum(0)))),
    ]


def _rank(law: Law) -> int:
    """The smaller number of groups and classes with weight, min(k, m)."""
    return int(min(np.count_nonzero(law.sum(1)), np.count_nonzero(law.sum(0))))


def _least(p: Law) -> float:
    return float(p[p > 0].min())


def _spread(p_y: Law) -> float:
    """The largest p(ŷ)(1 − p(ŷ)), with 1 − p(ŷ) summed over the others: a difference would lose a rare rest."""
    before = np.concatenate([[0.0], np.cumsum(p_y[:-1])])
    after = np.concatenate([np.cumsum(p_y[:0:-1])[::-1], [0.0]])
    return float((p_y * (before + after)).max())


def _linf_bound(law: Law) -> float:
    """The bound on the conditional L∞ of one law.

    Merging all other classes and all other groups cannot raise a χ²-divergence, and leaves a 2 × 2 table.
    """
    p_least = _least(law.sum(1))
    with np.errstate(over="ignore"):  # a group of next to no weight: no bound
        return float(np.sqrt(ermi(law) * _spread(law.sum(0)) * max(1.0 - p_least, 0.0) / np.float64(p_least)))


def _difference(law: Law) -> float:
    low, high = dependence.rate_spread(law)
    return float((high - low).max())


def _difference_bound(law: Law) -> float:
    """The bound on the parity difference of one law.

    Σ_s p(s) δ_s² ≤ ERMI·p(ŷ)(1−p(ŷ)) for the deviations δ_s of one class; this is the largest δ_a − δ_b under that.
    """
    p_s = law.sum(1)
    rarest = np.sort(p_s[p_s > 0])[:2]
    if len(rarest) < 2:
        return 0.0
    with np.errstate(over="ignore"):
        return float(np.sqrt(ermi(law) * _spread(law.sum(0)) * (1.0 / rarest).sum()))
