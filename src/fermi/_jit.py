"""The one place that talks to numba's decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


# Sums may be taken in any order, so that they use the processor's wide registers; NaN and infinity keep their meaning.
REORDERED = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call, keep the machine code on disk, release the GIL while it runs."""
    return _compiled(function, fastmath=False)


def compiled_reordered(function: Callable[P, R]) -> Callable[P, R]:
    """The same, with floating-point sums in whatever order is fastest."""
    return _compiled(function, fastmath=REORDERED)


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    try:
        return cast(Callable[P, R], numba.njit(cache=True, nogil=True, **options)(function))
    except RuntimeError:
        # numba found no folder it may write to: compile in every process instead of failing.
        return cast(Callable[P, R], numba.njit(nogil=True, **options)(function))
