"""Every measure of fairness violation, each a function of a `Contingency`: the functions behind `fermi.measures`.

Each takes a `Contingency`, or the arrays that `Contingency.from_predictions` takes, and returns a float. Under a
notion that conditions, measures are averaged over the conditions with their weights p(z), as in the paper's appendix
C, except the parity difference and ratio, which report the worst condition, as fairlearn does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.errors import bad_argument, listed
from fermi.formulas import dependence
from fermi.formulas import ermi as formula
from fermi.formulas.bounds import Bound, ermi_bounds
from fermi.measures._calling import measure, of_table_or_arrays
from fermi.measures.contingency import Contingency


def _mean(contingency: Contingency, of_law: Callable[[Floats], float]) -> float:
    """The mean over conditions, E_z, of a function of the law of (S, Ŷ) given z."""
    return math.fsum(p_z * float(of_law(law)) for p_z, law in contingency.laws())


@measure
def ermi(contingency: Contingency) -> float:
    """Exponential Rényi mutual information D_R: the χ²-divergence of (S, Ŷ) from independence.

    This is the measure that training penalises; `bounds` lists what it implies for the others.

    Returns
    -------
    float
        From 0, where the notion holds, to min(groups, classes) − 1.

    Examples
    --------
    >>> ermi([1, 1, 0, 0], sensitive_features=["a", "a", "b", "b"])
    1.0
    >>> ermi([1, 0, 1, 0], sensitive_features=["a", "a", "b", "b"])
    0.0
    """
    return _mean(contingency, formula.ermi)


@measure
def mutual_information(contingency: Contingency) -> float:
    """Shannon mutual information I_1 of group and prediction, in nats.

    Returns
    -------
    float
        From 0, where the notion holds, to log min(groups, classes).

    Examples
    --------
    >>> round(mutual_information([1, 1, 0, 0], ["a", "a", "b", "b"]), 6)
    0.693147
    """
    return _mean(contingency, dependence.mutual_information)


@measure
def renyi_mutual_information(contingency: Contingency, alpha: float = 2.0) -> float:
    """Rényi mutual information I_α, in nats: Shannon's at α = 1, log(1 + ERMI) at α = 2.

    Parameters
    ----------
    alpha : float
        The order, above 0; ``math.inf`` gives the largest log-ratio.

    Returns
    -------
    float
        From 0, where the notion holds, to log min(groups, classes) for α up to 2; larger orders may exceed that.

    Examples
    --------
    >>> round(renyi_mutual_information([1, 1, 0, 0], ["a", "a", "b", "b"], alpha=2), 6)
    0.693147
    """
    if not (isinstance(alpha, int | float | np.number) and alpha > 0):
        raise bad_argument("alpha", f"is {alpha!r}", "a number above 0")
    if alpha == 1:
        return mutual_information(contingency)
    if alpha == 2:
        return math.log1p(ermi(contingency))
    cells = [(p_z * p, log_r) for p_z, law in contingency.laws() for p, log_r in [dependence.log_ratio(law)]]
    p, log_r = (np.concatenate(parts) for parts in zip(*cells, strict=True))
    if math.isinf(alpha):
        return max(float(log_r.max()), 0.0)
    return max(dependence.log_mean_power(p, log_r, alpha - 1.0), 0.0)


@measure
def renyi_correlation(contingency: Contingency) -> float:
    """Rényi (maximal) correlation ρ_R: the largest correlation of any function of Ŷ with any function of S.

    Returns
    -------
    float
        From 0, where the notion holds, to 1, where a function of the prediction equals a function of the group.

    Examples
    --------
    >>> round(renyi_correlation([0, 1, 2, 0], ["a", "b", "c", "a"]), 12)
    1.0
    """
    return _mean(contingency, dependence.renyi_correlation)


@measure
def pearson_correlation(contingency: Contingency) -> float:
    """Pearson correlation of the numbers of class and group, signed.

    Classes and groups count 0, 1, 2, … in the order of the table, so this is the one measure that changes when they
    are put into another order.

    Returns
    -------
    float
        From −1 to 1. A value of 0 does not mean that the notion holds.

    Examples
    --------
    >>> round(pearson_correlation([1, 1, 0, 0], ["a", "a", "b", "b"]), 12)
    -1.0
    """
    return _mean(contingency, dependence.pearson_correlation)


@measure
def lq_violation(contingency: Contingency, q: float) -> float:
    """L_q norm of p(ŷ, s) − p(ŷ) p(s).

    Parameters
    ----------
    q : float
        At least 1; ``math.inf`` gives the largest entry.

    Returns
    -------
    float
        0 where the notion holds, and more otherwise.

    Examples
    --------
    >>> lq_violation([1, 1, 0, 0], ["a", "a", "b", "b"], q=1)
    1.0
    """
    if not (isinstance(q, int | float | np.number) and q >= 1):
        raise bad_argument("q", f"is {q!r}", "a number of at least 1")
    return _mean(contingency, lambda law: dependence.lq_violation(law, q))


@measure
def linf_violation(contingency: Contingency) -> float:
    """The paper's conditional L∞: the largest ``|p(ŷ|s) − p(ŷ)|`` over groups and classes.

    Returns
    -------
    float
        From 0, where the notion holds, to less than 1.

    Examples
    --------
    >>> linf_violation([1, 1, 0, 0], ["a", "a", "b", "b"])
    0.5
    """
    return _mean(contingency, dependence.linf_violation)


@measure
def parity_difference(contingency: Contingency, outcome: Any = None) -> float:
    """The largest minus the smallest group rate p(ŷ|s), in the worst class and the worst condition.

    For binary labels this is fairlearn's demographic_parity_difference, equalized_odds_difference or
    equal_opportunity_difference. A group without rows under a condition has no rate there and does not take part.

    Parameters
    ----------
    outcome : label, optional
        Look at this predicted class alone.

    Returns
    -------
    float
        From 0, where all groups have the same rates, to 1.

    Examples
    --------
    >>> parity_difference([1, 1, 0, 1], ["a", "a", "b", "b"])
    0.5
    """
    chosen = _chosen(contingency, outcome)
    spreads = [dependence.rate_spread(law) for _, law in contingency.laws()]
    return max(float((high - low)[chosen].max()) for low, high in spreads)


@measure
def parity_ratio(contingency: Contingency, outcome: Any = None) -> float:
    """The smallest over the largest group rate p(ŷ|s), in the worst class and the worst condition.

    A class that no group is ever given under a condition does not take part.

    Parameters
    ----------
    outcome : label, optional
        Look at this predicted class alone; the positive label gives fairlearn's ratios, which leave the other out.

    Returns
    -------
    float
        From 0 to 1; 1 where all groups have the same rates.

    Examples
    --------
    >>> parity_ratio([1, 1, 0, 1], ["a", "a", "b", "b"], outcome=1)
    0.5
    """
    chosen = _chosen(contingency, outcome)
    return min(float(dependence.rate_ratios(law)[chosen].min()) for _, law in contingency.laws())


def _chosen(contingency: Contingency, outcome: Any) -> slice | list[int]:
    if outcome is None:
        return slice(None)
    if np.ndim(outcome) or outcome not in contingency.classes:
        raise bad_argument("outcome", f"is {outcome!r}", f"one of {listed(contingency.classes)}")
    return [contingency.classes.index(outcome)]


@of_table_or_arrays
def optimal_dual(contingency: Contingency) -> Floats:
    """The adversary W* that attains ERMI in the paper's variational form (proposition 1).

    Returns
    -------
    array, conditions × groups × classes
        W*, 0 where there is no weight.

    Examples
    --------
    >>> optimal_dual(Contingency([[0.5, 0.0], [0.0, 0.5]])).round(4).tolist()
    [[[1.4142, 0.0], [0.0, 1.4142]]]
    """
    scaled = contingency.table / max(contingency.table.max(initial=0.0), np.finfo(float).tiny)
    return np.stack([formula.optimal_dual(counts / formula.nonzero(counts.sum())) for counts in scaled])


@of_table_or_arrays
def bounds(contingency: Contingency) -> list[Bound]:
    """Every inequality that ties ERMI to another measure, with both of its sides evaluated.

    Where there are several conditions, each side is the mean over them, except for the parity difference and the norm
    of W*, where it is the worst.

    Returns
    -------
    list of Bound
        One entry per inequality, with its `statement`, `left` and `right`.

    Examples
    --------
    >>> for bound in bounds(Contingency([[3, 1], [1, 3]]))[:3]:
    ...     print(f"{bound.statement}: {bound.left:.3f} ≤ {bound.right:.3f}")
    ERMI ≤ min(k, m) − 1: 0.250 ≤ 1.000
    I₁ ≤ I₂ = log(1 + ERMI): 0.131 ≤ 0.223
    I₂ = log(1 + ERMI) ≤ ERMI: 0.223 ≤ 0.250
    """
    return ermi_bounds(list(contingency.laws()))
