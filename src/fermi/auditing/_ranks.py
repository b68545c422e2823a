"""How well probabilities rank the rows of each group: areas under ROC curves with their errors, and the curves.

Unlike everything else of an audit, a rank is no sum over rows: rows are sorted here, and parts of them do not add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats, Ints
from fermi.formulas import intervals
from fermi.records import Estimate, RocPoint

MOST_RANKED = 1 << 26  # scores that are sorted; of more there are no ranks
_POINTS = 100  # steps of a curve that is kept


class Scored(NamedTuple):
    """Rows of one group, in the order of their scores, as sums over rows of equal score, the highest first.

    `own` and `rest` are the weights of the rows of a class and of the others, `own_squares` and `rest_squares` sums of
    their squared weights.
    """

    scores: Floats
    own: Floats
    rest: Floats
    own_squares: Floats
    rest_squares: Floats

    @property
    def placements(self) -> tuple[Floats, Floats]:
        """By score, the part of the other rows below it and that of the class's own rows above it; ties count half."""
        below = self.rest.sum() - self.rest.cumsum() + 0.5 * self.rest
        above = self.own.cumsum() - 0.5 * self.own
        return below / self.rest.sum(), above / self.own.sum()

    def area(self, confidence: float, missing: str) -> Estimate:
        """The area under the ROC curve with an interval in logits, from the variance of placements (DeLong)."""
        own, rest = float(self.own.sum()), float(self.rest.sum())
        if not own > 0.0 or not rest > 0.0:
            return Estimate(math.nan, note=missing)
        below, above = self.placements
        value = float((self.own * below).sum() / own)
        variance, least = 0.0, math.inf
        for placed, squares, total in ((below, self.own_squares, own), (above, self.rest_squares, rest)):
            n = total**2 / float(squares.sum())
            variance += float((squares * (placed - value) ** 2).sum()) / total**2 * n / max(n - 1.0, 1.0)
            least = min(least, n)
        z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
        if not 0.0 < value < 1.0 or variance <= 0.0:  # no two rows stand in the wrong order, which is as a rate of 1
            return Estimate(value, *intervals.wilson(value, least, z))
        half, middle = z * math.sqrt(variance) / (value * (1.0 - value)), math.log(value / (1.0 - value))
        low, high = (1.0 / (1.0 + math.exp(-(middle + sign * half))) for sign in (-1.0, 1.0))
        return Estimate(value, low, high)

    def curve(self) -> tuple[RocPoint, ...]:
        """The ROC curve: false and true positive rates of all rows from each score on, thinned to about 100 points."""
        own, rest = float(self.own.sum()), float(self.rest.sum())
        if not own > 0.0 or not rest > 0.0:
            return ()
        tpr, fpr = (np.concatenate([[0.0], part.cumsum() / part.sum()]) for part in (self.own, self.rest))
        from_here = np.concatenate([[math.inf], self.scores])
        kept = np.arange(len(tpr))
        if len(tpr) > _POINTS + 1:
            kept = np.unique(np.searchsorted(0.5 * (tpr + fpr), np.linspace(0.0, 1.0 - 1e-12, _POINTS + 1)))
            kept = np.unique([0, *kept.tolist(), len(tpr) - 1])
        columns = (from_here[kept].tolist(), np.minimum(fpr[kept], 1.0).tolist(), np.minimum(tpr[kept], 1.0).tolist())
        return tuple(RocPoint(*point) for point in zip(*columns, strict=True))


@dataclass(frozen=True, eq=False)
class Ranks:
    """The rows of every group in the order of the probability of each class whose ranks are told.

    `by_group` has one entry per group, and in it one per class; `unknown` has the rows of no known group, by class.
    """

    by_group: tuple[tuple[Scored, ...], ...]
    unknown: tuple[Scored, ...]

    def of(self, kept: NDArray[np.bool_]) -> Ranks:
        """The ranks of some of the groups."""
        return Ranks(tuple(group for group, keep in zip(self.by_group, kept, strict=True) if keep), self.unknown)

    def overall(self) -> tuple[Scored, ...]:
        """All rows in the order of the probability of each class."""
        return tuple(map(_together, zip(*self.by_group, self.unknown, strict=True)))

    def auc(self) -> float | None:
        """The area under the ROC curve of all rows; of several classes the mean of each against the rest."""
        found = [scored.area(0.95, "").value for scored in self.overall()]
        there = [value for value in found if not math.isnan(value)]
        return sum(there) / len(there) if there else None


def ranked(
    F: Floats, labels: Ints, places: Ints, n_groups: int, weight: Floats | None, squares: Floats | None
) -> Ranks | None:
    """Sort rows by the probability of each class, of two the second; None where there are too many to sort.

    Parameters
    ----------
    F : (n, m) array
        Probabilities.
    labels, places : (n,) int arrays
        The true class and the group of each row, -1 for none.
    n_groups : int
        How many groups there are.
    weight, squares : (n,) arrays, optional
        What each row counts, and that squared; 1 if absent.
    """
    told = [1] if F.shape[1] == 2 else list(range(F.shape[1]))
    if len(F) * len(told) > MOST_RANKED:
        return None
    kept = np.arange(len(F)) if weight is None else np.flatnonzero(weight > 0)
    small = places.astype(np.int16 if n_groups < 1 << 15 else np.int64)
    of_class = []
    for c in told:
        order = kept[np.argsort(-np.asarray(F[kept, c], dtype=np.float64), kind="stable")]
        score, own = np.asarray(F[order, c], dtype=np.float64), labels[order] == c
        weights = tuple(np.ones(len(order)) if w is None else w[order] for w in (weight, squares))
        by_group = np.argsort(small[order], kind="stable")  # of small integers, by radix
        ends = np.searchsorted(small[order][by_group], np.arange(-1, n_groups + 1))
        parts = [by_group[a:b] for a, b in itertools.pairwise(ends.tolist())]
        of_class.append([_scored(score[p], own[p], *(w[p] for w in weights)) for p in parts])
    unknown, *groups = zip(*of_class, strict=True)
    return Ranks(tuple(groups), unknown)


def _scored(score: Floats, own: NDArray[np.bool_], weight: Floats, squares: Floats) -> Scored:
    """Sums over rows of equal score; the rows are in order."""
    if not len(score):
        none = np.zeros(0)
        return Scored(none, none, none, none, none)
    first = np.concatenate([[0], 1 + np.flatnonzero(np.diff(score))])
    return Scored(
        score[first], *(np.add.reduceat(w * which, first) for w in (weight, squares) for which in (own, ~own))
    )


def _together(parts: Iterable[Scored]) -> Scored:
    """Several parts of the rows as one."""
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(-columns[0], kind="stable")
    score = columns[0][order]
    if not len(score):
        return Scored(*columns)
    first = np.concatenate([[0], 1 + np.flatnonzero(np.diff(score))])
    return Scored(score[first], *(np.add.reduceat(column[order], first) for column in columns[1:]))
