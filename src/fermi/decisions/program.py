r"""The convex stage: labels that are as right as can be while linear limits on the groups' rates hold.

A row has scores S_ij, one per class (the probabilities F of a model, or minus the expected costs), and rate weights
g_ic, one per cell c = (condition, group), such that E[g_c 1{ŷ = j}] = P(ŷ = j | c): what a group model says of
p(c | x), divided by its mean. The best labels, drawn or not, that keep L R ≤ b for the rates R_cj solve a linear
program, and its dual has one unknown per cell and class, Ψ: the label of a row is

    argmax_j  S_ij − Σ_c g_ic Ψ_cj.

`Program` is the dual's smooth part, with the maximum over classes replaced by τ log Σ exp(· / τ). Every value of τ is
convex, and as τ falls to zero the labels that are drawn become the arg-max.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fermi._typing import Floats, Ints
from fermi.decisions._loops import expand_many, expand_two


@dataclass(frozen=True, eq=False)
class Expansion:
    """The smooth part of the dual at some Ψ.

    Attributes
    ----------
    value : float
        The mean of τ log Σ_j exp(u_j / τ).
    rates : (C, J) array
        R, the rates of the labels drawn from softmax(u / τ). Minus these is the gradient in Ψ.
    hessian : function
        Computes −∂R/∂Ψ, which costs more than the rest and which a line search does not ask for.
    """

    value: float
    rates: Floats
    hessian: Callable[[], Floats]

    @cached_property
    def curvature(self) -> Floats:
        """−∂R/∂Ψ, the Hessian, (C·J, C·J)."""
        return self.hessian()


@dataclass(frozen=True, eq=False)
class Program:
    """Rows of the stage.

    Attributes
    ----------
    scores : (n, m) array
        S.
    rate_weights : (n, C) array
        g; the weighted mean of each column is one.
    weight : (n,) array
        The weight of each row, summing to one.
    """

    scores: Floats
    rate_weights: Floats
    weight: Floats

    @property
    def two_classes(self) -> bool:
        """Whether the rate of the second class says all: that of the first is one minus it, and needs no unknown."""
        return bool(self.scores.shape[1] == 2)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of Ψ: cells × classes that have unknowns."""
        return self.rate_weights.shape[1], 1 if self.two_classes else self.scores.shape[1]

    def adjusted(self, psi: Floats) -> Floats:
        """The adjusted scores u = S − g Ψ: n × m, or u₁ − u₀ of two classes, n."""
        charged = self.rate_weights @ psi
        if self.two_classes:
            margin: Floats = self.scores[:, 1] - self.scores[:, 0] - charged[:, 0]
            return margin
        return self.scores - charged

    def labels(self, psi: Floats) -> Ints:
        """The class of each row, the first of the best."""
        u = self.adjusted(psi)
        codes: Ints = (u > 0).astype(np.int64) if self.two_classes else u.argmax(axis=1)
        return codes

    def expand(self, psi: Floats, tau: float) -> Expansion:
        """The smooth part of the dual at Ψ, with its gradient and its Hessian (1/τ) Σ w g gᵀ ⊗ (diag P − P Pᵀ)."""
        return self._expand_two(psi, tau) if self.two_classes else self._expand_many(psi, tau)

    @cached_property
    def _margin(self) -> Floats:
        margin: Floats = self.scores[:, 1] - self.scores[:, 0]
        return margin

    @cached_property
    def _base(self) -> float:
        return float(self.weight @ self.scores[:, 0])

    def _expand_two(self, psi: Floats, tau: float) -> Expansion:
        rates, spread = np.zeros(len(psi)), np.empty(len(self.weight))
        value = expand_two(self._margin, self.rate_weights, self.weight, psi[:, 0].copy(), tau, rates, spread)

        def hessian() -> Floats:
            rows = np.flatnonzero(spread)
            g = self.rate_weights[rows]
            curvature: Floats = (g.T * (spread[rows] / tau)) @ g
            return curvature

        return Expansion(self._base + value, rates[:, None], hessian)

    def _expand_many(self, psi: Floats, tau: float) -> Expansion:
        rates, P, open_rows = np.zeros(psi.shape), np.empty(self.scores.shape), np.empty(len(self.weight), dtype=bool)
        flat = np.ascontiguousarray(psi)
        value = expand_many(self.scores, self.rate_weights, self.weight, flat, tau, rates, P, open_rows)
        return Expansion(value, rates, lambda: self._curvature(P, np.flatnonzero(open_rows), tau))

    def _curvature(self, P: Floats, rows: Ints, tau: float) -> Floats:
        """The Hessian of several classes, from the probabilities of the labels that are drawn; some rows have a say."""
        g, p, scaled = self.rate_weights[rows], P[rows], self.weight[rows] / tau
        C, J = self.shape
        curvature = np.empty((C, J, C, J))
        for j in range(J):
            for k in range(j + 1):
                block = (g.T * (scaled * p[:, j] * ((j == k) - p[:, k]))) @ g
                curvature[:, j, :, k] = curvature[:, k, :, j] = block
        return curvature.reshape(C * J, C * J)
