"""A fair model of a table, with its audits on training and test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fermi.auditing import audits_by_column, judged
from fermi.decisions.figures import Figures
from fermi.errors import ConstantPredictionWarning
from fermi.fitting.label_stage import AdjustedLabels
from fermi.inputs.features import known_target, natural_labels
from fermi.labels import FairLabels
from fermi.records import AuditRecord, ChargeRecord, PointRecord, ReportRecord
from fermi.tables.asked import NOTHING, Asked, beyond_noise, how_labels_keep
from fermi.tables.kinds import make
from fermi.tables.model_folder import SavedModel
from fermi.tables.price import price
from fermi.tables.reporting import facts_of, with_verdict
from fermi.tables.rules import charges
from fermi.tables.saved_labels import portable
from fermi.tables.task import Prepared

# Labels that are all the same are no better than a constant, which is said first of all.
_SAID_ELSEWHERE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ConstantPredictionWarning)
_HELD_OUT = "held-out training rows"
_SAVED = "trained again on all {:,} rows after the choice; figures here are of the model of the training rows alone"


def _silent(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, ready to save, what a page says of it, and what it reaches on held-out rows under a bound.

    `rows` is how many the saved model was trained on: all, where it was trained again after the choice.
    """

    saved: SavedModel
    record: ReportRecord
    held_out: Figures | None
    rows: int


