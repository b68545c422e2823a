"""A fair model of a table, or a whole trade-off curve, each with its audits on training and test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import fermi
from fermi.auditing import audits_by_column
from fermi.decisions.figures import Figures
from fermi.errors import listed
from fermi.fitting.label_stage import AdjustedLabels
from fermi.labels import FairLabels
from fermi.records import AuditRecord, ChargeRecord, PointRecord, ReportRecord
from fermi.tables.asked import Asked, beyond_noise, how_labels_keep
from fermi.tables.kinds import make
from fermi.tables.model_folder import SavedModel
from fermi.tables.rules import charges
from fermi.tables.saved_labels import portable
from fermi.tables.task import Prepared
from fermi.tradeoff import TradeoffCurve, tradeoff_curve

_MODELS = {"linear": "logistic regression", "boosting": "boosted trees", "mlp": "neural network with two hidden layers"}

NOTHING = Asked()
_HELD_OUT = "held-out training rows"
_FOLDS = 3  # that choose λ within a bound, as in a search


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, ready to save, what a page says of it, and what it reaches on held-out rows under a bound."""

    saved: SavedModel
    record: ReportRecord
    held_out: Figures | None


@contextmanager
def gathered(notes: list[str]) -> Iterator[None]:
    """Turn warnings into notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        if issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
            continue
        text = " ".join(str(warning.message).split())
        if text not in notes:
            notes.append(text)


def train(
    rows: Prepared, kind: str, *, lam: float | None = None, decision: str = "auto", asked: Asked = NOTHING, source: str
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
    """
    if lam is None:
        lam = 0.0 if asked.needs_labels else 1.0
    notes = [*rows.notes]
    points: list[PointRecord] = []
    if lam or asked.anything:
        with gathered([]):
            points.append(_point(_fit_plain(rows, kind), rows))
    with gathered(notes):
        found = _fit(rows, kind, lam, decision, asked)
    points.append(_point(found, rows))
    facts = _facts(rows, kind, source, {"train": len(rows.train.y), "test": len(rows.test.y)})
    model = found.model
    record = ReportRecord(
        title=f"A fair model of {rows.task.target}",
        facts=facts,
        points=tuple(points),
        chosen=len(points) - 1,
        reason=_reason(found, asked, rows),
        lam_path=model.lam_path_,
        notes=tuple(notes),
        rule=_rule(model, rows),
    )
    saved = SavedModel(kind, model, rows.encoder, rows.classes, rows.task, float(model.lam_), facts)
    return Trained(saved, record, found.figures)


class _Fitted(NamedTuple):
    """A fitted model, and how it keeps what is asked.

    `figures` is what its labels reach on held-out rows, if a bound was asked for, and `kept` whether that is enough;
    `by_labels` says that labels were to keep it, and not λ. Whatever gives the labels, the model itself holds it.
    """

    model: Any
    figures: Figures | None
    kept: bool
    by_labels: bool
    seconds: float


def _fit_plain(rows: Prepared, kind: str) -> _Fitted:
    """A model without fairness."""
    return _fit(rows, kind, 0.0, "auto", NOTHING)


def _fit(rows: Prepared, kind: str, lam: float, decision: str, asked: Asked) -> _Fitted:
    began = time.perf_counter()
    X, y, groups = rows.train.X, rows.train.y, {"sensitive_features": rows.train.s}
    if asked.needs_labels:
        options = {"attributes": rows.task.attributes, "random_state": rows.task.seed, **asked.options()}
        around = FairLabels(_estimator(rows, kind, lam=lam), rows.fairness, **options).fit(X, y, **groups)
        model, kept = around.estimator_, around.reached_
        figures: Figures | None = around.figures_
        labels: AdjustedLabels | None = AdjustedLabels(around._chosen.choice.rule, around._trained.group_models)
    else:
        bound = asked.max_violation
        model = _estimator(rows, kind, lam=lam, max_violation=bound, decision=decision).fit(X, y, **groups)
        figures, labels = None if bound is None else model.held_out_, model._adjusted
        kept = bound is None or figures is None or figures.violation <= bound
    # From here on it labels with what a folder can hold: a loaded one then labels every row the same.
    model._decide_by(None if labels is None or labels.rule.changes_nothing else portable(labels))
    return _Fitted(model, figures, kept, labels is not None, time.perf_counter() - began)


