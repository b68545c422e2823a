"""What a caller passes to an audit, read: predictions, labels, groups and weights of the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fermi._typing import Floats
from fermi.auditing._counting import Counting
from fermi.auditing._tally import Tally
from fermi.compiled.kernels import pair_codes
from fermi.compiled.parallel import chunks
from fermi.errors import bad_argument, listed
from fermi.inputs.cells import n_cells
from fermi.inputs.coded_groups import CodedGroups
from fermi.inputs.codes import Codes
from fermi.inputs.columns import as_frame, check_rows, read_column, read_columns
from fermi.inputs.encode import encode, same_kind, sort_key
from fermi.inputs.groups import ARGUMENT, group_codes
from fermi.inputs.predictions import Prediction, read_prediction, read_weight
from fermi.notions import Notion


def tally(
    y_true: Any,
    y_pred: Any,
    sensitive_features: Any,
    notion: Notion,
    classes: Sequence[Any] | None,
    sample_weight: ArrayLike | None,
    labels: Any = None,
    counts: ArrayLike | None = None,
    *,
    whole: bool = True,
) -> Tally:
    """Read and count. The groups may be coded already, where several predictions for the same rows are audited.

    Rows that are not the `whole` of them may all be of unknown group.
    """
    prediction = read_prediction(y_pred, classes)
    coded = sensitive_features if isinstance(sensitive_features, CodedGroups) else None
    columns = {} if coded is not None else read_columns(sensitive_features, ARGUMENT)
    weight = _read_weight(sample_weight) if counts is None else _read_counts(counts, sample_weight)
    named = [(ARGUMENT if name is None else f"{ARGUMENT}[{name!r}]", column) for name, column in columns.items()]
    n = check_rows(
        [
            ("y_pred", as_frame(y_pred, "y_pred")),
            *(named if coded is None else [(ARGUMENT, coded.codes)]),
            ("y_true", None if y_true is None else read_column(y_true, "y_true")),
            ("sample_weight", sample_weight),
            ("counts", counts),
            ("notion", notion.column),
            ("labels", None if labels is None else read_column(labels, "labels")),
        ]
    )
    if y_true is None and notion.needs_target:
        raise bad_argument("y_true", f"is missing, and {notion.name!r} conditions on it", "the true labels")
    groups = group_codes(columns) if coded is None else coded.as_codes()
    known = n - groups.n_unknown if weight is None else float(weight[~groups.is_unknown()].sum())
    if whole and not known:
        raise bad_argument(ARGUMENT, "is unknown in every row", "a known group in at least one")
    target = _read_target(y_true, n)
    names = _classes(prediction, target if y_true is not None else None)
    z = notion.conditions(None, n) if notion.column is not None else None
    strata = target if z is None else _paired(z, target)
    if n_cells(strata, groups, prediction) > max(1 << 20, 4 * n):
        prediction, groups = prediction.compact(), groups.compact()
    given = None if labels is None else _read_given(labels, prediction, names)
    counted = Counting(strata, groups, weight, names, given, repeated=counts is not None)
    names_of = tuple(columns) if coded is None else coded.columns
    return counted.tally(prediction, target, z, notion, names_of, has_labels=y_true is not None)


def _read_weight(sample_weight: Any) -> Floats | None:
    """Read weights, and refuse those whose squares cannot be added, as intervals need."""
    weight = read_weight(sample_weight)
    if weight is not None and len(weight) and not (weight[weight > 0].min() > 1e-100 and weight.max() < 1e100):
        found = "holds a weight below 1e-100 or above 1e100"
        raise bad_argument("sample_weight", found, "zeros, or weights of a size that can be squared")
    return weight


def _read_counts(counts: Any, sample_weight: Any) -> Floats | None:
    """Read how many rows each row stands for."""
    if sample_weight is not None:
        raise bad_argument("counts", "is given beside `sample_weight`", "one of them")
    found = read_weight(counts, "counts")
    if found is not None and (found != np.round(found)).any():
        raise bad_argument("counts", "holds fractions", "whole numbers, of how many rows each row stands for")
    return found


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
