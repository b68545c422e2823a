"""Sums over rows: all that an audit needs, by (true label, group, prediction)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.auditing._ranks import Ranks
from fermi.inputs.codes import Codes
from fermi.notions import Notion

N_BINS = 10


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over rows by stratum, group and class; a stratum is the true label with the notion's own column, if any.

    Tables are strata × groups × classes; `condition_of` and `label_of` say which condition of the notion (-1: outside)
    and which true label each stratum is. Under `squares` are the sums of squared weights, for probabilities those of
    w² F Fᵀ, or of w² F alone where those would be too many. `unknown` is what the rows of no known group add up to;
    `unplaced` are rows of no known group of which nothing else is known either. `ranks` are rows in the order of their
    probabilities, which only rows that are all at hand at once have.
    """

    columns: tuple[str | None, ...]
    groups: tuple[str, ...]
    classes: tuple[Any, ...]
    condition_of: Ints
    conditions: tuple[Any, ...]
    notion: Notion
    label_of: Ints | None
    rows: Floats
    hard: Floats
    hard_squares: Floats
    unknown: tuple[Floats, Floats, Floats]
    soft: Floats | None = None
    soft_squares: Floats | None = None
    soft_unknown: Floats | None = None
    bins: Floats | None = None
    weighted: bool = False
    unplaced: float = 0.0
    ranks: Ranks | None = None

    @property
    def labels(self) -> list[Any] | None:
        """The true label of every stratum, or None where there are no labels."""
        return None if self.label_of is None else [self.classes[j] for j in self.label_of]

    @property
    def title(self) -> str:
        """What is measured: the notion's name, with 𝒵 where that is a choice."""
        return self.notion.describe(self.conditions)

    def conditioned(self, table: Floats) -> Floats:
        """Sum a table over strata, to one row per condition of the notion."""
        out = np.zeros((len(self.conditions), *table.shape[1:]))
        inside = self.condition_of >= 0
        np.add.at(out, self.condition_of[inside], table[inside])
        return out

    def labelled(self, table: Floats) -> Floats:
        """Sum a table over strata, to one row per true class."""
        assert self.label_of is not None
        out = np.zeros((len(self.classes), *table.shape[1:]))
        np.add.at(out, self.label_of, table)
        return out


def judged_by(tally: Tally, notion: Notion) -> Tally:
    """Judge these sums by another notion, which may condition on the true labels, where there are some."""
    labels = tally.labels
    codes = Codes(np.arange(len(tally.rows)), 0, [None] if labels is None else labels)
    conditions, condition_of = conditions_of(notion, codes, None, () if labels is None else tally.classes)
    return replace(tally, notion=notion, conditions=conditions, condition_of=condition_of)


def conditions_of(
    notion: Notion, target: Codes, z: Codes | None, classes: tuple[Any, ...]
) -> tuple[tuple[Any, ...], Ints]:
    """The conditions of a notion, and the condition of each stratum."""
    n_labels = len(target.values_of)
    if z is not None:
        return tuple(z.values_of), np.repeat(np.arange(-1, len(z.values_of)), n_labels)
    # Each label stands for all rows that have it.
    found = notion.conditions(list(target.values_of) if classes else None, n_labels, classes)
    return tuple(found.values_of), found.dense()
