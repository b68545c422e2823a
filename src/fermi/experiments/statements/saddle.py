"""Proposition 1, corollary 1, and lemmas 10 and 11: the min-max form, its gradients and its constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import approx_fprime, minimize

from fermi._typing import Floats, Law
from fermi.experiments.statements import laws
from fermi.experiments.statements.orderings import drawn
from fermi.experiments.statements.small_problem import SmallProblem
from fermi.experiments.statements.statement import Measured, Statement, equal, every, several
from fermi.formulas import theory

Bound: TypeAlias = Callable[[SmallProblem, float], float]  # of a problem and its least p(ŷ)


def psi(W: Floats, P: Law) -> float:
    """Ψ(W) without its − 1, as proposition 1 has it: traces of matrices."""
    p_y, root = np.diag(P.sum(axis=0)), np.diag(P.sum(axis=1) ** -0.5)
    return float(-np.trace(W @ p_y @ W.T) + 2.0 * np.trace(W @ P.T @ root))


def _negative(P: Law, flat: Floats) -> float:
    return -psi(flat.reshape(P.shape), P)


def _value(p: SmallProblem, point: Floats) -> float:
    return float(p.value(*p.split(point)))


def _trace(W: Floats, predicted: Callable[[Floats], Floats], theta: Floats) -> float:
    return float(np.trace(W @ np.diag(predicted(theta)) @ W.T))


def _entry(predicted: Callable[[Floats], Floats], j: int, theta: Floats) -> float:
    return float(predicted(theta)[j])


def variational(offset: float, quick: bool) -> Measured:
    """Measure whether ERMI is the largest Ψ: at the closed form, at random W, and where an optimiser ends."""
    rng, at_best, above, found = np.random.default_rng(1), [], [], []
    cases = drawn(quick, conditions=1)
    for i, ((_, P),) in enumerate(cases[:2_000]):
        D = laws.ermi([(1.0, P)])
        best = np.diag(P.sum(axis=1) ** -0.5) @ P @ np.diag(1.0 / P.sum(axis=0))
        at_best.append((psi(best, P) - offset, D))
        W = best + 10.0 ** rng.uniform(-3, 1) * rng.standard_normal(P.shape)
        above.append((psi(W, P) - offset, D))
        if i < 30:
            result = minimize(partial(_negative, P), rng.standard_normal(P.size), method="BFGS")
            found.append((-float(result.fun) - offset, D))
    return several(
        {
            "at W*": equal(at_best, of="random laws", within=1e-8),
            "at random W": every(above, of="random W"),
            "where an optimiser ends": equal(found, of="random laws", within=1e-5),
        }
    )


def estimate_of_batch(p: SmallProblem, rows: Any, theta: Floats, W: Floats, own_tables: bool) -> float:
    """The batch's estimate of the objective: corollary 1's, or loss + λ ERMI of the batch's own table."""
    if not own_tables:
        return float((p.loss(theta)[rows] + p.lam * p.psi(theta, W)[rows]).mean())
    P = np.eye(p.k)[p.s[rows]].T @ p.probabilities(theta)[rows] / len(rows)
    present = P[P.sum(axis=1) > 0]
    return float(p.loss(theta)[rows].mean() + p.lam * laws.ermi([(1.0, present)]))


def unbiased_estimate(own_tables: bool, quick: bool) -> Measured:
    """Measure whether the mean over all batches of a size is the objective, at W* and all its batches enumerated."""
    parts: dict[str, list[tuple[float, float]]] = {}
    for seed in range(5 if quick else 40):
        p = SmallProblem(seed, rows=7, groups=3, classes=3, lam=2.0)
        theta = p.theta()
        P = p.law(theta)
        best = P / np.sqrt(P.sum(axis=1))[:, None] / P.sum(axis=0)
        whole = float(p.loss(theta).mean()) + p.lam * laws.ermi([(1.0, P)])
        for size in (1, 2, 4, 7):
            batches = list(combinations(range(p.n), size))
            means = [estimate_of_batch(p, list(rows), theta, best, own_tables) for rows in batches]
            parts.setdefault(f"batches of {size}", []).append((float(np.mean(means)), whole))
    return several({name: equal(pairs, of="random problems") for name, pairs in parts.items()})


