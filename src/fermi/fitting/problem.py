"""Training rows as codes: what the solvers and the search for λ see of X, y and the sensitive columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.errors import bad_argument, listed
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.arguments import number
from fermi.inputs.cells import Cells
from fermi.inputs.columns import Column, check_rows, read_columns, row_index
from fermi.inputs.groups import ARGUMENT, ordered_codes
from fermi.inputs.predictions import read_weight
from fermi.notions import ConditionWeights, Notion

_LEAST_TOTAL, _LARGEST_TOTAL = 1e-100, 1e100  # of weights, whose products and quotients must be numbers


class Attribute(NamedTuple):
    """The groups of one ERMI term: their labels and each row's code, -1 where it is unknown."""

    labels: tuple[str, ...]
    codes: Ints

    @classmethod
    def of(cls, columns: dict[str | None, Column], attributes: str, *, known: bool = True) -> tuple[Attribute, ...]:
        """Read one attribute for the combinations of all columns, or one per column; each needs some `known` group."""
        if not columns:
            return ()
        if attributes == "intersection" or len(columns) == 1:
            parts: list[Any] = [columns]
        else:
            parts = [{f"column {name}" if str(name).isdigit() else name: c} for name, c in columns.items()]
        found = []
        for part in parts:
            codes = ordered_codes(part)
            if known and not codes.values_of:
                name = ARGUMENT if len(parts) == 1 else f"{ARGUMENT}[{next(iter(part))!r}]"
                raise bad_argument(name, "is unknown in every row", "a known group in at least one")
            found.append(cls(tuple(codes.values_of), codes.dense()))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem to train on: rows, their classes, conditions and groups as codes, and their weights.

    Attributes
    ----------
    X : array or CSR matrix
        The features.
    target : (n,) int64
        The class of each row.
    weight : (n,) float64
        What each row weighs in the group statistics and, times its class's weight, in the loss.
    conditions : (n,) int64
        The value of Z, -1 outside 𝒵.
    class_weight : (m,) float64
        What a class's rows weigh in the loss.
    condition_names : tuple
        The values of 𝒵.
    attributes : tuple of Attribute
        The groups, one entry per ERMI term.
    columns : tuple of str or None
        The names of the sensitive columns.
    condition_weights : ConditionWeights or None
        What the conditions count in the fairness term, if not their share of the rows.
    """

    X: Any
    target: Ints
    weight: Floats
    conditions: Ints
    class_weight: Floats
    condition_names: tuple[Any, ...]
    attributes: tuple[Attribute, ...]
    columns: tuple[str | None, ...] = ()
    condition_weights: ConditionWeights | None = None

    @property
    def n_conditions(self) -> int:
        """The number of conditions, the values of 𝒵."""
        return len(self.condition_names)

    @property
    def n_classes(self) -> int:
        """The number of classes, whether these rows show them or not."""
        return len(self.class_weight)

    @property
    def groups(self) -> tuple[str, ...]:
        """The labels of the groups of all terms, one after the other."""
        return tuple(label for attribute in self.attributes for label in attribute.labels)

    def joined_duals(self, duals: Sequence[Floats]) -> Floats:
        """Join the W of all terms: conditions × groups of all terms × classes."""
        return np.concatenate([np.zeros((self.n_conditions, 0, self.n_classes)), *duals], axis=1)

    def split_duals(self, joined: Floats) -> tuple[Floats, ...]:
        """Split W into that of each term, undoing `joined_duals`."""
        sizes = [len(attribute.labels) for attribute in self.attributes]
        return tuple(np.split(joined, np.cumsum(sizes)[:-1], axis=1)) if sizes else ()

    @property
    def loss_weight(self) -> Floats:
        """What each row weighs in the loss; the weights sum to one."""
        weight: Floats = self.weight * self.class_weight[self.target]
        weight /= weight.sum()
        return weight

    def objective(self, lam: float) -> FairObjective:
        """The objective over these rows, loss + λ Σ ERMI."""
        weighs = self.condition_weights is not None
        terms = tuple(Term.of(cells, self.factors(cells.totals()) if weighs else None) for cells in self.cells())
        return FairObjective(self.target, self.loss_weight, terms, 0.0).at(lam)

    def factors(self, joint: Floats) -> Floats | None:
        """The factor of each condition's rows in a term whose cells weigh `joint`, Z × k; None where all are 1."""
        if self.condition_weights is None:
            return None
        return self.condition_weights.factors(joint.sum(axis=1), self.condition_names)

    def cells(self) -> tuple[Cells, ...]:
        """The cells of the rows, for each attribute."""
        return tuple(
            Cells.of(self.conditions, a.codes, (self.n_conditions, len(a.labels)), self.weight) for a in self.attributes
        )

    def take(self, rows: Ints | slice) -> Problem:
        """The column of some of the rows."""
        return replace(
            self,
            X=take_rows(self.X, rows),
            target=self.target[rows],
            weight=self.weight[rows],
            conditions=self.conditions[rows],
            attributes=tuple(Attribute(a.labels, a.codes[rows]) for a in self.attributes),
        )

    def is_judgeable(self) -> bool:
        """Whether every attribute is known in some row that has weight and counts, and the loss has weight."""
        counts = (self.conditions >= 0) & (self.weight > 0)
        known = all(bool((counts & (a.codes >= 0)).any()) for a in self.attributes)
        return known and float(self.weight @ self.class_weight[self.target]) > 0.0

    def strata(self) -> Ints:
        """A number for each combination of class and groups, so that parts of the rows can hold all of them."""
        strata = self.target.copy()
        for attribute in self.attributes:
            strata = np.unique(strata * (len(attribute.labels) + 1) + attribute.codes, return_inverse=True)[1]
        return strata


