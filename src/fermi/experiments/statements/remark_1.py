"""Remark 1: strong concavity in W, from softmax within a compact region or from an ℓ2 term on W (`dual_l2`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from fermi._typing import Law
from fermi.experiments.statements import laws
from fermi.experiments.statements.orderings import drawn
from fermi.experiments.statements.small_problem import SmallProblem
from fermi.experiments.statements.statement import Measured, Statement, equal, every, several
from fermi.formulas import ermi as formula
from fermi.formulas.theory import least_probability


def compact(bound: Callable[[float], float], quick: bool) -> Measured:
    """Measure the least probability of softmax for θ within a ball against a bound that does not depend on θ."""
    pairs = []
    for seed in range(40 if quick else 400):
        p = SmallProblem(seed)
        norm, radius = float(np.linalg.norm(p.X, axis=1).max()), 10.0 ** p.rng.uniform(-1, 0.5)
        theta = p.theta()
        theta *= radius / np.linalg.norm(theta)
        least = bound(least_probability(norm, radius, p.m))
        pairs.append((least, float(p.probabilities(theta).mean(axis=0).min())))
    return every(pairs, of="random θ within a ball")


def strongly_concave(penalty: Callable[[float, float], float], quick: bool) -> Measured:
    """Measure the curvature of −Ψ + ρ‖W‖² in W as a class becomes rare, by second differences, against 2·penalty."""
    rng, pairs, named = np.random.default_rng(2), [], []
    for rare in (0.3, 1e-3, 1e-6, 1e-9):
        for rho in (0.1, 1e-2, 1e-3):
            P: Law = rng.dirichlet(np.ones(3))[:, None] * np.array([0.6, 0.4 - rare, rare])
            W, V = rng.standard_normal((3, 3)), np.zeros((3, 3))
            V[:, 2] = rng.standard_normal(3)
            V /= np.linalg.norm(V)  # along the rare class, where it bends least
            ahead, here, behind = (float(formula.dual_value(W + t * V, P, rho)) for t in (1.0, 0.0, -1.0))
            pairs.append((2.0 * penalty(rho, rare), -(ahead - 2.0 * here + behind) + 1e-9))
            named.append(f"p(ŷ) = {rare:g}, ρ = {rho:g}")
    return every(pairs, of="pairs of p(ŷ) and ρ", examples=named)


def closed_form(shift: float, quick: bool) -> Measured:
    """Measure W* = P_s^-1/2 P (P_ŷ + ρ)^-1 and the largest value against what an optimiser finds."""
    rng, values, points = np.random.default_rng(3), [], []
    for ((_, P),) in drawn(quick, conditions=1, groups=4, classes=4)[: 20 if quick else 100]:
        rho = 10.0 ** rng.uniform(-3, 0)

        def slope(w: Law, P: Law = P, rho: float = rho) -> tuple[float, Law]:
            W = w.reshape(P.shape)
            gradient = formula.dual_gradient(W, P) - 2.0 * rho * W
            return -float(formula.dual_value(W, P, rho)), -gradient.ravel()

        found = minimize(slope, np.zeros(P.size), jac=True, method="BFGS", options={"gtol": 1e-10})
        values.append((float(formula.penalised_ermi(P, rho)), -float(found.fun)))
        points += list(zip(formula.optimal_dual(P, rho + shift).ravel(), found.x, strict=True))
    return several(
        {
            "value": equal(values, of="random laws", within=1e-7),
            "entries of W*": equal(points, of="entries", within=1e-3),
        }
    )


def price(bound: Callable[[float, float], float], quick: bool) -> Measured:
    """Measure how far the ℓ2 term moves the regularizer: ERMI less its largest value, against a bound of it."""
    pairs = []
    for case in drawn(quick, conditions=1):
        ((_, P),) = case
        for rho in (1e-3, 0.1):
            moved = laws.ermi(case) - float(formula.penalised_ermi(P, rho))
            pairs.append((moved, bound(rho, float((formula.optimal_dual(P) ** 2).sum()))))
    return every(pairs, of="pairs of a random law and ρ")


def fair_is_least(centred: bool, quick: bool) -> Measured:
    """Measure whether, with the ℓ2 term, every fair prediction has the same regularizer, as with ERMI itself.

    With `centred` the term is on W − √p_s 1ᵀ, the W* of a fair prediction: then the largest value is
    Σ E²/(p_s(p_ŷ + ρ)) with E = P − p_s p_ŷᵀ, which is 0 exactly where ERMI is.
    """
    pairs = []
    for ((_, P),) in drawn(quick, conditions=1):
        fair, rho = laws.product(P), 0.1
        if centred:
            E = formula.excess(fair)
            value = float((E**2 / fair.sum(axis=1)[:, None] / (fair.sum(axis=0) + rho)).sum())
        else:
            value = float(formula.penalised_ermi(fair, rho))
        pairs.append((value, 0.0))
    return equal(pairs, of="fair laws, ρ = 0.1", within=1e-9)


STATEMENTS = (
    Statement(
        "remark-1-compact", "Softmax and θ within a compact region keep p(ŷ) above some μ > 0", "remark 1", compact,
        lambda mu: mu, lambda mu: 50.0 * mu, "above 50 times the μ that the radius gives",
    ),
    Statement(
        "remark-1-concave", "A small ℓ2 term on W makes F strongly concave in W, however rare a class is", "remark 1",
        strongly_concave, lambda rho, rare: rho, lambda rho, rare: 1.5 * (rho + rare),
        "with half as much again as the curvature 2(ρ + p(ŷ))",
    ),
    Statement(
        "remark-1-dual", "W* under it is P_s^-1/2 P (P_ŷ + ρ)^-1", "not in the paper", closed_form, 0.0, 0.1,
        "W* is that of ρ + 0.1",
    ),
    Statement(
        "remark-1-price", "It moves the regularizer by at most ρ‖W*‖²", "not in the paper", price,
        lambda rho, square: rho * square, lambda rho, square: 0.1 * rho * square, "by at most a tenth of that",
    ),
    Statement(
        "remark-1-fair", "With it all fair predictions are still equally good for the regularizer", "not in the paper",
        fair_is_least, False, True, "with the term on W − √p_s 1ᵀ they are",
    ),
)  # fmt: skip
