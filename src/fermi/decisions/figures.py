"""What labels reach on rows whose true classes and groups are known: error, rates, gaps, and what is beyond noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fermi._typing import Floats, Ints
from fermi.formulas.dependence import rate_ratios
from fermi.formulas.ermi import nonzero
from fermi.formulas.gaps import parity_difference, standard_error
from fermi.inputs.cells import Cells

NOISE = 2.0  # standard errors of a difference that sampling alone explains easily


@dataclass(frozen=True)
class Figures:
    """What labels reach.

    Attributes
    ----------
    error : float
        The share of rows with a wrong label, or the mean cost where costs are given.
    error_noise : float
        The standard error of that.
    violation, standard_error : float
        The hard parity difference, of several attributes the largest, and its standard error.
    beyond_noise : float
        What the largest difference between two groups' rates has beyond two standard errors of that difference.
    ratio : float
        The least ratio of two groups' rates of the last class.
    rate : float
        The rate of the last class over all rows.
    """

    error: float
    error_noise: float
    violation: float
    standard_error: float
    beyond_noise: float
    ratio: float
    rate: float


def measure(labels: Ints, losses: Floats, weight: Floats, cells: Sequence[Cells], n_classes: int) -> Figures:
    """Measure labels by the true cells of the rows; `losses` is what each row's label costs."""
    share = weight / weight.sum()
    error = float(share @ losses)
    noise = float(np.sqrt(share**2 @ (losses - error) ** 2))
    tables = [c.hard(labels, n_classes) for c in cells]
    squares = [c.hard_squares(labels, n_classes) for c in cells]
    gaps = [(parity_difference(t), standard_error(t, q)) for t, q in zip(tables, squares, strict=True)]
    violation, its_error = max(gaps, default=(0.0, 0.0))
    beyond = max((_beyond_noise(t, q) for t, q in zip(tables, squares, strict=True)), default=0.0)
    ratio = min((last_ratio(t) for t in tables), default=1.0)
    return Figures(error, noise, violation, its_error, beyond, ratio, float(share @ (labels == n_classes - 1)))


def last_ratio(table: Floats) -> float:
    """The least ratio of two groups' rates of the last class, in the worst condition."""
    return min((float(rate_ratios(t / t.sum())[-1]) for t in table if t.sum() > 0.0), default=1.0)


def rates_of(table: Floats) -> Floats:
    """The rates p(ŷ | s, z) of a table, Z × k × m; 0 where a group has no weight."""
    rates: Floats = table / nonzero(table.sum(axis=2, keepdims=True))
    return rates


def effective_rows(table: Floats, squares: Floats) -> Floats:
    """How many rows of equal weight say as much of a rate as the rows of each cell do (Kish), Z × k."""
    total = table.sum(axis=2)
    rows: Floats = total**2 / nonzero(squares.sum(axis=2))
    return rows


def _beyond_noise(table: Floats, squares: Floats) -> float:
    """The largest part of a difference between two groups that is beyond `NOISE` of its standard errors.

    Variances are those of the rate of both groups together, as in a test of whether they differ.
    """
    rates, rows = rates_of(table), effective_rows(table, squares)
    worst = 0.0
    for rate, weight, n in zip(rates, table.sum(axis=2), rows, strict=True):
        seen = np.flatnonzero(weight > 0.0)
        if len(seen) < 2:
            continue
        r, w, n = rate[seen], weight[seen], n[seen]
        pooled = (w[:, None, None] * r[:, None] + w[None, :, None] * r[None]) / (w[:, None] + w[None])[..., None]
        noise = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n[:, None] + 1.0 / n[None])[..., None])
        worst = max(worst, float((np.abs(r[:, None] - r[None]) - NOISE * noise).max()))
    return worst
