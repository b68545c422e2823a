"""Continuous predictions: what appendix C says of them, where it can be refuted by a law written down."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.integrate import quad

from fermi.experiments.statements.statement import Measured, Statement, every, untested

WIDTHS = (1.0, 0.1, 0.01, 0.001)
REASON = (
    "fermi predicts classes: softmax gives every class a probability, and W has a column for each. With a density in "
    "their place W* would be a function that has to be learned, which neither Algorithm 1 nor its proof has, and the "
    "paper has no experiment with one"
)


def separated(width: float) -> tuple[float, Callable[[float], float], Callable[[float], float]]:
    """Two groups of one half whose predictions are uniform on neighbouring intervals: ERMI, E[..] of one point, gap.

    Given s = 0 the prediction is uniform on [0, w], given s = 1 on [w, 2w]. So |p(ŷ, s) − p(ŷ)p(s)| = 1/(4w) on all of
    [0, 2w] for both groups, and D_R = 1 whatever w.
    """

    def joint(y: float) -> float:
        return 0.5 / width if 0.0 <= y <= width else 0.0

    def overall(y: float) -> float:
        return 0.5 / width if 0.0 <= y <= 2.0 * width else 0.0

    middle = [width]
    D = 2.0 * quad(lambda y: joint(y) ** 2 / (overall(y) * 0.5), 0.0, 2.0 * width, points=middle)[0] - 1.0
    return D, lambda y: abs(joint(y) - 0.5 * overall(y)), lambda y: abs(2.0 * joint(y) - overall(y))


def densities(q: float, quick: bool) -> Measured:
    """Measure the L_q violation of the separated densities, by quadrature, against √D_R."""
    pairs = []
    for width in WIDTHS:
        D, apart, _ = separated(width)
        if math.isinf(q):
            left = apart(0.5 * width)
        else:
            left = (2.0 * quad(lambda y: apart(y) ** q, 0.0, 2.0 * width, points=[width])[0]) ** (1.0 / q)  # noqa: B023
        pairs.append((left, math.sqrt(D) * (1.0 + 1e-6)))
    return every(pairs, of="widths of the intervals", examples=[f"intervals of {width:g}" for width in WIDTHS])


def conditional_densities(classes: bool, quick: bool) -> Measured:
    """Measure the conditional L∞ violation of the separated densities against √D_R / p_S^min, p_S^min = ½.

    With `classes` it is that of the two intervals as classes, as a classifier would have them.
    """
    pairs = []
    for width in WIDTHS:
        D, _, gap = separated(width)
        left = 0.5 if classes else max(gap(y) for y in np.linspace(0.1 * width, 1.9 * width, 19))
        pairs.append((left, math.sqrt(D) / 0.5 * (1.0 + 1e-6)))
    return every(pairs, of="widths of the intervals", examples=[f"intervals of {width:g}" for width in WIDTHS])


STATEMENTS = (
    Statement(
        "lemma-3-continuous", "L_q ≤ √D_R for continuous predictions too, q = 2", "lemma 3; appendix C", densities, 2.0,
        1.0, "the same for q = 1",
    ),
    Statement(
        "lemma-8-continuous", "The conditional L∞ violation is at most √D_R / p_S^min for continuous predictions too",
        "lemmas 8 and 9; appendix C", conditional_densities, False, True, "the same for the two intervals as classes",
    ),
    Statement(
        "continuous", "Training with continuous predictions", "appendices B and C", lambda claim, quick: claim,
        untested(REASON), every([(1.0, 0.0)], of="false statements"), "1 ≤ 0",
    ),
)  # fmt: skip
