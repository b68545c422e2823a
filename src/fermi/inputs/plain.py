"""Dataclasses from JSON, checked by their annotations: a file that somebody edited must fail here and not later."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")

_FITS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float) and abs(value) < math.inf,
    "tuple[str, ...]": lambda value: isinstance(value, list) and all(isinstance(word, str) for word in value),
}


def from_plain(cls: type[T], found: Any) -> T:
    """Make a dataclass of words, numbers, flags and tuples of words; `ValueError` says what does not fit.

    Parameters
    ----------
    cls : type
        The dataclass.
    found : Any
        What JSON gave for it.

    Returns
    -------
    cls
        The dataclass, with tuples for lists.
    """
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    if not isinstance(found, dict) or not set(found) <= set(known):
        raise ValueError(f"a {cls.__name__} is none, or has unknown entries")
    for name, field in known.items():
        if name not in found and field.default is MISSING:
            raise ValueError(f"a {cls.__name__} has no {name!r}")
        if name in found and not _FITS[str(field.type)](found[name]):
            raise ValueError(f"the {name!r} of a {cls.__name__} is no {field.type}")
    return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in found.items()})
