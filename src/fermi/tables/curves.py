"""A trade-off curve of a table, with its page."""

from __future__ import annotations

from dataclasses import replace

from fermi.auditing import judged
from fermi.records import ReportRecord
from fermi.tables.asked import Asked
from fermi.tables.price import price
from fermi.tables.reporting import facts_of, with_verdict
from fermi.tables.task import Prepared
from fermi.tables.training import estimator, gathered
from fermi.tradeoff import TradeoffCurve, tradeoff_curve

_FOLDS = 3  # that choose λ within a bound, as in a search


def curve(
    rows: Prepared, kind: str, *, source: str, max_violation: float | None, n_jobs: int | None, progress: bool
) -> tuple[TradeoffCurve, ReportRecord]:
    """Train models along λ, and make the page that compares them.

    With a bound all training rows judge, each out of fold: a choice by one quarter of them would be one by its chance.
    """
    notes = [*rows.notes, *rows.taken()]
    with gathered(notes):
        found = tradeoff_curve(
            estimator(rows, kind),
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
    counts = {str(split): int(part["rows"].iloc[0]) for split, part in found.frame.groupby("split", sort=False)}
    facts = facts_of(rows, kind, source, counts)
    record = replace(record, title=_title(rows, max_violation), facts=facts, notes=tuple(notes))
    return found, _curve_judged(record, found, rows, max_violation)


def _title(rows: Prepared, bound: float | None) -> str:
    """The title of a curve's page; under a bound none, since it follows the verdict."""
    return f"The price of fairness for {rows.task.target}" if bound is None else ""


def _curve_judged(record: ReportRecord, found: TradeoffCurve, rows: Prepared, bound: float | None) -> ReportRecord:
    """A curve's report with the verdict on the model chosen, and what it costs beside the plain one."""
    chosen, test = record.chosen, rows.test
    points, labels = list(record.points), {}
    for place in {0, chosen}:
        labels[place] = found.models[place].predict(test.X)
        splits = dict(points[place].splits)
        for which, coded in test.groups.items():
            name = f"test{which}"
            told = judged(
                test.y,
                labels[place],
                sensitive_features=coded,
                notion=rows.fairness,
                classes=rows.classes,
                favourable=rows.favourable,
                gap=splits[name].measure("parity_difference"),
            )
            splits[name] = replace(splits[name], judged=told)
        points[place] = replace(points[place], splits=splits)
    paid = price(test.y, labels[0], labels[chosen], test.groups, rows.favourable) if chosen else None
    rows_of_choice = found.frame[(found.frame["split"] == "validation") & (found.frame["lam"] == points[chosen].lam)]
    kept = bound is None or bool(rows_of_choice["violation"].item() <= bound)
    asked, needless = Asked(bound), bound is not None and not chosen
    record = replace(record, points=tuple(points))
    return with_verdict(record, rows.task.target, asked, paid, kept=kept, needless=needless)
