"""Labels within a bound for somebody else's probabilities: columns of a file in, one column of labels out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

from fermi._typing import Floats, Ints
from fermi.auditing import audited_groups, audits_by_column
from fermi.decisions.figures import Figures, measure
from fermi.decisions.group_models import default_group_model
from fermi.errors import listed
from fermi.inputs.features import known_target, natural_labels
from fermi.inputs.folds import folds
from fermi.labels import FairLabels
from fermi.records import AuditRecord, PriceRecord
from fermi.tables.asked import Asked, how_labels_keep
from fermi.tables.given import FOLDS, GivenRows
from fermi.tables.price import price
from fermi.tables.reporting import Said, said
from fermi.tables.task import Task
from fermi.tables.training import gathered

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_CLEARLY = 3.0  # standard errors


class GivenProbabilities:
    """A classifier whose probabilities are the first columns of its features.

    Parameters
    ----------
    classes : sequence
        Whose probabilities they are.
    """

    def __init__(self, classes: Sequence[Any]) -> None:
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes."""
        return np.array(self.classes, dtype=object if isinstance(self.classes[0], str) else None)

    def fit(self, X: Any, y: Any) -> Any:
        """Refuse: whoever made the probabilities has trained on other rows."""
        raise NotImplementedError("probabilities that are given cannot be learned")

    def predict_proba(self, X: Any) -> Floats:
        """The first columns."""
        F: Floats = np.asarray(X)[:, : len(self.classes)]
        return F

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels


class Adjusted(NamedTuple):
    """Labels for the rows of a file, and what they reach.

    `before` and `after` are audits and figures of the most probable classes and of the labels, on rows held out of the
    choice a third at a time; `chosen_on` is what the labels reach on the rows they were chosen on. A row without
    probabilities has no label.
    """

    labels: pd.Series[Any]
    before: tuple[Figures, dict[str, AuditRecord]]
    after: tuple[Figures, dict[str, AuditRecord]]
    chosen_on: Figures
    kept: bool
    reason: str
    upper_limit: float | None
    notes: list[str]
    said: Said
    price: PriceRecord


def adjust(rows: GivenRows, task: Task, asked: Asked) -> Adjusted:
    """Choose labels within the bounds, and judge them on rows that had no part in the choice.

    Parameters
    ----------
    rows : GivenRows
        What `given_rows` found in the file.
    task : Task
        The columns, the notion and the seed.
    asked : Asked
        The bounds.
    """
    X, notes, names = rows.X[rows.judged], [*rows.notes], natural_labels(rows.classes)
    task.wanted(sorted(rows.classes), asked.about_a_label)  # or it is refused
    y = known_target(rows.y, rows.classes, "target")  # numbers of classes, so that their order is ours
    with gathered(notes):
        model = _fair_labels(rows, task, asked).fit(X, y, sensitive_features=rows.sensitive)
    with gathered([]):
        held_out = names[_held_out_labels(rows, X, y, task, asked, model)]
    own = names[model.estimator_.predict(X)]
    if (worse := _worse_than_one_label(own, rows)) is not None:
        notes.append(worse)
    figures = [_measured(model, known_target(labels, rows.classes, "labels")) for labels in (own, held_out)]
    groups = audited_groups(rows.sensitive, task.attributes)
    audits = [
        audits_by_column(
            "held out",
            rows.y,
            model.predict_proba(X),
            groups,
            notion=rows.fairness,
            classes=rows.classes,
            labels=labels,
            judge=True,
            favourable=rows.favourable,
        )
        for labels in (own, held_out)
    ]
    paid = price(rows.y, own, held_out, groups, rows.favourable, "held out")
    unchanged = model._chosen.choice.rule.changes_nothing
    words = said(asked, audits[0], audits[1], paid, kept=model.reached_, needless=unchanged)
    limit = getattr(model, "upper_limit_", None)
    reason = _reason(model, asked, figures[1], limit, rows.classes[-1])
    found = _in_file(names[model.predict(rows.X)], rows)
    return Adjusted(
        found,
        (figures[0], audits[0]),
        (figures[1], audits[1]),
        model.figures_,
        model.reached_,
        reason,
        limit,
        notes,
        words,
        paid,
    )


def _fair_labels(rows: GivenRows, task: Task, asked: Asked) -> FairLabels:
    m, fairness = len(rows.classes), rows.fairness
    if fairness.takes_labels:
        fairness = fairness.of_labels({rows.classes.index(label) for label in fairness.labels_of(sorted(rows.classes))})
    telling = make_column_transformer(("passthrough", slice(m, None)))
    steps = [step for _, step in default_group_model(rows.X[:, m:], m).steps]
    return FairLabels(
        GivenProbabilities(range(m)),
        fairness,
        attributes=task.attributes,
        group_estimator=make_pipeline(telling, *steps),
        prefit=True,
        random_state=task.seed,
        **asked.options(),
    )


def _held_out_labels(rows: GivenRows, X: Floats, y: Ints, task: Task, asked: Asked, model: FairLabels) -> Ints:
    """The labels of rows by rules that were chosen on the other rows."""
    fold = folds(model._trained.problem.strata(), FOLDS, np.random.default_rng(task.seed))
    labels: Ints = np.empty(len(y), dtype=np.int64)
    for f in range(FOLDS):
        inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        part = _fair_labels(rows, task, asked)
        part.fit(X[inside], y[inside], sensitive_features=rows.sensitive.iloc[inside].reset_index(drop=True))
        labels[outside] = part.predict(X[outside])
    return labels


def _worse_than_one_label(own: NDArray[Any], rows: GivenRows) -> str | None:
    """Say that probabilities tell less than nothing, as they do where columns stand in another order than classes."""
    error = float(np.mean(own != rows.y))
    one = 1.0 - max(float(np.mean(rows.y == label)) for label in rows.classes)
    if error - one <= _CLEARLY * np.sqrt(error * (1.0 - error) / len(own)):
        return None
    order = listed(rows.classes)
    return (
        f"The most probable class is wrong in {error:.1%} of the rows, where one label for all would be in {one:.1%}: "
        f"are the probabilities those of the classes in their order, {order}, and one column alone that of the last?"
    )


def _measured(model: FairLabels, codes: Ints) -> Figures:
    """Error, gap, ratio and rate of labels by the true classes and groups."""
    problem = model._trained.problem
    wrong = (codes != problem.target).astype(np.float64)
    return measure(codes, wrong, problem.weight, problem.cells(), len(model.classes_))


def _reason(model: FairLabels, asked: Asked, held_out: Figures, limit: float | None, label: Any) -> str:
    charged = not model._chosen.choice.rule.changes_nothing
    chosen_on = "the rows that they were chosen on"
    words = how_labels_keep(asked, model.figures_, label, chosen_on, kept=model.reached_, charged=charged)
    if limit is not None:
        words += f" The upper limit of the gap on rows of its own is {limit:.4f}."
    return f"{words} Chosen on the others, a third of the rows at a time, {asked.reached(held_out, label)}."


def _in_file(labels: NDArray[Any], rows: GivenRows) -> pd.Series[Any]:
    """The labels by their places in the file."""
    import pandas as pd

    return pd.Series(labels, index=rows.places)
