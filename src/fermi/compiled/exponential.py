"""The exponential and the logistic function, written out so that compiled loops need no call.

A call costs a loop its registers, which is more than the arithmetic.
"""

from __future__ import annotations

import numpy as np

from fermi.compiled.jit import inlined, inlined_in_order

_LARGEST = 708.0  # beyond, e^x is not a normal number
_PER_DOUBLING = 1.4426950408889634  # 1 / log 2
# log 2 in two parts: the first has so few digits that its multiples by whole numbers below 1100 are exact
_LOG2, _LOG2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_C2, _C3, _C4, _C5, _C6, _C7 = 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040
_C8, _C9, _C10, _C11, _C12 = 1 / 40320, 1 / 362880, 1 / 3628800, 1 / 39916800, 1 / 479001600


@inlined_in_order
def exponential(x: float) -> float:
    """The exponential e^x within a few units of the last place, for |x| up to 708 and as there beyond.

    With k = round(x / log 2) and r = x − k log 2, e^x = 2^k e^r, and the series of e^r has enough terms for |r| ≤ 0.35.
    """
    x = _LARGEST if x > _LARGEST else x
    x = -_LARGEST if x < -_LARGEST else x
    k = np.rint(x * _PER_DOUBLING)
    r = (x - k * _LOG2) - k * _LOG2_REST
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (_C2 + r * _C3)
    middle = (_C4 + r * _C5) + r2 * (_C6 + r * _C7)
    high = (_C8 + r * _C9) + r2 * (_C10 + r * _C11) + r4 * _C12
    # 2^k, by its exponent's bits; by way of int32, which wide registers convert to
    power = np.int64((np.int64(np.int32(k)) + 1023) << 52).view(np.float64)
    return float((low + r4 * (middle + r4 * high)) * power)


@inlined
def both(logit: float) -> tuple[float, float]:
    """The probabilities of two classes, accurate however small, from the logit of the second."""
    e = exponential(-logit)
    second = 1.0 / (1.0 + e)
    return e * second, second
