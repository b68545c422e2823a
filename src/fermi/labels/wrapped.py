"""The classifier that is wrapped: how it is fitted, what it says of rows it has not seen, what is odd about it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone

from fermi._typing import Floats, Ints
from fermi.decisions.group_models import fit_weights
from fermi.errors import bad_argument
from fermi.fitting.problem import take_rows
from fermi.inputs.columns import as_frame
from fermi.inputs.features import known_target
from fermi.inputs.groups import positions

_FEW = 200  # rows that show how a classifier labels: those in doubt
_ROUNDING = 1e-3  # how far a row of probabilities may be from one


def check_classifier(estimator: Any, argument: str, *, fitted: bool = False) -> None:
    """Refuse what is no classifier with probabilities; one that is fitted already needs no `fit`."""
    expected = "a classifier with `predict_proba`, such as LogisticRegression()"
    if isinstance(estimator, type):
        raise bad_argument(argument, f"is the class {estimator.__name__}", expected)
    missing = [name for name in ("fit", "predict_proba")[fitted:] if not hasattr(estimator, name)]
    if missing:
        raise bad_argument(argument, f"is a {type(estimator).__name__}, without `{missing[-1]}`", expected)


def indexable(X: Any) -> Any:
    """Features whose rows can be taken by number: tables, arrays and CSR matrices as they are, others as an array."""
    if hasattr(X, "iloc") or hasattr(X, "tocsr") or hasattr(as_frame(X, "X"), "iter_columns"):
        return X.tocsr() if hasattr(X, "tocsr") else X
    return X if isinstance(X, np.ndarray) or hasattr(X, "detach") else np.asarray(X)


class WrappedRows(NamedTuple):
    """Rows as the wrapped classifier takes them."""

    X: Any
    y: NDArray[Any]
    sensitive: Any
    weight: Floats | None

    def take(self, rows: Ints) -> WrappedRows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return WrappedRows(take_rows(self.X, rows), self.y[rows], _sensitive_rows(self.sensitive, rows), weight)

    def fit(self, estimator: Any) -> Any:
        """Fit a copy of a classifier on these rows; one that trains fairly itself is given the groups as well."""
        model = clone(estimator)
        extra: dict[str, Any] = {}
        steps = getattr(model, "steps", None)
        inner, prefix = (steps[-1][1], f"{steps[-1][0]}__") if steps else (model, "")
        routed = bool(get_config()["enable_metadata_routing"])  # by name; else steps of pipelines are named as well
        if "sensitive_features" in inspect.signature(inner.fit).parameters:
            extra["sensitive_features" if routed else f"{prefix}sensitive_features"] = self.sensitive
        if self.weight is not None:
            if not self.weight.any():
                raise bad_argument(
                    "sample_weight", "is zero in all rows of a fold", "weights in more rows, or fewer `cv`"
                )
            taken = fit_weights(model, self.weight)
            if not taken:
                name = type(inner).__name__
                raise bad_argument("sample_weight", f"is given, and {name} takes none in `fit`", "None")
            extra |= {"sample_weight": self.weight} if routed else taken
        return model.fit(self.X, self.y, **extra)


def probabilities(model: Any, X: Any, classes: Sequence[Any]) -> Floats:
    """The probabilities of all classes; 0 of one that the model has not seen."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    places = positions(np.asarray(model.classes_).tolist(), classes)
    if -1 in places:
        strange = np.asarray(model.classes_).tolist()[places.index(-1)]
        raise bad_argument("estimator", f"knows the class {strange!r}, which `y` does not hold", "the classes of `y`")
    F = np.zeros((found.shape[0], len(classes)))
    F[:, places] = found
    if not np.isfinite(F).all() or (F < 0.0).any() or (np.abs(F.sum(axis=1) - 1.0) > _ROUNDING).any():
        raise bad_argument(
            "estimator", "gives numbers that are no probabilities", "rows of at least zero that sum to one"
        )
    return F


class Said(NamedTuple):
    """What a classifier says of rows: probabilities, n × m, and the codes of the labels it gives them."""

    F: Floats
    labels: Ints


def said_of(model: Any, X: Any, classes: Sequence[Any]) -> Said:
    """What a fitted classifier says of rows.

    Nearly all label the most probable class, which the rows that are nearest to a tie show; the others are asked for
    all labels.
    """
    F = probabilities(model, X, classes)
    labels = F.argmax(axis=1)
    ahead = -np.diff(np.sort(F, axis=1)[:, -2:], axis=1)[:, 0]
    few = np.sort(np.argsort(ahead, kind="stable")[-_FEW:])
    if (known_target(np.asarray(model.predict(take_rows(X, few))), classes, "estimator") != labels[few]).any():
        labels = known_target(np.asarray(model.predict(X)), classes, "estimator")
    return Said(F, labels)


def held_out(
    rows: WrappedRows, estimator: Any, folds: Sequence[tuple[Ints, Ints]], classes: Sequence[Any], n_jobs: int | None
) -> Said:
    """What copies of a classifier that have not seen a row say of it."""

    def one(train: Ints, judge: Ints) -> Said:
        return said_of(rows.take(train).fit(estimator), take_rows(rows.X, judge), classes)

    F, labels = np.zeros((len(rows.y), len(classes))), np.zeros(len(rows.y), dtype=np.int64)
    for (_, judge), found in zip(folds, Parallel(n_jobs=n_jobs)(delayed(one)(*fold) for fold in folds), strict=True):
        F[judge], labels[judge] = found
    return Said(F, labels)


def _sensitive_rows(sensitive: Any, rows: Ints) -> Any:
    """Some rows of sensitive columns in whatever form they came."""
    if isinstance(sensitive, Mapping):
        return {name: _sensitive_rows(column, rows) for name, column in sensitive.items()}
    if isinstance(sensitive, list | tuple | range | memoryview):
        return [sensitive[i] for i in rows]
    return take_rows(sensitive, rows)


def seems_trained_on(
    model: Any, rows: WrappedRows, F: Floats, classes: Sequence[Any], rng: np.random.Generator
) -> bool | None:
    """Whether a fitted classifier knows the labels of rows about as well as a copy that was trained on them.

    None where that cannot be told: it cannot be trained again, or half of the rows are of one class.

    A copy is trained on half of the rows. Where it knows those clearly better than the other half, it learns rows by
    heart; a classifier that is then nearer to what the copy knows of the first half has most likely seen these rows.
    What is known of a row is the probability of its true class. Its logarithm would say that any classifier trained on
    more rows has seen these, since a copy of few rows is dearly wrong wherever it is sure.
    """
    half = rng.permutation(len(rows.y))[: len(rows.y) // 2]
    rest = np.setdiff1d(np.arange(len(rows.y)), half)
    target = known_target(rows.y, classes, "y")
    if len(np.unique(target[half])) < 2:
        return None
    try:
        copy = rows.take(half).fit(model)
    except Exception:  # a classifier that cannot be trained again cannot be compared, whatever the reason
        return None
    seen, unseen = (
        _of_truth(probabilities(copy, take_rows(rows.X, part), classes), target[part]) for part in (half, rest)
    )
    noise = math.sqrt(seen.var() / len(seen) + unseen.var() / len(unseen))
    learns_by_heart = seen.mean() - unseen.mean() > 3.0 * noise
    return bool(learns_by_heart and _of_truth(F, target).mean() > 0.5 * (seen.mean() + unseen.mean()))


def _of_truth(F: Floats, target: Ints) -> Floats:
    """The probability of each row's true class."""
    known: Floats = F[np.arange(len(target)), target]
    return known
