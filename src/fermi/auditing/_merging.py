"""Sums over two sets of rows, added: the audit of all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.auditing._counting import MOST_PRODUCTS
from fermi.auditing._tally import Tally, judged_by
from fermi.errors import FermiError, listed
from fermi.inputs.encode import same_kind, sort_key
from fermi.inputs.groups import label_order, positions


def merged(a: Tally, b: Tally) -> Tally:
    """The tally of the rows of both: labels, groups and classes that only one of them shows are aligned.

    The notion has no column of its own, and no part of the rows can contradict it.
    """
    _check(a, b)
    classes = a.classes if a.classes == b.classes else tuple(_by_value([*a.classes, *b.classes]))
    groups = tuple(label_order([*a.groups, *b.groups]))
    labels = None if a.labels is None or b.labels is None else _by_value([*a.labels, *b.labels])
    parts = [_Places(tally, labels, groups, classes) for tally in (a, b)]

    def total(table: Callable[[Tally], Floats], *axes: str) -> Floats:
        return sum((part.place(table(part.tally), axes) for part in parts), np.zeros(()))

    def both(table: Callable[[Tally], Any], *axes: str) -> Floats | None:
        return None if table(a) is None else total(table, *axes)

    full = "strata", "groups", "classes"
    unknown = tuple(total(lambda t, i=i: t.unknown[i], "strata", "classes") for i in range(3))  # type: ignore[misc]
    out = replace(
        a,
        groups=groups,
        classes=classes,
        label_of=None if labels is None else np.array(positions(labels, classes), dtype=np.int64),
        rows=total(lambda t: t.rows, *full),
        hard=total(lambda t: t.hard, *full),
        hard_squares=total(lambda t: t.hard_squares, *full),
        unknown=(unknown[0], unknown[1], unknown[2]),
        soft=both(lambda t: t.soft, *full),
        soft_squares=_soft_squares(parts, full),
        soft_unknown=both(lambda t: t.soft_unknown, "strata", "classes"),
        bins=both(lambda t: t.bins, "groups"),
        weighted=a.weighted or b.weighted,
        unplaced=a.unplaced + b.unplaced,
        ranks=None,  # the order of all rows does not follow from that of the parts
    )
    return judged_by(out, a.notion)


def placed(part: Tally, whole: Tally) -> list[Floats]:
    """The rows, weights and squared weights of a part, laid out as those of the whole that it belongs to."""
    places = _Places(part, whole.labels, whole.groups, whole.classes)
    return [places.place(table, ("strata", "groups", "classes")) for table in (part.rows, part.hard, part.hard_squares)]


class _Places:
    """Where the strata, groups and classes of one tally stand among those of all."""

    def __init__(self, tally: Tally, labels: list[Any] | None, groups: Sequence[str], classes: tuple[Any, ...]) -> None:
        self.tally = tally
        strata = [0] if labels is None else positions(tally.labels or (), labels)
        self._axes = {
            "strata": (strata, len(labels or [None])),
            "groups": (positions(tally.groups, groups), len(groups)),
            "classes": (positions(tally.classes, classes), len(classes)),
        }

    def place(self, table: Floats, axes: Sequence[str]) -> Floats:
        """A table as part of the one of all; axes beyond those named are the same in both."""
        out = np.zeros([*(self._axes[axis][1] for axis in axes), *table.shape[len(axes) :]])
        out[np.ix_(*(self._axes[axis][0] for axis in axes))] = table
        return out


def _soft_squares(parts: Sequence[_Places], axes: Sequence[str]) -> Floats | None:
    """Second moments of probabilities, or Σ w² F, which they sum up to, where they would be too many in all."""
    squares = [part.tally.soft_squares for part in parts]
    if any(found is None for found in squares):
        return None
    placed = []
    for part, found in zip(parts, squares, strict=True):
        assert found is not None
        placed.append(part.place(found, axes))
    size = max(table.size for table in placed)
    if size > MOST_PRODUCTS or len({table.ndim for table in placed}) > 1:
        placed = [table.sum(axis=3) if table.ndim == 4 else table for table in placed]
    out: Floats = np.sum(placed, axis=0)
    return out


def _check(a: Tally, b: Tally) -> None:
    if a.columns != b.columns:
        raise FermiError(
            f"Cannot add groups of the columns {listed(b.columns)} to groups of {listed(a.columns)}: all parts must "
            "have the same sensitive columns in the same order."
        )
    if (a.labels is None, a.soft is None) != (b.labels is None, b.soft is None):
        raise FermiError("Cannot add these rows: all parts must have true labels or none, and probabilities or none.")
    if a.soft is not None and a.classes != b.classes:
        raise FermiError(
            f"Cannot add probabilities of the classes {listed(b.classes)} to those of {listed(a.classes)}: name the "
            "`classes` of the columns."
        )
    if not same_kind(a.classes, b.classes):
        raise FermiError(f"Cannot add the labels {listed(b.classes)} to {listed(a.classes)}: their types differ.")


def _by_value(labels: Sequence[Any]) -> list[Any]:
    return sorted(set(labels), key=sort_key)
