"""The constants of the convergence theorem against gradients measured on random problems."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermi.fitting.objective import FairObjective, Term
from fermi.formulas import theory as formula
from fermi.formulas.ermi import optimal_dual
from fermi.inputs.cells import Cells
from tests.min_max import saddle_value
from tests.theory.saddle import Floats, N, Saddle, blocks, flat, lipschitz, problems


@pytest.mark.parametrize("options", problems())
def test_the_measured_row_gradients_average_to_that_of_the_objective(options: dict[str, Any]) -> None:
    p = Saddle(lam=2.0, **options)
    theta, W = p.theta(0.3), p.duals(2.0)
    step, direction = 1e-5, (p.theta(), p.duals(1.0))

    def value(t: float) -> float:
        moved = theta + t * direction[0]
        duals = tuple(w + t * d for w, d in zip(W, direction[1], strict=True))
        return saddle_value(p.objective, p.design.logits(moved), duals) + p.design.penalty(moved, p.l2)[0]

    slope = (value(step) - value(-step)) / (2 * step)
    assert p.gradient(theta, W) @ flat(*direction) == pytest.approx(slope, rel=1e-5, abs=1e-7)
    rows = p.row_gradients(theta, W).mean(axis=0)
    rows[: theta.size] += p.design.penalty(theta, p.l2)[1].ravel()
    assert rows == pytest.approx(p.gradient(theta, W), abs=1e-10)


@pytest.mark.parametrize("lam", [*(pytest.param(lam, marks=pytest.mark.slow) for lam in (0.01, 1.0)), 30.0])
@pytest.mark.parametrize("options", problems())
def test_corrected_beta_bounds_the_measured_smoothness(options: dict[str, Any], lam: float) -> None:
    p = Saddle(lam=lam, **options)
    F = p.probabilities(p.theta(0.5))
    corrected = p.theory(F).corrected
    whole, *measured = blocks(p, corrected.radius)
    bounds = formula.corrected_blocks(p.setting(F), p.model(), corrected.radius)
    assert (np.array(measured) <= bounds).all()
    assert whole <= corrected.beta
    assert whole >= corrected.beta / 60  # a bound that says something
    a, c, w = bounds
    assert corrected.beta == pytest.approx(np.linalg.norm([[a, c], [c, w]], 2))


def test_each_block_carries_lambda() -> None:
    """8L(D + 1/√p) for the cross block and 2 for the W block, as printed, fail by a factor that grows with λ."""
    p = Saddle(classes=3, groups=(2,), lam=100.0)
    F = p.probabilities(p.theta(0.5))
    s, model, D = p.setting(F), p.model(), formula.corrected_radius(p.setting(F))
    _, _, cross, in_w = blocks(p, D)
    assert in_w > 2
    assert cross > 8 * model.L * (D + 1 / math.sqrt(s.p_s_min))


def test_published_beta_fails_where_the_features_are_small() -> None:
    """λ is missing from the W block and the cross block; the θ block hides it unless b and L are small."""
    p = Saddle(classes=3, groups=(2,), lam=20.0, size=0.01)
    t = p.theory(p.probabilities(p.theta()))
    measured = lipschitz(p, t.corrected.radius)
    assert t.published.beta < measured <= t.corrected.beta


def test_published_beta_holds_on_standardised_rows_by_its_looseness() -> None:
    for lam in (0.01, 1.0, 30.0):
        p = Saddle(classes=3, groups=(2,), lam=lam)
        t = p.theory(p.probabilities(p.theta(0.5)))
        assert lipschitz(p, t.published.radius) <= t.published.beta


@pytest.mark.parametrize("options", problems())
def test_the_curvature_in_w_is_at_least_mu(options: dict[str, Any]) -> None:
    p = Saddle(lam=3.0, **options)
    theta = p.theta(0.5)
    mu = p.theory(p.probabilities(theta)).corrected.mu
    size = theta.size
    zero = tuple(np.zeros((*shape, p.classes)) for shape in p.shapes)
    unit = np.eye(sum(w.size for w in zero))
    edges = np.cumsum([w.size for w in zero])[:-1]
    at_zero = p.gradient(theta, zero)[size:]
    curvature = []
    for e in unit:
        W = tuple(part.reshape(w.shape) for part, w in zip(np.split(e, edges), zero, strict=True))
        change = p.gradient(theta, W)[size:] - at_zero  # −2λ p(z) p(ŷ|z) in the direction itself, 0 in all others
        assert change - (change @ e) * e == pytest.approx(0.0, abs=1e-12)
        curvature.append(-float(change @ e))
    assert min(curvature) == pytest.approx(mu, rel=1e-9)


def variance_bounds(p: Saddle, F: Floats) -> Floats:
    s = p.setting(F)
    return np.array(formula.corrected_variances(s, p.model(), formula.corrected_radius(s)))


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("options", problems())
def test_corrected_variance_bounds_the_measured_one(options: dict[str, Any], lam: float) -> None:
    p = Saddle(lam=lam, **options)
    F = p.probabilities(p.theta(0.5))
    corrected, bounds = p.theory(F).corrected, variance_bounds(p, F)
    measured = [p.variance(p.theta(10 ** p.rng.uniform(-2, 0.5)), p.duals(corrected.radius)) for _ in range(60)]
    assert (np.max(measured, axis=0) <= bounds).all()
    assert corrected.sigma2 == pytest.approx(bounds.sum())
    assert np.sum(measured, axis=1).max() >= corrected.sigma2 / 500


def test_the_variance_in_theta_is_of_the_order_of_the_fourth_power_of_the_radius() -> None:
    """The paper takes ‖∇_θ Tr(W diag(𝓕) Wᵀ)‖² ≤ D²L²; its σ² fails where a class is rare, and so D large."""
    p = Saddle(classes=3, groups=(2,), lam=1.0)
    theta = p.theta(0.3)
    theta[-1] = [0.0, 0.0, -5.0]
    F = p.probabilities(theta)
    t, model = p.theory(F), p.model()
    W = np.zeros((1, 2, 3))
    W[0, :, 0] = math.sqrt(0.5)  # all on one of the frequent classes
    D = t.corrected.radius
    in_theta = p.variance(theta, (D * W,))[0]
    assert 2 * (model.G + model.L * D) ** 2 < in_theta <= variance_bounds(p, F)[0]
    assert p.variance(theta, (t.published.radius * W,)).sum() > 2 * t.published.sigma2


def test_the_variance_in_w_grows_with_the_number_of_groups() -> None:
    """A row's ‖P_s^{-1/2} s ŷᵀ‖² is ‖𝓕‖²/p(s), k in the mean; 16λ²(D² + 1) has 1 and holds for the printed D alone."""
    p = Saddle(classes=2, groups=(60,), lam=1.0)
    theta = np.zeros(p.design.shape)
    F = p.probabilities(theta)
    t = p.theory(F)
    D = t.corrected.radius
    in_w = p.variance(theta, p.duals(D))[1]
    assert max(16 * (D**2 + 1), 4 * (D + 1) ** 2) < in_w
    assert in_w <= min(16 * (t.published.radius**2 + 1), variance_bounds(p, F)[1])


