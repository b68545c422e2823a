"""ERMI, its variational form and the optimal dual, for one condition.

Written with ``+ * / ** .sum(axis) [:, None]`` alone, so that arrays and tensors of any library can go through.
"""

from __future__ import annotations

from typing import Any


def inverse(x: Any) -> Any:
    """1 / x, and 0 where x is 0: what has no weight contributes nothing."""
    return (x > 0) / (x + (x == 0))


def centred(P: Any) -> Any:
    """M = (P − p_s p_yᵀ) / √(p_s p_yᵀ): the matrix Q = P/√(p_s p_yᵀ) without its trivial singular value 1.

    Its squared Frobenius norm is D_R and its largest singular value ρ_R (appendix C, lemma on Tr(QᵀQ)).
    """
    p_s, p_y = P.sum(1), P.sum(0)
    return (P - p_s[:, None] * p_y[None, :]) * inverse(p_s)[:, None] ** 0.5 * inverse(p_y)[None, :] ** 0.5


def ermi(P: Any) -> Any:
    """D_R = Σ (P − p_s p_y)² / (p_s p_y), the same as Σ P²/(p_s p_y) − 1 (equation ERMI; appendix C for the first).

    Subtracting before squaring keeps every digit near independence, where the second form would lose them all.
    """
    p_s, p_y = P.sum(1), P.sum(0)
    excess = P - p_s[:, None] * p_y[None, :]
    return (excess * excess * inverse(p_s)[:, None] * inverse(p_y)[None, :]).sum()


def optimal_dual(P: Any) -> Any:
    """W* = P_s^{-1/2} P P_ŷ^{-1}, the W that attains D_R (proof of proposition 1)."""
    p_s, p_y = P.sum(1), P.sum(0)
    return P * inverse(p_s)[:, None] ** 0.5 * inverse(p_y)[None, :]


def dual_value(W: Any, P: Any) -> Any:
    """Ψ(W) = −Tr(W P_ŷ Wᵀ) + 2 Tr(W P_{ŷ,s} P_s^{-1/2}) − 1, at most D_R (proposition 1)."""
    p_s, p_y = P.sum(1), P.sum(0)
    return 2.0 * (W * P * inverse(p_s)[:, None] ** 0.5).sum() - (W * W * p_y[None, :]).sum() - 1.0


def dual_gradient(W: Any, P: Any) -> Any:
    """∇_W Ψ = 2 P_s^{-1/2} P − 2 W P_ŷ, zero at W* (Algorithm 1, ascent step)."""
    p_s, p_y = P.sum(1), P.sum(0)
    return 2.0 * (P * inverse(p_s)[:, None] ** 0.5 - W * p_y[None, :])
