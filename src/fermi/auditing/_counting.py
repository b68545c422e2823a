"""Coded rows to sums, in a few passes over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats, Ints
from fermi.auditing._ranks import MOST_RANKED, Ranks, ranked
from fermi.auditing._tally import N_BINS, Tally, conditions_of
from fermi.compiled.parallel import chunks, over_parts
from fermi.fitting.scores import most_probable
from fermi.inputs.cells import count, count_bins, count_products, n_cells
from fermi.inputs.codes import Codes
from fermi.inputs.groups import arrange, positions
from fermi.inputs.predictions import Prediction
from fermi.notions import Notion

MOST_PRODUCTS = 1 << 22  # entries of a table of second moments


@dataclass(frozen=True, eq=False)
class Counting:
    """Coded rows, ready to be counted; where they are `repeated`, the weight of a row says how many rows it is."""

    strata: Codes
    groups: Codes
    weight: Floats | None
    classes: tuple[Any, ...]
    given: Codes | None = None
    repeated: bool = False

    def tally(
        self, prediction: Prediction, target: Codes, z: Codes | None, notion: Notion, columns: Any, *, has_labels: bool
    ) -> Tally:
        soft = None if isinstance(prediction.source, Codes) else prediction
        soft_sums = None if soft is None else self.sums(soft, self.weight)  # refuses what is not a probability
        labels = prediction if soft is None else Prediction(self.labels(soft.source), None)
        present = square = self.weight
        if self.weight is not None and not self.repeated:
            present, square = (self.weight > 0).astype(np.float64), self.weight**2
        sums = [self.by_class(labels, w) for w in (present, self.weight, square)]
        by_group = sums[0].sum(axis=(0, 2))
        occurs = np.flatnonzero(by_group[1:] > 0)
        names, places = arrange(self.groups, occurs.tolist())
        settled = _GroupOrder(occurs, np.array(places, dtype=np.intp), len(names))
        rows, hard, hard_squares = (settled(table, 1) for table in sums)
        class_of = np.array(positions(target.values_of, self.classes), dtype=np.int64)
        conditions, condition_of = conditions_of(notion, target, z, self.classes if has_labels else ())
        binned = soft is not None and has_labels
        return Tally(
            columns=columns,
            groups=tuple(names),
            classes=self.classes,
            condition_of=condition_of,
            conditions=conditions,
            notion=notion,
            label_of=np.tile(class_of, 1 if z is None else len(z.values_of) + 1) if has_labels else None,
            rows=rows,
            hard=hard,
            hard_squares=hard_squares,
            unknown=(sums[0][:, 0], sums[1][:, 0], sums[2][:, 0]),
            soft=None if soft_sums is None else settled(soft_sums, 1),
            soft_squares=None if soft is None else settled(self.products(soft, square), 1),
            soft_unknown=None if soft_sums is None else soft_sums[:, 0],
            bins=settled(self.bins(soft.source, target, class_of), 0) if binned and soft is not None else None,
            weighted=self.weight is not None and not self.repeated,
            ranks=self.ranks(soft.source, class_of, target, settled) if binned and soft is not None else None,
        )

    def labels(self, F: Any) -> Codes:
        """The labels of rows with probabilities F: those that were given, or the most probable classes."""
        return _most_probable(F, self.classes) if self.given is None else self.given

    def sums(self, prediction: Prediction, weight: Floats | None) -> Floats:
        """Count rows by stratum, group (the first is unknown) and what the prediction shows."""
        return count(self.strata, self.groups, prediction, weight)[1:]

    def by_class(self, labels: Prediction, weight: Floats | None) -> Floats:
        """Count rows by stratum, group (the first is unknown) and predicted class."""
        table = self.sums(labels, weight)
        assert isinstance(labels.source, Codes)
        out = np.zeros((*table.shape[:2], len(self.classes)))
        for j, place in enumerate(positions(labels.source.values_of, self.classes)):
            if place >= 0:  # what is no class never occurs: `_classes` has seen to that
                out[:, :, place] += table[:, :, j]
        return out

    def products(self, soft: Prediction, square: Floats | None) -> Floats:
        """Second moments of the probabilities or, where they would be too many, the larger ones of drawn labels."""
        assert isinstance(soft.source, np.ndarray)
        if n_cells(self.strata, self.groups, soft) * soft.width > MOST_PRODUCTS:
            return self.sums(soft, square)
        return count_products(self.strata, self.groups, soft.source, square)[1:]

    def bins(self, F: Any, target: Codes, class_of: Ints) -> Floats:
        """Sums for the calibration bins of every group, the first of which is unknown."""
        found = count_bins(self.groups, F, target, class_of, self.weight, N_BINS)
        if self.repeated:  # n rows of weight 1 and not one of weight n
            found[..., 0], found[..., 4:] = found[..., 1], found[..., [1, 3]]
        return found

    def ranks(self, F: Any, class_of: Ints, target: Codes, order: _GroupOrder) -> Ranks | None:
        """The rows of every group in the order of their probabilities; None where there are too many to sort."""
        if len(F) > MOST_RANKED:
            return None
        places = order.of_codes(len(self.groups.values_of))[self.groups.dense()]
        squares = self.weight if self.repeated or self.weight is None else self.weight**2
        return ranked(F, class_of[target.dense()], places, order.n, self.weight, squares)


@dataclass(frozen=True, eq=False)
class _GroupOrder:
    """How the codes of groups become their labels in order: which occur, where each goes, how many there are."""

    occurs: Ints
    places: NDArray[np.intp]
    n: int

    def __call__(self, table: Floats, axis: int) -> Floats:
        moved = np.moveaxis(table, axis, 0)
        out = np.zeros((self.n, *moved.shape[1:]))
        np.add.at(out, self.places, moved[1 + self.occurs])  # two codes may share a label: add, do not assign
        return np.moveaxis(out, 0, axis)

    def of_codes(self, n_codes: int) -> NDArray[np.intp]:
        """Where the group of each code goes; the last entry is for -1, the code of an unknown group."""
        out = np.full(n_codes + 1, -1, dtype=np.intp)
        out[self.occurs] = self.places
        return out


def _most_probable(F: Any, classes: tuple[Any, ...]) -> Codes:
    codes: NDArray[np.integer[Any]] = np.empty(len(F), np.int16 if len(classes) < 1 << 15 else np.int64)

    def look(part: slice) -> None:
        for rows in chunks(part):
            codes[rows] = most_probable(F[rows])

    over_parts(len(codes), look)
    return Codes(codes, 0, classes)
