"""Which λ, strengths or bounds to try: a grid first, then more of them where the frontier bends."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fermi.errors import bad_argument
from fermi.fitting.lam_search import FINE
from fermi.inputs.arguments import number
from fermi.tradeoff._knob import BOUND, Knob

ROUNDS, PER_ROUND = 3, 3
_LARGEST, _HALF_DECADES = 1000.0, 10
_STRENGTHS = 11
_BOUNDS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 1.0)  # at the last labels are as they were
_NEAR = 0.05  # of the curve's extent: neighbours closer than this need nothing between them
_FINE = {"strength": 0.01, BOUND: 0.001}  # of the knobs that go by differences: λ goes by factors
_NOISE = 4.0  # standard errors, which an axis must span before steps along it mean anything


class Place(NamedTuple):
    """The place of a model on the rows that judge it, and the standard errors of both coordinates."""

    lam: float
    violation: float
    error: float
    violation_noise: float
    error_noise: float


def first_values(knob: Knob) -> list[float]:
    """The values to begin with: λ of 0 and from 0.03 to 1000 by half decades, strengths or bounds from 0 to 1."""
    if knob.name == BOUND:
        return list(_BOUNDS)
    if knob.name == "strength":
        return [i / (_STRENGTHS - 1) for i in range(_STRENGTHS)]
    return [0.0, *(float(f"{_LARGEST * 10 ** (-i / 2):.4g}") for i in reversed(range(_HALF_DECADES)))]


def read_values(lams: Any, knob: Knob) -> list[float]:
    """Check the values that a user gave, and sort them, each once."""
    high = 1.0 if knob.name in _FINE else math.inf
    expected = f"numbers of at least 0{' and at most 1' if high == 1.0 else ''}, at least one of them"
    if isinstance(lams, str) or not isinstance(lams, Iterable) or np.ndim(np.asarray(lams, dtype=object)) != 1:
        raise bad_argument("lams", f"is {lams!r}", expected)
    values = [number("lams", value, expected, low=0.0, high=high) for value in lams]
    if not values:
        raise bad_argument("lams", "is empty", expected)
    return sorted(set(values))


def non_dominated(violations: Sequence[float], errors: Sequence[float]) -> list[int]:
    """The places that no other one beats in violation or error without losing in the other, by growing violation.

    Examples
    --------
    >>> non_dominated([0.2, 0.1, 0.1, 0.3], [0.10, 0.15, 0.12, 0.11])
    [2, 0]
    """
    order = sorted(range(len(errors)), key=lambda i: (violations[i], errors[i], i))
    kept: list[int] = []
    for i in order:
        if not math.isnan(violations[i]) and (not kept or errors[i] < errors[kept[-1]]):
            kept.append(i)
    return kept


def between(places: Sequence[Place], knob: Knob, failed: Collection[float] = ()) -> list[float]:
    """New values between neighbours that are far apart, one of them on the frontier; the farthest first.

    Distances are measured in units of the curve's extent along each axis, or of its noise where that is larger. What
    is as good as a value that failed is not tried again.
    """
    places = sorted(places)
    front = set(non_dominated([p.violation for p in places], [p.error for p in places]))
    across = _unit([p.violation for p in places], [p.violation_noise for p in places])
    up = _unit([p.error for p in places], [p.error_noise for p in places])
    found: list[tuple[float, float]] = []
    for i in range(len(places) - 1):
        a, b = places[i : i + 2]
        far = math.hypot((a.violation - b.violation) / across, (a.error - b.error) / up)
        middle = _middle(a.lam, b.lam, knob)
        if middle is None or any(_alike(middle, value, knob) for value in failed):
            continue
        if far > _NEAR and {i, i + 1} & front:
            found.append((-far, middle))
    return sorted(value for _, value in sorted(found)[:PER_ROUND])


def _unit(values: list[float], noise: list[float]) -> float:
    return max(max(values) - min(values), _NOISE * max(noise), 1e-12)


def _middle(low: float, high: float, knob: Knob) -> float | None:
    """The value halfway between two, by factors for λ; None where the two are as good as one."""
    if _alike(low, high, knob):
        return None
    if knob.name in _FINE:
        return (low + high) / 2
    return high / math.sqrt(10.0) if low == 0.0 else math.sqrt(low * high)


def _alike(a: float, b: float, knob: Knob) -> bool:
    """Whether two values are as good as one."""
    low, high = sorted((a, b))
    return high - low < _FINE[knob.name] if knob.name in _FINE else high < FINE * low
