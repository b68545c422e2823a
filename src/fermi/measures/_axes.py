"""The axes of a table: what they are called, and the labels of two tables together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from fermi.inputs.encode import sort_key
from fermi.inputs.groups import label_order

AXES = ("conditions", "groups", "classes")
Labels: TypeAlias = tuple[Any, ...]


def merged(a: tuple[Labels, ...], b: tuple[Labels, ...]) -> list[Labels]:
    """All labels of two tables, axis by axis."""
    return [_together(one, other, order) for one, other, order in zip(a, b, _ORDERS, strict=True)]


def _together(a: Labels, b: Labels, order: Callable[[Iterable[Any]], list[Any]]) -> Labels:
    """All labels of two axes, in the order of the one that has them all, else in the order that all rows would have."""
    if {*a} >= {*b}:
        return a
    return b if {*b} >= {*a} else tuple(order([*a, *b]))


def _by_value(labels: Iterable[Any]) -> list[Any]:
    return sorted(set(labels), key=sort_key)


# The order that a table of all rows would have, per axis.
_ORDERS: tuple[Callable[[Iterable[Any]], list[Any]], ...] = (_by_value, label_order, _by_value)
