"""What is read of the same rows again and again, kept while somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

_Kept: TypeAlias = list[tuple[tuple[Any, ...], Any]]
_KEPT: ContextVar[tuple[_Kept, ...]] = ContextVar("kept", default=())  # one inside the other, the innermost last


@contextmanager
def shared_rows() -> Iterator[None]:
    """Read the same rows once: what `remembered` makes is kept until the end of the outermost of these, in this thread.

    Whoever opens one promises that no array or table changes meanwhile, and that the same ones come again: all that is
    read is kept.
    """
    token = _KEPT.set((*_KEPT.get(), []))
    try:
        yield
    finally:
        _KEPT.reset(token)


def remembered(parts: tuple[Any, ...], make: Callable[[], T], *, here: bool = False) -> T:
    """Make a value, or return the one that was made of the same parts: the same objects, or equal words and numbers.

    What belongs `here` is made anew in each `shared_rows` within another.
    """
    scopes = _KEPT.get()
    if not scopes:
        return make()
    kept = scopes[-1 if here else 0]
    for known, value in kept:
        if len(known) == len(parts) and all(map(_same, known, parts)):
            return value  # type: ignore[no-any-return]
    value = make()
    kept.append((parts, value))
    return value


def _same(left: Any, right: Any) -> bool:
    plain = isinstance(left, str | int | float) and type(left) is type(right)
    return left is right or (plain and left == right)
