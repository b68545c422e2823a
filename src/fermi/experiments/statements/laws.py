"""Random joint laws of condition, group and prediction, and the paper's measures of them, written from definitions.

Nothing here comes from `fermi.formulas`: a check that used the formulas of the package would test them by themselves.
A case is a list of (p(z), law of (S, Ŷ) given z), groups in rows.
"""

from __future__ import annotations

import functools
import math
from typing import TypeAlias

import numpy as np

from fermi._typing import Law

Case: TypeAlias = list[tuple[float, Law]]
DRAWS, QUICK_DRAWS = 6_000, 400


@functools.lru_cache(maxsize=4)
def cases(draws: int, *, conditions: int = 3, groups: int = 6, classes: int = 6, seed: int = 0) -> tuple[Case, ...]:
    """Draw cases of all shapes: from nearly independent to nearly deterministic, with rare groups and classes."""
    rng = np.random.default_rng(seed)
    return tuple(_case(rng, conditions, groups, classes) for _ in range(draws))


def _case(rng: np.random.Generator, conditions: int, groups: int, classes: int) -> Case:
    Z, k, m = (int(rng.integers(low, high + 1)) for low, high in ((1, conditions), (2, groups), (2, classes)))
    return [(float(p), _law(rng, k, m)) for p in rng.dirichlet(np.ones(Z))]


def _law(rng: np.random.Generator, k: int, m: int) -> Law:
    """A law of k groups and m classes, every cell of it positive."""
    p = rng.dirichlet(np.full(k, 10.0 ** rng.uniform(-0.5, 1.0))) + 1e-5
    rates = rng.dirichlet(np.full(m, 10.0 ** rng.uniform(-2.0, 1.0)), size=k) + 1e-9
    common = rates.mean(axis=0)
    rates = common + 10.0 ** min(rng.uniform(-3.0, 1.0), 0.0) * (rates - common)
    P: Law = p[:, None] * rates
    P /= P.sum()
    return P


def independent(case: Case) -> Case:
    """The case with the same margins in which group and prediction are independent within every condition."""
    return [(p, np.outer(P.sum(axis=1), P.sum(axis=0))) for p, P in case]


def product(P: Law) -> Law:
    """The product of the margins of a law."""
    return np.outer(P.sum(axis=1), P.sum(axis=0))


def ermi(case: Case) -> float:
    """ERMI by its definition: the mean of the density ratio, less one."""
    return float(sum(p * (P * P / product(P)).sum() for p, P in case) - 1.0)


def root_of_ermi(case: Case) -> float:
    """√D_R; of a law so near to independence that its ERMI is rounded below zero, 0."""
    return math.sqrt(max(ermi(case), 0.0))


def chi_square(case: Case) -> float:
    """The χ² divergence between law and product of margins, by its definition."""
    return float(sum(p * ((P - product(P)) ** 2 / product(P)).sum() for p, P in case))


def renyi_information(case: Case, alpha: float) -> float:
    """Rényi's mutual information of an order of at least 1, infinity included, by its definition."""
    ratios = [(p * P, P / product(P)) for p, P in case]
    if alpha == 1.0:
        return float(sum((weight * np.log(ratio)).sum() for weight, ratio in ratios))
    if math.isinf(alpha):
        return float(np.log(max(ratio.max() for _, ratio in ratios)))
    mean = sum((weight * ratio ** (alpha - 1.0)).sum() for weight, ratio in ratios)
    return float(np.log(mean) / (alpha - 1.0))


def renyi_correlation(case: Case) -> float:
    """Rényi's correlation: the mean over conditions of the second singular value of P/√(p_s p_ŷ)."""
    return float(sum(p * np.linalg.svd(P / np.sqrt(product(P)), compute_uv=False)[1] for p, P in case))


def maximal_correlation(P: Law, rng: np.random.Generator, rounds: int = 4000) -> float:
    """The largest E[f(Ŷ) g(S)] over functions of mean 0 and variance 1, by alternating conditional means.

    Uses neither singular values nor eigenvalues: each of f and g is replaced by the best for the other.
    """
    p_s, p_y = P.sum(axis=1), P.sum(axis=0)
    g, before = rng.standard_normal(len(p_s)), -1.0
    for _ in range(rounds):
        g = g - p_s @ g
        g /= math.sqrt(p_s @ g**2)
        f = (P.T @ g) / p_y
        f -= p_y @ f
        size = math.sqrt(p_y @ f**2)
        if size < 1e-14 or abs(size - before) < 1e-15:
            return size
        before, g = size, (P @ (f / size)) / p_s
    return before


def pearson(case: Case, *, centred: bool) -> float:
    """Pearson's correlation of Ŷ and S numbered from 1, with or without the centring that equation (PC) leaves out."""
    total = 0.0
    for p, P in case:
        s, y = np.arange(1.0, P.shape[0] + 1), np.arange(1.0, P.shape[1] + 1)
        p_s, p_y = P.sum(axis=1), P.sum(axis=0)
        if centred:
            s, y = s - p_s @ s, y - p_y @ y
        total += p * float(s @ P @ y / math.sqrt((p_s @ s**2) * (p_y @ y**2)))
    return total


def lq(case: Case, q: float) -> float:
    """The L_q violation by its definition, the mean over conditions."""
    return float(sum(p * np.linalg.norm((P - product(P)).ravel(), q) for p, P in case))


def conditional_gap(case: Case) -> float:
    """The conditional L∞ violation: the largest |p(ŷ|s, z) − p(ŷ|z)|, averaged over z."""
    return float(sum(p * np.abs(P / P.sum(axis=1, keepdims=True) - P.sum(axis=0)).max() for p, P in case))


def rarest(case: Case) -> float:
    """The least p(s|z)."""
    return float(min(P.sum(axis=1).min() for _, P in case))
