"""How many threads the products with X may use."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

_WORTH_THREADS = 10_000_000  # entries of X


def limited_threads(X: Any) -> Any:
    """A context with one BLAS thread, unless X is large.

    Threads that wait for the next product keep a core busy meanwhile, and slow the solver's own loop down.
    """
    return one_thread() if np.prod(X.shape) < _WORTH_THREADS else contextlib.nullcontext()


def one_thread() -> Any:
    """A context with one BLAS thread."""
    return _libraries().limit(limits=1, user_api="blas")


@functools.cache
def _libraries() -> Any:
    """The process's BLAS libraries; looking for them takes milliseconds, and numpy and scipy have loaded theirs."""
    return ThreadpoolController()