def unbiased_gradients(batch_prior: bool, quick: bool) -> Measured:
    """Measure whether the rows' gradients average to that of F, which finite differences give.

    With `batch_prior` each batch of 4 takes the prior of its own groups, as an estimate from the batch alone would.
    """
    pairs: list[tuple[float, float]] = []
    for seed in range(4 if quick else 20):
        p = SmallProblem(seed, rows=8, lam=1.5)
        theta, W = p.theta(0.7), p.dual(2.0)
        point = np.concatenate([theta.ravel(), W.ravel()])
        slope = approx_fprime(point, partial(_value, p), 1e-7)
        mean = np.zeros_like(point)
        batches = list(combinations(range(p.n), 4)) if batch_prior else [tuple(range(p.n))]
        for rows in batches:
            prior, kept = p.p_s, list(rows)
            if batch_prior:
                p.p_s = np.maximum(np.bincount(p.s[kept], minlength=p.k), 1) / len(kept)
            mean += np.concatenate([g[kept].mean(axis=0) for g in p.row_gradients(theta, W)]) / len(batches)
            p.p_s = prior
        pairs += list(zip(mean, slope, strict=True))
    return equal(pairs, of="partial derivatives", within=1e-4)


def row_size(claim: Callable[[SmallProblem], float], quick: bool) -> Measured:
    """Measure ‖P_s^{-1/2} E[s ŷᵀ]‖² of single rows against what the proof of lemma 10 takes for its bound."""
    pairs = []
    for seed in range(20 if quick else 200):
        p = SmallProblem(seed, rare=0.05)
        F = p.probabilities(p.theta(2.0))
        pairs.append((float(((F**2).sum(axis=1) / p.p_s[p.s]).max()), claim(p)))
    return every(pairs, of="random problems")


def square_of_columns(power: int, quick: bool) -> Measured:
    """Measure ‖∇_θ Tr(W diag(𝓕) Wᵀ)‖² against D^power · L²."""
    pairs = []
    for seed in range(20 if quick else 200):
        p = SmallProblem(seed)
        theta, D = p.theta(0.5), 10.0 ** p.rng.uniform(0.0, 1.5)
        W, F = p.dual(D), p.probabilities(theta)
        columns = (W**2).sum(axis=0)
        in_logits = F * (columns - (F @ columns)[:, None])
        sizes = (in_logits**2).sum(axis=1) * (p.X**2).sum(axis=1)
        pairs.append((float(sizes.max()), D**power * p.model().L ** 2))
    return every(pairs, of="random problems")


def index_of_columns(printed: bool, quick: bool) -> Measured:
    """Measure the display Σ_l ∇𝓕_l Σ_j W_{j,1} W_{j,l} for ∇_θ Tr(W diag(𝓕) Wᵀ) against finite differences."""
    pairs: list[tuple[float, float]] = []
    for seed in range(4 if quick else 20):
        p = SmallProblem(seed)
        W, x = p.dual(2.0), p.X[0]

        def predicted(flat: Floats, x: Floats = x, m: int = p.m) -> Floats:
            logits = x @ flat.reshape(-1, m)
            e = np.exp(logits - logits.max())
            return np.asarray(e / e.sum())

        at = p.theta(0.5).ravel()
        slope = approx_fprime(at, partial(_trace, W, predicted), 1e-7)
        jacobian = np.array([approx_fprime(at, partial(_entry, predicted, j), 1e-7) for j in range(p.m)])
        weights = (W[:, [0]] * W).sum(axis=0) if printed else (W * W).sum(axis=0)
        pairs += list(zip(jacobian.T @ weights, slope, strict=True))
    return equal(pairs, of="partial derivatives", within=1e-4)


