"""The second derivatives of the objective: what Newton's method and the metric of L-BFGS are made of.

A row with logits l has the probabilities F = softmax(l). The loss of row i bends by w (diag F − F Fᵀ) in its logits.

ERMI sees the logits through the joint law P of (S, Ŷ) alone. Its row sums p_s are fixed, so that D_R + 1 = Σ_j h_j(P_j)
over the columns P_j of P, with h(v) = Σ_s v_s²/p_s / σ and σ = Σ_s v_s: the perspective of a square, hence convex. Its
first derivative is C = 2 v/(p_s σ) − Σ_s v_s²/(p_s σ²), which is `ermi.class_costs` at W* = v/(√p_s σ); its second

    h'' = (2/σ) (P_s^{-1} − a 1ᵀ − 1 aᵀ + (Σ_s W_s²) 1 1ᵀ),  a = W/√p_s,
        = (2/σ) Bᵀ B  with  B = P_s^{-1/2} − W 1ᵀ.

By the chain rule λ D_R bends in the logits by two parts. The table's curvature λ Jᵀ h'' J, J = ∂P/∂l, is never negative
and has at most as many directions as the table has entries (Gauss–Newton keeps this one alone). The other is C times
the curvature of each F, row by row: with t = F ∘ (C − F · C), which is `ermi.tilt`,

    ∂t_j/∂l_k = δ_jk t_j − F_k t_j − F_j t_k,

since ∂F_j/∂l_k = F_j (δ_jk − F_k) and ∂(F · C)/∂l_k = t_k. It can be negative, and vanishes where C is the same for all
classes, as it is at independence.
"""

from __future__ import annotations

from typing import Any

from fermi.formulas.ermi import nonzero


def row_curvature(F_j: Any, F_k: Any, w: Any, t_j: Any, t_k: Any, *, same: bool) -> Any:
    """The second derivative of each row's part of the objective in its logits j and k, the law P held fixed.

    `w` is the row's weight in the loss and `t` what ERMI adds to the gradient in the logits; `same` says that j is k.
    """
    mixed = -w * F_j * F_k - F_k * t_j - F_j * t_k
    return mixed + w * F_j + t_j if same else mixed


def probability_slopes(F_j: Any, F_k: Any, *, same: bool) -> Any:
    """The derivative of the probability of class j in the logit k: F_j (δ_jk − F_k)."""
    return F_j * (1.0 - F_k) if same else -F_j * F_k


def table_root(J_j: Any, W_j: Any, p_s: Any, p_j: Any) -> Any:
    """The root R of the table's curvature: Rᵀ R is the second derivative of D_R through one class.

    R = √(2/p_j) B J_j, for the derivatives J_j (k × any) of this class's column of P, its column W_j of W*, the law p_s
    of the groups and the probability p_j of the class.
    """
    moved = J_j / nonzero(p_s)[:, None] ** 0.5 - W_j[:, None] * J_j.sum(0)[None, :]
    return moved * (2.0 / nonzero(p_j)) ** 0.5


def table_charges(Q: Any, W: Any, p_s: Any, p_y: Any) -> Any:
    """The second derivative of D_R in the law P along a movement Q of it: per column h'' Q_j = (2/p_j) Bᵀ B Q_j."""
    root = nonzero(p_s)[:, None] ** 0.5
    moved = Q / root - W * Q.sum(0)[None, :]
    return (moved / root - (W * moved).sum(0)[None, :]) * (2.0 / nonzero(p_y))[None, :]
