"""Rows to sums: all that an audit needs, by (true label, group, prediction), in a few passes over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fermi._typing import Floats, Ints
from fermi.compiled.kernels import pair_codes
from fermi.compiled.parallel import chunks, over_parts
from fermi.errors import bad_argument, listed
from fermi.fitting.scores import most_probable
from fermi.inputs.cells import count, count_bins, count_products, n_cells
from fermi.inputs.coded_groups import CodedGroups
from fermi.inputs.codes import Codes
from fermi.inputs.columns import as_frame, check_rows, read_column, read_columns
from fermi.inputs.encode import encode, same_kind, sort_key
from fermi.inputs.groups import ARGUMENT, arrange, group_codes, positions
from fermi.inputs.predictions import Prediction, read_prediction, read_weight
from fermi.notions import Notion

N_BINS = 10
_MOST_PRODUCTS = 1 << 22  # entries of a table of second moments


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over rows by stratum, group and class; a stratum is the true label with the notion's own column, if any.

    Tables are strata × groups × classes; `condition_of` and `label_of` say which condition of the notion (-1: outside)
    and which true label each stratum is. Under `squares` are the sums of squared weights, for probabilities those of
    w² F Fᵀ, or of w² F alone where those would be too many. `unknown` is what the rows of no known group add up to.
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


def tally(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    notion: Notion,
    classes: Sequence[Any] | None,
    sample_weight: ArrayLike | None,
    labels: Any = None,
) -> Tally:
    """Read and count. The groups may be coded already, where several predictions for the same rows are audited."""
    prediction = read_prediction(y_pred, classes)
    coded = sensitive_features if isinstance(sensitive_features, CodedGroups) else None
    columns = {} if coded is not None else read_columns(sensitive_features, ARGUMENT)
    weight = _read_weight(sample_weight)
    named = [(ARGUMENT if name is None else f"{ARGUMENT}[{name!r}]", column) for name, column in columns.items()]
    n = check_rows(
        [
            ("y_pred", as_frame(y_pred, "y_pred")),
            *(named if coded is None else [(ARGUMENT, coded.codes)]),
            ("y_true", None if y_true is None else read_column(y_true, "y_true")),
            ("sample_weight", sample_weight),
            ("notion", notion.column),
            ("labels", None if labels is None else read_column(labels, "labels")),
        ]
    )
    if y_true is None and notion.needs_target:
        raise bad_argument("y_true", f"is missing, and {notion.name!r} conditions on it", "the true labels")
    groups = group_codes(columns) if coded is None else coded.as_codes()
    known = n - groups.n_unknown if weight is None else float(weight[~groups.is_unknown()].sum())
    if not known:
        raise bad_argument(ARGUMENT, "is unknown in every row", "a known group in at least one")
    target = _read_target(y_true, n)
    names = _classes(prediction, target if y_true is not None else None)
    z = notion.conditions(None, n) if notion.column is not None else None
    strata = target if z is None else _paired(z, target)
    if n_cells(strata, groups, prediction) > max(1 << 20, 4 * n):
        prediction, groups = prediction.compact(), groups.compact()
    given = None if labels is None else _read_given(labels, prediction, names)
    counted = _Counting(strata, groups, weight, names, given)
    names_of = tuple(columns) if coded is None else coded.columns
    return counted.tally(prediction, target, z, notion, names_of, has_labels=y_true is not None)


def _read_weight(sample_weight: Any) -> Floats | None:
    """Read weights, and refuse those whose squares cannot be added, as intervals need."""
    weight = read_weight(sample_weight)
    if weight is not None and len(weight) and not (weight[weight > 0].min() > 1e-100 and weight.max() < 1e100):
        found = "holds a weight below 1e-100 or above 1e100"
        raise bad_argument("sample_weight", found, "zeros, or weights of a size that can be squared")
    return weight


def _read_target(y_true: Any, n: int) -> Codes:
    if y_true is None:
        return Codes.constant(n, None)
    target = encode(read_column(y_true, "y_true"), "y_true").compact()
    if target.n_unknown:
        raise bad_argument("y_true", f"has {target.n_unknown} missing entries", "a label in every row, or None")
    return target


def _classes(prediction: Prediction, target: Codes | None) -> tuple[Any, ...]:
    """The classes that predictions and labels share, in order."""
    labels = () if target is None else tuple(target.values_of)
    declared = prediction.declared or prediction.names
    if isinstance(prediction.source, Codes):
        predicted = [prediction.source.values_of[j] for j in prediction.source.occurring()]
        if declared is None:
            if not same_kind(predicted, labels):
                raise bad_argument(
                    "y_pred", f"holds {listed(predicted)}", f"labels such as those of `y_true`, {listed(labels)}"
                )
            return tuple(sorted({*predicted, *labels}, key=sort_key))
        if absent := [label for label in predicted if label not in declared]:
            raise bad_argument("y_pred", f"holds {absent[0]!r}", f"one of {listed(declared)}")
    elif declared is None:
        declared = tuple(range(prediction.width))
        if not set(labels) <= set(declared) and len(labels) == prediction.width:
            return labels  # as scikit-learn has its columns: the labels in sorted order
    if absent := [label for label in labels if label not in declared]:
        expected = f"one of the classes {listed(declared)} (`classes` names the columns of a matrix)"
        raise bad_argument("y_true", f"holds {absent[0]!r}", expected)
    return declared


def _read_given(labels: Any, prediction: Prediction, classes: tuple[Any, ...]) -> Codes:
    """Read the labels that a model gives beside its probabilities."""
    if isinstance(prediction.source, Codes):
        raise bad_argument("labels", "is given, and `y_pred` is labels already", "None, or probabilities in `y_pred`")
    codes = encode(read_column(labels, "labels"), "labels").compact()
    if codes.n_unknown:
        raise bad_argument("labels", f"has {codes.n_unknown} missing entries", "a label in every row")
    strange = [value for value in codes.values_of if value not in classes]
    if strange:
        raise bad_argument("labels", f"holds {strange[0]!r}", f"one of {listed(classes)}")
    return codes


def _paired(z: Codes, target: Codes) -> Codes:
    """Code the pairs of condition and label; the first condition is "outside"."""
    width = len(target.values_of)
    numbers = np.empty(len(z), dtype=np.int64)
    for rows in chunks(slice(0, len(z))):
        pair_codes(z.part(rows), z.first - 1, target.part(rows), target.first, width, numbers[rows])
    return Codes(numbers, 0, range((len(z.values_of) + 1) * width))


@dataclass(frozen=True, eq=False)
class _Counting:
    """Coded rows, ready to be counted."""

    strata: Codes
    groups: Codes
    weight: Floats | None
    classes: tuple[Any, ...]
    given: Codes | None = None

    def tally(
        self, prediction: Prediction, target: Codes, z: Codes | None, notion: Notion, columns: Any, *, has_labels: bool
    ) -> Tally:
        soft = None if isinstance(prediction.source, Codes) else prediction
        soft_sums = None if soft is None else self.sums(soft, self.weight)  # refuses what is not a probability
        labels = prediction if soft is None else Prediction(self.labels(soft.source), None)
        square = None if self.weight is None else self.weight**2
        present = None if self.weight is None else (self.weight > 0).astype(np.float64)
        sums = [self.by_class(labels, w) for w in (present, self.weight, square)]
        by_group = sums[0].sum(axis=(0, 2))
        occurs = np.flatnonzero(by_group[1:] > 0)
        names, places = arrange(self.groups, occurs.tolist())
        settled = _GroupOrder(occurs, np.array(places, dtype=np.intp), len(names))
        rows, hard, hard_squares = (settled(table, 1) for table in sums)
        class_of = np.array(positions(target.values_of, self.classes), dtype=np.int64)
        conditions, condition_of = _conditions(notion, target, z, self.classes if has_labels else ())
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
            weighted=self.weight is not None,
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
        if n_cells(self.strata, self.groups, soft) * soft.width > _MOST_PRODUCTS:
            return self.sums(soft, square)
        return count_products(self.strata, self.groups, soft.source, square)[1:]

    def bins(self, F: Any, target: Codes, class_of: Ints) -> Floats:
        """Sums for the calibration bins of every group, the first of which is unknown."""
        return count_bins(self.groups, F, target, class_of, self.weight, N_BINS)


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


def _most_probable(F: Any, classes: tuple[Any, ...]) -> Codes:
    codes: NDArray[np.integer[Any]] = np.empty(len(F), np.int16 if len(classes) < 1 << 15 else np.int64)

    def look(part: slice) -> None:
        for rows in chunks(part):
            codes[rows] = most_probable(F[rows])

    over_parts(len(codes), look)
    return Codes(codes, 0, classes)


def _conditions(
    notion: Notion, target: Codes, z: Codes | None, classes: tuple[Any, ...]
) -> tuple[tuple[Any, ...], Ints]:
    """The conditions of a notion, and the condition of each stratum."""
    n_labels = len(target.values_of)
    if z is not None:
        return tuple(z.values_of), np.repeat(np.arange(-1, len(z.values_of)), n_labels)
    # Each label stands for all rows that have it.
    found = notion.conditions(list(target.values_of) if classes else None, n_labels, classes)
    return tuple(found.values_of), found.dense()
