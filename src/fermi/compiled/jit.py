"""The one place that talks to numba's decorator."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event as _event

event: Any = _event  # untyped

P = ParamSpec("P")
R = TypeVar("R")


# Sums may be taken in any order, so that they use the processor's wide registers; NaN and infinity keep their meaning.
REORDERED = {"reassoc", "contract", "nsz", "arcp"}
_BARE: dict[str, Any] = {"fastmath": REORDERED, "error_model": "numpy", "_nrt": False}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on its first call, keep the machine code on disk, release the GIL while it runs."""
    return _compiled(function, fastmath=False)


def compiled_reordered(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function as `compiled` does, with floating-point sums in whatever order is fastest."""
    return _compiled(function, fastmath=REORDERED)


def compiled_bare(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a loop that makes no array, as `compiled_reordered` does, without counting references to its arrays.

    Counting is atomic: a step that calls a few functions with a dozen arrays each would spend most of its time on it.
    Division by zero gives infinity.
    """
    return _compiled(function, **_BARE)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into every caller that is `compiled_bare`."""
    return _compiled(function, **_BARE, forceinline=True)


def inlined_in_order(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function as `inlined` does, with its operations in the order that they are written in."""
    return _compiled(function, **{**_BARE, "fastmath": {"contract"}}, forceinline=True)


def _compiled(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    in_memory = functools.partial(numba.njit, nogil=True, **options)
    try:
        dispatcher = in_memory(cache=True)(function)
    except RuntimeError:
        # numba found no folder it may write to: compile in every process instead of failing.
        return cast(Callable[P, R], in_memory()(function))
    # numba knows a function's source by the time and size of its own file. It does not notice edits in another file,
    # nor a new release whose files carry the same time: know it by the text of everything that is compiled.
    if not _restamp(dispatcher, source_stamp(Path(__file__).parents[1])):
        return cast(Callable[P, R], in_memory()(function))
    return cast(Callable[P, R], dispatcher)


def _restamp(dispatcher: Any, stamp: str) -> bool:
    """Replace what a cached function's source is known by; false where this numba keeps that elsewhere.

    The attributes are private, so another release may lack them. Setting one that it never reads would let stale
    machine code run: the caller then compiles in every process.
    """
    file: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if not hasattr(file, "_source_stamp"):
        return False
    file._source_stamp = stamp
    return True


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


class Notice(event.Listener):  # type: ignore[misc]
    """Tells a person at a terminal, once, why the first call of a new installation takes a while.

    numba says when a function of anybody's was not found on disk and is compiled.
    """

    def __init__(self) -> None:
        self.told = False

    def on_start(self, event: Any) -> None:
        """Say so if the function is one of ours."""
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        ours = str(getattr(function, "__module__", "")).startswith("fermi.")
        if ours and not self.told and sys.stderr is not None and sys.stderr.isatty():
            self.told = True
            print("fermi: compiling once, which takes some seconds; later runs find it on disk.", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        """Say nothing more."""


NOTICE = Notice()
event.register("numba:compile", NOTICE)
