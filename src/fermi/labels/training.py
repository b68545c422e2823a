"""From rows to a trained `FairLabels`: models, what they say of held-out rows, and the choice of labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from fermi._typing import Floats, Ints
from fermi.decisions.group_models import CellModel, default_group_model, group_features, held_out_cells, kinds_of_cell
from fermi.decisions.judged import JudgedRows
from fermi.decisions.requirements import Requirements
from fermi.decisions.stage import Stage
from fermi.errors import bad_argument
from fermi.fitting.problem import Problem, Source, read_problem, take_rows
from fermi.fitting.progress import Progress
from fermi.inputs.arguments import generator
from fermi.inputs.features import in_one_sentence, read_target
from fermi.inputs.folds import folds
from fermi.labels.options import LabelSettings
from fermi.labels.wrapped import Said, WrappedRows, held_out, indexable, said_of, seems_trained_on

if TYPE_CHECKING:
    import pandas as pd

_BOUNDS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5)
_NOTHING = 1e-40  # of the largest weight
_CERTIFIED = 3  # one row in so many is kept for the certificate


@dataclass(frozen=True, eq=False)
class TrainedLabels:
    """All that does not depend on the bound.

    Attributes
    ----------
    problem : Problem
        The rows as codes, all of them.
    classes : array
        The labels.
    model : classifier
        The wrapped one, fitted.
    group_models : tuple of CellModel
        One per attribute.
    stage : Stage
        The rows that labels are chosen on.
    certificate : JudgedRows, optional
        The rows that have no part in anything but the certificate.
    """

    problem: Problem
    classes: NDArray[Any]
    model: Any
    group_models: tuple[CellModel, ...]
    stage: Stage
    certificate: JudgedRows | None

    def by_condition(self, psi: Floats) -> Floats:
        """The multipliers of all cells as conditions × groups of all attributes × classes."""
        shape = (self.problem.n_conditions, -1, psi.shape[1])
        sizes = [self.problem.n_conditions * len(a.labels) for a in self.problem.attributes]
        parts = np.split(psi, np.cumsum(sizes)[:-1])
        return np.concatenate([part.reshape(shape) for part in parts], axis=1)

    def small_groups(self, few: int) -> list[str]:
        """The groups with so few rows within some condition, though more than none."""
        found = []
        for attribute, cells in zip(self.problem.attributes, self.problem.cells(), strict=True):
            counts = np.bincount(cells.index[cells.counted], minlength=cells.size).reshape(cells.shape)
            found += [attribute.labels[s] for s in np.flatnonzero(((counts > 0) & (counts < few)).any(axis=0))]
        return found

    def along(self, asked: Requirements) -> pd.DataFrame:
        """What labels reach on held-out rows at every bound, from none to that of the classifier itself."""
        import pandas as pd

        plain = self.stage.choose(asked.at(None)).figures.violation
        own = () if asked.max_violation is None else (asked.max_violation,)
        bounds = sorted({*(b for b in _BOUNDS if b < plain), *own, plain})
        rows, warm = [], None
        for bound in bounds:
            choice = self.stage.choose(asked.at(bound), warm)
            warm = choice.warm or warm
            f = choice.figures
            rows.append(
                {
                    "bound": bound,
                    "error": f.error,
                    "violation": f.violation,
                    "standard_error": f.standard_error,
                    "beyond_noise": f.beyond_noise,
                    "ratio": f.ratio,
                    "rate": f.rate,
                    "reached": choice.excess == 0.0,
                }
            )
        return pd.DataFrame(rows)


def train(
    settings: LabelSettings, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, progress: Progress
) -> TrainedLabels:
    """Read the rows, train both models on folds and on all rows, and gather what they say of held-out rows."""
    problem, classes, rows = _read(settings, X, y, sensitive_features, sample_weight)
    costs = settings.cost_table(len(classes))
    rng = generator(settings.random_state)
    kept = np.zeros(len(rows.y), dtype=bool)
    if settings.confidence is not None:
        kept = folds(problem.strata(), _CERTIFIED, rng) == 0
    used, apart = np.flatnonzero(~kept), np.flatnonzero(kept)
    part, wrapped = problem.take(used), rows.take(used)
    pairs = _pairs(settings.cv, part, rng)
    model, said = _model(settings, wrapped, pairs, classes.tolist(), rng, progress)
    progress.say("telling groups from features")
    q, models = [], []
    for attribute, cells in zip(part.attributes, part.cells(), strict=True):
        kinds = kinds_of_cell(cells, attribute.codes >= 0)
        own = settings.group_estimator
        template = default_group_model(part.X, cells.size, _last(model)) if own is None else own
        q.append(held_out_cells(template, part.X, kinds, cells.size, part.weight, pairs))
        models.append(CellModel.fit(template, part.X, kinds, cells.size, part.weight))
    judged = np.unique(np.concatenate([judge for _, judge in pairs]))
    stage = Stage(_judged(part, said, tuple(q), judged), costs)
    certificate = None
    if len(apart):
        rest = problem.take(apart)
        its_q = tuple(cell_model.probabilities(rest.X) for cell_model in models)
        about = said_of(model, take_rows(rows.X, apart), classes.tolist())
        certificate = _judged(rest, about, its_q, np.arange(len(apart)))
    return TrainedLabels(replace(problem, X=None), classes, model, tuple(models), stage, certificate)


def _read(
    settings: LabelSettings, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
) -> tuple[Problem, NDArray[Any], WrappedRows]:
    """Read the rows as codes, their classes, and the rows as the classifier takes them."""
    if sensitive_features is None:
        raise bad_argument("sensitive_features", "is None", "the groups to compare, one column or several")
    X_rows = indexable(X)
    with in_one_sentence():
        labels = column_or_1d(y, warn=True)
    if not len(labels):
        raise bad_argument("y", "is empty", "at least two classes")
    target, classes = read_target(labels)
    source = Source(X, y, sensitive_features, sample_weight)
    problem = read_problem(
        source,
        group_features(X_rows),
        labels,
        target,
        classes.tolist(),
        None,
        settings.fairness,
        settings.attributes,
    )
    weight = problem.weight  # what is nothing beside another weight counts as none: its square would be zero
    problem = replace(problem, weight=np.where(weight < _NOTHING * weight.max(), 0.0, weight))
    if not problem.is_judgeable():
        raise bad_argument(
            "sensitive_features", "is unknown in every row that the notion compares", "some known groups"
        )
    total = float(problem.weight.sum())
    settings.asked.check_rows(max(float(cells.totals().sum()) for cells in problem.cells()) / total)
    return (
        problem,
        classes,
        WrappedRows(X_rows, labels, sensitive_features, None if sample_weight is None else problem.weight),
    )


def _model(
    settings: LabelSettings,
    rows: WrappedRows,
    pairs: list[tuple[Ints, Ints]],
    classes: list[Any],
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Any, Said]:
    """The classifier, fitted, and what it, or its like, says of rows it has not seen."""
    if not settings.prefit:
        progress.say("training on folds")
        said = held_out(rows, settings.estimator, pairs, classes, settings.n_jobs)
        progress.say("training on all rows")
        return rows.fit(settings.estimator), said
    model = settings.estimator
    if not hasattr(model, "classes_"):
        raise bad_argument("estimator", "is not fitted: it has no `classes_`", "a fitted classifier, or prefit=False")
    said = said_of(model, rows.X, classes)
    seen = seems_trained_on(model, rows, said.F, classes, rng)
    if seen is None:
        warnings.warn(
            "Whether the classifier was trained on these rows was not checked, since no copy of it could be trained on "
            "half of them: if it was, the bound will not hold on new rows.",
            UserWarning,
            stacklevel=4,
        )
    elif seen:
        warnings.warn(
            "The classifier seems to have been trained on these rows: it knows their labels better than a copy that "
            "has not seen them. Its probabilities are too sure here, so that the bound will not hold on new rows; pass "
            "rows that it has not seen, or prefit=False.",
            UserWarning,
            stacklevel=4,
        )
    return model, said


def _last(model: Any) -> Any:
    """The classifier itself, of a pipeline the last step."""
    steps = getattr(model, "steps", None)
    return steps[-1][1] if steps else model


def _judged(problem: Problem, said: Said, q: tuple[Floats, ...], rows: Ints) -> JudgedRows:
    part = problem.take(rows)
    return JudgedRows(
        said.F[rows], tuple(one[rows] for one in q), part.target, part.cells(), part.weight, said.labels[rows]
    )


def _pairs(cv: Any, problem: Problem, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
    """The rows to train on and those held out, for each fold."""
    strata = problem.strata()
    if hasattr(cv, "split"):
        found = [
            (np.asarray(train), np.asarray(judge)) for train, judge in cv.split(np.zeros(len(strata)), problem.target)
        ]
    else:
        if cv > len(strata):
            raise bad_argument("cv", f"is {cv} with {len(strata)} rows", "at most as many folds as rows")
        fold = folds(strata, cv, rng)
        found = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(cv)]
    for train, _ in found:
        if len(np.unique(problem.target[train])) < 2:
            raise bad_argument(
                "cv", "leaves folds with one class to train on", "fewer folds, or more rows of each class"
            )
    return found
