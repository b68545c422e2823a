"""A trade-off curve as the records that the report draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fermi._typing import Ints
from fermi.auditing import audited_groups, audits_by_column
from fermi.errors import listed
from fermi.inputs.coded_groups import CodedGroups
from fermi.inputs.columns import read_columns
from fermi.inputs.features import natural_labels
from fermi.inputs.groups import ARGUMENT
from fermi.records import AuditRecord, PointRecord, ReportRecord
from fermi.tradeoff._curve import Kept, Picked
from fermi.tradeoff._fits import CurvePlan
from fermi.tradeoff._knob import BOUND
from fermi.tradeoff._splits import GivenRows


def points(
    frame: pd.DataFrame, models: list[Any], kept: list[dict[str, Kept]], plan: CurvePlan
) -> tuple[PointRecord, ...]:
    """One per model, with its audits."""
    given = _given_rows(plan)
    groups = _groups(plan)
    found = []
    for lam, model, seen in zip(frame["lam"].unique().tolist(), models, kept, strict=True):
        rows = frame[frame["lam"] == lam].set_index("split")
        audits: dict[str, AuditRecord] = {}
        for name, predicted in seen.items():
            if not np.isnan(rows["violation"][name]):  # where no group is known there is nothing to audit
                audits |= _audits(name, given[name], groups[name], predicted, plan)
        label, seconds = f"{plan.knob.word} = {lam:.4g}", float(rows["seconds"]["train"])
        found.append(PointRecord(label, lam, audits, list(getattr(_owner(model, plan), "history_", [])), seconds))
    return tuple(found)


def _places(plan: CurvePlan) -> dict[str, Ints]:
    """The rows of the splits that the training rows is cut into, in the order of the predictions."""
    judged = np.concatenate([fold.judged for fold in plan.folds])
    return {"train": plan.folds[-1].train, "validation": judged}


def _given_rows(plan: CurvePlan) -> dict[str, GivenRows]:
    """The rows of each split."""
    given = {name: plan.given.take(rows) for name, rows in _places(plan).items()}
    return given if plan.test is None else {**given, "test": plan.test}


def _groups(plan: CurvePlan) -> dict[str, dict[str, CodedGroups]]:
    """The groups of each split, coded once for the audits of all models."""
    whole = audited_groups(plan.given.s, plan.knob.attributes)
    groups = {name: {which: coded.take(rows) for which, coded in whole.items()} for name, rows in _places(plan).items()}
    return groups if plan.test is None else {**groups, "test": audited_groups(plan.test.s, plan.knob.attributes)}


def _audits(
    name: str, rows: GivenRows, groups: dict[str, CodedGroups], kept: Kept, plan: CurvePlan
) -> dict[str, AuditRecord]:
    F = (
        None if plan.knob.own_labels else kept.probabilities()
    )  # the labels of a probability matrix are the most probable
    predicted = natural_labels(plan.classes)[kept.labels] if F is None else F
    notion = rows.notion or plan.knob.notion
    return audits_by_column(name, rows.y, predicted, groups, notion=notion, classes=plan.classes)


def _owner(model: Any, plan: CurvePlan) -> Any:
    """What the knob belongs to, inside of a model."""
    path = plan.knob.prefix.removesuffix("__")
    return model.get_params(deep=True)[path] if path else model


def record(found: tuple[PointRecord, ...], choice: Picked, plan: CurvePlan, cv: Any) -> ReportRecord:
    """The page's record."""
    columns = [name or "one without a name" for name in read_columns(plan.given.s, ARGUMENT)]
    judged = sum(len(fold.judged) for fold in plan.folds)
    owner = _owner(plan.estimator, plan)
    around = f" around {type(owner.estimator).__name__}" if plan.knob.name == BOUND else ""
    facts = {
        "Model": type(owner).__name__ + around,
        "Fairness": plan.knob.notion.words,
        "Groups": ", ".join(columns) + (", each by itself" if plan.knob.attributes == "each" and columns[1:] else ""),
        "Classes": listed(plan.classes),
        "Training rows": f"{len(plan.folds[-1].train):,}",
        "Validation rows": f"{judged:,}, " + ("held out" if cv is None else "each predicted by a model without it"),
    }
    if plan.test is not None:
        facts["Test rows"] = f"{len(read_columns(plan.test.y, 'y_test').popitem()[1]):,}"
    return ReportRecord(
        "Error against violation",
        facts,
        found,
        choice.place,
        choice.reason,
        strength=plan.knob.word,
        descending=plan.knob.name == BOUND,
    )
