"""A fair model of a table, or a whole trade-off curve, each with its audits on training and test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import fermi
from fermi.auditing import audits_by_column
from fermi.errors import listed
from fermi.records import AuditRecord, PointRecord, ReportRecord
from fermi.tables.kinds import make
from fermi.tables.model_folder import SavedModel
from fermi.tables.task import Prepared
from fermi.tradeoff import TradeoffCurve, tradeoff_curve

_MODELS = {"linear": "logistic regression", "boosting": "boosted trees", "mlp": "neural network with two hidden layers"}


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model, ready to save, and what a page says of it."""

    saved: SavedModel
    record: ReportRecord


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


def train(rows: Prepared, kind: str, *, lam: float, max_violation: float | None, source: str) -> Trained:
    """Fit a model without fairness and one with it, and audit both."""
    notes = [*rows.notes]
    said: list[str] = []
    points: list[PointRecord] = []
    wanted: dict[str, Any] = {"lam": lam, "max_violation": max_violation}
    plain: dict[str, Any] = {"lam": 0.0, "max_violation": None}
    model: Any = None
    for options in [wanted] if wanted == plain else [plain, wanted]:
        began = time.perf_counter()
        with gathered(notes if options is wanted else said):
            model = _estimator(rows, kind, **options)
            model.fit(rows.train.X, rows.train.y, sensitive_features=rows.train.s)
        points.append(_point(model, rows, time.perf_counter() - began))
    reason = f"λ = {lam:g} was asked for."
    if max_violation is not None:
        reason = _reached(model, max_violation)
    facts = _facts(rows, kind, source, {"train": len(rows.train.y), "test": len(rows.test.y)})
    saved = SavedModel(kind, model, rows.encoder, rows.classes, rows.task, float(model.lam_), facts)
    record = ReportRecord(
        title=f"A fair model of {rows.task.target}",
        facts=facts,
        points=tuple(points),
        chosen=len(points) - 1,
        reason=reason,
        lam_path=model.lam_path_,
        notes=tuple(notes),
    )
    return Trained(saved, record)


def _reached(model: Any, bound: float) -> str:
    """Say whether the search for λ kept the bound."""
    tried = next(step for step in model.lam_path_ if step["lam"] == model.lam_)
    gap, noise = tried["violation"], tried["standard_error"]
    figures = f"{gap:.4f} on held-out training rows (standard error {noise:.4f})"
    if gap <= bound:
        return f"λ = {model.lam_:.4g} is the smallest found whose violation is at most {bound:g}: {figures}."
    return f"No λ kept the violation within {bound:g}; the best reached, at λ = {model.lam_:.4g}, is {figures}."


def curve(
    rows: Prepared, kind: str, *, source: str, max_violation: float | None, n_jobs: int | None, progress: bool
) -> tuple[TradeoffCurve, ReportRecord]:
    """Train models along λ, and make the page that compares them."""
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


def _point(model: Any, rows: Prepared, seconds: float) -> PointRecord:
    splits: dict[str, AuditRecord] = {}
    for name, part in (("train", rows.train), ("test", rows.test)):
        splits |= audits_by_column(
            name, part.y, model.predict_proba(part.X), part.groups, notion=rows.fairness, classes=rows.classes
        )
    return PointRecord(f"λ = {model.lam_:.4g}", float(model.lam_), splits, model.history_, seconds)


def _facts(rows: Prepared, kind: str, source: str, counts: dict[str, int]) -> dict[str, str]:
    """The facts of a page: what was trained on what, in the order in which it says so."""
    task = rows.task
    used = [column for column in rows.encoder.columns if column.kind != "ignored"]
    left = len(rows.encoder.columns) - len(used)
    labels = task.advantaged or [str(label) for label in rows.fairness.labels_of(rows.classes)]
    fairness = f"{rows.fairness.words}: {rows.fairness.aim}" + (f" ({', '.join(labels)})" if labels else "")
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
