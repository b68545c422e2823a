"""The record of a page: its facts, and its verdict, price and title before everything else."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import NamedTuple

import fermi
from fermi.errors import listed
from fermi.records import AuditRecord, PointRecord, PriceRecord, ReportRecord, VerdictRecord
from fermi.tables.asked import Asked
from fermi.tables.task import Prepared
from fermi.tables.telling import summary, title, useless
from fermi.tables.verdict import judge

_MODELS = {"linear": "logistic regression", "boosting": "boosted trees", "mlp": "neural network with two hidden layers"}


class Said(NamedTuple):
    """What is said first: the verdict, the sentences after it, and what must not be overlooked."""

    verdict: VerdictRecord | None
    summary: tuple[str, ...]
    warnings: tuple[str, ...]


def said(
    asked: Asked,
    before: Mapping[str, AuditRecord],
    after: Mapping[str, AuditRecord],
    paid: PriceRecord | None,
    *,
    kept: bool,
    needless: bool,
) -> Said:
    """Say whether a request was met, what it cost, and whether the labels are of any use.

    Parameters
    ----------
    asked : Asked
        The request.
    before, after : dict of str to AuditRecord
        Audits of the plain labels and of those chosen, on rows that had no part in the choice, by their names.
    paid : PriceRecord, optional
        What the second cost.
    kept, needless : bool
        As in `verdict.judge`.
    """
    told: list[str] = []
    for name, audit in after.items():
        which = f", by {name.partition(': ')[2]}" if len(after) > 1 else ""
        told += summary(before.get(name), audit, paid, where=which)
    first = next(iter(after))
    warning = useless(after[first], before.get(first))
    verdict = judge(asked, after, kept=kept, needless=needless)
    return Said(verdict, tuple(dict.fromkeys(told)), (warning,) if warning else ())


def with_verdict(
    record: ReportRecord, target: str, asked: Asked, paid: PriceRecord | None, *, kept: bool, needless: bool
) -> ReportRecord:
    """A report that says first whether the request was met; its first model is the plain one, if it has several."""
    after = _on_test_rows(record.points[record.chosen])
    before = _on_test_rows(record.points[0]) if record.chosen else {}
    verdict, told, warnings = said(asked, before, after, paid, kept=kept, needless=needless)
    heading = record.title or title(target, verdict, useful=not warnings)
    facts = record.facts | {"Settings": " ".join([record.facts.get("Settings", ""), *_bounds(asked)]).strip()}
    return replace(
        record,
        title=heading,
        facts=facts,
        verdict=verdict,
        summary=told,
        price=paid,
        warnings=warnings,
        target=target,
    )


def _bounds(asked: Asked) -> list[str]:
    """The bounds as settings."""
    return [f"{name}={value:g}" for name, value in asdict(asked).items() if value is not None]


def _on_test_rows(point: PointRecord) -> dict[str, AuditRecord]:
    return {name: audit for name, audit in point.splits.items() if name.partition(":")[0] == "test"}


def today() -> str:
    """The date of today, as a page tells it."""
    return datetime.date.today().isoformat()


def facts_of(rows: Prepared, kind: str, source: str, counts: dict[str, int]) -> dict[str, str]:
    """The facts of a page: what was trained on what, in the order in which it says so."""
    task = rows.task
    used = [column for column in rows.encoder.columns if column.kind != "ignored"]
    left = len(rows.encoder.columns) - len(used)
    labels = [str(label) for label in rows.fairness.labels_of(rows.classes)]
    fairness = f"{rows.fairness.words}: {rows.fairness.aim}" + (f" ({', '.join(labels)})" if labels else "")
    fairness += f", weights in training: {', '.join(task.weights)}" if task.weights else ""
    found = {
        "Data": source,
        "Rows": ", ".join(f"{n:,} {split}" for split, n in counts.items()) + f", drawn with seed {task.seed}",
        "Target": f"{task.target}: {listed(rows.classes)}",
        "Groups": ", ".join(task.sensitive),
        "Fairness": fairness + (", for each column by itself" if task.attributes == "each" else ""),
        "Model": _MODELS[kind],
        "Features": f"{len(rows.encoder.features):,} from {len(used):,} columns"
        + (f"; {left:,} columns left out" if left else ""),
        "Sensitive columns as features": "yes: prediction needs them" if task.keep_sensitive else "no",
        "Columns used": ", ".join(column.name for column in used),
        "Columns left out": ", ".join(column.name for column in rows.encoder.columns if column.kind == "ignored"),
        "Settings": f"notion={task.notion} model={kind} attributes={task.attributes} seed={task.seed} "
        f"test_size={task.test_size:g}",
        "Software": f"fermi {fermi.__version__}",
        "Date": today(),
    }
    return {name: fact for name, fact in found.items() if fact}
