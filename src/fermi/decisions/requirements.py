"""What a user asks of labels, as limits on the rates of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.decisions.newton import Limits
from fermi.errors import bad_argument
from fermi.inputs.arguments import AT_LEAST_ZERO, number

_PRICE = 50.0  # rows that may be labelled wrongly to move the rate of a cell by one row of that cell
_ROUNDING = 1e-12
_GRAIN = 2e-3  # of a rate
_RATE = "a number from 0 to 1, or None"


@dataclass(frozen=True)
class Requirements:
    """What a user asks of labels; None leaves a requirement out.

    Attributes
    ----------
    max_violation : float, optional
        The largest hard parity difference.
    min_ratio : float, optional
        The least ratio of two groups' rates of the last class, within any condition.
    selection_rate : pair of float
        The least and the largest rate of the last class over all rows.
    min_rate : float, optional
        The least rate of the last class in every group, within every condition.
    slack : float
        By how many standard errors of its rate each group may be farther off.
    """

    max_violation: float | None
    min_ratio: float | None = None
    selection_rate: tuple[float, float] = (0.0, 1.0)
    min_rate: float | None = None
    slack: float = 0.0

    @classmethod
    def read(
        cls, max_violation: Any, min_ratio: Any = None, selection_rate: Any = None, min_rate: Any = None, slack: Any = 0
    ) -> Requirements:
        """Check every requirement by itself."""
        given = {"max_violation": max_violation, "min_ratio": min_ratio, "min_rate": min_rate}
        read = {
            name: None if value is None else number(name, value, _RATE, low=0.0, high=1.0)
            for name, value in given.items()
        }
        found = cls(
            **read, selection_rate=_interval(selection_rate), slack=number("slack", slack, AT_LEAST_ZERO, low=0.0)
        )
        if found.min_ratio == 0.0:  # asks for nothing
            found = replace(found, min_ratio=None)
        return found

    @property
    def about_groups(self) -> bool:
        """Whether anything is asked of the groups' rates."""
        return not (self.max_violation is None and self.min_ratio is None and self.min_rate is None)

    @property
    def about_all(self) -> bool:
        """Whether anything is asked of the rate of all rows."""
        return self.selection_rate != (0.0, 1.0)

    def check_rows(self, known: float) -> None:
        """Refuse rates that no labels have at once, `known` being the part of all rows that groups' rates are about."""
        least, most = self.min_rate, self.selection_rate[1]
        if least is not None and least * known > most + _ROUNDING:
            found = f"is {least:g} with `selection_rate` of at most {most:g}"
            raise bad_argument("min_rate", found, f"at most {most / known:.4g} then")

    def tightened(self, share: float) -> Requirements:
        """Tighter requirements: a share of the bound, and of what the ratio may be short of one."""
        bound = None if self.max_violation is None else share * self.max_violation
        ratio = None if self.min_ratio is None else 1.0 - share * (1.0 - self.min_ratio)
        return replace(self, max_violation=bound, min_ratio=ratio)

    def at(self, max_violation: float | None) -> Requirements:
        """Requirements with another bound on the parity difference, and else unchanged."""
        return replace(self, max_violation=max_violation)


def _interval(value: Any) -> tuple[float, float]:
    expected = "a pair of numbers from 0 to 1, the least and the largest rate (None for no limit), or None"
    if value is None:
        return 0.0, 1.0
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise bad_argument("selection_rate", f"is {value!r}", expected)
    low, high = (
        default if end is None else number("selection_rate", end, expected, low=0.0, high=1.0)
        for end, default in zip(value, (0.0, 1.0), strict=True)
    )
    if low > high:
        raise bad_argument("selection_rate", f"is {value!r}", "the least rate first")
    return low, high


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the cells of all attributes stand among the unknowns.

    Attributes
    ----------
    blocks : tuple of (cells,) arrays
        The numbers of the cells whose rates are compared: those of one attribute within one condition, without cells
        that no row is in. The last number of all, after those of the cells, stands for all rows.
    share : (C,) array
        The part of all rows that is in each cell.
    rows : (C,) array
        How many rows of equal weight say as much of a rate as those of each cell do.
    n_classes : int
        How many classes there are; of two, only the second has unknowns.
    alone : tuple of (1,) arrays
        The numbers of cells that are the only ones of their condition: nobody is compared with them, but their rate may
        have a limit of its own.
    """

    blocks: tuple[Ints, ...]
    share: Floats
    rows: Floats
    n_classes: int
    alone: tuple[Ints, ...] = ()

    @property
    def grain(self) -> Floats:
        """How near to its limit each rate can be brought: one row of a small cell is more than a thousandth."""
        grain: Floats = _GRAIN + 1.0 / np.maximum(self.rows, 1.0)
        return grain

    @property
    def columns(self) -> int:
        """How many classes have unknowns."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.share)


def allowances(layout: Layout, rates: Floats, slack: float) -> Floats:
    """How much farther off each rate may be, C × m: `slack` standard errors of the common rate of its condition.

    Under the bound all groups of a condition have nearly the same rate, which is known far better than each group's.
    """
    errors = np.zeros_like(rates)
    if slack > 0.0:
        for cells in (*layout.blocks, *layout.alone):
            common = np.clip(layout.share[cells] @ rates[cells] / layout.share[cells].sum(), 0.0, 1.0)
            errors[cells] = np.sqrt(common * (1.0 - common) / layout.rows[cells][:, None])
    return slack * errors


