r"""Upper confidence limits for the gaps of labels, on rows that had no part in choosing them.

Whether all gaps are within a bound is tested pair by pair: the claim is made only if the upper limit of every
difference between two groups' rates, each at the full confidence, is within the bound. If the bound does not hold, some
pair exceeds it, and the claim needs that very pair's limit to fail: so the claim is false with at most the probability
of one limit's failing, however many pairs there are (an intersection–union test, Berger 1982). Limits of single rates
are Clopper and Pearson's; those of a difference combine them (Zou and Donner 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from fermi._typing import Floats, Ints
from fermi.decisions.figures import effective_rows, rates_of
from fermi.inputs.cells import Cells

Flags: TypeAlias = NDArray[np.bool_]


def one_sided(rates: Floats, rows: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's lower and upper limits of rates, each one-sided; 0 and 1 where there are no rows."""
    hits, misses = rates * rows, (1.0 - rates) * rows
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0.0, beta.ppf(1.0 - confidence, hits, misses + 1.0), 0.0)
        high = np.where(misses > 0.0, beta.ppf(confidence, hits + 1.0, misses), 1.0)
    return low, high


def gap_limit(
    labels: Ints, cells: Sequence[Cells], n_classes: int, confidence: float, occurs: Sequence[Flags] | None = None
) -> float:
    """The upper confidence limit of the parity difference: the largest of all pairs, classes and conditions.

    Parameters
    ----------
    labels : (n,) int64
        The labels of rows that had no part in choosing them.
    cells : sequence of Cells
        Their true cells, per attribute.
    n_classes, confidence
        How many classes there are, and how sure the limit is to be.
    occurs : sequence of (Z, k) bool arrays, optional
        Which cells have any rows at all, here or elsewhere, per attribute. Of one that has some elsewhere and none here
        nothing is known; one that never has any takes no part. By default all may have some.
    """
    everywhere = [np.ones(c.shape, dtype=bool) for c in cells] if occurs is None else occurs
    pairs = zip(cells, everywhere, strict=True)
    return max((_limit(c, there, labels, n_classes, confidence, 1.0, slice(None)) for c, there in pairs), default=0.0)


def ratio_shortfall(
    labels: Ints,
    cells: Sequence[Cells],
    n_classes: int,
    confidence: float,
    min_ratio: float,
    occurs: Sequence[Flags] | None = None,
) -> float:
    """The upper limit of min_ratio × one group's rate of the last class − another's: 0 or less if the ratio holds."""
    everywhere = [np.ones(c.shape, dtype=bool) for c in cells] if occurs is None else occurs
    last, pairs = slice(-1, None), zip(cells, everywhere, strict=True)
    return max((_limit(c, there, labels, n_classes, confidence, min_ratio, last) for c, there in pairs), default=0.0)


def ratio_limit(
    labels: Ints, cells: Sequence[Cells], n_classes: int, confidence: float, occurs: Sequence[Flags] | None = None
) -> float:
    """The largest least ratio that holds with confidence: a lower limit, found by halving."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        holds = ratio_shortfall(labels, cells, n_classes, confidence, middle, occurs) <= 0.0
        low, high = (middle, high) if holds else (low, middle)
    return low


def _limit(
    cells: Cells, occurs: Flags, labels: Ints, n_classes: int, confidence: float, factor: float, classes: slice
) -> float:
    """The largest upper limit of factor · p_s − p_r over pairs of groups within a condition."""
    table, squares = cells.hard(labels, n_classes), cells.hard_squares(labels, n_classes)
    rows = np.repeat(effective_rows(table, squares)[:, :, None], n_classes, axis=2)
    rates = rates_of(table)
    low, high = one_sided(rates, rows, confidence)
    rates, low, high = (part[:, :, classes] for part in (rates, low, high))
    above, below = factor * (high - rates), rates - low
    reach = np.sqrt(above[:, :, None] ** 2 + below[:, None] ** 2)
    limits = factor * rates[:, :, None] - rates[:, None] + reach
    compared = occurs[:, :, None] & occurs[:, None] & ~np.eye(rates.shape[1], dtype=bool)
    compared &= (table.sum(axis=(1, 2)) > 0.0)[:, None, None]
    return float(limits[compared].max()) if compared.any() else 0.0
