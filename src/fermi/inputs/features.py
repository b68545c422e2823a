"""Reads features and targets as an estimator receives them, in scikit-learn's conventions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, validate_data

from fermi._typing import Ints
from fermi.errors import FermiError, UnreadableError, bad_argument, listed
from fermi.inputs.columns import as_frame
from fermi.inputs.encode import encode
from fermi.inputs.groups import positions

_WORDS = (nw.String, nw.Categorical, nw.Enum, nw.Date, nw.Datetime, nw.Duration, nw.Time)
_LONG = 400  # letters of what a library says of an array


def read_features(estimator: Any, X: Any, y: Any = None, *, reset: bool, rows: bool = False) -> tuple[Any, Any]:
    """Read X as a float array or a CSR matrix, and y as an array; neither is copied if it is that already.

    `rows` asks for rows that are contiguous in memory.
    """
    _refuse_words(X)
    options = {
        "accept_sparse": "csr",
        "dtype": (np.float64, np.float32),
        "order": "C" if rows else None,
        "ensure_all_finite": False,
        "reset": reset,
    }
    with in_one_sentence():
        if y is None and not reset:
            matrix = validate_data(estimator, X, **options)
        else:
            matrix, y = validate_data(estimator, X, y, **options)
    refuse_infinite(matrix, getattr(estimator, "feature_names_in_", None))
    return matrix, y


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """Say what scikit-learn and NumPy say of rows in one sentence, as an error of this package."""
    try:
        yield
    except FermiError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        words = str(error)
        if words.startswith("The feature names"):  # scikit-learn's list of them, which tools look for as it is
            raise FermiError(words) from error
        words = " ".join(words.split()).rstrip(".")
        words = f"`X` or `y` cannot be read: {words if len(words) < _LONG else f'{words[:_LONG]}...'}."
        raise (UnreadableError if isinstance(error, TypeError) else FermiError)(words) from error


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was when its fit fails: scikit-learn's own checks change it first."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def read_matrix(X: Any) -> Any:
    """Read X as a float array or a CSR matrix, for no estimator."""
    _refuse_words(X)
    with in_one_sentence():
        matrix = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False)
    refuse_infinite(matrix, None)
    return matrix


def _refuse_words(X: Any) -> None:
    kinds = {getattr(dtype, "kind", "O") for dtype in set(X.dtypes)} if hasattr(X, "iloc") and X.ndim == 2 else {"O"}
    if kinds <= set("biuf"):
        return  # a pandas table of numbers: asking each column takes milliseconds
    refuse_dates(X)
    frame = as_frame(X, "X")
    if isinstance(frame, nw.DataFrame):
        words = [name for name, dtype in frame.schema.items() if dtype in _WORDS]
        if words:
            raise bad_argument(
                "X",
                f"has the columns {listed(words, limit=4)}, which are not numbers",
                "numbers (scikit-learn's OneHotEncoder turns categories into them)",
            )


def refuse_dates(X: Any) -> None:
    """Refuse an array of dates or durations, which would count as nanoseconds or whatever its unit is."""
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "") in ("m", "M"):
        raise bad_argument("X", f"is an array of {dtype}", "numbers (days since a date that means something, say)")


def refuse_infinite(matrix: Any, names: Any, *, missing: bool = False) -> None:
    """Refuse infinite features, and missing ones unless entries may be `missing`."""
    values = matrix.data if hasattr(matrix, "tocsr") else matrix
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = np.isinf(values) if missing else ~np.isfinite(values)
    if not bad.any():
        return
    column = int(matrix.indices[bad][0] if hasattr(matrix, "tocsr") else np.flatnonzero(bad.any(axis=0))[0])
    name = repr(names[column]) if names is not None else column
    if missing:
        raise bad_argument("X", f"holds inf, first in column {name}", "finite numbers, or NaN where one is missing")
    raise bad_argument(
        "X",
        f"holds NaN or inf, first in column {name}",
        "finite numbers (scikit-learn's SimpleImputer fills in missing ones)",
    )


def read_target(y: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
    """Read each row's class as a code, and the classes, sorted."""
    if np.ndim(y) != 1 or not len(y):
        raise bad_argument("y", f"has the shape {np.shape(y)}", "one label per row, at least one")
    codes = encode(y, "y").compact()
    if codes.n_unknown:
        raise bad_argument("y", f"has {codes.n_unknown} missing entries", "a label in every row")
    check_labels(codes.values_of, y.dtype)
    if len(codes.values_of) < 2:
        raise bad_argument("y", f"holds one class only, {codes.values_of[0]!r}", "at least two classes")
    return codes.dense(), as_labels(codes.values_of, y.dtype)


def check_labels(values: Sequence[Any], dtype: Any) -> None:
    """Refuse labels that are no classes, such as fractions."""
    with warnings.catch_warnings(), in_one_sentence():
        warnings.simplefilter("ignore")  # of distinct labels it says that they are many
        check_classification_targets(as_labels(values, dtype))


def natural_labels(values: Sequence[Any]) -> NDArray[Any]:
    """Labels as an array of their own type, of objects where they have several."""
    types = set(map(type, values))
    return as_labels(values, None if len(types) == 1 and types <= {str, int, float, bool} else object)


def as_labels(values: Sequence[Any], dtype: Any) -> NDArray[Any]:
    """Labels as an array that `predict` can index, of the target's own type."""
    if dtype is not None and np.dtype(dtype) == object:
        labels = np.empty(len(values), dtype=object)
        labels[:] = list(values)
        return labels
    return np.array(list(values), dtype=dtype)


def known_target(y: NDArray[Any], classes: Sequence[Any], argument: str) -> Ints:
    """The codes of labels that must be among the classes."""
    codes = encode(y, argument).compact()
    places = positions(codes.values_of, classes)
    if codes.n_unknown or -1 in places:
        strange = "a missing label" if codes.n_unknown else repr(codes.values_of[places.index(-1)])
        raise bad_argument(argument, f"holds {strange}", f"one of the classes {listed(classes)}")
    return codes.recode(places, classes).dense()