def test_a_heavy_row_multiplies_the_variance() -> None:
    p = Saddle(classes=3, groups=(2,), lam=1.0)
    weight = np.ones(N)
    weight[0] = 10 * N
    weight /= weight.sum()
    term = Term.of(Cells.of(np.zeros(N, dtype=np.int64), p.codes[0], p.shapes[0], weight))
    p.objective = FairObjective(p.objective.target, weight, (term,), 1.0)
    theta, zero = np.zeros(p.design.shape), (np.zeros((1, 2, 3)),)
    F = p.probabilities(theta)
    q = p.setting(F).sampling
    assert q == pytest.approx(N * weight[0])
    bounds = variance_bounds(p, F)
    heavy = 0.95 * p.theory(F).corrected.radius * np.eye(2, 3)[None] / math.sqrt(2)
    measured = np.maximum(p.variance(theta, zero), p.variance(theta, (-heavy,)))
    assert (measured <= bounds).all()
    assert measured[1] > bounds[1] / q


def setting(P: Floats, lam: float = 1.0) -> formula.Setting:
    k, m = P.shape
    p_y, p_s = float(P.sum(0).min()), float(P.sum(1).min())
    return formula.Setting(lam, k, m, 1, 1, k, p_y, p_y, p_s, 1.0, math.log(m))


@given(st.integers(2, 6), st.integers(2, 6), st.floats(0.05, 3.0), st.integers(0, 10**6))
def test_the_optimal_dual_is_inside_the_corrected_radius_inside_the_published(
    k: int, m: int, concentration: float, seed: int
) -> None:
    P = np.random.default_rng(seed).gamma(concentration, size=(k, m)) + 1e-6
    P /= P.sum()
    s = setting(P)
    assert np.linalg.norm(optimal_dual(P)) <= formula.corrected_radius(s) * (1 + 1e-12)
    assert formula.corrected_radius(s) <= formula.published_radius(s)


