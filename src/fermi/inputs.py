"""Reading and checking what the caller passes: predictions, weights, and rows that belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fermi._kernels import Floats
from fermi.encoding import Codes, check_column, column_codes
from fermi.errors import bad_argument, listed
from fermi.groups import positions


@dataclass(frozen=True)
class Prediction:
    """Predictions as coded labels or as a probability matrix, and the classes that the caller declared."""

    source: Codes | NDArray[Any]
    declared: tuple[Any, ...] | None

    @property
    def width(self) -> int:
        """How many columns a table of these predictions has before unused ones are dropped."""
        return len(self.source.values_of) if isinstance(self.source, Codes) else self.source.shape[1]

    def name_classes(self, table: Floats, occurs: NDArray[np.bool_]) -> tuple[Floats, tuple[Any, ...]]:
        """The table with its last axis in the order of the classes, and the classes."""
        if not isinstance(self.source, Codes):
            return table, self.declared or tuple(range(self.width))
        kept = np.flatnonzero(occurs).tolist()
        labels = [self.source.values_of[j] for j in kept]
        if self.declared is None:
            return table[:, :, kept], tuple(labels)
        places = positions(labels, self.declared)
        if -1 in places:
            raise bad_argument("y_pred", f"holds {labels[places.index(-1)]!r}", f"one of {listed(self.declared)}")
        out = np.zeros((*table.shape[:2], len(self.declared)))
        out[:, :, places] = table[:, :, kept]
        return out, self.declared


def read_prediction(y_pred: Any, classes: Sequence[Any] | None) -> Prediction:
    """Labels or probabilities, told apart by their dimensions."""
    declared = None if classes is None else _declared(classes)
    frame = nw.from_native(y_pred, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        declared = declared or tuple(frame.columns)
        matrix = frame.to_numpy()
    elif isinstance(frame, nw.Series) or np.ndim(y_pred) == 1:
        return Prediction(_read_labels(y_pred), declared)
    else:
        matrix = np.asarray(y_pred)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise bad_argument("y_pred", f"has the shape {matrix.shape}", "(n,) labels or (n, m) probabilities")
    if matrix.dtype.kind not in "biuf":
        raise bad_argument("y_pred", f"is a matrix of {matrix.dtype}", "(n,) labels or (n, m) probabilities")
    if declared is not None and len(declared) != matrix.shape[1]:
        raise bad_argument("classes", f"has {len(declared)} labels", f"{matrix.shape[1]}, one per column of `y_pred`")
    return Prediction(matrix, declared)


def _declared(classes: Sequence[Any]) -> tuple[Any, ...]:
    declared = tuple(classes.tolist() if hasattr(classes, "tolist") else classes)
    if not declared or len(set(declared)) != len(declared):
        raise bad_argument("classes", f"is {listed(declared)}", "at least one label, none of them twice")
    return declared


def _read_labels(y_pred: Any) -> Codes:
    check_column(y_pred, "y_pred")
    codes = column_codes(y_pred)
    if codes.n_unknown:
        raise bad_argument("y_pred", f"has {codes.n_unknown} missing entries", "a prediction in every row")
    fraction = next((v for v in codes.values_of if isinstance(v, float) and not v.is_integer()), None)
    if fraction is not None:
        raise bad_argument(
            "y_pred",
            f"holds numbers such as {fraction:.4g}",
            "labels, or an (n, m) matrix of probabilities (for the scores p of one class: np.column_stack([1 - p, p]))",
        )
    return codes


def read_weight(sample_weight: Any) -> Floats | None:
    """Weights as float64, or None for ones."""
    if sample_weight is None:
        return None
    try:
        weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise bad_argument("sample_weight", "is not numeric", "one number of at least zero per row") from None
    if weight.ndim != 1:
        raise bad_argument("sample_weight", f"has the shape {weight.shape}", "one dimension")
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise bad_argument("sample_weight", "holds negative or non-finite numbers", "numbers of at least zero")
    if not weight.any():
        raise bad_argument("sample_weight", "is zero in every row", "a positive weight in at least one")
    return weight


def check_rows(arguments: dict[str, Any]) -> int:
    """The number of rows that all arguments share; an argument that is None is left out.

    pandas objects must agree on their index as well: rows are matched by position, so two orders of the same index
    would be matched wrongly in silence.
    """
    columns = [
        (name, column)
        for name, value in arguments.items()
        if value is not None
        for column in (value.values() if isinstance(value, dict) else [value])
    ]
    (first, reference), *others = columns
    n = len(reference)
    if n == 0:
        raise bad_argument(first, "is empty", "at least one row")
    for name, column in others:
        if len(column) != n:
            raise bad_argument(name, f"has {len(column)} rows", f"{n}, as many as `{first}`")
    _check_indexes(columns)
    return n


def _check_indexes(columns: list[tuple[str, Any]]) -> None:
    natives = [(name, nw.to_native(column, pass_through=True)) for name, column in columns]
    indexed = [
        (name, native.index)
        for name, native in natives
        if nw.dependencies.is_pandas_like_dataframe(native) or nw.dependencies.is_pandas_like_series(native)
    ]
    for name, index in indexed[1:]:
        if not index.equals(indexed[0][1]):
            raise bad_argument(
                name,
                f"has another index than `{indexed[0][0]}`",
                "the same rows in the same order (reset_index(drop=True) on both if they are already aligned)",
            )
