"""The smooth part of the dual: value, gradient and Hessian by finite differences, and what it becomes as τ falls."""

from __future__ import annotations

import numpy as np
import pytest

from fermi._typing import Floats
from fermi.decisions.program import Program


def program(n_classes: int, n_cells: int, seed: int = 0, n: int = 60) -> Program:
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.2, 1.0, n)
    g = rng.dirichlet(np.ones(n_cells), n)
    g = np.column_stack([g / (weight @ g / weight.sum()), np.ones(n)])
    return Program(rng.dirichlet(np.ones(n_classes), n), g, weight / weight.sum())


def some_psi(of: Program, seed: int = 1) -> Floats:
    psi: Floats = np.random.default_rng(seed).normal(0.0, 0.2, of.shape)
    return psi


@pytest.mark.parametrize("tau", [0.5, 0.03])
@pytest.mark.parametrize("n_cells", [1, 3, 6])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_gradient_and_hessian_are_those_of_finite_differences(n_classes: int, n_cells: int, tau: float) -> None:
    some = program(n_classes, n_cells)
    psi, step = some_psi(some), 1e-5 * tau
    found = some.expand(psi, tau)
    gradient, hessian = np.zeros(psi.size), np.zeros((psi.size, psi.size))
    for i in range(psi.size):
        change = np.zeros(psi.size)
        change[i] = step
        ahead, behind = (some.expand(psi + sign * change.reshape(psi.shape), tau) for sign in (1.0, -1.0))
        gradient[i] = (ahead.value - behind.value) / (2.0 * step)
        hessian[i] = -(ahead.rates - behind.rates).ravel() / (2.0 * step)
    assert np.abs(gradient + found.rates.ravel()).max() < 1e-6
    assert np.abs(hessian - found.curvature).max() < 1e-6 * np.abs(found.curvature).max()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_curvature_is_symmetric_and_never_negative(n_classes: int) -> None:
    some = program(n_classes, 4)
    H = some.expand(some_psi(some), 0.1).curvature
    assert np.abs(H - H.T).max() < 1e-12
    assert np.linalg.eigvalsh(H).min() > -1e-12 * np.abs(H).max()


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_value_is_the_mean_of_the_smooth_maximum(n_classes: int) -> None:
    some, tau = program(n_classes, 3), 0.2
    psi = some_psi(some)
    full = psi if n_classes > 2 else np.column_stack([np.zeros(len(psi)), psi])
    u = some.scores - some.rate_weights @ full
    drawn = np.exp(u / tau) / np.exp(u / tau).sum(axis=1, keepdims=True)
    found = some.expand(psi, tau)
    assert found.value == pytest.approx(some.weight @ (tau * np.log(np.exp(u / tau).sum(axis=1))), abs=1e-13)
    rates = np.einsum("i,ic,ij->cj", some.weight, some.rate_weights, drawn)
    assert found.rates == pytest.approx(rates[:, -found.rates.shape[1] :], abs=1e-13)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_drawn_rates_become_those_of_the_labels_as_tau_falls(n_classes: int) -> None:
    some = program(n_classes, 3, n=500)
    psi = some_psi(some)
    labels = some.labels(psi)
    hard = np.stack([some.rate_weights.T @ (some.weight * (labels == j)) for j in range(n_classes)], axis=1)
    found = some.expand(psi, 1e-9)
    assert found.rates == pytest.approx(hard[:, -found.rates.shape[1] :], abs=1e-12)
    best = some.adjusted(psi)
    value = np.maximum(best, 0.0) + some.scores[:, 0] if n_classes == 2 else best.max(axis=1)
    assert found.value == pytest.approx(some.weight @ value, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_huge_multipliers_overflow_nothing(n_classes: int) -> None:
    some = program(n_classes, 4)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = some.expand(1e6 * some_psi(some), 2e-4)
    assert np.isfinite(found.value)
    assert np.isfinite(found.rates).all()
    assert np.isfinite(found.curvature).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_first_of_equal_classes_is_taken(n_classes: int) -> None:
    even = Program(np.full((4, n_classes), 1.0 / n_classes), np.ones((4, 2)), np.full(4, 0.25))
    assert (even.labels(np.zeros(even.shape)) == 0).all()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_repeated_row_is_a_row_of_twice_the_weight(n_classes: int) -> None:
    some = program(n_classes, 3)
    times = np.arange(len(some.weight)) % 3 + 1
    weighed = Program(some.scores, some.rate_weights, times / times.sum())
    again = np.repeat(np.arange(len(times)), times)
    repeated = Program(some.scores[again], some.rate_weights[again], np.full(len(again), 1.0 / len(again)))
    one, other = (each.expand(some_psi(some), 0.05) for each in (weighed, repeated))
    assert one.value == pytest.approx(other.value, abs=1e-13)
    assert one.rates == pytest.approx(other.rates, abs=1e-13)
    assert one.curvature == pytest.approx(other.curvature, abs=1e-10)
