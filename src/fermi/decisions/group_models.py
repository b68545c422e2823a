"""Models that tell the cell of a row, its condition and group, from its features alone.

The limits of the stage hold by the true groups, so that a better group model makes labels cheaper, not fairer. What
matters as much is that it says the same of new rows as of those that the multipliers were chosen on: a model that
learns rows by heart does not. Hence few and small trees for tables with categories, and logistic regression else.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from scipy.special import expit, softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fermi._typing import Floats, Ints
from fermi.decisions.light_trees import LightTrees
from fermi.decisions.table_codes import TableCodes
from fermi.errors import bad_argument
from fermi.inputs.cells import Cells
from fermi.inputs.columns import as_frame, to_pandas

_TOLERANCE, _ITERATIONS = 1e-3, 200
_TREES = {"max_leaf_nodes": 8, "min_samples_leaf": 50, "early_stopping": False}
# A round grows a tree per cell. Few cells are told apart as well in half as many rounds at twice the rate; ten groups
# are not: labels err by 0.2 points more (`fermi bench labels --dataset groups`).
_FEW_CELLS, _SHORT, _LONG = 4, {"max_iter": 15, "learning_rate": 0.2}, {"max_iter": 30, "learning_rate": 0.1}
_KNOWN = 20  # entries below which a column says nothing, and trees refuse one that is empty in a fold


def default_group_model(X: Any, n_cells: int, beside: Any = None) -> Any:
    """What tells so many cells apart: small trees from a table with categories, logistic regression from numbers.

    The trees are scikit-learn's, or LightGBM's where the classifier `beside` it is, in as many threads.
    """
    regression = LogisticRegression(tol=_TOLERANCE, max_iter=_ITERATIONS)
    if hasattr(X, "tocsr"):
        return make_pipeline(StandardScaler(with_mean=False), regression)
    if not hasattr(X, "columns"):
        return _regression_on_numbers(regression)
    words = np.array([not is_numeric_dtype(dtype) for dtype in X.dtypes])
    if not words.any():
        return _regression_on_numbers(regression)
    # Loaded here, since it takes a while and matrices do without.
    from sklearn.dummy import DummyClassifier

    known = (X.notna().sum() >= _KNOWN).to_numpy()
    if not known.any():
        return DummyClassifier()
    codes = TableCodes(np.flatnonzero(words & known).tolist(), np.flatnonzero(~words & known).tolist())
    return make_pipeline(codes, _small_trees(n_cells, range(len(codes.words)), beside))


def _small_trees(n_cells: int, words: range, beside: Any) -> Any:
    """Boosted trees for a table whose first columns are codes of words."""
    if type(beside).__module__.partition(".")[0] != "lightgbm":
        from sklearn.ensemble import HistGradientBoostingClassifier

        rounds = _SHORT if n_cells <= _FEW_CELLS else _LONG
        return HistGradientBoostingClassifier(**_TREES, **rounds, categorical_features=words)
    return LightTrees(len(words), getattr(beside, "n_jobs", None))


def _regression_on_numbers(regression: Any) -> Any:
    """Entries may be missing in rows to come, whether or not they are here."""
    from sklearn.impute import SimpleImputer

    return make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler(), regression)


def group_features(X: Any) -> Any:
    """Features as a group model takes them: pandas, a CSR matrix, or an array of numbers with one line per row."""
    frame = as_frame(X, "X")
    if isinstance(frame, nw.DataFrame):
        return to_pandas(frame)
    if hasattr(X, "tocsr"):
        return X.tocsr()
    array = np.asarray(X.detach().cpu() if hasattr(X, "detach") else X)
    if array.ndim == 0:
        raise bad_argument("X", f"is a {type(X).__name__}", "one row of features per label")
    rows = array.reshape(len(array), -1)
    return rows if array.dtype.kind in "biufc" else pd.DataFrame(rows).infer_objects()


def kinds_of_cell(cells: Cells, known: NDArray[np.bool_]) -> Ints:
    """What a group model is to tell of each row: its cell, the number after the last for one outside 𝒵, -1 unknown."""
    kinds: Ints = np.where(cells.counted, cells.index, np.where(known, cells.size, -1))
    return kinds


@dataclass(frozen=True, eq=False)
class CellModel:
    """A fitted group model: p(cell | x) of each of so many cells.

    Attributes
    ----------
    model : classifier, optional
        What was fitted; None where the rows showed one kind alone.
    kinds : (c,) int64
        The kind of cell that each of its classes stands for.
    n_cells : int
        How many cells there are.
    """

    model: Any
    kinds: Ints
    n_cells: int

    @classmethod
    def fit(cls, template: Any, X: Any, kinds: Ints, n_cells: int, weight: Floats) -> CellModel:
        """Fit a copy of a classifier on the rows whose kind is known."""
        rows = np.flatnonzero((kinds >= 0) & (weight > 0.0))
        seen = np.unique(kinds[rows])
        if len(seen) < 2:
            return cls(None, seen, n_cells)
        model = clone(template)
        even = bool((weight[rows] == weight[rows[0]]).all())
        extra = {} if even else fit_weights(model, weight[rows])
        # Names of steps say where weights go, whatever is routed elsewhere.
        with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
            warnings.simplefilter("ignore", ConvergenceWarning)  # its last digits do not matter
            model.fit(take(X, rows), kinds[rows], **extra)
        return cls(model, np.asarray(model.classes_), n_cells)

    def probabilities(self, X: Any) -> Floats:
        """The probabilities of the cells, n × C; what is missing to one is the chance of being outside 𝒵."""
        found = np.zeros((n_rows(X), self.n_cells + 1))
        if self.model is None:
            found[:, self.kinds] = 1.0
        else:
            found[:, self.kinds] = self.model.predict_proba(X)
        return found[:, :-1]


@dataclass(frozen=True, eq=False)
class LinearCells:
    """A logistic regression over the features as they are: what a file holds of a group model.

    Attributes
    ----------
    coef : (1 or c, d) array
        One line per class, of two classes that of the second alone.
    intercept : (1 or c,) array
        One number per line.
    classes_ : (c,) int64
        The classes, as scikit-learn calls them.
    """

    coef: Floats
    intercept: Floats
    classes_: Ints

    @classmethod
    def of(cls, model: Any) -> LinearCells:
        """Fold the default for matrices, fitted where nothing was missing, into one line of coefficients per class."""
        if isinstance(model, LinearCells):
            return model
        from sklearn.impute import SimpleImputer

        steps = [step for _, step in getattr(model, "steps", [])]
        if steps and isinstance(steps[0], SimpleImputer) and not len(steps[0].indicator_.features_):
            del steps[0]  # nothing was missing
        if [type(step) for step in steps] != [StandardScaler, LogisticRegression]:
            names = " and ".join(type(step).__name__ for step in steps) or type(model).__name__
            raise TypeError(f"a group model of {names} cannot be written as coefficients")
        scaler, regression = steps
        coef = np.asarray(regression.coef_, dtype=np.float64) / scaler.scale_
        shift = 0.0 if scaler.mean_ is None or not scaler.with_mean else coef @ scaler.mean_
        return cls(coef, np.asarray(regression.intercept_, dtype=np.float64) - shift, np.asarray(regression.classes_))

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class for each row."""
        scores = np.asarray(X @ self.coef.T) + self.intercept
        if len(self.classes_) == 2:
            return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])
        found: Floats = softmax(scores, axis=1)
        return found


def fit_weights(model: Any, weight: Floats) -> dict[str, Floats]:
    """The keyword by which a classifier, or the last step of a pipeline, takes the weights of rows, if it can."""
    from sklearn.utils.validation import has_fit_parameter

    steps = getattr(model, "steps", None)
    inner, prefix = (steps[-1][1], f"{steps[-1][0]}__") if steps else (model, "")
    return {f"{prefix}sample_weight": weight} if has_fit_parameter(inner, "sample_weight") else {}


def held_out_cells(
    template: Any, X: Any, kinds: Ints, n_cells: int, weight: Floats, folds: Sequence[tuple[Ints, Ints]]
) -> Floats:
    """The probabilities of the cells of each row from a group model that has not seen the row, n × C."""
    found = np.zeros((len(kinds), n_cells))
    for train, judge in folds:
        model = CellModel.fit(template, take(X, train), kinds[train], n_cells, weight[train])
        found[judge] = model.probabilities(take(X, judge))
    return found


def take(X: Any, rows: Any) -> Any:
    """Some rows of an array, a CSR matrix or a pandas table."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def n_rows(X: Any) -> int:
    """How many rows features have."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
