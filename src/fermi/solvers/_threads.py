"""How many threads the products with X may use."""

from __future__ import annotations

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

_WORTH_THREADS = 10_000_000  # entries of X


def limited_threads(X: Any) -> Any:
    """A context with one BLAS thread unless X is large.

    Threads that wait for the next product keep a core busy meanwhile, and slow the solver's own loop down.
    """
    return threadpool_limits(1 if np.prod(X.shape) < _WORTH_THREADS else None, user_api="blas")
