"""Rows to tables: the one place where the rows of each (condition, group) are added up.

`Cells` is for training: dense codes, the same rows again and again. `count` and its relatives take coded columns as
they came, without a copy, and keep the rows outside 𝒵 and of unknown groups apart, as audits want them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats, Ints
from fermi.compiled import kernels
from fermi.compiled.parallel import chunks, over_parts
from fermi.errors import bad_argument
from fermi.inputs.codes import Codes
from fermi.inputs.predictions import Prediction

_TOLERANCE = 1e-3  # how far a row of probabilities may be from one: three printed decimals
_ONE = np.ones(1)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cell of each row and the row's weight.

    Attributes
    ----------
    index : (n,) int64
        condition · n_groups + group, or -1 for a row that counts in no cell: unknown group, or outside 𝒵.
    shape : (Z, k)
        The numbers of conditions and groups.
    weight : (n,) float64
        What each row adds to its cell.
    """

    index: Ints
    shape: tuple[int, int]
    weight: Floats

    @classmethod
    def of(cls, conditions: Ints, groups: Ints, shape: tuple[int, int], weight: Floats) -> Cells:
        """The cells of rows with these conditions and groups, -1 where a row has none."""
        counted = (conditions >= 0) & (groups >= 0)
        return cls(np.where(counted, conditions * shape[1] + groups, -1), shape, weight)

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which rows have a cell."""
        return np.asarray(self.index >= 0)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.shape[0] * self.shape[1]

    def weighed(self, weight: Floats) -> Cells:
        """The cells of the same rows with other weights."""
        return replace(self, weight=weight)

    def weighed_by_condition(self, factors: Floats) -> Cells:
        """The cells of the same rows, each row's weight times the factor of its condition."""
        return self.weighed(self.weight * np.append(np.repeat(factors, self.shape[1]), 0.0)[self.index])

    def take(self, rows: Ints | slice) -> Cells:
        """The cells of some of the rows."""
        return Cells(self.index[rows], self.shape, self.weight[rows])

    def totals(self) -> Floats:
        """The weight of every cell, Z × k."""
        sums: Floats = np.bincount(self.index + 1, weights=self.weight, minlength=1 + self.size)[1:].astype(np.float64)
        return sums.reshape(self.shape)

    def soft(self, values: Floats) -> Floats:
        """Σ weight · values over the rows of every cell, Z × k × m: the soft table of probabilities n × m."""
        table = np.zeros((self.size, values.shape[1]))
        kernels.add_by_cell(self.index, np.ascontiguousarray(values, dtype=np.float64), self.weight, table)
        return table.reshape(*self.shape, values.shape[1])

    def hard(self, labels: Ints, n_classes: int) -> Floats:
        """The weight of every (condition, group, label), Z × k × m: the hard table of class codes."""
        return self._by_label(labels, n_classes, self.weight)

    def hard_squares(self, labels: Ints, n_classes: int) -> Floats:
        """Σ weight² of every (condition, group, label), Z × k × m, from which standard errors follow."""
        return self._by_label(labels, n_classes, self.weight**2)

    def _by_label(self, labels: Ints, n_classes: int, weight: Floats) -> Floats:
        counted = self.counted
        places = self.index[counted] * n_classes + labels[counted]
        sums = np.bincount(places, weights=weight[counted], minlength=self.size * n_classes).astype(np.float64)
        return np.reshape(sums, (*self.shape, n_classes))


def n_cells(conditions: Codes, groups: Codes, prediction: Prediction) -> int:
    """The size of the table that `count` makes."""
    return (len(conditions.values_of) + 1) * (len(groups.values_of) + 1) * prediction.width