@contextmanager
def gathered(notes: list[str]) -> Iterator[None]:
    """Turn warnings into notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if issubclass(warning.category, _SAID_ELSEWHERE):
            continue
        text = " ".join(str(warning.message).split())
        if text not in notes:
            notes.append(text)


def train(
    rows: Prepared,
    kind: str,
    *,
    lam: float | None = None,
    decision: str = "auto",
    asked: Asked = NOTHING,
    source: str,
    refit: bool = False,
    say: Callable[[str], None] = _silent,
) -> Trained:
    """Fit a model without fairness and one with it, and audit both.

    Parameters
    ----------
    rows : Prepared
        The rows.
    kind : str
        Which kind of model.
    lam : float, optional
        The weight of fairness; by default 1, and 0 where labels alone are to keep what is asked.
    decision : str
        How a bound on the gap is kept, as in `FermiClassifier`.
    asked : Asked
        What the labels are to keep.
    source : str
        What the data are called.
    refit : bool
        Whether the model that is saved is trained again on all rows, test rows included, the way that was chosen.
    say : callable
        Is told what is going on.
    """
    if lam is None:
        lam = 0.0 if asked.needs_labels else 1.0
    rows.task.wanted(rows.classes, asked.about_a_label)  # or it is refused
    notes = [*rows.notes, *rows.taken()]
    plain = None
    if lam or asked.anything:
        say("training a model without fairness")
        with gathered([]):
            plain = _fit_plain(rows, kind)
    say("training" + (" and looking for what keeps the bound" if asked.anything else " with fairness"))
    with gathered(notes):
        found = _fit(rows, kind, lam, decision, asked)
    say("measuring")
    facts = facts_of(rows, kind, source, {"train": len(rows.train.y), "test": len(rows.test.y)})
    held_out = found.figures
    record = ReportRecord(
        title="",
        facts=facts,
        points=tuple(_point(each, rows) for each in (plain, found) if each is not None),
        chosen=0 if plain is None else 1,
        reason=_reason(found, asked, rows),
        lam_path=found.model.lam_path_,
        notes=tuple(notes),
        rule=_rule(found, rows),
    )
    record = _with_verdict(record, asked, rows, plain, found)
    if refit:
        say("training again on all rows")
        rows = rows.whole()
        found = _fit_again(rows, kind, found, decision, asked)
        facts |= {"Saved model": _SAVED.format(len(rows.train.y))}
        record = replace(record, facts=facts | record.facts, notes=(*record.notes, *_beyond(found, rows, asked)))
    saved = SavedModel(kind, found.model, rows.encoder, found.classes, rows.task, float(found.model.lam_), facts)
    return Trained(saved, record, held_out, len(rows.train.y))


def _fit_again(rows: Prepared, kind: str, found: _Fitted, decision: str, asked: Asked) -> _Fitted:
    """Fit once more the way that was chosen: at the same λ, and with labels where labels were taken."""
    lam = float(found.model.lam_)
    with gathered([]):
        if asked.needs_labels:
            return _fit(rows, kind, lam, decision, asked)
        return _fit(rows, kind, lam, "labels", asked) if found.by_labels else _fit(rows, kind, lam, "auto", NOTHING)


def _beyond(again: _Fitted, rows: Prepared, asked: Asked) -> list[str]:
    """Say that the model trained on all rows is beyond the bound on these very rows, where it plainly is."""
    if asked.max_violation is None:
        return []
    labels, found = again.model.predict(rows.train.X), []
    for coded in rows.train.groups.values():
        gap = judged(rows.train.y, labels, sensitive_features=coded, notion=rows.fairness, classes=rows.classes).gap
        if gap.low > asked.max_violation:
            found.append(
                f"The saved model, trained on all rows, has a gap of {gap.value:.3f} on these very rows, beyond the "
                "bound: without `refit` the model that was judged is saved."
            )
    return found[:1]


def _with_verdict(
    record: ReportRecord, asked: Asked, rows: Prepared, plain: _Fitted | None, found: _Fitted
) -> ReportRecord:
    """A report with its verdict, its price and its title."""
    labels = found.model.predict(rows.test.X)
    paid = None
    if plain is not None:
        paid = price(rows.test.y, plain.model.predict(rows.test.X), labels, rows.test.groups, rows.favourable)
    needless = paid is not None and not paid.changed and asked.anything
    if plain is not None and needless and plain.model.lam_ == found.model.lam_:  # one model, which is shown once
        record, paid = replace(record, points=record.points[1:], chosen=0), None
    return with_verdict(record, rows.task.target, asked, paid, kept=found.kept, needless=needless)


class _Fitted(NamedTuple):
    """A fitted model, and how it keeps what is asked.

    `figures` is what its labels reach on held-out rows, if a bound was asked for, and `kept` whether that is enough;
    `by_labels` says that labels were to keep it, and not λ. Whatever gives the labels, the model itself holds it, and
    its probabilities are of `classes` in their order.
    """

    model: Any
    figures: Figures | None
    kept: bool
    by_labels: bool
    seconds: float
    classes: list[Any]


def _fit_plain(rows: Prepared, kind: str) -> _Fitted:
    """A model without fairness."""
    return _fit(rows, kind, 0.0, "auto", NOTHING)


def _fit(rows: Prepared, kind: str, lam: float, decision: str, asked: Asked) -> _Fitted:
    began = time.perf_counter()
    X, y, groups = rows.train.X, rows.train.y, {"sensitive_features": rows.train.s}
    classes = rows.classes
    figures: Figures | None
    if asked.needs_labels:
        model, figures, kept, labels = _fit_labels(rows, kind, lam, asked)
        classes = rows.ordered()
    else:
        bound = asked.max_violation
        model = estimator(rows, kind, lam=lam, max_violation=bound, decision=decision).fit(X, y, **groups)
        figures, labels = None if bound is None else model.held_out_, model._adjusted
        kept = bound is None or figures is None or figures.violation <= bound
    # From here on it labels with what a folder can hold: a loaded one then labels every row the same.
    model._decide_by(None if labels is None or labels.rule.changes_nothing else portable(labels))
    return _Fitted(model, figures, kept, labels is not None, time.perf_counter() - began, classes)


def _fit_labels(rows: Prepared, kind: str, lam: float, asked: Asked) -> tuple[Any, Figures, bool, AdjustedLabels]:
    """Fit a model and its labels, whose bounds on ratios and rates are about the last class: the one people want."""
    order, fairness = rows.ordered(), rows.fairness
    y = known_target(rows.train.y, order, "target")  # numbers of classes, so that their order is ours
    if fairness.takes_labels:
        fairness = fairness.of_labels({order.index(label) for label in fairness.labels_of(rows.classes)})
    task = rows.task
    options = {"attributes": task.attributes, "random_state": task.seed, **asked.options()}
    inner = make(kind, fairness, attributes=task.attributes, seed=task.seed, lam=lam)
    around = FairLabels(inner, fairness, **options).fit(rows.train.X, y, sensitive_features=rows.train.s)
    around.estimator_.classes_ = natural_labels(order)
    labels = AdjustedLabels(around._chosen.choice.rule, around._trained.group_models)
    return around.estimator_, around.figures_, around.reached_, labels


def _reason(found: _Fitted, asked: Asked, rows: Prepared) -> str:
    """Say how what was asked is kept, or that it is not."""
    model, figures = found.model, found.figures
    if figures is None:
        return f"λ = {model.lam_:g} was asked for."
    if found.by_labels:
        charged = model._adjusted is not None
        words = how_labels_keep(asked, figures, found.classes[-1], _HELD_OUT, kept=found.kept, charged=charged)
        return f"{words} The probabilities are those of λ = {model.lam_:.4g}."
    reached = f"{figures.violation:.4f} on {_HELD_OUT} (standard error {figures.standard_error:.4f})"
    told = f"{reached}; {beyond_noise(figures)}"
    if found.kept:
        return f"λ = {model.lam_:.4g} is the smallest found whose violation is at most {asked.max_violation:g}: {told}."
    bound = f"{asked.max_violation:g}"
    return f"No λ kept the violation within {bound}; the best reached, at λ = {model.lam_:.4g}, is {told}."


def _rule(found: _Fitted, rows: Prepared) -> tuple[ChargeRecord, ...]:
    """What gives the labels, where they are not the most probable classes."""
    model = found.model
    if model._adjusted is None:
        return ()
    seen = rows.fairness.conditions(rows.train.y, len(rows.train.y), rows.classes).values_of
    several = rows.fairness.needs_target
    names = [f"{rows.task.target}={value}" if several else "" for value in seen]
    return charges(model._adjusted, model.groups_, names, found.classes, rows.encoder.features, rows.train.X)


def estimator(rows: Prepared, kind: str, **options: Any) -> Any:
    """Make an estimator for a task."""
    task = rows.task
    return make(kind, rows.fairness, attributes=task.attributes, seed=task.seed, **options)


def _point(found: _Fitted, rows: Prepared) -> PointRecord:
    """A model with its audits: hard figures are of the labels that `predict` gives."""
    model, splits, order = found.model, dict[str, AuditRecord](), rows.ordered()
    places = [found.classes.index(label) for label in order]
    adjusted = model._adjusted is not None
    for name, part in (("train", rows.train), ("test", rows.test)):
        splits |= audits_by_column(
            name,
            part.y,
            model.predict_proba(part.X)[:, places],
            part.groups,
            notion=rows.fairness,
            classes=order,
            labels=model.predict(part.X) if adjusted else None,
            judge=name == "test",
            favourable=rows.favourable,
        )
    label = f"λ = {model.lam_:.4g}" + (", adjusted labels" if adjusted else "")
    return PointRecord(label, float(model.lam_), splits, model.history_, found.seconds, adjusted)
