"""The other measures of dependence between group and prediction, for one condition (appendix C)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import kl_div, logsumexp

from fermi.formulas.ermi import centred

Law = NDArray[np.float64]


def independent(P: Law) -> Law:
    """p_s p_yᵀ, the law with the same margins and no dependence."""
    return np.outer(P.sum(1), P.sum(0))


def mutual_information(P: Law) -> float:
    """I_1 = Σ P log(P / (p_s p_y)), in nats (equation MI)."""
    # kl_div adds p_s p_y − P to each term: nothing in the sum, but every term is then at least zero.
    return max(float(kl_div(P, independent(P)).sum()), 0.0)


def log_ratio(P: Law) -> tuple[Law, Law]:
    """The cells with weight, and log(P / (p_s p_y)) there."""
    support = P > 0
    return P[support], np.log(P[support] / independent(P)[support])


def log_mean_power(p: Law, log_r: Law, a: float) -> float:
    """log(Σ p r^a) / a with Σ p = 1, for any a > 0 without overflow or cancellation."""
    if a * float(np.ptp(log_r)) < 1.0:
        return float(np.log1p((p * np.expm1(a * log_r)).sum())) / a
    return float(logsumexp(a * log_r, b=p)) / a


def renyi_correlation(P: Law) -> float:
    """ρ_R: the second singular value of Q = P/√(p_s p_y), the first of its centred form (Witsenhausen).

    The paper prints the second eigenvalue of QᵀQ, which is the square of this.
    """
    return float(np.linalg.norm(centred(P), 2))


def pearson_correlation(P: Law) -> float:
    """Cov(Ŷ, S) / √(Var Ŷ · Var S) with Ŷ and S numbered 0, 1, 2, …; 0 if either is constant.

    Equation (PC) as printed does not centre, which would not be a correlation.
    """
    s = np.arange(P.shape[0]) - P.sum(1) @ np.arange(P.shape[0])
    y = np.arange(P.shape[1]) - P.sum(0) @ np.arange(P.shape[1])
    if np.count_nonzero(P.sum(1)) < 2 or np.count_nonzero(P.sum(0)) < 2:
        return 0.0
    covariance = s @ (P - independent(P)) @ y
    return float(np.clip(covariance / np.sqrt((P.sum(1) @ s**2) * (P.sum(0) @ y**2)), -1.0, 1.0))


def lq_violation(P: Law, q: float) -> float:
    """L_q = (Σ |P − p_s p_y|^q)^{1/q}, the largest entry for q = ∞ (equation Lq)."""
    return float(np.linalg.norm((P - independent(P)).ravel(), q))


def group_rates(P: Law) -> Law:
    """p(ŷ|s) for the groups with weight, one row each."""
    present = P[P.sum(1) > 0]
    rates: Law = present / present.sum(1, keepdims=True)
    return rates


def linf_violation(P: Law) -> float:
    """The largest over s, ŷ of |p(ŷ|s) − p(ŷ)| (definition of the conditional L∞ violation)."""
    return float(np.abs(group_rates(P) - P.sum(0)).max())


def rate_spread(P: Law) -> tuple[Law, Law]:
    """Smallest and largest p(ŷ|s) over the groups with weight, per class."""
    rates = group_rates(P)
    return rates.min(0), rates.max(0)
