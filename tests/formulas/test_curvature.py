"""The second derivatives against differences of the first ones."""

from __future__ import annotations

import numpy as np
import pytest

from fermi.formulas import curvature, ermi
from tests.formulas.samples import Law


def softmax(logits: Law) -> Law:
    e: Law = np.exp(logits)
    e /= e.sum(axis=1, keepdims=True)
    return e


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_rows_bend_as_the_differences_of_their_gradients_say(classes: int) -> None:
    rng = np.random.default_rng(classes)
    logits, C, w = rng.standard_normal((6, classes)), rng.standard_normal((6, classes)), rng.random(6)

    def gradient(at: Law) -> Law:
        F = softmax(at)
        found: Law = w[:, None] * F + ermi.tilt(F, C)
        return found

    F, t = softmax(logits), ermi.tilt(softmax(logits), C)
    for k in range(classes):
        nudge = 1e-6 * np.eye(classes)[k]
        slope = (gradient(logits + nudge) - gradient(logits - nudge)) / 2e-6
        moved = (softmax(logits + nudge) - softmax(logits - nudge)) / 2e-6
        for j in range(classes):
            found = curvature.row_curvature(F[:, j], F[:, k], w, t[:, j], t[:, k], same=j == k)
            assert found == pytest.approx(slope[:, j], abs=1e-8)
            assert curvature.probability_slopes(F[:, j], F[:, k], same=j == k) == pytest.approx(moved[:, j], abs=1e-8)


@pytest.mark.parametrize(("groups", "classes"), [(2, 2), (3, 2), (2, 4), (4, 3)])
def test_ermi_bends_as_its_second_difference_says(groups: int, classes: int) -> None:
    rng = np.random.default_rng(10 * groups + classes)
    P = rng.random((groups, classes)) + 0.2
    P /= P.sum()
    moves = rng.standard_normal((groups, classes, 3))
    moves -= moves.mean(axis=1, keepdims=True)  # the groups' shares stay as they are
    moves *= 0.1
    W, p_s, p_y = ermi.optimal_dual(P), P.sum(1), P.sum(0)
    roots = [curvature.table_root(moves[:, j], W[:, j], p_s, p_y[j]) for j in range(classes)]
    found = sum(root.T @ root for root in roots)
    h = 1e-3

    def at(x: Law) -> float:
        return float(ermi.ermi(P + moves @ x))

    for a, u in enumerate(np.eye(3)):
        for b, v in enumerate(np.eye(3)):
            bent = (at(h * u + h * v) - at(h * u - h * v) - at(h * v - h * u) + at(-h * u - h * v)) / (4 * h * h)
            assert found[a, b] == pytest.approx(bent, rel=1e-4, abs=1e-6)


def test_what_has_no_weight_bends_nothing() -> None:
    P = np.array([[0.4, 0.1, 0.0], [0.0, 0.0, 0.0], [0.2, 0.3, 0.0]])
    J = np.zeros((3, 2))
    for j in range(3):
        assert not curvature.table_root(J, ermi.optimal_dual(P)[:, j], P.sum(1), P.sum(0)[j]).any()
