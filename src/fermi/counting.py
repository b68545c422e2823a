"""Coded rows to a table of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi import _kernels
from fermi._kernels import Floats, Ints
from fermi._parallel import chunks, over_parts
from fermi.codes import Codes
from fermi.errors import bad_argument
from fermi.inputs import Prediction

_TOLERANCE = 1e-3  # how far a row of probabilities may be from one: three printed decimals
_ONE = np.ones(1)


def n_cells(conditions: Codes, groups: Codes, prediction: Prediction) -> int:
    """The size of the table that `count` makes."""
    return (len(conditions.values_of) + 1) * (len(groups.values_of) + 1) * prediction.width


def count(conditions: Codes, groups: Codes, prediction: Prediction, weight: Floats | None) -> Floats:
    """Conditions × groups × classes, where the first condition is "outside 𝒵" and the first group "unknown"."""
    n_z, n_s = len(conditions.values_of) + 1, len(groups.values_of) + 1
    integer = weight is None and isinstance(prediction.source, Codes)

    def count_part(part: slice) -> NDArray[Any]:
        table = np.zeros((n_z * n_s, prediction.width), dtype=np.int64 if integer else np.float64)
        for rows in chunks(part):
            # The codes begin at -1, unknown or outside, and the table with a row for that.
            z = conditions.part(rows if not conditions.is_constant else slice(0, 1))
            where = (z, conditions.first - 1, n_s, groups.part(rows), groups.first - 1)
            _count_chunk(where, prediction, rows, None if weight is None else weight[rows], table)
        return table

    table = sum(over_parts(len(groups), count_part, result_size=n_cells(conditions, groups, prediction)))
    return np.reshape(table, (n_z, n_s, prediction.width)).astype(np.float64)


def _count_chunk(
    where: tuple[Ints, int, int, Ints, int],
    prediction: Prediction,
    rows: slice,
    weight: Floats | None,
    table: NDArray[Any],
) -> None:
    labels = prediction.source
    if isinstance(labels, Codes) and weight is None:
        _kernels.count_labels(*where, labels.part(rows), labels.first, table)
    elif isinstance(labels, Codes) and weight is not None:
        _kernels.weigh_labels(*where, labels.part(rows), labels.first, weight, table)
    elif isinstance(labels, np.ndarray):
        F = np.ascontiguousarray(labels[rows], dtype=np.float64)
        bad = _kernels.add_probabilities(*where, F, _ONE if weight is None else weight, _TOLERANCE, table)
        if bad >= 0:
            raise bad_argument(
                "y_pred",
                f"has the row {rows.start + bad} [{', '.join(f'{f:.4g}' for f in F[bad][:8])}]",
                "probabilities: at least zero, none missing, summing to one (labels go in as a one-dimensional array)",
            )
