"""Rows to the fields of a `Contingency`: read, checked, counted, and named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fermi._typing import Floats
from fermi.errors import bad_argument
from fermi.inputs.cells import count, n_cells
from fermi.inputs.codes import Codes
from fermi.inputs.columns import Column, as_frame, check_rows, read_column
from fermi.inputs.groups import ARGUMENT, arrange, group_codes
from fermi.inputs.predictions import Prediction, read_prediction, read_weight
from fermi.notions import Notion


class Rows(NamedTuple):
    """What is counted, as the caller passed it, but for the sensitive columns, which are told apart already."""

    y_pred: Any
    columns: dict[str | None, Column]
    y_true: Any
    sample_weight: ArrayLike | None


class Called(NamedTuple):
    """What the caller knows these rows by, for messages about a bad one."""

    y_pred: str = "y_pred"
    columns: str = ARGUMENT
    sample_weight: str = "sample_weight"


_ARRAYS = Called()


class Counted(NamedTuple):
    """The fields of a `Contingency`, in their order."""

    table: Floats
    conditions: tuple[Any, ...]
    groups: list[str]
    classes: tuple[Any, ...]
    n_unknown: float
    notion: str
    soft: bool
    columns: tuple[str | None, ...]


def count_rows(rows: Rows, notion: Notion, classes: Sequence[Any] | None = None, called: Called = _ARRAYS) -> Counted:
    """Count predictions by condition and group."""
    prediction = read_prediction(rows.y_pred, classes, called.y_pred)
    weight = read_weight(rows.sample_weight, called.sample_weight)
    named = (
        (called.columns if name is None else f"{called.columns}[{name!r}]", column)
        for name, column in rows.columns.items()
    )
    n = check_rows(
        [
            ("y_pred", as_frame(rows.y_pred, "y_pred")),
            *named,
            ("y_true", None if rows.y_true is None else read_column(rows.y_true, "y_true")),
            ("sample_weight", rows.sample_weight),
            ("notion", notion.column),
        ]
    )
    groups = group_codes(rows.columns)
    unknown = float(groups.n_unknown) if weight is None else float(weight[groups.is_unknown()].sum())
    if unknown == (n if weight is None else weight.sum()):
        raise bad_argument(called.columns, "is unknown in every row", "a known group in at least one")
    # A row of weight zero is as good as absent: what only such rows show is dropped.
    keep = None if weight is None or weight.all() else weight > 0
    conditions = notion.conditions(rows.y_true, n, prediction.declared or (), keep)
    if n_cells(conditions, groups, prediction) > max(1 << 20, 4 * n):
        prediction, groups = prediction.compact(), groups.compact()
    counts = count(conditions, groups, prediction, weight)
    return _named(counts, conditions, tuple(rows.columns), groups, prediction, notion, unknown)


def _named(
    counts: Floats,
    conditions: Codes,
    columns: tuple[str | None, ...],
    groups: Codes,
    prediction: Prediction,
    notion: Notion,
    n_unknown: float,
) -> Counted:
    """Name the axes of counts: drop what never occurred, put the groups into their order."""
    by_group = counts.sum(axis=(0, 2))
    occurs = np.flatnonzero(by_group[1:] > 0)
    labels, places = arrange(groups, occurs.tolist())
    table = np.zeros((len(labels), len(conditions.values_of), counts.shape[2]))
    # Two values with the same label, such as 1 and "1", are one group: add, do not assign.
    np.add.at(table, np.array(places, dtype=np.intp), counts[1:, 1 + occurs].swapaxes(0, 1))
    table, classes = prediction.name_classes(table.swapaxes(0, 1), counts.sum(axis=(0, 1)) > 0)
    title = notion.describe(conditions.values_of)
    soft = not isinstance(prediction.source, Codes)
    return Counted(table, tuple(conditions.values_of), labels, classes, n_unknown, title, soft, columns)