def take_rows(X: Any, rows: Ints | slice) -> Any:
    """Some rows of an array, a CSR matrix or a table; of an Arrow table by number, not by a slice."""
    if type(X).__module__.partition(".")[0] == "pyarrow":
        return X.take(rows)
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


class Source(NamedTuple):
    """The arguments as the caller passed them, for their indexes."""

    X: Any
    y: Any
    sensitive_features: Any
    sample_weight: Any


def read_problem(
    source: Source,
    matrix: Any,
    labels: Any,
    target: Ints,
    classes: Sequence[Any],
    class_weight: Any,
    notion: Notion,
    attributes: str,
    *,
    known: bool = True,
) -> Problem:
    """Read a problem: check that all columns are about the same rows, and code them.

    `matrix` and `labels` are X and y as arrays, `target` the labels' codes among the classes.
    """
    n, sensitive = len(target), source.sensitive_features
    columns = {} if sensitive is None else read_columns(sensitive, ARGUMENT)
    indexed = (source.X, source.y, *columns.values(), source.sample_weight)
    notion = notion.aligned(next((i for i in map(row_index, indexed) if i is not None), None))
    weight = read_weight(source.sample_weight)
    check_rows(
        [
            ("X", range(matrix.shape[0]) if row_index(source.X) is None else source.X),
            ("y", range(n) if row_index(source.y) is None else source.y),
            *((ARGUMENT if name is None else f"{ARGUMENT}[{name!r}]", column) for name, column in columns.items()),
            ("sample_weight", weight if row_index(source.sample_weight) is None else source.sample_weight),
            ("fairness", notion.column),
        ]
    )
    total = 1.0 if weight is None or not n else float(weight.sum())
    if not _LEAST_TOTAL <= total <= _LARGEST_TOTAL:
        expected = f"one from {_LEAST_TOTAL:.0e} to {_LARGEST_TOTAL:.0e}"
        raise bad_argument("sample_weight", f"has the sum {total:.3g}", expected)
    conditions = notion.conditions(labels, n, classes, None if weight is None else weight > 0)
    weight = np.ones(n) if weight is None else weight
    return Problem(
        matrix,
        target,
        weight,
        conditions.dense(),
        class_weights(class_weight, classes, target, weight),
        tuple(conditions.values_of),
        Attribute.of(columns, attributes, known=known),
        tuple(columns),
        notion.condition_weights(classes),
    )


def refuse_other_rows(notion: Notion, source: Source, training: Any, argument: str) -> None:
    """Refuse rows that the column of a notion does not know by their labels, or that are among those of training."""
    if notion.column is None:
        return
    own, found = row_index(notion.column), row_index(source.X)
    if own is None or found is None or not own.is_unique or not found.isin(own).all():
        raise bad_argument(
            argument, f"comes with a notion whose column is about other rows ({notion.name!r})",
            "a pandas column whose index has the rows of both, or none",
        )  # fmt: skip
    if training is not None and found.isin(training).any():
        raise bad_argument(
            argument, f"has index labels of training rows, and {notion.name!r} finds its rows by them", "others"
        )


def class_weights(class_weight: Any, classes: Sequence[Any], target: Ints, weight: Floats) -> Floats:
    """What each class's rows weigh in the loss, times their own weight; "balanced" makes all classes weigh the same."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        present = np.bincount(target, weights=weight, minlength=len(classes))
        return np.asarray(present.sum() / (len(classes) * np.where(present > 0, present, np.inf)))
    if not isinstance(class_weight, Mapping):
        raise bad_argument("class_weight", f"is {class_weight!r}", "a dict of class and weight, 'balanced' or None")
    strange = [label for label in class_weight if label not in classes]
    if strange:
        raise bad_argument("class_weight", f"names {strange[0]!r}", f"one of the classes {listed(classes)}")
    expected = "numbers from 0 to 1e100, not all 0"
    found = [number("class_weight", class_weight.get(c, 1.0), expected, low=0.0, high=1e100) for c in classes]
    if len(target) and not (weight @ np.array(found)[target]) > 0.0:
        raise bad_argument("class_weight", "leaves no row any weight", expected)
    return np.array(found)
