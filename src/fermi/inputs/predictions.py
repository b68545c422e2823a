"""Reads predictions and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats
from fermi.errors import bad_argument, listed
from fermi.inputs.codes import Codes
from fermi.inputs.columns import as_frame, read_array, read_column, read_labels
from fermi.inputs.encode import encode
from fermi.inputs.groups import positions

_EITHER = "(n,) labels or (n, m) probabilities"


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictions as coded labels or as a probability matrix.

    `names` are the names of the matrix's columns; `declared` are the classes that the caller vouches for.
    """

    source: Codes | NDArray[Any]
    declared: tuple[Any, ...] | None
    names: tuple[Any, ...] | None = None

    @property
    def width(self) -> int:
        """How many columns a table of these predictions has before unused ones are dropped."""
        return len(self.source.values_of) if isinstance(self.source, Codes) else self.source.shape[1]

    def compact(self) -> Prediction:
        """The prediction without labels that never occur."""
        source = self.source.compact() if isinstance(self.source, Codes) else self.source
        return Prediction(source, self.declared, self.names)

    def name_classes(self, table: Floats, occurs: NDArray[np.bool_]) -> tuple[Floats, tuple[Any, ...]]:
        """Put the last axis of a table into the order of the classes, and name them."""
        if not isinstance(self.source, Codes):
            return table, self.declared or self.names or tuple(range(self.width))
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


def read_prediction(y_pred: Any, classes: Sequence[Any] | None, argument: str = "y_pred") -> Prediction:
    """Read labels or probabilities, told apart by their dimensions."""
    declared = None if classes is None else read_labels(classes, "classes")
    frame = as_frame(y_pred, "y_pred")
    if isinstance(frame, nw.DataFrame):
        return Prediction(_read_matrix(frame.to_numpy(), declared), declared, tuple(frame.columns))
    is_matrix = not isinstance(y_pred, str | bytes) and hasattr(y_pred, "__len__") and _dimensions(y_pred) > 1
    if is_matrix:
        return Prediction(_read_matrix(read_array(y_pred, "y_pred"), declared), declared)
    return Prediction(_read_predicted(y_pred, argument), declared)


def _dimensions(data: Any) -> int:
    """The number of dimensions, from the first entry of a list: a long list of text must not become an array."""
    if isinstance(data, list | tuple):
        return 1 + (isinstance(data[0], list | tuple | np.ndarray) if data else 0)
    return len(getattr(data, "shape", (0,)))


def _read_matrix(matrix: NDArray[Any], declared: tuple[Any, ...] | None) -> NDArray[Any]:
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise bad_argument("y_pred", f"has the shape {matrix.shape}", _EITHER)
    if matrix.dtype == object or isinstance(matrix, np.ma.MaskedArray):
        matrix = _as_floats(matrix, "y_pred", _EITHER)
    if matrix.dtype.kind not in "biuf":
        raise bad_argument("y_pred", f"is a matrix of {matrix.dtype}", _EITHER)
    if declared is not None and len(declared) != matrix.shape[1]:
        raise bad_argument("classes", f"has {len(declared)} labels", f"{matrix.shape[1]}, one per column of `y_pred`")
    return matrix


def _as_floats(values: Any, argument: str, expected: str) -> Floats:
    """Turn entries into float64, with NaN where one is masked or missing."""
    try:
        floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise bad_argument(argument, "is not numeric", expected) from None
    return np.where(np.ma.getmaskarray(values), np.nan, floats) if np.ma.isMaskedArray(values) else floats


def _read_predicted(y_pred: Any, argument: str) -> Codes:
    codes = encode(read_column(y_pred, argument, _EITHER), argument)
    if codes.n_unknown:
        raise bad_argument(argument, f"has {codes.n_unknown} missing entries", "a prediction in every row")
    values: Sequence[Any] = () if isinstance(codes.values_of, range) else codes.values_of
    fraction = next((v for v in values if isinstance(v, float) and not v.is_integer()), None)
    if fraction is not None:
        raise bad_argument(
            argument,
            f"holds numbers such as {fraction:.4g}",
            "labels, or an (n, m) matrix of probabilities (for the scores p of one class: np.column_stack([1 - p, p]))",
        )
    return codes


def read_weight(sample_weight: Any, argument: str = "sample_weight") -> Floats | None:
    """Read weights as float64, or None for ones."""
    if sample_weight is None:
        return None
    expected = "one number of at least zero per row"
    column = read_column(sample_weight, argument, expected)
    array = column.to_numpy() if isinstance(column, nw.Series) else column
    if array.dtype.kind not in "biufO":
        raise bad_argument(argument, f"is of the type {array.dtype}", expected)
    weight = np.ascontiguousarray(_as_floats(array, argument, expected))
    if not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise bad_argument(argument, "holds negative, missing or infinite numbers", expected)
    if len(weight) and not weight.any():
        raise bad_argument(argument, "is zero in every row", "a positive weight in at least one")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise bad_argument(argument, "has no finite sum", "weights that can be added")
    return weight
