"""Measures of dependence between group and prediction other than ERMI, for one condition (appendix C)."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from fermi._typing import Law
from fermi.formulas.ermi import centred, excess


def log_ratio(P: Law) -> tuple[Law, Law]:
    """The cells of a law that have weight, and log(P / (p_s p_y)) there.

    From the relative excess where that is small, so that no digit is lost near independence, and from the three
    logarithms elsewhere, since the product of two rare margins may be too small to hold.
    """
    rows, columns = np.nonzero(P)
    p, p_s, p_y = P[rows, columns], P.sum(1)[rows], P.sum(0)[columns]
    relative = excess(P)[rows, columns] / p_s / p_y
    near = np.abs(relative) < 0.5
    return p, np.where(near, np.log1p(np.where(near, relative, 0.0)), np.log(p) - np.log(p_s) - np.log(p_y))


def mutual_information(P: Law) -> float:
    """Shannon's mutual information, I_1 = Σ P log(P / (p_s p_y)), in nats (equation MI)."""
    p, log_r = log_ratio(P)
    # The excess sums to nothing, but with it every term is at least zero and of second order.
    E = excess(P)
    return max(float((p * log_r - E[P > 0]).sum() - E[P == 0].sum()), 0.0)


def log_mean_power(p: Law, log_r: Law, a: float) -> float:
    """A power mean in logarithms, log(Σ p r^a) / a with Σ p = 1, for any a ≠ 0 without overflow or cancellation."""
    if abs(a) * float(np.abs(log_r).max()) < 1.0:
        return float(np.log1p((p * np.expm1(a * log_r)).sum())) / a
    return float(logsumexp(a * log_r, b=p)) / a


def renyi_correlation(P: Law) -> float:
    """The Rényi correlation ρ_R: the second singular value of Q = P/√(p_s p_y) (Witsenhausen).

    It is the first singular value of the centred form of Q. The paper prints the second eigenvalue of QᵀQ, which is the
    square of this.
    """
    return float(np.linalg.norm(centred(P), 2))


def pearson_correlation(P: Law) -> float:
    """Pearson's correlation of Ŷ and S, numbered 0, 1, 2, …; 0 if either is constant.

    Equation (PC) as printed does not centre, which would not be a correlation.
    """
    p_s, p_y = P.sum(1), P.sum(0)
    if np.count_nonzero(p_s) < 2 or np.count_nonzero(p_y) < 2:
        return 0.0
    s = np.arange(len(p_s)) - p_s @ np.arange(len(p_s))
    y = np.arange(len(p_y)) - p_y @ np.arange(len(p_y))
    # Divided by one root at a time: their product may be too small to hold.
    return float(np.clip(s @ excess(P) @ y / np.sqrt(p_s @ s**2) / np.sqrt(p_y @ y**2), -1.0, 1.0))


def lq_violation(P: Law, q: float) -> float:
    """The L_q violation, (Σ |P − p_s p_y|^q)^{1/q}, the largest entry for q = ∞ (equation Lq)."""
    E = excess(P).ravel()
    largest = float(np.abs(E).max())
    # In units of the largest entry, whose powers are 1: those of the rest may vanish, as they should.
    return largest * float(np.linalg.norm(E / largest, q)) if largest > 0 else 0.0


def group_rates(P: Law) -> Law:
    """The rates p(ŷ|s) of the groups with weight, one row each."""
    present = P[P.sum(1) > 0]
    rates: Law = present / present.sum(1, keepdims=True)
    return rates


def linf_violation(P: Law) -> float:
    """The conditional L∞ violation: the largest |p(ŷ|s) − p(ŷ)| over groups and classes."""
    return float(np.abs(group_rates(P) - P.sum(0)).max())


def rate_spread(P: Law) -> tuple[Law, Law]:
    """The smallest and the largest rate p(ŷ|s) over the groups with weight, per class."""
    rates = group_rates(P)
    return rates.min(0), rates.max(0)


def rate_ratios(P: Law) -> Law:
    """The smallest over the largest rate p(ŷ|s) per class; 1 for a class that no group is given."""
    low, high = rate_spread(P)
    return np.divide(low, high, out=np.ones_like(high), where=high > 0)
