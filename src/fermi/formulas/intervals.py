"""Intervals that have a closed form."""

from __future__ import annotations

import math


def wilson(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval: the rates from which p of n rows lies no more than z standard errors (Wilson 1927).

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0.3, 10.0, 1.959964)]
    [0.1078, 0.6032]
    """
    centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    # Rounding must not put p outside.
    return min(max(centre - half, 0.0), p), max(min(centre + half, 1.0), p)