def test_the_corrected_radius_is_attained() -> None:
    P = np.diag([0.25, 0.25, 0.25, 0.25])
    assert np.linalg.norm(optimal_dual(P)) == pytest.approx(formula.corrected_radius(setting(P)))


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_softmax_has_the_constants_of_the_linear_model(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    e = np.exp(rng.standard_normal(m) * rng.uniform(0, 4))
    F, c, u = e / e.sum(), rng.standard_normal(m), rng.standard_normal(m)
    c, u = c / np.linalg.norm(c), u / np.linalg.norm(u)
    model = formula.linear_model(1.0, m if m > 2 else 3)
    J = np.diag(F) - np.outer(F, F)
    change = J @ u  # of F along u
    moved = change * c - change * (F @ c) - F * (change @ c)  # of J c along u
    assert np.linalg.norm(J, 2) <= min(model.L, model.beta_loss) + 1e-12
    assert np.linalg.norm(moved) <= model.b + 1e-12


def test_the_constants_of_the_linear_model_are_attained() -> None:
    half = np.array([0.5, 0.5])
    assert np.linalg.norm(np.diag(half) - np.outer(half, half), 2) == pytest.approx(formula.linear_model(1.0, 3).L)
    f = np.linspace(0, 1, 100_001)
    third = np.abs(f * (1 - f) * (1 - 2 * f)).max()
    assert math.sqrt(8) * third == pytest.approx(formula.linear_model(1.0, 3).b)
    assert math.sqrt(2) * third == pytest.approx(formula.linear_model(1.0, 1).b)
    assert pytest.approx(math.sqrt(2) / 2) == formula.linear_model(4.0, 1).L


def test_published_constants_are_those_printed() -> None:
    s = formula.Setting(2.0, 3, 2, 1, 1, 3, 0.25, 0.25, 0.16, 1.0, 0.7)
    model = formula.Model(G=1.5, beta_loss=0.8, L=0.6, b=0.3)
    c = formula.published(s, model, epsilon=0.5, batch=4)
    D = 2 / (0.25 * 0.4)
    beta = 2 * (0.8 + 2 * 2.0 * D * 2 * 0.3 * (D + 2.5) + 2 + 8 * 0.6 * (D + 2.5))
    sigma2 = 16 * 4 * (D**2 + 1) + 4 * 1.5**2 + 32 * 4 * D**2 * 0.36 * (1 + 6 / 0.16)
    kappa = beta / (2 * 2.0 * 0.25)
    assert (c.radius, c.beta, c.mu, c.kappa, c.sigma2) == pytest.approx((D, beta, 1.0, kappa, sigma2))
    assert (c.eta_theta, c.eta_w) == pytest.approx((1 / (kappa**2 * beta), 1 / beta))
    assert c.batch_size == pytest.approx(kappa * sigma2 / 0.25, abs=1)
    assert c.iterations == pytest.approx((kappa**2 * beta * 0.7 + kappa * beta**2 * D**2) / 0.25, rel=1e-9)
    assert c.floor == pytest.approx(math.sqrt(kappa * sigma2 / 4))
    assert formula.published(s, replace(model), epsilon=1e9, batch=4).batch_size == 1


@pytest.mark.parametrize("noisy", [False, True])
def test_steps_of_the_corrected_theory_keep_its_promise(noisy: bool) -> None:
    """The mean of ‖∇Φ‖² over the steps is below the bound, for the whole data and for batches."""
    p = Saddle(classes=3, groups=(2,), lam=1.0, size=0.5)
    t = p.theory(p.probabilities(np.zeros(p.design.shape))).corrected
    theta, W, steps, batch, found = np.zeros(p.design.shape), np.zeros((1, 2, 3)), 400, 5, []
    for _ in range(steps):
        _, in_logits = p.objective.value_and_gradient(p.design.logits(theta))
        found.append(float(((p.design.pull_back(in_logits) + p.design.penalty(theta, p.l2)[1]) ** 2).sum()))
        rows = p.rng.integers(0, N, batch) if noisy else np.arange(N)
        g = p.row_gradients(theta, (W,))[rows].mean(axis=0)
        slope = g[: theta.size].reshape(theta.shape) + p.design.penalty(theta, p.l2)[1]
        theta, W = theta - t.eta_theta * slope, W + t.eta_w * g[theta.size :].reshape(W.shape)
        W *= min(1.0, t.radius / np.linalg.norm(W))
    work = 34 * (t.kappa + 1) ** 2 * t.beta * math.log(3) + 3 * t.kappa * t.beta**2 * t.radius**2
    assert np.mean(found) <= work / steps + (5 * t.kappa * t.sigma2 / batch if noisy else 0.0)
    assert t.iterations == math.ceil(2 * work / 0.1**2)