def _reason(found: _Fitted, asked: Asked, rows: Prepared) -> str:
    """Say how what was asked is kept, or that it is not."""
    model, figures = found.model, found.figures
    if figures is None:
        return f"λ = {model.lam_:g} was asked for."
    if found.by_labels:
        charged = model._adjusted is not None
        words = how_labels_keep(asked, figures, rows.classes[-1], _HELD_OUT, kept=found.kept, charged=charged)
        return f"{words} The probabilities are those of λ = {model.lam_:.4g}."
    reached = f"{figures.violation:.4f} on {_HELD_OUT} (standard error {figures.standard_error:.4f})"
    told = f"{reached}; {beyond_noise(figures)}"
    if found.kept:
        return f"λ = {model.lam_:.4g} is the smallest found whose violation is at most {asked.max_violation:g}: {told}."
    bound = f"{asked.max_violation:g}"
    return f"No λ kept the violation within {bound}; the best reached, at λ = {model.lam_:.4g}, is {told}."


def _rule(model: Any, rows: Prepared) -> tuple[ChargeRecord, ...]:
    """What gives the labels, where they are not the most probable classes."""
    if model._adjusted is None:
        return ()
    seen = rows.fairness.conditions(rows.train.y, len(rows.train.y), rows.classes).values_of
    several = rows.fairness.needs_target
    names = [f"{rows.task.target}={value}" if several else "" for value in seen]
    return charges(model._adjusted, model.groups_, names, rows.classes, rows.encoder.features, rows.train.X)


def curve(
    rows: Prepared, kind: str, *, source: str, max_violation: float | None, n_jobs: int | None, progress: bool
) -> tuple[TradeoffCurve, ReportRecord]:
    """Train models along λ, and make the page that compares them.

    With a bound all training rows judge, each out of fold: a choice by one quarter of them would be one by its chance.
    """
    notes = [*rows.notes]
    with gathered(notes):
        found = tradeoff_curve(
            _estimator(rows, kind),
            rows.train.X,
            rows.train.y,
            sensitive_features=rows.train.s,
            X_test=rows.test.X,
            y_test=rows.test.y,
            sensitive_test=rows.test.s,
            cv=None if max_violation is None else _FOLDS,
            n_jobs=n_jobs,
            progress=progress,
        )
        record = found.report(max_violation)
        if max_violation is not None:
            found.pick(max_violation)  # warns of a bound that was not reached, and of constant predictions
    title = f"The price of fairness for {rows.task.target}"
    counts = {str(split): int(part["rows"].iloc[0]) for split, part in found.frame.groupby("split", sort=False)}
    return found, replace(record, title=title, facts=_facts(rows, kind, source, counts), notes=tuple(notes))


def _estimator(rows: Prepared, kind: str, **options: Any) -> Any:
    task = rows.task
    return make(kind, rows.fairness, attributes=task.attributes, seed=task.seed, **options)


def _point(found: _Fitted, rows: Prepared) -> PointRecord:
    """A model with its audits: hard figures are of the labels that `predict` gives."""
    model, splits = found.model, dict[str, AuditRecord]()
    adjusted = model._adjusted is not None
    for name, part in (("train", rows.train), ("test", rows.test)):
        splits |= audits_by_column(
            name,
            part.y,
            model.predict_proba(part.X),
            part.groups,
            notion=rows.fairness,
            classes=rows.classes,
            labels=model.predict(part.X) if adjusted else None,
        )
    label = f"λ = {model.lam_:.4g}" + (", adjusted labels" if adjusted else "")
    return PointRecord(label, float(model.lam_), splits, model.history_, found.seconds, adjusted)


def _facts(rows: Prepared, kind: str, source: str, counts: dict[str, int]) -> dict[str, str]:
    """The facts of a page: what was trained on what, in the order in which it says so."""
    task = rows.task
    used = [column for column in rows.encoder.columns if column.kind != "ignored"]
    left = len(rows.encoder.columns) - len(used)
    labels = task.advantaged or [str(label) for label in rows.fairness.labels_of(rows.classes)]
    fairness = f"{rows.fairness.words}: {rows.fairness.aim}" + (f" ({', '.join(labels)})" if labels else "")
    fairness += f", weights in training: {', '.join(task.weights)}" if task.weights else ""
    return {
        "Data": source,
        "Rows": ", ".join(f"{n:,} {split}" for split, n in counts.items()) + f", drawn with seed {task.seed}",
        "Target": f"{task.target}: {listed(rows.classes)}",
        "Groups": ", ".join(task.sensitive),
        "Fairness": fairness + (", for each column by itself" if task.attributes == "each" else ""),
        "Model": _MODELS[kind],
        "Features": f"{len(rows.encoder.features):,} from {len(used):,} columns"
        + (f"; {left:,} columns left out" if left else ""),
        "Sensitive columns as features": "yes: prediction needs them" if task.keep_sensitive else "no",
        "Software": f"fermi {fermi.__version__}",
    }
