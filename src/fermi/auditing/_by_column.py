"""Audits of the same predictions by the groups of all columns together, or of each, with what the labels are worth."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fermi.auditing._audit import audit
from fermi.auditing._judged import judged
from fermi.auditing._rates import words
from fermi.auditing._use import usefulness
from fermi.fitting.scores import most_probable
from fermi.inputs.coded_groups import CodedGroups
from fermi.inputs.columns import read_columns
from fermi.inputs.features import natural_labels
from fermi.inputs.groups import ARGUMENT
from fermi.records import AuditRecord

_JUDGED = ("notion", "confidence")  # options of an audit that its judgement shares


def audited_groups(sensitive_features: Any, attributes: str) -> dict[str, CodedGroups]:
    """The groups that audits of these rows are about, by what follows the rows' name in an audit's title.

    Parameters
    ----------
    sensitive_features : array, Series, DataFrame or dict of columns
        One column or several.
    attributes : str
        "intersection" for the joint groups, "each" for those of each column.

    Returns
    -------
    dict of str to CodedGroups
        The joint groups under the empty text, those of a column under ": column".
    """
    columns = read_columns(sensitive_features, ARGUMENT)
    if attributes != "each" or len(columns) == 1:
        return {"": CodedGroups.read(sensitive_features)}
    return {f": {name}": CodedGroups.read({name: column}) for name, column in columns.items()}


def audits_by_column(
    name: str,
    y_true: Any,
    y_pred: Any,
    groups: Mapping[str, CodedGroups],
    *,
    classes: Sequence[Any] | None = None,
    labels: Any = None,
    judge: bool = False,
    favourable: Any = None,
    **options: Any,
) -> dict[str, AuditRecord]:
    """An audit for each of the groups that `audited_groups` found, with what the labels are worth.

    Parameters
    ----------
    name : str
        What the rows are called, such as "test".
    y_true, y_pred
        As in `audit`.
    groups : dict of str to CodedGroups
        What `audited_groups` returned for these rows.
    classes : sequence, optional
        All classes, in the order of the columns of probabilities; what labels are worth is told if they are given.
    labels : (n,) labels, optional
        As in `audit`.
    judge : bool
        Whether to judge the groups that have enough rows, too.
    favourable : label, optional
        The class that people want, where that is known.
    **options
        What `audit` takes besides.

    Returns
    -------
    dict of str to AuditRecord
        The audits, by their titles.
    """
    given, use = labels if labels is not None else y_pred, None
    if classes is not None:
        soft = np.ndim(y_pred) > 1
        given = natural_labels(classes)[most_probable(y_pred)] if soft and labels is None else given
        use = usefulness(y_true, given, classes, y_pred if soft else None)
    found = {}
    for which, coded in groups.items():
        record = audit(y_true, y_pred, sensitive_features=coded, classes=classes, labels=labels, **options).record
        told = None
        if judge:
            told = judged(
                y_true,
                given,
                sensitive_features=coded,
                classes=classes,
                favourable=favourable,
                gap=record.measure("parity_difference"),
                **{k: v for k, v in options.items() if k in _JUDGED},
            )
        label = record.label if favourable is None else words((favourable,))[0]
        without = tuple(dataclasses.replace(group, roc={}) for group in record.groups)  # there are many of these audits
        found[f"{name}{which}"] = dataclasses.replace(record, use=use, judged=told, label=label, groups=without)
    return found
