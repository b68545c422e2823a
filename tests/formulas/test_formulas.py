"""The formulas against their other forms, their derivatives, and the paper's statements as corrected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fermi.formulas import dependence
from fermi.formulas.ermi import centred, dual_gradient, dual_value, ermi, optimal_dual
from tests.formulas.samples import Law, duals, inverse, laws


@given(laws())
def test_ermi_has_four_equal_forms(P: Law) -> None:
    p_s, p_y = P.sum(1), P.sum(0)
    outer = np.outer(p_s, p_y)
    seen = outer > 0
    plain = (P[seen] ** 2 / outer[seen]).sum() - 1
    Q = P * np.sqrt(inverse(outer))
    trace = np.trace(Q.T @ Q) - 1
    chi2 = ((P - outer)[seen] ** 2 / outer[seen]).sum()
    variational = dual_value(optimal_dual(P), P)
    assert [plain, trace, chi2, variational] == pytest.approx([ermi(P)] * 4, abs=1e-10)
    assert (centred(P) ** 2).sum() == pytest.approx(ermi(P), abs=1e-10)


@given(laws(), st.integers(0, 10**6), st.floats(0.01, 10.0))
def test_no_dual_exceeds_ermi(P: Law, seed: int, scale: float) -> None:
    assert dual_value(duals(P, seed, scale), P) <= ermi(P) + 1e-10
    near = optimal_dual(P) + duals(P, seed, 1e-3)
    assert dual_value(near, P) <= ermi(P) + 1e-10


@given(laws(), st.integers(0, 10**6))
def test_dual_gradient_is_the_derivative_and_vanishes_at_the_optimum(P: Law, seed: int) -> None:
    W, step = duals(P, seed), 1e-4
    slopes = np.empty_like(P)
    for cell in np.ndindex(*P.shape):
        nudge = np.zeros_like(P)
        nudge[cell] = step
        slopes[cell] = (dual_value(W + nudge, P) - dual_value(W - nudge, P)) / (2 * step)
    assert dual_gradient(W, P) == pytest.approx(slopes, abs=1e-6)
    assert np.abs(dual_gradient(optimal_dual(P), P)).max() <= 1e-12


@given(laws(), st.integers(0, 10**6), st.floats(0.1, 1000.0))
def test_the_dual_block_of_the_hessian_carries_lambda(P: Law, seed: int, lam: float) -> None:
    """∇²_WW of λΨ is −2λ P_ŷ; the paper's Lipschitz constant 2 misses the λ (corrections, β)."""
    W, V = duals(P, seed), duals(P, seed + 1)
    change = lam * (dual_gradient(W, P) - dual_gradient(V, P))
    assert change == pytest.approx(-2 * lam * (W - V) * P.sum(0), abs=1e-9 * lam)
    assert np.linalg.norm(change) <= 2 * lam * P.sum(0).max() * np.linalg.norm(W - V) * (1 + 1e-9)


def test_the_published_dual_lipschitz_constant_fails_for_large_lambda() -> None:
    P, lam = np.array([[0.5, 0.1], [0.3, 0.1]]), 20.0
    change = lam * (dual_gradient(np.ones((2, 2)), P) - dual_gradient(np.zeros((2, 2)), P))
    assert np.linalg.norm(change) > 2 * np.linalg.norm(np.ones((2, 2)))


@given(laws())
def test_one_row_of_the_scaled_joint_is_at_most_one_over_the_rarest_group(P: Law) -> None:
    """Variance bound: ‖P_s^{-1/2} s ŷᵀ‖² of a single row reaches 1/p_S^min, not 1; only the whole law stays below 1."""
    p_s = P.sum(1)
    rarest = p_s[p_s > 0].min()
    single = inverse(p_s)  # a row of group r that predicts one class for certain
    assert single.max() == pytest.approx(1 / rarest)
    assert ((P * np.sqrt(inverse(p_s))[:, None]) ** 2).sum() <= 1 + 1e-12


@given(laws())
def test_the_radius_of_the_dual(P: Law) -> None:
    p_s, p_y = P.sum(1), P.sum(0)
    least_s, least_y = p_s[p_s > 0].min(), p_y[p_y > 0].min()
    rank = min((p_s > 0).sum(), (p_y > 0).sum())
    norm2 = (optimal_dual(P) ** 2).sum()
    slack = 1 + 1e-9
    assert norm2 <= slack * (1 + ermi(P)) / least_y
    assert (1 + ermi(P)) / least_y <= slack * rank / least_y
    assert rank / least_y <= slack * (2 / (least_y * np.sqrt(least_s))) ** 2  # as published: true, and loose


@given(laws())
def test_renyi_correlation_is_a_singular_value_not_an_eigenvalue(P: Law) -> None:
    p_s, p_y = P.sum(1), P.sum(0)
    Q = P * np.sqrt(inverse(np.outer(p_s, p_y)))
    values = np.linalg.svd(Q, compute_uv=False)
    second = values[1] if len(values) > 1 else 0.0
    assert values[0] == pytest.approx(1.0)
    assert dependence.renyi_correlation(P) == pytest.approx(second, abs=1e-7)


@pytest.mark.slow
def test_renyi_correlation_is_the_best_correlation_of_any_scores() -> None:
    """Against the definition: alternate the optimal f given g and g given f until they stop moving."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        P = rng.random((4, 3)) ** 3
        P /= P.sum()
        p_s, p_y = P.sum(1), P.sum(0)
        g = rng.standard_normal(4)
        for _ in range(3000):
            g = (g - p_s @ g) / np.sqrt(p_s @ (g - p_s @ g) ** 2)
            f = (P.T @ g) / p_y
            f = (f - p_y @ f) / np.sqrt(p_y @ (f - p_y @ f) ** 2)
            g = (P @ f) / p_s
        g = (g - p_s @ g) / np.sqrt(p_s @ (g - p_s @ g) ** 2)
        assert g @ P @ f == pytest.approx(dependence.renyi_correlation(P), abs=1e-9)


def test_the_published_bound_on_the_renyi_correlation_fails() -> None:
    P = np.array([[0.3, 0.2], [0.2, 0.3]])
    assert dependence.renyi_correlation(P) > ermi(P)
    assert dependence.renyi_correlation(P) ** 2 == pytest.approx(ermi(P))
