"""The weight of every (condition, group, prediction) cell: the sufficient statistic of every measure here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermi import _kernels
from fermi._kernels import Floats, Ints
from fermi._parallel import chunks, over_parts
from fermi.encoding import Codes, read_columns, sort_key
from fermi.errors import FermiError, bad_argument, listed
from fermi.groups import ARGUMENT, group_labels, joint_codes, natural_order, positions
from fermi.inputs import Prediction, check_rows, read_prediction, read_weight
from fermi.notions import Notion, as_notion

_TOLERANCE = 1e-3  # how far a row of probabilities may be from one: three printed decimals
_ONE = np.ones(1)
_AXES = ("conditions", "groups", "classes")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Contingency:
    """The weight of every (condition, group, prediction) cell.

    Everything that `fermi.measures` computes is a function of this table, and tables of disjoint rows add exactly, so
    batches, shards and machines merge with ``a + b`` or ``sum(parts)``.

    Parameters
    ----------
    table : array, conditions × groups × classes (or groups × classes)
        Non-negative weights, in float64.
    conditions, groups, classes : sequences, optional
        What the axes stand for; numbered where not given.
    n_unknown : float
        The weight of the rows left out because their group is unknown.
    notion : str
        The name of the notion that made the conditions.
    soft : bool
        Whether the predictions were probabilities (soft) or labels (hard).

    Examples
    --------
    >>> c = Contingency.from_predictions([1, 0, 1, 1], ["a", "a", "b", None])
    >>> c.table.tolist(), c.groups, c.classes, c.n_unknown
    ([[[1.0, 1.0], [0.0, 1.0]]], ('a', 'b'), (0, 1), 1.0)
    """

    table: Floats
    conditions: tuple[Any, ...]
    groups: tuple[str, ...]
    classes: tuple[Any, ...]
    n_unknown: float
    notion: str
    soft: bool

    def __init__(
        self,
        table: ArrayLike,
        conditions: Sequence[Any] = (),
        groups: Sequence[Any] = (),
        classes: Sequence[Any] = (),
        n_unknown: float = 0.0,
        notion: str = "demographic_parity",
        soft: bool = False,
    ) -> None:
        cells = np.array(table, dtype=np.float64)
        cells = cells[None] if cells.ndim == 2 else cells
        if cells.ndim != 3:
            raise bad_argument("table", f"has {cells.ndim} dimensions", "conditions × groups × classes")
        if not (np.isfinite(cells).all() and (cells >= 0).all()):
            raise bad_argument("table", "holds negative or non-finite weights", "weights of at least zero")
        cells.flags.writeable = False
        fields = {"table": cells, "n_unknown": float(n_unknown), "notion": notion, "soft": soft}
        for name, given, size in zip(_AXES, (conditions, groups, classes), cells.shape, strict=True):
            labels = tuple(given) or tuple(range(size))
            if len(labels) != size or len(set(labels)) != size:
                raise bad_argument(name, f"is {listed(labels)}", f"{size} different labels")
            fields[name] = tuple(map(str, labels)) if name == "groups" else labels
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_predictions(
        cls,
        y_pred: Any,
        sensitive_features: Any,
        *,
        y_true: Any = None,
        notion: str | Notion = "demographic_parity",
        classes: Sequence[Any] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Contingency:
        """Count predictions by condition and group.

        Parameters
        ----------
        y_pred : (n,) labels or (n, m) probabilities
            Labels give a hard table, probabilities a soft one.
        sensitive_features : array, Series, DataFrame or dict of columns
            One or several columns; several mean the combinations that occur. Rows with a missing entry are left out
            and counted in `n_unknown`.
        y_true : (n,) labels, optional
            Needed by the notions that condition on the true label.
        notion : str or Notion
            What must be independent of the group.
        classes : sequence, optional
            The classes, in the order of the columns of a probability matrix. By default the labels predicted, or the
            matrix's column names or numbers.
        sample_weight : (n,) numbers, optional
            Integer weights equal repeated rows; a row of weight zero is as good as absent.

        Returns
        -------
        Contingency
            With the groups that occur in any row, inside 𝒵 or not.
        """
        notion = as_notion(notion)
        prediction = read_prediction(y_pred, classes)
        columns = read_columns(sensitive_features, ARGUMENT)
        n = check_rows({"y_pred": y_pred, ARGUMENT: columns, "y_true": y_true, "sample_weight": sample_weight})
        weight = read_weight(sample_weight)
        groups = joint_codes(columns)
        if groups.n_unknown == n:
            raise bad_argument(ARGUMENT, "is unknown in every row", "a known group in at least one")
        conditions = notion.conditions(y_true, n, prediction.declared)
        if _n_cells(conditions, groups, prediction) > max(1 << 20, 4 * n):
            groups = groups.compact()
        counts = _count(conditions, groups, prediction, weight)
        return _labelled(counts, conditions, list(columns), groups, prediction, notion.name)

    @property
    def total(self) -> float:
        """The weight of all rows that count: known group, condition in 𝒵."""
        return float(self.table.sum())

    def laws(self) -> Iterator[tuple[float, Floats]]:
        """p(z) and the law of (S, Ŷ) given z, for every condition that has weight."""
        total = self.total
        if total == 0.0:
            raise FermiError(
                "No row counts: none has a known group and a condition inside the notion, so nothing can be measured."
            )
        for counts in self.table:
            weight = counts.sum()
            if weight > 0.0:
                yield float(weight / total), counts / weight

    def rates(self) -> Floats:
        """p(ŷ|s, z), conditions × groups × classes; NaN where the group has no row under the condition."""
        weight = self.table.sum(axis=2, keepdims=True)
        out = np.full(self.table.shape, np.nan)
        np.divide(self.table, weight, out=out, where=weight > 0)
        return out

    def __add__(self, other: object) -> Contingency:
        if not isinstance(other, Contingency):
            return NotImplemented
        if (self.notion, self.soft) != (other.notion, other.soft):
            raise FermiError(
                f"Cannot merge {_kind(self)} with {_kind(other)}: both tables must measure the same thing."
            )
        axes = [
            a if a == b else tuple(order([*a, *b]))
            for a, b, order in zip(self._axes, other._axes, _ORDERS, strict=True)
        ]
        table = np.zeros([len(labels) for labels in axes])
        for part in (self, other):
            table[np.ix_(*(positions(a, b) for a, b in zip(part._axes, axes, strict=True)))] += part.table
        conditions, groups, classes = axes
        unknown = self.n_unknown + other.n_unknown
        return Contingency(table, conditions, groups, classes, unknown, self.notion, self.soft)

    @property
    def _axes(self) -> tuple[tuple[Any, ...], ...]:
        return self.conditions, self.groups, self.classes

    def __radd__(self, other: object) -> Contingency:
        return self if other == 0 else NotImplemented  # so that sum() works

    def __eq__(self, other: object) -> bool:
        """Whether two tables hold the same weights under the same labels; their order does not matter."""
        if not isinstance(other, Contingency):
            return NotImplemented
        if (self.notion, self.soft, self.n_unknown) != (other.notion, other.soft, other.n_unknown):
            return False
        if self.table.shape != other.table.shape:
            return False
        places = [positions(a, b) for a, b in zip(self._axes, other._axes, strict=True)]
        return not any(-1 in place for place in places) and np.array_equal(self.table, other.table[np.ix_(*places)])

    def __repr__(self) -> str:
        return (
            f"Contingency({_kind(self)}, {len(self.conditions)} conditions × {len(self.groups)} groups × "
            f"{len(self.classes)} classes, weight {self.total:g}, unknown {self.n_unknown:g})"
        )


def _kind(contingency: Contingency) -> str:
    return f"{'soft' if contingency.soft else 'hard'} {contingency.notion}"


def _by_value(labels: Iterable[Any]) -> list[Any]:
    return sorted(set(labels), key=sort_key)


# The order that a table of all rows would have, per axis.
_ORDERS: tuple[Callable[[Iterable[Any]], list[Any]], ...] = (_by_value, natural_order, _by_value)


def _n_cells(conditions: Codes, groups: Codes, prediction: Prediction) -> int:
    return (len(conditions.values_of) + 1) * (len(groups.values_of) + 1) * prediction.width


def _count(conditions: Codes, groups: Codes, prediction: Prediction, weight: Floats | None) -> Floats:
    """Conditions × groups × classes, where the first condition is "outside 𝒵" and the first group "unknown"."""
    n_z, n_s = len(conditions.values_of) + 1, len(groups.values_of) + 1
    integer = weight is None and isinstance(prediction.source, Codes)

    def count(part: slice) -> NDArray[Any]:
        table = np.zeros((n_z * n_s, prediction.width), dtype=np.int64 if integer else np.float64)
        for rows in chunks(part):
            cells, first = groups.part(rows), groups.first - 1 - n_s  # every row in the second condition, if in one
            if not conditions.is_constant:
                z = conditions.part(rows)
                cells, first = _kernels.joint_rows(z, conditions.first - 1, cells, groups.first - 1, n_s), 0
            _count_chunk(cells, first, prediction, rows, None if weight is None else weight[rows], table)
        return table

    table = sum(over_parts(len(groups), count))
    return np.reshape(table, (n_z, n_s, prediction.width)).astype(np.float64)


def _count_chunk(
    cells: Ints, first: int, prediction: Prediction, rows: slice, weight: Floats | None, table: NDArray[Any]
) -> None:
    labels = prediction.source
    if isinstance(labels, Codes) and weight is None:
        _kernels.count_labels(cells, first, labels.part(rows), labels.first, table)
    elif isinstance(labels, Codes) and weight is not None:
        _kernels.weigh_labels(cells, first, labels.part(rows), labels.first, weight, table)
    elif isinstance(labels, np.ndarray):
        F = np.ascontiguousarray(labels[rows], dtype=np.float64)
        bad = _kernels.add_probabilities(cells, first, F, _ONE if weight is None else weight, _TOLERANCE, table)
        if bad >= 0:
            raise bad_argument(
                "y_pred",
                f"has the row {rows.start + bad} [{', '.join(f'{f:.4g}' for f in F[bad][:8])}]",
                "probabilities: at least zero, none missing, summing to one (labels go in as a one-dimensional array)",
            )


def _labelled(
    counts: Floats, conditions: Codes, names: list[str | None], groups: Codes, prediction: Prediction, notion: str
) -> Contingency:
    """Drop what never occurred, name the axes, put the groups into their order."""
    by_group = counts.sum(axis=(0, 2))
    occurs = np.flatnonzero(by_group[1:] > 0)
    labels = group_labels(names, [groups.values_of[j] for j in occurs.tolist()])
    ordered = natural_order(labels)
    table = np.zeros((len(ordered), len(conditions.values_of), counts.shape[2]))
    # Two values with the same label, such as 1 and "1", are one group: add, do not assign.
    np.add.at(table, np.array(positions(labels, ordered)), counts[1:, 1 + occurs].swapaxes(0, 1))
    table = table.swapaxes(0, 1)
    table, classes = prediction.name_classes(table, counts.sum(axis=(0, 1)) > 0)
    return Contingency(
        table,
        tuple(conditions.values_of),
        tuple(ordered),
        classes,
        float(by_group[0]),
        notion,
        not isinstance(prediction.source, Codes),
    )