class Miss(NamedTuple):
    """A rate that keeps a requirement from holding: which cell and class, which way it should move, how far at most."""

    cell: int
    label: int
    sign: float
    amount: float


def misses(asked: Requirements, layout: Layout, rates: Floats) -> list[Miss]:
    """The rates by which requirements are missed; none where all are kept.

    Parameters
    ----------
    asked : Requirements
        What the user asks.
    layout : Layout
        Where the cells are.
    rates : (C + 1, m) array
        The true rates of labels; the last line is that of all rows.
    """
    allowed = allowances(layout, rates[:-1], asked.slack)
    last = layout.n_classes - 1
    low, high = asked.selection_rate
    found = [
        Miss(layout.size, last, -1.0, float(rates[-1, -1]) - high),
        Miss(layout.size, last, 1.0, low - float(rates[-1, -1])),
    ]
    for cells in layout.blocks:
        upper, lower = rates[cells] - allowed[cells], rates[cells] + allowed[cells]
        tops, bottoms = cells[upper.argmax(axis=0)], cells[lower.argmin(axis=0)]
        highest, lowest = upper.max(axis=0), lower.min(axis=0)
        if asked.max_violation is not None:
            for j in range(1 if layout.n_classes == 2 else 0, layout.n_classes):
                beyond = float(highest[j] - lowest[j]) - asked.max_violation
                found += [Miss(int(tops[j]), j, -1.0, beyond), Miss(int(bottoms[j]), j, 1.0, beyond)]
        if asked.min_ratio is not None:
            short = asked.min_ratio * float(highest[last]) - float(lowest[last])
            found += [Miss(int(tops[last]), last, -1.0, short), Miss(int(bottoms[last]), last, 1.0, short)]
    if asked.min_rate is not None:
        for cells in (*layout.blocks, *layout.alone):
            reached = rates[cells, last] + allowed[cells, last]
            found.append(Miss(int(cells[reached.argmin()]), last, 1.0, asked.min_rate - float(reached.min())))
    return [miss for miss in found if miss.amount > _ROUNDING]


def limits(asked: Requirements, layout: Layout, allowed: Floats, shift: Floats) -> Limits:
    """The limits of the stage: what is asked, `allowed` more for each rate, and rates that are off by `shift`.

    Parameters
    ----------
    asked : Requirements
        What the user asks.
    layout : Layout
        Where the cells are.
    allowed : (C, m) array
        By how much a rate may be farther off.
    shift : (C + 1, J) array
        What is to be added to the rates of the stage to get the true ones; the last row is about all rows.
    """
    build = _Builder(layout)
    last = layout.columns - 1
    if asked.max_violation is not None:
        # Every rate lies within half the bound of a centre, wherever that is; so no two are farther apart than it.
        classes = [layout.n_classes - 1] if layout.n_classes == 2 else range(layout.n_classes)
        for cells in layout.blocks:
            for column, j in enumerate(classes):
                centre = build.centre()
                for c in cells:
                    half = 0.5 * asked.max_violation + allowed[c, j]
                    build.add(c, column, 1.0, half, {centre: -1.0}, 1.0)
                    build.add(c, column, -1.0, half, {centre: 1.0}, 1.0)
    if asked.min_ratio is not None:
        for cells in layout.blocks:
            largest = build.centre()
            for c in cells:
                build.add(c, last, 1.0, allowed[c, -1], {largest: -1.0}, asked.min_ratio)
                build.add(c, last, -1.0, allowed[c, -1], {largest: asked.min_ratio}, 1.0)
    if asked.min_rate is not None:
        for cells in (*layout.blocks, *layout.alone):
            for c in cells:
                build.add(c, last, -1.0, allowed[c, -1] - asked.min_rate, {}, 1.0)
    low, high = asked.selection_rate
    if low > 0.0:
        build.add(layout.size, last, -1.0, -low, {}, 1.0)
    if high < 1.0:
        build.add(layout.size, last, 1.0, high, {}, 1.0)
    return build.finish(shift)


class _Builder:
    """Gathers limits, one after the other."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.entries: list[tuple[int, float, float, dict[int, float], float, float]] = []
        self.n_centres = 0

    def centre(self) -> int:
        """A new free centre."""
        self.n_centres += 1
        return self.n_centres - 1

    def add(self, cell: int, column: int, sign: float, bound: float, centres: dict[int, float], start: float) -> None:
        """Limit the rate of one cell: sign · rate + centres ≤ bound."""
        share = 1.0 if cell == self.layout.size else self.layout.share[cell]
        place = cell * self.layout.columns + column
        self.entries.append((place, sign, bound, centres, start, _PRICE * share))

    def finish(self, shift: Floats) -> Limits:
        """All limits as arrays."""
        count = len(self.entries)
        L = np.zeros((count, (self.layout.size + 1) * self.layout.columns))
        M = np.zeros((count, self.n_centres))
        b, cap, start = np.zeros(count), np.zeros(count), np.zeros(count)
        for k, (place, sign, bound, centres, first, price) in enumerate(self.entries):
            L[k, place] = sign
            for centre, factor in centres.items():
                M[k, centre] = factor
            b[k], cap[k], start[k] = bound, price, first
        return Limits(L, M, b - L @ shift.ravel(), cap, start)
