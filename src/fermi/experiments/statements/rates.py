"""Theorem 1 and its remarks: how fast the gradient norm falls with the number of steps or of rows seen.

The paper's rates are upper bounds: 𝒪(ε^-q) rows for a gradient of ε means that the gradient falls at least as fast as
the -1/q-th power of the rows. So a measured slope can refute a rate, by being slower than it; a faster slope does not
prove the bound, it only fails to refute it on the problem measured. The slopes are those of straight lines through the
logarithms, with intervals from resampling the seeds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fermi._typing import Floats
from fermi.experiments.statements.simulation import Plan, Rows, algorithm_1, known_minimum, random_rows
from fermi.experiments.statements.statement import Measured, Statement, compared, every, several
from fermi.linear.classifier import FermiClassifier


class Slope(NamedTuple):
    """The slope of a straight line through logarithms, and the half-width of its 95% interval."""

    value: float
    half_width: float


def slope_of(sizes: Sequence[int], norms: Floats, seed: int = 0) -> Slope:
    """The slope of the mean norm against sizes, both in logarithms; `norms` has a row per size, a column per seed.

    The half-width is the larger of that of the seeds, resampled, and that of the points around the line.
    """
    x = np.log(np.asarray(sizes, dtype=float))
    rng, seeds = np.random.default_rng(seed), norms.shape[1]

    def fit(means: Floats) -> tuple[float, Floats]:
        y = np.log(np.maximum(means, 1e-300))
        slope, start = np.polyfit(x, y, 1)
        return float(slope), y - start - slope * x

    found, left = fit(norms.mean(axis=1))
    again = [fit(norms[:, rng.integers(seeds, size=seeds)].mean(axis=1))[0] for _ in range(400)]
    resampled = float(np.quantile(np.abs(np.asarray(again) - found), 0.95)) if seeds > 1 else 0.0
    spread = float(np.sqrt((left**2).sum() / max(len(x) - 2, 1) / ((x - x.mean()) ** 2).sum()))
    return Slope(found, max(resampled, 2.0 * spread))


def judged(slope: Slope, exponent: float, norms: Floats, sizes: Sequence[int], of: str) -> Measured:
    """A slope against the exponent of an upper bound."""
    ends = (
        f"mean ‖∇Φ‖ from {norms[0].mean():.2g} at {sizes[0]:,} to {norms[-1].mean():.2g} at {sizes[-1]:,} {of}; slope"
    )
    return compared(slope.value, slope.half_width, "at most", exponent, what=ends)


def powers(quick: bool, low: int, high: int) -> list[int]:
    """Numbers of steps, doubling, fewer of them if quick."""
    return [2**i for i in range(low, (high - 3 if quick else high) + 1)]


def single_rows(falling: bool, exponent: float, rows: Rows, quick: bool, high: int = 14) -> Measured:
    """Measure the slope of single-row steps: constant ones, or of the order T^-3/5 in θ and T^-2/5 in W for T steps."""
    sizes, found = powers(quick, 8 if falling else 9, high), []
    rng = np.random.default_rng(3)
    for T in sizes:
        a, b = (5.0 * T**-0.6, 2.0 * T**-0.4) if falling else (0.05, 0.1)
        plan = Plan(T, 1, lambda t, a=a: a, lambda t, b=b: b)  # type: ignore[misc]
        found.append(rows.gradient_norm(algorithm_1(rows, plan, 16 if quick else 48, rng)[0]))
    norms = np.array(found)
    return judged(slope_of(sizes, norms), exponent, norms, sizes, "single-row steps")


def batch_one(exponent: float, quick: bool) -> Measured:
    """Measure the slope at batch 1 on the problem with a known minimiser, and on one of three groups and classes."""
    known, theta = known_minimum()
    at = float(known.gradient_norm(theta[None])[0])
    parts = {
        f"known minimiser (‖∇Φ‖ there {at:.0e})": single_rows(True, exponent, known, quick),
        "three groups and classes": single_rows(True, exponent, random_rows(200, 0), quick, high=13),
    }
    return several(parts)


def constant_steps(falling: bool, quick: bool) -> Measured:
    """Measure whether single-row steps get anywhere near a slope of -1/5 with the step sizes of the theorem."""
    return single_rows(falling, -0.2, known_minimum()[0], quick)


def growing_batches(exponent: float, quick: bool) -> Measured:
    """Measure the slope against rows seen where the batch is as large as the number of steps: Θ(ε^-2) both."""
    rows, rng = known_minimum()[0], np.random.default_rng(4)
    sizes, found = [2**i for i in range(3, 8 if quick else 10)], []
    for T in sizes:
        plan = Plan(T, T, lambda t: 0.5, lambda t: 0.4)
        found.append(rows.gradient_norm(algorithm_1(rows, plan, 16 if quick else 48, rng)[0]))
    norms, seen = np.array(found), [T * T for T in sizes]
    return judged(slope_of(seen, norms), exponent, norms, seen, "rows seen")


def full_batches(exponent: float, quick: bool) -> Measured:
    """Measure the slope against steps on all rows at once; the gradient is the mean over the steps made."""
    parts = {}
    for name, rows in {"known minimiser": known_minimum()[0], "three groups and classes": random_rows(200, 0)}.items():
        sizes = powers(quick, 4, 11)
        norms = _along(rows, sizes[-1])
        means = np.array([[norms[:T].mean()] for T in sizes])
        parts[name] = judged(slope_of(sizes, means), exponent, means, sizes, "steps")
    return several(parts)


def _along(rows: Rows, steps: int, eta: float = 0.3) -> Floats:
    """The gradient norm after each step on all rows at once."""
    theta, W, root = np.zeros((1, rows.X.shape[1], rows.m)), np.zeros((rows.k, rows.m)), np.sqrt(rows.prior)
    group, norms = np.eye(rows.k)[rows.s], []
    for _ in range(steps):
        F = rows.probabilities(theta)[0]
        costs = (2.0 * W / root[:, None])[rows.s] - (W**2).sum(axis=0)
        slope = F - np.eye(rows.m)[rows.y] + rows.lam * F * (costs - (F * costs).sum(axis=1, keepdims=True))
        P = group.T @ F / len(rows.y)
        theta = theta - eta / len(rows.y) * (rows.X.T @ slope)[None]
        W = W + 2.0 * rows.lam * min(eta, 0.5 / max(rows.lam, 1e-9)) * (P / root[:, None] - W * P.sum(axis=0))
        norms.append(float(rows.gradient_norm(theta)[0]))
    return np.array(norms)


def variance_reduced(exponent: float, quick: bool) -> Measured:
    """Measure the slope of `solver="sreda"`, as shipped, against passes over the rows."""
    passes, found = ([6, 12, 24] if quick else [6, 12, 24, 48]), []
    rows = random_rows(2_000, 1)
    for count in passes:
        norms = []
        for seed in range(3 if quick else 8):
            model = FermiClassifier(lam=1.0, solver="sreda", max_iter=count, tol=0.0, random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped on purpose
                model.fit(rows.X[:, :3], rows.y, sensitive_features=rows.s)
            norms.append(float(model.history_[-1]["grad_norm"]))
        found.append(norms)
    result, seen = np.array(found), [count * len(rows.y) for count in passes]
    return judged(slope_of(seen, result), exponent, result, seen, "rows seen")


def vanishing_class(exponent: float, quick: bool) -> Measured:
    """Measure the slope at batch 1 where no row has the third class, so that its p(ŷ) falls towards 0."""
    rows = random_rows(200, 0, empty=True)
    least = rows.probabilities(algorithm_1(rows, _falling(2**11), 4, np.random.default_rng(0))[1]).mean(axis=1).min()
    return several({f"least p(ŷ) {least:.2g} and falling": single_rows(True, exponent, rows, quick, high=13)})


def _falling(T: int) -> Plan:
    return Plan(T, 1, lambda t: 5.0 * T**-0.6, lambda t: 2.0 * T**-0.4)


def steps_needed(lam: float, etas: Sequence[float], target: float = 0.01, most: int = 2_000) -> int:
    """The steps on all rows at once until ‖∇Φ‖ ≤ target and stays so, with the best of some step sizes."""
    rows, best = random_rows(200, 0, lam=lam), most
    for eta in etas:
        with np.errstate(all="ignore"):
            norms = _along(rows, best, eta)
        above = np.flatnonzero(~(norms <= target))
        best = min(best, int(above[-1]) + 1 if len(above) else 1)
    return best


def more_for_larger(compare: Callable[[int, int], tuple[float, float]], quick: bool) -> Measured:
    """Measure whether a larger λ needs more steps to the same gradient, each λ with its best step size of a grid."""
    lams = (0.1, 1.0, 10.0) if quick else (0.1, 1.0, 10.0, 100.0)
    counts = [steps_needed(lam, [2.0**-i for i in range(8)]) for lam in lams]
    named = [
        f"λ = {lams[i]:g} and {lams[i + 1]:g}: {counts[i]:,} and {counts[i + 1]:,} steps" for i in range(len(lams) - 1)
    ]
    pairs = [compare(counts[i], counts[i + 1]) for i in range(len(counts) - 1)]
    found = every(pairs, of="pairs of neighbouring λ", examples=named)
    return {**found, "example": "; ".join(named)}


STATEMENTS = (
    Statement(
        "theorem-1", "Single-row steps reach a gradient of ε in 𝒪(ε^-5) rows: slope at most -1/5",
        "theorem 1; remark 4", batch_one, -0.2, -0.9, "𝒪(ε^-1.1) rows: slope at most -0.9",
    ),
    Statement(
        "theorem-1-steps", "They do so with the constant step sizes that the precise statement gives, whatever ε",
        "theorem 1, precise statement, with remark 4", constant_steps, False, True,
        "they do so with steps of the order T^-3/5 and T^-2/5",
    ),
    Statement(
        "rate-batch", "Batches of Θ(ε^-2) rows: 𝒪(ε^-4) rows, slope at most -1/4", "section 2.1; theorem 1, precise",
        growing_batches, -0.25, -0.9, "𝒪(ε^-1.1) rows: slope at most -0.9",
    ),
    Statement(
        "rate-full", "All rows at once: 𝒪(ε^-2) steps, slope at most -1/2", "section 2.1", full_batches, -0.5, -4.0,
        "𝒪(ε^-1/4) steps: slope at most -4",
    ),
    Statement(
        "rate-sreda", "SREDA: 𝒪(ε^-3) rows, slope at most -1/3", "section 2.1, footnote", variance_reduced, -1 / 3,
        -20.0, "𝒪(ε^-1/20) rows: slope at most -20",
    ),
    Statement(
        "remark-1-rate", "Where p(ŷ) has no lower bound: 𝒪(ε^-8) rows, slope at most -1/8", "remark 1; remark 3",
        vanishing_class, -0.125, -0.9, "𝒪(ε^-1.1) rows: slope at most -0.9",
    ),
    Statement(
        "larger-lambda", "A larger λ needs more iterations", "section 2.1, after theorem 1", more_for_larger,
        lambda a, b: (a, b), lambda a, b: (0.9 * a, b), "ten times λ needs at least nine tenths as many",
    ),
)  # fmt: skip