def variance(claim: Bound, quick: bool) -> Measured:
    """Measure the variance of a row's gradient at W on the sphere of the printed radius against a bound."""
    pairs, named = [], []
    for p, theta, least in _with_rare_classes(quick):
        W = p.dual(theory.published_radius(p.setting(least)))
        spread = sum(float(((g - g.mean(axis=0)) ** 2).sum(axis=1).mean()) for g in p.row_gradients(theta, W))
        pairs.append((spread, claim(p, least)))
        named.append(f"least p(ŷ) {least:.2g}, λ = {p.lam:g}")
    return every(pairs, of="random problems", examples=named)


def _with_rare_classes(quick: bool) -> Iterator[tuple[SmallProblem, Floats, float]]:
    """Problems in which some class is rare: θ pushes all rows away from it."""
    for seed in range(20 if quick else 200):
        p = SmallProblem(seed, lam=10.0 ** np.random.default_rng(seed).uniform(-1, 2), size=1.0)
        p.X[:, 0] = np.abs(p.X[:, 0]) + 0.5
        theta = p.theta(0.5)
        theta[0, 0] -= p.rng.uniform(0.0, 12.0)
        yield p, theta, float(p.probabilities(theta).mean(axis=0).min())


def smoothness(claim: Bound, quick: bool) -> Measured:
    """Measure the norm of the Hessian of F, W within the corrected radius, against a bound on β."""
    pairs, named = [], []
    for seed in range(12 if quick else 100):
        lam, size = 10.0 ** np.random.default_rng(seed).uniform(-1, 2), (0.01, 1.0)[seed % 2]
        p = SmallProblem(seed, lam=lam, size=size, groups=2)
        theta = p.theta(1.0)
        least = float(p.probabilities(theta).mean(axis=0).min())
        W = p.dual(theory.corrected_radius(p.setting(least)))
        H = p.hessian(np.concatenate([theta.ravel(), W.ravel()]))
        pairs.append((float(np.linalg.norm(H, 2)), claim(p, least)))
        named.append(f"λ = {lam:.3g}, rows of norm {size:g}")
    return every(pairs, of="random problems", examples=named)


def block_in_W(claim: Callable[[SmallProblem], float], quick: bool) -> Measured:
    """Measure how fast ∇_W F moves with W against the proof's 2‖W − W'‖."""
    pairs = []
    for seed in range(12 if quick else 100):
        p = SmallProblem(seed, lam=10.0 ** np.random.default_rng(seed).uniform(-1, 2))
        theta, W, V = p.theta(), p.dual(1.0), p.dual(1.0)
        moved = (p.row_gradients(theta, W)[1] - p.row_gradients(theta, V)[1]).mean(axis=0)
        pairs.append((float(np.linalg.norm(moved)), claim(p) * float(np.linalg.norm(W - V))))
    return every(pairs, of="random problems")


def concavity(claim: Callable[[Floats], float], quick: bool) -> Measured:
    """Measure the least curvature of −F in W against 2λ times a function of p(ŷ)."""
    pairs = []
    for seed in range(12 if quick else 100):
        p = SmallProblem(seed, lam=10.0 ** np.random.default_rng(seed).uniform(-1, 1))
        theta = p.theta()
        H = p.hessian(np.concatenate([theta.ravel(), p.dual(1.0).ravel()]))[theta.size :, theta.size :]
        least = float(np.linalg.eigvalsh(-(H + H.T) / 2.0)[0])
        pairs.append((2.0 * p.lam * claim(p.probabilities(theta).mean(axis=0)) * (1.0 - 1e-6), least))
    return every(pairs, of="random problems")


def radius(claim: Callable[[float, float], float], quick: bool) -> Measured:
    """Measure ‖W*‖ against a bound of the least p(ŷ) and the least p(s)."""
    pairs = []
    for ((_, P),) in drawn(quick, conditions=1):
        p_s, p_y = P.sum(axis=1), P.sum(axis=0)
        pairs.append(
            (float(np.linalg.norm(P / np.sqrt(p_s)[:, None] / p_y)), claim(float(p_y.min()), float(p_s.min())))
        )
    return every(pairs, of="random laws")


