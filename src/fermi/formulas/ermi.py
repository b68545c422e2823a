"""ERMI, its variational form and the optimal dual, for one condition.

Written with ``+ * / ** .sum(axis) [:, None]`` alone, so that arrays and tensors of any library can go through. ERMI
itself takes a stack of laws as well, in the leading axes.
"""

from __future__ import annotations

from typing import Any


def nonzero(x: Any) -> Any:
    """A divisor: x, or 1 where x is 0, so that what has no weight, and so is 0 itself, stays 0."""
    return x + (x == 0)


def excess(P: Any) -> Any:
    """What the joint law has beyond independence: P − p_s p_yᵀ."""
    return P - P.sum(-1)[..., :, None] * P.sum(-2)[..., None, :]


def centred(P: Any) -> Any:
    """The matrix M = (P − p_s p_yᵀ) / √(p_s p_yᵀ): Q = P/√(p_s p_yᵀ) without its trivial singular value 1.

    Its squared Frobenius norm is D_R and its largest singular value ρ_R (appendix C, lemma on Tr(QᵀQ)).
    """
    return excess(P) / nonzero(P.sum(-1))[..., :, None] ** 0.5 / nonzero(P.sum(-2))[..., None, :] ** 0.5


def ermi(P: Any) -> Any:
    """ERMI, D_R = Σ (P − p_s p_y)² / (p_s p_y) = Σ P²/(p_s p_y) − 1 (equation ERMI; appendix C for the first form).

    Subtracting before squaring keeps every digit near independence, where the second form would lose them all; each
    factor is divided by its own margin, since the square of a rare cell may be too small to be represented.
    """
    E = excess(P)
    return ((E / nonzero(P.sum(-1))[..., :, None]) * (E / nonzero(P.sum(-2))[..., None, :])).sum((-2, -1))


def optimal_dual(P: Any, l2: float = 0.0) -> Any:
    """The optimal adversary W* = P_s^{-1/2} P P_ŷ^{-1}, which attains D_R (proof of proposition 1).

    With a penalty l2 ‖W‖² on the adversary (remark 1) it is P_s^{-1/2} P (P_ŷ + l2)^{-1}.
    """
    return P / nonzero(P.sum(1))[:, None] ** 0.5 / nonzero(P.sum(0) + l2)[None, :]


def penalised_ermi(P: Any, l2: float) -> Any:
    """The largest Ψ(W) − l2 ‖W‖² (remark 1), Σ P²/(p_s (p_y + l2)) − 1: D_R less at most l2 ‖W*‖², below 0 if fair."""
    return (P * P / nonzero(P.sum(1))[:, None] / nonzero(P.sum(0) + l2)[None, :]).sum() - 1.0


def dual_value(W: Any, P: Any, l2: float = 0.0) -> Any:
    """The variational form Ψ(W) = −Tr(W P_ŷ Wᵀ) + 2 Tr(W P_{ŷ,s} P_s^{-1/2}) − 1, at most D_R (proposition 1).

    With l2 the penalty l2 ‖W‖² of remark 1 is taken off, which makes it strongly concave whatever P_ŷ.
    """
    p_s, p_y = P.sum(1), P.sum(0)
    return 2.0 * (W * P / nonzero(p_s)[:, None] ** 0.5).sum() - (W * W * (p_y + l2)[None, :]).sum() - 1.0


def dual_gradient(W: Any, P: Any, p: Any = None) -> Any:
    """∇_W Ψ = 2 P_s^{-1/2} P − 2 W P_ŷ, zero at W* (Algorithm 1, ascent step).

    `p` is the prior of S, by default that of P. For the P of a batch it must be that of all rows, lest the gradient be
    biased.
    """
    p_s, p_y = P.sum(1) if p is None else p, P.sum(0)
    return 2.0 * (P / nonzero(p_s)[:, None] ** 0.5 - W * p_y[None, :])


def class_costs(W: Any, p: Any) -> Any:
    """What the adversary W charges group s for class j, given the prior p of S: C with ψ_i = F_i · C[s_i] − 1.

    Given W, the paper's ψ is linear in the predicted probabilities (corollary 1); this is its coefficient.
    """
    return row_costs(W, p[:, None], (W * W).sum(0)[None, :])


def row_costs(W_s: Any, p_s: Any, norms: Any) -> Any:
    """What the adversary charges some rows: from their groups' rows of W and prior, and the column norms Σ_s W²."""
    return W_s * (2.0 / nonzero(p_s) ** 0.5) - norms


def tilt(F: Any, C: Any) -> Any:
    """The gradient of F · C in the logits of F = softmax, row by row: F ∘ (C − F · C)."""
    return F * (C - (F * C).sum(1)[:, None])
