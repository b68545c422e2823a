"""The audit of a table: of a `Contingency`, whose rows are where they were counted."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from fermi.auditing._answer import Asked
from fermi.auditing._result import Audit
from fermi.auditing._tally import Tally, judged_by
from fermi.errors import bad_argument, listed
from fermi.inputs.encode import same_kind, sort_key
from fermi.inputs.groups import positions
from fermi.measures.contingency import Contingency
from fermi.notions import Notion, as_notion, notion_of
from fermi.records import AuditRecord, Estimate, GroupRecord

_WEIGHTS = "the table holds weights that are no counts of rows, from which nothing follows about chance"

_LARGEST = 1e15  # up to which whole numbers are whole


def audit_table(contingency: Contingency, notion: Any, asked: Asked) -> Audit:
    """Audit a table of labels; where its weights are not counts of rows, without intervals."""
    if not isinstance(contingency, Contingency):
        raise bad_argument("contingency", f"is a {type(contingency).__name__}", "a Contingency")
    if contingency.soft:
        raise bad_argument(
            "contingency", "holds sums of probabilities, which do not tell their spread", "counts of labels"
        )
    if not contingency.table.any():
        raise bad_argument("contingency", "holds no row", "a table of at least one")
    if contingency.table.max() > _LARGEST:
        raise bad_argument("contingency", f"holds a weight above {_LARGEST:.0e}", "counts of rows, or smaller weights")
    counts = bool((contingency.table == np.round(contingency.table)).all())
    if asked.least and not counts:
        raise bad_argument("min_group_size", f"is {asked.least}, and {_WEIGHTS}", "a table of counts, or 0")
    found = asked.answer(_tally(contingency, notion))
    return found if counts else Audit(_without_intervals(found.record))


def _tally(contingency: Contingency, notion: Any) -> Tally:
    own = notion_of(contingency.notion, contingency.conditions)
    table, classes, label_of = contingency.table, contingency.classes, None
    if own.conditions_are_labels:  # every row is in the table, with its true label
        if not same_kind(contingency.conditions, classes):
            raise bad_argument(
                "contingency",
                f"has the true labels {listed(contingency.conditions)} and the predictions {listed(classes)}",
                "labels of one type",
            )
        every = tuple(sorted({*classes, *contingency.conditions}, key=sort_key))
        table = np.zeros((*table.shape[:2], len(every)))
        table[:, :, positions(classes, every)] = contingency.table
        classes, label_of = every, np.array(positions(contingency.conditions, every), dtype=np.int64)
    none = np.zeros((len(table), len(classes)))
    tally = Tally(
        columns=contingency.columns or (None,),
        groups=contingency.groups,
        classes=classes,
        condition_of=np.arange(len(table)),
        conditions=contingency.conditions,
        notion=own,
        label_of=label_of,
        rows=table,
        hard=table,
        hard_squares=table,
        unknown=(none, none, none),
        unplaced=contingency.n_unknown,
    )
    chosen = own if notion is None else as_notion(notion)
    return tally if _same(chosen, own, contingency) else _asked_otherwise(tally, chosen)


def _same(chosen: Notion, own: Notion, contingency: Contingency) -> bool:
    return chosen is own or chosen.describe(contingency.conditions) == contingency.notion


def _asked_otherwise(tally: Tally, chosen: Notion) -> Tally:
    if tally.labels is None or chosen.column is not None:
        raise bad_argument(
            "notion", f"is {chosen.name!r}, of which a table of {tally.title!r} does not tell",
            "None, or a table whose conditions are all true labels",
        )  # fmt: skip
    return judged_by(tally, chosen)


def _without_intervals(record: AuditRecord) -> AuditRecord:
    """The figures of a record alone; its sizes are weights."""
    error = None if record.error is None else _bare(record.error)
    measures = tuple(dataclasses.replace(m, estimate=_bare(m.estimate)) for m in record.measures)
    groups = tuple(_bare_group(group) for group in record.groups)
    note = "The sizes of groups are sums of weights, not numbers of rows."
    return dataclasses.replace(
        record, groups=groups, measures=measures, error=error, corrected_ermi=None, p_value=None, notes=(note,)
    )


def _bare(found: Estimate) -> Estimate:
    return Estimate(found.value, note=found.note or ("" if math.isnan(found.value) else _WEIGHTS))


def _bare_group(group: GroupRecord) -> GroupRecord:
    rates, tpr, fpr, precision = (
        {c: _bare(e) for c, e in found.items()} for found in (group.rates, group.tpr, group.fpr, group.precision)
    )
    error = None if group.error is None else _bare(group.error)
    return dataclasses.replace(group, rates=rates, tpr=tpr, fpr=fpr, precision=precision, error=error, note="")
