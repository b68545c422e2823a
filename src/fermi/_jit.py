"""The one place that talks to numba's decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call, keep the machine code on disk, release the GIL while it runs."""
    try:
        return cast(Callable[P, R], numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:
        # numba found no folder it may write to: compile in every process instead of failing.
        return cast(Callable[P, R], numba.njit(nogil=True)(function))
