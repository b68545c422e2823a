"""The parity difference of a table of weights, conditions × groups × classes, and its standard error."""

from __future__ import annotations

import math

import numpy as np

from fermi._typing import Floats
from fermi.formulas.dependence import rate_spread


def parity_difference(table: Floats) -> float:
    """The largest minus the smallest group rate p(ŷ|s, z), in the worst class and condition that have weight."""
    spreads = [rate_spread(weights / weights.sum()) for weights in table if weights.sum() > 0.0]
    return max(float((high - low).max()) for low, high in spreads)


def standard_error(table: Floats, squares: Floats) -> float:
    """The standard error of the parity difference, from weights and squared weights: that of the two extreme rates."""
    total = table.sum(axis=2, keepdims=True)
    rates = np.divide(table, total, out=np.full(table.shape, np.nan), where=total > 0)
    present = np.where(np.isnan(rates), -np.inf, rates), np.where(np.isnan(rates), np.inf, rates)
    high, low = present[0].argmax(axis=1), present[1].argmin(axis=1)
    spread = present[0].max(axis=1) - present[1].min(axis=1)
    z, j = np.unravel_index(spread.argmax(), spread.shape)
    variance = 0.0
    for s in (high[z, j], low[z, j]):
        p = rates[z, s, j]
        variance += p * (1.0 - p) * squares[z, s].sum() / total[z, s, 0] ** 2
    return float(math.sqrt(variance))
