"""Proposition 2 and theorem 2: what training rows say about the population they were drawn from."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.stats import binom
from sklearn.exceptions import ConvergenceWarning

from fermi._typing import Floats, Ints
from fermi.experiments.statements.orderings import drawn
from fermi.experiments.statements.rates import judged, slope_of
from fermi.experiments.statements.simulation import Plan, algorithm_1, random_rows, softmax
from fermi.experiments.statements.statement import Measured, Statement, compared, equal, every, several
from fermi.linear.classifier import FermiClassifier


def mean_root(n: int, p: float) -> float:
    """The mean of √p̂ over samples of n rows of which a share p is expected, exactly."""
    count = np.arange(n + 1)
    return float((binom.pmf(count, n, p) * np.sqrt(count / n)).sum())


def own_row_root(n: int, p: float) -> float:
    """The mean of s_i / √p̂ over all samples of n rows, all of them listed: what ψ_i^(n) multiplies W and 𝓕 with."""
    total = 0.0
    for groups in product((0, 1), repeat=n):
        if groups[0]:
            share = sum(groups) / n
            total += p ** sum(groups) * (1 - p) ** (n - sum(groups)) / math.sqrt(share)
    return total


def consistent(limit: Callable[[float], float], quick: bool) -> Measured:
    """Measure whether E[s_i p̂^-1/2] tends to a limit; it is E[√p̂], which the listing of all samples confirms."""
    pairs = [(own_row_root(10, p), mean_root(10, p)) for p in (0.05, 0.3, 0.5, 0.8)]
    n = 20_000 if quick else 1_000_000
    far = [(mean_root(n, p), limit(p)) for p in (0.01, 0.05, 0.2, 0.5, 0.9)]
    return several(
        {
            "all samples of 10 rows against E[√p̂]": equal(pairs, of="shares p"),
            f"n = {n:,} against the limit": equal(far, of="shares p", within=1e-3 if quick else 1e-4),
        }
    )


def leading_bias(factor: float, quick: bool) -> Measured:
    """Measure the relative bias of E[s_i p̂^-1/2] against a multiple of −(1 − p)/(8np), where np is at least 50."""
    pairs = []
    for n, p in product((1_000, 10_000) if quick else (1_000, 10_000, 100_000), (0.05, 0.2, 0.5, 0.9)):
        bias = mean_root(n, p) / math.sqrt(p) - 1.0
        pairs.append((bias / (factor * -(1 - p) / (8 * n * p)), 1.0))
    return equal(pairs, of="pairs of n and p, exact", within=0.05)


def inverse_share(own_row: bool, quick: bool) -> Measured:
    """Measure E[1/p̂] against 2/C, C = p, for samples of any size: infinite where a group can be absent.

    With `own_row` the row itself is of the group, as in ψ_i^(n): then it is (1 − (1 − p)^n)/p.
    """
    pairs, named = [], []
    for n, p in product((10, 100, 1_000), (0.05, 0.2, 0.5)):
        count = np.arange(n)
        mean = float((binom.pmf(count, n - 1, p) * n / (1 + count)).sum()) if own_row else math.inf
        absent = n * math.log10(1 - p)
        pairs.append((mean, 2 / p))
        named.append(f"n = {n:,}, p = {p}: the group is absent with probability 10^{absent:.3g}")
    return every(pairs, of="pairs of n and p", examples=named)


def halves(target: Callable[[float], float], quick: bool) -> Measured:
    """Measure what two means of squares of at most target(ε) each leave of ‖∇Φ‖, by Young and Jensen, against ε."""
    pairs = [(math.sqrt(2 * target(e) + 2 * target(e)), e) for e in (0.5, 0.1, 0.01, 1e-3)]
    return every(pairs, of="values of ε", examples=[f"ε = {e:g}" for e in (0.5, 0.1, 0.01, 1e-3)])


def linear_in_prior(steps: int, quick: bool) -> Measured:
    """Measure whether θ after some steps is linear in P_s^-1/2: at the middle of two of them it is then the mean."""
    rows, pairs = random_rows(60, 0), []
    for seed in range(3):
        roots = np.random.default_rng(seed).uniform(1.0, 4.0, (2, 3))
        plan = Plan(steps, 4, lambda t: 0.3, lambda t: 0.3, in_order=True)
        found = [
            algorithm_1(rows, plan, 1, np.random.default_rng(0), prior=root**-2.0)[1].ravel()
            for root in (roots[0], roots[1], roots.mean(axis=0))
        ]
        pairs += list(zip(found[2], (found[0] + found[1]) / 2.0, strict=True))
    return equal(pairs, of="entries of θ", within=1e-10)


def two_priors(most: float, quick: bool) -> Measured:
    """Measure the distance of one pass with the true prior from one with that of the rows, at 16 times the rows."""
    true, sizes, distances = np.array([0.5, 0.3, 0.2]), (100, 1_600), []
    for n in sizes:
        found = []
        for seed in range(12 if quick else 40):
            rows = random_rows(n, seed)
            # As many steps of the order 1/√n as there are rows, one pass.
            plan = Plan(n, 1, lambda t, n=n: n**-0.5, lambda t, n=n: n**-0.5, in_order=True)  # type: ignore[misc]
            ends = [algorithm_1(rows, plan, 1, np.random.default_rng(0), prior=p)[1] for p in (true, rows.prior)]
            found.append(float(np.linalg.norm(ends[0] - ends[1])))
        distances.append(np.array(found))
    small, large = distances
    ratio = float(large.mean() / small.mean())
    relative = [one.std(ddof=1) / math.sqrt(len(one)) / one.mean() for one in distances]
    what = f"‖θ_A − θ_B‖ at {sizes[1]:,} rows over that at {sizes[0]} ({large.mean():.2g} and {small.mean():.2g})"
    return compared(ratio, 1.96 * ratio * math.hypot(*relative), "at most", most, what=what)


def population() -> tuple[Floats, Floats, Ints, Floats]:
    """A population on 8 × 3 points: features, probability of each point, its group, and the law of labels there."""
    bits = np.array(list(product((-1.0, 1.0), repeat=3)))
    X = np.concatenate([bits + 0.4 * (s - 1) for s in range(3)])
    s = np.repeat(np.arange(3), 8)
    logits = np.column_stack([X, np.ones(24)]) @ np.random.default_rng(7).standard_normal((4, 3))
    return X, np.repeat([0.5, 0.3, 0.2], 8) / 8, s, softmax(logits)


def population_rows() -> tuple[Floats, Ints, Ints, Floats]:
    """The population as weighted rows: features, labels, groups, probabilities."""
    X, p, s, law = population()
    return np.repeat(X, 3, axis=0), np.tile(np.arange(3), 24), np.repeat(s, 3), (p[:, None] * law).ravel()


def population_objective(coef: Floats, intercept: Floats, lam: float) -> tuple[float, float]:
    """The objective and the norm of its gradient in (weights, intercept) over the whole population."""
    X, p, s, law = population()
    Xb = np.column_stack([X, np.ones(24)])
    F = softmax(X @ coef.T + intercept)
    P = np.array([(p[s == r, None] * F[s == r]).sum(axis=0) for r in range(3)])
    p_s, p_y = P.sum(axis=1), P.sum(axis=0)
    W = P / np.sqrt(p_s)[:, None] / p_y
    costs = (2.0 * W / np.sqrt(p_s)[:, None])[s] - (W**2).sum(axis=0)
    slope = F - law + lam * F * (costs - (F * costs).sum(axis=1, keepdims=True))
    value = float(-(p[:, None] * law * np.log(F)).sum() + lam * ((P**2 / np.outer(p_s, p_y)).sum() - 1.0))
    return value, float(np.linalg.norm(Xb.T @ (p[:, None] * slope)))


def sample(n: int, rng: np.random.Generator) -> tuple[Floats, Ints, Ints]:
    """Draw rows from the population: features, labels, groups."""
    X, p, s, law = population()
    at = rng.choice(24, n, p=p)
    y = (rng.random(n)[:, None] > law[at].cumsum(axis=1)[:, :2]).sum(axis=1)
    return X[at], y, s[at]


def one_pass(exponent: float, quick: bool) -> Measured:
    """Measure the gradient and the excess of the population's objective after one pass over n fresh rows."""
    lam, sizes = 1.0, (300, 1_000, 3_000) if quick else (300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
    X, y, s, weight = population_rows()
    exact = FermiClassifier(lam=lam, l2=0.0, tol=1e-10).fit(X, y, sensitive_features=s, sample_weight=weight)
    least = population_objective(exact.coef_, exact.intercept_, lam)[0]
    parts: dict[str, Measured] = {}
    for batch in (1, 16):
        norms, excesses = [], []
        for n in sizes:
            found = []
            for seed in range(6 if quick else 12):
                rows = sample(n, np.random.default_rng([seed, n]))
                model = FermiClassifier(
                    lam=lam, solver="sgda", batch_size=batch, max_iter=1, tol=0.0, l2=0.0, random_state=seed
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # one pass is all it gets
                    model.fit(*rows[:2], sensitive_features=rows[2])
                found.append(population_objective(model.coef_, model.intercept_, lam))
            excesses.append(float(np.mean([value for value, _ in found])) - least)
            norms.append([norm for _, norm in found])
        result = np.array(norms)
        name = f"batch {batch}, excess risk " + ", ".join(
            f"{e:.2g} at {n:,}" for e, n in zip(excesses, sizes, strict=True)
        )
        parts[name] = judged(slope_of(sizes, result), exponent, result, sizes, "fresh rows, one pass")
    return several(parts)


def dual_moves(softmax_model: bool, quick: bool) -> Measured:
    """Measure how fast W*(θ) moves with θ as a class becomes rare, against a fixed constant.

    Of a model whose probabilities are Lipschitz and smooth, 𝓕₁(θ, x) = θ_s² for the two groups s, as theorem 2 asks; or
    of softmax, whose logarithms are Lipschitz as well: there p(s|ŷ), and with it W*, does not feel how rare ŷ is.
    """
    pairs, named = [], []
    groups, X = np.repeat([0, 1], 20), np.random.default_rng(1).standard_normal((40, 2))

    def best(theta: Floats) -> Floats:
        if softmax_model:
            F = softmax(np.column_stack([np.zeros(40), X @ theta[:2] + theta[2]]))
        else:
            first = theta[groups] ** 2
            F = np.column_stack([1.0 - first, first])
        P = np.eye(2)[groups].T @ F / 40
        return np.asarray(P / np.sqrt(P.sum(axis=1))[:, None] / P.sum(axis=0))

    for rare in (0.5, 0.1, 1e-2, 1e-3):
        theta = np.array([0.5, 0.5, 3.0 * math.log(rare)]) if softmax_model else np.array([rare, rare])
        step = 1e-6 * rare
        unit = np.eye(len(theta))
        J = np.array([((best(theta + step * e) - best(theta - step * e)) / (2 * step)).ravel() for e in unit])
        pairs.append((float(np.linalg.norm(J, 2)), 10.0))
        shares = best(theta)  # W* itself stays bounded by 1/√p_S^min per class
        named.append(f"parameter {rare:g}, largest entry of W* {np.abs(shares).max():.2g}")
    return every(pairs, of="points θ", examples=named)


def radius_without(bound: Callable[[Floats, Floats], float], quick: bool) -> Measured:
    """Measure ‖W*‖² against a bound of p(s) and p(ŷ)."""
    pairs = []
    for ((_, P),) in drawn(quick, conditions=1):
        p_s, p_y = P.sum(axis=1), P.sum(axis=0)
        pairs.append((float((P**2 / p_s[:, None] / p_y**2).sum()), bound(p_s, p_y)))
    return every(pairs, of="random laws")


STATEMENTS = (
    Statement(
        "proposition-2", "E[ψ_i^(n)] tends to Ψ: the mean of s_i/√p̂ tends to √p", "proposition 2, second claim",
        consistent, math.sqrt, lambda p: 1.01 * math.sqrt(p), "it tends to 1.01 √p",
    ),
    Statement(
        "proposition-2-bias", "Its relative bias is −(1 − p)/(8np), to leading order", "not in the paper", leading_bias,
        1.0, 2.0, "it is twice that",
    ),
    Statement(
        "proposition-2-proof", "E[1/p̂] ≤ 2/C for all n from some N* on", "proposition 2, proof", inverse_share, False,
        True, "the same given that the row itself is of the group, as in ψ_i^(n)",
    ),
    Statement(
        "theorem-2",
        "One pass over n fresh rows: the population's gradient falls at least as n^-1/5, at any batch size",
        "theorem 2", one_pass, -0.2, -9.0, "at least as n^-9",
    ),
    Statement(
        "theorem-2-epsilon", "Two means of squares of at most ε/4 each give E‖∇Φ‖ ≤ ε", "theorem 2, proof", halves,
        lambda e: e / 4, lambda e: e * e / 4, "two of at most ε²/4 each do",
    ),
    Statement(
        "theorem-2-linear", "θ_t is a linear function of P_s^-1/2", "theorem 2, proof", linear_in_prior, 6, 2,
        "θ_2 is: W⁰ = 0",
    ),
    Statement(
        "theorem-2-priors", "The run with the rows' prior comes near to the run with the true one", "theorem 2, proof",
        two_priors, 0.5, 0.01, "sixteen times the rows make it a hundredth",
    ),
    Statement(
        "theorem-2-assumption", "W*(θ) is Lipschitz without a lower bound of p(ŷ), which theorem 2 does not assume",
        "theorem 2, proof", dual_moves, False, True, "it is for softmax of a linear map",
    ),
    Statement(
        "radius-without", "‖W*‖² ≤ m/p_S^min, whatever p(ŷ): a ball holds W* without assuming a lower bound of p(ŷ)",
        "not in the paper", radius_without, lambda p_s, p_y: len(p_y) / float(p_s.min()),
        lambda p_s, p_y: 0.1 * len(p_y) / float(p_s.min()), "it is at most a tenth of that",
    ),
)  # fmt: skip