def count(conditions: Codes, groups: Codes, prediction: Prediction, weight: Floats | None) -> Floats:
    """Count rows into conditions × groups × classes; the first condition is "outside 𝒵", the first group "unknown"."""
    n_z, n_s = len(conditions.values_of) + 1, len(groups.values_of) + 1
    integer = weight is None and isinstance(prediction.source, Codes)

    def count_part(part: slice) -> NDArray[Any]:
        table = np.zeros((n_z * n_s, prediction.width), dtype=np.int64 if integer else np.float64)
        for rows in chunks(part):
            where = _where(conditions, groups, rows)
            _count_chunk(where, prediction, rows, None if weight is None else weight[rows], table)
        return table

    table = sum(over_parts(len(groups), count_part, result_size=n_cells(conditions, groups, prediction)))
    return np.reshape(table, (n_z, n_s, prediction.width)).astype(np.float64)


def count_products(conditions: Codes, groups: Codes, F: NDArray[Any], weight: Floats | None) -> Floats:
    """Count second moments Σ w F_j F_l of every cell, the first condition and group as in `count`."""
    n_z, n_s, m = len(conditions.values_of) + 1, len(groups.values_of) + 1, F.shape[1]

    def add_part(part: slice) -> Floats:
        table = np.zeros((n_z * n_s, m, m))
        for rows in chunks(part):
            chunk = np.ascontiguousarray(F[rows], dtype=np.float64)
            kernels.add_products(
                *_where(conditions, groups, rows), chunk, _ONE if weight is None else weight[rows], table
            )
        return table

    table = sum(over_parts(len(groups), add_part, result_size=n_z * n_s * m * m))
    return np.reshape(table, (n_z, n_s, m, m))


def count_bins(
    groups: Codes, F: NDArray[Any], target: Codes, class_of: Ints, weight: Floats | None, n_bins: int
) -> Floats:
    """Count calibration bins: groups × classes (of two the second) × bins × what `kernels.add_bins` adds up.

    The first group is "unknown"; `class_of` is the class that each code of the target stands for.
    """
    shape = (len(groups.values_of) + 1, 1 if F.shape[1] == 2 else F.shape[1], n_bins, 6)

    def add_part(part: slice) -> Floats:
        table = np.zeros(shape)
        for rows in chunks(part):
            chunk = np.ascontiguousarray(F[rows], dtype=np.float64)
            s, y, w = groups.part(rows), target.part(rows), _ONE if weight is None else weight[rows]
            kernels.add_bins(s, groups.first - 1, chunk, y, target.first, class_of, w, table)
        return table

    table: Floats = np.sum(over_parts(len(groups), add_part, result_size=int(np.prod(shape))), axis=0)
    return table


def _where(conditions: Codes, groups: Codes, rows: slice) -> tuple[Ints, int, int, Ints, int]:
    """The codes of some rows as the kernels take them, counted from -1, for which the table has a row."""
    z = conditions.part(rows if not conditions.is_constant else slice(0, 1))
    return z, conditions.first - 1, len(groups.values_of) + 1, groups.part(rows), groups.first - 1


def _count_chunk(
    where: tuple[Ints, int, int, Ints, int],
    prediction: Prediction,
    rows: slice,
    weight: Floats | None,
    table: NDArray[Any],
) -> None:
    labels = prediction.source
    if isinstance(labels, Codes) and weight is None:
        kernels.count_labels(*where, labels.part(rows), labels.first, table)
    elif isinstance(labels, Codes) and weight is not None:
        kernels.weigh_labels(*where, labels.part(rows), labels.first, weight, table)
    elif isinstance(labels, np.ndarray):
        F = np.ascontiguousarray(labels[rows], dtype=np.float64)
        bad = kernels.add_probabilities(*where, F, _ONE if weight is None else weight, _TOLERANCE, table)
        if bad >= 0:
            raise bad_argument(
                "y_pred",
                f"has the row {rows.start + bad} [{', '.join(f'{f:.4g}' for f in F[bad][:8])}]",
                "probabilities: at least zero, none missing, summing to one (labels go in as a one-dimensional array)",
            )