def _published_beta(p: SmallProblem, least: float) -> float:
    return theory.published_beta(p.setting(least), p.model(), theory.published_radius(p.setting(least)))


def _corrected_beta(p: SmallProblem, least: float) -> float:
    return theory.corrected_beta(p.setting(least), p.model(), theory.corrected_radius(p.setting(least)))


def _published_variance(p: SmallProblem, least: float) -> float:
    return theory.published_variance(p.setting(least), p.model(), theory.published_radius(p.setting(least)))


def _corrected_variance(p: SmallProblem, least: float) -> float:
    return sum(theory.corrected_variances(p.setting(least), p.model(), theory.published_radius(p.setting(least))))


STATEMENTS = (
    Statement(
        "proposition-1", "ERMI is the largest value over W of −Tr(W P_ŷ Wᵀ) + 2 Tr(W P_ŷs P_s^{-1/2}) − 1",
        "proposition 1; proposition 2, first claim", variational, 1.0, 0.0, "the same without the − 1",
    ),
    Statement(
        "corollary-1", "The mean of ℓ_i + λ ψ_i over a batch estimates the objective without bias, at any batch size",
        "corollary 1", unbiased_estimate, False, True, "loss + λ · ERMI of the batch's own table does so",
    ),
    Statement(
        "lemma-10-unbiased", "The rows' gradients in θ and in W average to those of F", "lemma 10", unbiased_gradients,
        False, True, "they do so with the prior of each batch's own groups",
    ),
    Statement(
        "lemma-10-variance", "A row's gradient has at most the variance σ² that is printed", "lemma 10; theorem 1",
        variance, _published_variance, _corrected_variance, "σ² as corrected in docs/theory.md",
    ),
    Statement(
        "lemma-10-row", "‖P_s^{-1/2} E[s ŷᵀ]‖² ≤ 1 for every row", "lemma 10, proof", row_size, lambda p: 1.0,
        lambda p: 1.0 / float(p.p_s.min()), "it is at most 1/p_S^min",
    ),
    Statement(
        "lemma-10-square", "‖∇_θ Tr(W diag(𝓕) Wᵀ)‖² ≤ D²L²", "lemma 10, proof", square_of_columns, 2, 4,
        "it is at most D⁴L²",
    ),
    Statement(
        "lemma-10-index", "∇_θ Tr(W diag(𝓕) Wᵀ) = Σ_l ∇𝓕_l Σ_j W_{j,1} W_{j,l}", "lemma 10, proof", index_of_columns,
        True, False, "the same with W_{j,l}² in the last sum",
    ),
    Statement(
        "lemma-11-1", "F is β-smooth with the printed β", "lemma 11.1; theorem 1", smoothness, _published_beta,
        _corrected_beta, "β as corrected in docs/theory.md",
    ),
    Statement(
        "lemma-11-1-W", "‖∇_W F(θ, W) − ∇_W F(θ, W')‖ ≤ 2‖W − W'‖", "lemma 11.1, proof", block_in_W, lambda p: 2.0,
        lambda p: 2.0 * p.lam, "it is at most 2λ‖W − W'‖",
    ),
    Statement(
        "lemma-11-2", "F is 2λ p_ŷ^min-strongly concave in W", "lemma 11.2", concavity, lambda p_y: float(p_y.min()),
        lambda p_y: float(np.median(p_y)), "it is so with the median p(ŷ) in place of the least",
    ),
    Statement(
        "lemma-11-3", "‖W*‖ ≤ 1/(p_ŷ^min √p_S^min), so that a ball of twice that radius holds W*", "lemma 11.3", radius,
        lambda p_y, p_s: 1.0 / (p_y * math.sqrt(p_s)), lambda p_y, p_s: 1.0 / math.sqrt(p_y), "‖W*‖ ≤ 1/√p_ŷ^min",
    ),
)  # fmt: skip
