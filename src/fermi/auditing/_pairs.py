"""Differences between two predictions for the same rows, with intervals as of pairs."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats
from fermi.auditing._intervals import Intervals
from fermi.auditing._noise import Sums
from fermi.formulas.stacked import NAMES, measures
from fermi.records import Estimate

Mask = NDArray[np.bool_]
_GAP = NAMES.index("parity_difference")
_DRAWS = 1000


def quantile(confidence: float) -> float:
    """How many standard errors a normal interval reaches to either side."""
    return NormalDist().inv_cdf(0.5 + confidence / 2.0)


def of_shares(a: Mask, b: Mask, weight: Floats, confidence: float) -> Estimate:
    """The difference of two shares of the same rows: only rows in which they differ say anything.

    With half a row more in each of the two cells where they differ (Agresti and Min), of as many rows as the weights
    are worth.
    """
    total = float(weight.sum())
    if not total > 0.0:
        return Estimate(math.nan, note="no rows")
    n = total**2 / float((weight**2).sum())
    gained, lost = (n * float(weight[which].sum()) / total for which in (b & ~a, a & ~b))
    value = (gained - lost) / n
    more, less, rows = gained + 0.5, lost + 0.5, n + 2.0
    centre = (more - less) / rows
    half = quantile(confidence) * math.sqrt(max(more + less - (more - less) ** 2 / rows, 0.0)) / rows
    return Estimate(value, min(centre - half, value), max(centre + half, value))


def of_precisions(a: Mask, b: Mask, right: Mask, weight: Floats, confidence: float) -> Estimate:
    """The difference of two precisions, whose rows overlap: normal, by how each row moves it."""
    totals = [float(weight[which].sum()) for which in (a, b)]
    if not min(totals) > 0.0:
        return Estimate(math.nan, note="one of them never gives the label")
    values = [float(weight[which & right].sum()) / total for which, total in zip((a, b), totals, strict=True)]
    moves = [w * (right - p) / total for w, p, total in zip((weight * a, weight * b), values, totals, strict=True)]
    return _normal(values[1] - values[0], moves[1] - moves[0], confidence)


def of_areas(a: Floats, b: Floats, own: Mask, weight: Floats, confidence: float) -> Estimate:
    """The difference of two areas under ROC curves of the same rows, by the placements of each row (DeLong)."""
    if not own.any() or own.all():
        return Estimate(math.nan, note="only one true class")
    (first, moved), (second, then) = (_area(scores, own, weight) for scores in (a, b))
    return _normal(second - first, then - moved, confidence)


def _area(scores: Floats, own: Mask, weight: Floats) -> tuple[float, Floats]:
    """An area under the ROC curve, and by how much each row moves it."""
    below, above = np.empty(len(scores)), np.empty(len(scores))
    for of, others, out in ((own, ~own, below), (~own, own, above)):
        order = np.argsort(scores[others])
        ranked, summed = scores[others][order], np.concatenate([[0.0], weight[others][order].cumsum()])
        left, right = (np.searchsorted(ranked, scores[of], side=side) for side in ("left", "right"))
        out[of] = 0.5 * (summed[left] + summed[right]) / summed[-1]
    above[~own] = 1.0 - above[~own]
    totals = {True: float(weight[own].sum()), False: float(weight[~own].sum())}
    value = float((weight[own] * below[own]).sum() / totals[True])
    moves = np.where(own, weight * (below - value) / totals[True], weight * (above - value) / totals[False])
    return value, moves


def _normal(value: float, moves: Any, confidence: float) -> Estimate:
    half = quantile(confidence) * math.sqrt(float((moves**2).sum()))
    return Estimate(value, max(value - half, -1.0), min(value + half, 1.0))


def of_gaps(joint: Floats, squares: Floats, confidence: float, seed: int) -> tuple[float, float, Estimate]:
    """The parity differences of two predictions and their difference, from the table of both.

    Each gap has an interval of its own, which is wider upwards or downwards as the case may be; the two are put
    together with the correlation of drawn tables (Zou and Donner).

    Parameters
    ----------
    joint, squares : (conditions, groups, classes, classes) arrays
        Sums of weights and of squared weights of rows by what the first and the second predict.
    confidence : float
        That the interval is made for.
    seed : int
        Of the draws.
    """
    sides = [Sums(joint.sum(axis=axis), squares.sum(axis=axis), soft=False) for axis in (3, 2)]
    first, second = (float(measures(side.table)[_GAP]) for side in sides)
    if not ((sides[0].weight > 0).sum(axis=1) > 1).any():
        return math.nan, math.nan, Estimate(math.nan, note="no two groups with enough rows to compare")
    ends = []
    for side, value in zip(sides, (first, second), strict=True):
        if not ((side.pooled > 0.0) & (side.pooled < 1.0)).any():  # one label for all: no gap, and no draw shows one
            ends.append((0.0, 0.0))
            continue
        found = Intervals(side, confidence, _DRAWS, seed)
        ends.append((value - float(found.low[_GAP]), float(found.high[_GAP]) - value))
    both = Sums(joint.reshape(*joint.shape[:2], -1), squares.reshape(*joint.shape[:2], -1), soft=False)
    drawn = both.draw(both.rates, _DRAWS, np.random.default_rng(seed)).reshape(_DRAWS, *joint.shape)
    gaps = [measures(drawn.sum(axis=axis))[_GAP] for axis in (4, 3)]
    spread = float(np.std(gaps[0]) * np.std(gaps[1]))
    alike = float(np.cov(gaps[0], gaps[1], bias=True)[0, 1]) / spread if spread > 0.0 else 0.0
    (below_a, above_a), (below_b, above_b) = ends
    value = second - first
    down, up = (
        math.sqrt(max(b**2 + a**2 - 2.0 * alike * a * b, 0.0)) for a, b in ((above_a, below_b), (below_a, above_b))
    )
    return first, second, Estimate(value, max(value - down, -1.0), min(value + up, 1.0))
