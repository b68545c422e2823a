"""The one place that talks to numba's decorator."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


# Sums may be taken in any order, so that they use the processor's wide registers; NaN and infinity keep their meaning.
REORDERED = {"reassoc", "contract", "nsz", "arcp"}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call, keep the machine code on disk, release the GIL while it runs."""
    return _compiled(function, fastmath=False)


def compiled_reordered(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function as `compiled` does, with floating-point sums in whatever order is fastest."""
    return _compiled(function, fastmath=REORDERED)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into every compiled caller: passing a dozen arrays costs more than a small loop over them."""
    return _compiled(function, fastmath=REORDERED, inline="always")


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    try:
        dispatcher = numba.njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:
        # numba found no folder it may write to: compile in every process instead of failing.
        return cast(Callable[P, R], numba.njit(nogil=True, **options)(function))
    # numba knows a function's source by the time and size of its own file. It does not notice edits in another file,
    # nor a new release whose files carry the same time: know it by the text of everything that is compiled.
    dispatcher._cache._cache_file._source_stamp = source_stamp(Path(__file__).parents[1])
    return cast(Callable[P, R], dispatcher)


@functools.cache
def source_stamp(package: Path) -> str:
    """A digest of every source file that compiled code may come from."""
    files = [
        *package.glob("compiled/*.py"),
        *package.glob("formulas/*.py"),
        *package.glob("linear/solvers/*.py"),
        *package.glob("boosting/*.py"),
    ]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()
