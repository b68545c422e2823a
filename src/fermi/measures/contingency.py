"""The weight of every (condition, group, prediction) cell: the sufficient statistic of every measure here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fermi._typing import Floats
from fermi.errors import FermiError, bad_argument, listed
from fermi.inputs.arguments import number
from fermi.inputs.columns import read_columns, read_labels
from fermi.inputs.encode import same_kind
from fermi.inputs.groups import ARGUMENT, positions
from fermi.measures._axes import AXES, merged
from fermi.measures._counting import Rows, count_rows
from fermi.measures._counts import CALLED, read_counts
from fermi.notions import Notion, as_notion


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
        What the conditions are: the name of the notion, with 𝒵 where that is a choice.
    soft : bool
        Whether the predictions were probabilities (soft) or labels (hard).
    columns : sequence of str
        The sensitive columns that make the groups.

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
    columns: tuple[str | None, ...]

    def __init__(
        self,
        table: ArrayLike,
        conditions: Sequence[Any] = (),
        groups: Sequence[Any] = (),
        classes: Sequence[Any] = (),
        n_unknown: float = 0.0,
        notion: str = "demographic_parity",
        soft: bool = False,
        columns: Sequence[str | None] = (),
    ) -> None:
        cells = _read_table(table)
        n_unknown = number("n_unknown", n_unknown, "a weight of at least zero", low=0.0)
        fields: dict[str, Any] = {"table": cells, "n_unknown": float(n_unknown), "notion": notion, "soft": bool(soft)}
        for name, given, size in zip(AXES, (conditions, groups, classes), cells.shape, strict=True):
            left_out = isinstance(given, Sized) and getattr(given, "shape", None) != () and not len(given)
            labels = tuple(range(size)) if left_out else read_labels(given, name)
            labels = tuple(map(str, labels)) if name == "groups" else labels
            if len(set(labels)) != size:
                raise bad_argument(name, f"is {listed(labels)}", f"{size} different labels")
            fields[name] = labels
        for name, value in {**fields, "columns": tuple(columns)}.items():
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor, so that a copy's table is as immutable as the original's.
        return Contingency, tuple(getattr(self, name) for name in self.__dataclass_fields__)

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
            Labels make a hard table; probabilities make a soft one, as if labels were drawn from them.
        sensitive_features : array, Series, DataFrame or dict of columns
            One or several columns; several mean the combinations that occur. Rows with a missing entry are left out
            and counted in the table's `n_unknown`.
        y_true : (n,) labels, optional
            Needed by the notions that condition on the true label.
        notion : str or Notion
            What must be independent of the group: "demographic_parity", "equalized_odds", "equal_opportunity" or a
            notion such as ``ConditionalParity(z)``.
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
        rows = Rows(y_pred, read_columns(sensitive_features, ARGUMENT), y_true, sample_weight)
        return cls(*count_rows(rows, as_notion(notion), classes))

    @classmethod
    def from_counts(
        cls,
        frame: Any,
        *,
        prediction: str,
        group: str | Sequence[str],
        weight: str,
        condition: str | None = None,
        notion: str | Notion | None = None,
    ) -> Contingency:
        """Take the result of a GROUP BY, from any engine, as a table.

        Parameters
        ----------
        frame : table of pandas, polars or pyarrow, dict of columns, or Arrow stream
            One row for each combination that occurs; rows of the same combination are added up.
        prediction : str
            The column of predicted labels.
        group : str or sequence of str
            The sensitive column or columns; several mean the combinations that occur. Rows with a missing entry are
            left out and counted in the table's `n_unknown`.
        weight : str
            The column of counts, such as that of COUNT(*), or of sums of weights.
        condition : str, optional
            The column Z within whose values groups are compared; a missing entry leaves its rows out. Without one all
            rows are compared with each other.
        notion : str or Notion, optional
            What the condition is, where it is the true label: "equalized_odds" or "equal_opportunity". Tables merge
            with those of `from_predictions` of the same notion. By default `condition` is any column, as that of
            `ConditionalParity`.

        Returns
        -------
        Contingency

        Examples
        --------
        >>> found = {"label": [0, 1, 1], "sex": ["F", "F", "M"], "n": [30, 10, 25]}
        >>> c = Contingency.from_counts(found, prediction="label", group="sex", weight="n")
        >>> c.table.tolist(), c.groups
        ([[[30.0, 10.0], [0.0, 25.0]]], ('sex=F', 'sex=M'))
        """
        rows, chosen = read_counts(frame, prediction, group, weight, condition, notion)
        return cls(*count_rows(rows, chosen, called=CALLED))

    @property
    def total(self) -> float:
        """The weight of all rows that count, those with a known group and a condition in 𝒵."""
        return float(self.table.sum())

    def laws(self) -> Iterator[tuple[float, Floats]]:
        """For every condition z that has weight, its probability and the law of group and prediction given z.

        Yields
        ------
        p_z : float
            The share of the condition in the weight of all rows that count.
        law : array, groups × classes
            p(s, ŷ | z), which sums to one.
        """
        _, exponent = np.frexp(self.table.max(initial=0.0))
        if not self.table.any():
            raise FermiError(
                "No row counts: none has a known group and a condition inside the notion, so nothing can be measured."
            )
        scaled = np.ldexp(self.table, -exponent)  # no sum overflows, and a power of two rounds nothing
        total = scaled.sum()
        for counts in scaled:
            weight = counts.sum()
            if weight > 0.0:
                yield float(weight / total), counts / weight

    def rates(self) -> Floats:
        """The rate p(ŷ|s, z) of every predicted class in every group, condition by condition.

        Returns
        -------
        array, conditions × groups × classes
            NaN where a group has no row under a condition.
        """
        weight = self.table.sum(axis=2, keepdims=True)
        out = np.full(self.table.shape, np.nan)
        np.divide(self.table, weight, out=out, where=weight > 0)
        return out

    def __add__(self, other: object) -> Contingency:
        if not isinstance(other, Contingency):
            return NotImplemented
        self._check_mergeable(other)
        axes = merged(self._axes, other._axes)
        table = np.zeros([len(labels) for labels in axes])
        for part in (self, other):
            table[np.ix_(*(positions(a, b) for a, b in zip(part._axes, axes, strict=True)))] += part.table
        unknown = self.n_unknown + other.n_unknown
        conditions, groups, classes = axes
        columns = self.columns or other.columns
        return Contingency(table, conditions, groups, classes, unknown, self.notion, self.soft, columns)

    def _check_mergeable(self, other: Contingency) -> None:
        """Refuse to add a table that does not measure the same thing."""
        if (self.notion, self.soft) != (other.notion, other.soft):
            raise FermiError(
                f"Cannot merge {_kind(self)} with {_kind(other)}: both tables must measure the same thing."
            )
        if self.columns and other.columns and self.columns != other.columns:
            raise FermiError(
                f"Cannot merge groups of the columns {listed(self.columns)} with groups of {listed(other.columns)}: "
                "both tables must have the same sensitive columns in the same order."
            )
        for name, a, b in zip(AXES, self._axes, other._axes, strict=True):
            if not same_kind(a, b):
                raise FermiError(f"Cannot merge the {name} {listed(a)} with {listed(b)}: their types differ.")

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


def _read_table(table: ArrayLike) -> Floats:
    """A table of weights, checked: conditions × groups × classes, read-only."""
    try:
        filled = np.asarray(np.ma.filled(table, np.nan))
        if filled.dtype.kind == "c":
            raise TypeError  # whose imaginary parts would be lost
        cells = np.array(filled, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise bad_argument("table", "is not an array of numbers", "conditions × groups × classes") from None
    cells = cells[None] if cells.ndim == 2 else cells
    if cells.ndim != 3:
        raise bad_argument("table", f"has {cells.ndim} dimensions", "conditions × groups × classes")
    if not (np.isfinite(cells).all() and (cells >= 0).all()):
        raise bad_argument("table", "holds negative or non-finite weights", "weights of at least zero")
    cells.flags.writeable = False
    return cells
