"""How large the second derivatives of Φ in the logits can be: what keeps a booster's Newton steps sane at any λ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fermi._typing import Floats
from fermi.boosting import _loops
from fermi.boosting._terms import Charges, TermRows
from fermi.formulas.ermi import nonzero


class CurvatureBound:
    """A diagonal bound D ⪰ ∇²Φ, m × n; for two classes its last row bounds the curvature in the one score of a row.

    Move the logits along v, and write v̄_i = F_i · v_i. The second derivative of Φ has two parts.

    Each row by itself, W held fixed: Σ_i Σ_j F_ij (w_i + λ share_i (C_ij − F_i · C_i)) (v_ij − v̄_i)², of which the
    loss is the first half. A negative charge only helps, so its positive part is enough.

    All rows together, since W follows them: ERMI is a sum of P²_sj / (p_s p_j), whose second derivative is
    2 (Ṗ_sj − π_sj ṗ_j)² / (p_s p_j) with π_sj = P_sj / p_j. In the groups' mean speeds √p_s d_s, Ṗ − π ṗ is the oblique
    projection I − uvᵀ with v = √p and u = π / √p, the column W*_j; its norm is ‖u‖ ‖v‖ = ‖W*_j‖. A mean's square is at
    most the mean square, so this part is at most Σ_i share_i Σ_j (2 ‖W*_j‖² / p_j) (F_ij (v_ij − v̄_i))².

    Both are Σ_j F_ij h_ij (v_ij − v̄_i)². Since v_j − v̄ = Σ_l F_l (v_j − v_l), Cauchy-Schwarz and (a − b)² ≤ 2a² + 2b²
    give D_ij = 2 F_j (h_j (1 − F_j)² + Σ_{l≠j} F_l (1 − F_l) h_l). With two classes and the first logit at 0 half of it
    is exact.

    As F_l (1 − F_l) ≤ ¼, D is at most c F_j (1 − F_j) (w + λ share (max C − min C + ¼ Σ_j 2 ‖W*_j‖² / p_j)), where
    c = 1 for two classes and 4 for more. While that is below the loss's own Hessian no row needs to be looked at.
    """

    def __init__(self, terms: Sequence[TermRows], weight: Floats) -> None:
        self._terms, self._weight = terms, weight
        self._per_weight = [float((t.share[t.share > 0] / weight[t.share > 0]).max(initial=0.0)) for t in terms]
        self._h = np.empty((0, len(weight)))
        self._sum = np.empty(len(weight))

    def raise_hessian(self, hessian: Floats, F: Floats, found: Sequence[Charges], rate: float, factor: float) -> None:
        """Make `hessian`, now `factor` · w F (1 − F), at least `rate` · D; `found` are each term's charges at F."""
        m = len(F)
        stiffness = [
            rows.term.compared[:, None] * 2.0 * (c.W * c.W).sum(axis=1) / nonzero(c.laws.sum(axis=1))
            for rows, c in zip(self._terms, found, strict=True)
        ]
        steepest = [
            np.ptp(c.costs, axis=0).max() + 0.25 * B.sum(axis=1).max() for c, B in zip(found, stiffness, strict=True)
        ]
        if rate * (1.0 if m == 2 else 4.0) * (1.0 + np.dot(self._per_weight, steepest)) <= factor:
            return
        if not len(self._h):
            self._h = np.empty_like(F)
        self._h[:] = self._weight
        for rows, c, B in zip(self._terms, found, stiffness, strict=True):
            by_cell = np.zeros_like(c.costs)
            by_cell[:, 1:] = np.repeat(B, rows.term.prior.shape[1], axis=0).T
            _loops.add_stiffness(F, rows.cells, rows.share, c.costs, c.per_row, by_cell, self._h)
        _loops.raise_hessian(F, self._h, rate if m == 2 else 2.0 * rate, self._sum, hessian)
