"""Reads one chunk of a stream for `FermiClassifier.partial_fit`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fermi.errors import bad_argument, listed
from fermi.fitting.problem import Problem, Source, read_problem
from fermi.inputs.columns import read_columns, read_labels
from fermi.inputs.encode import encode, same_kind, sort_key
from fermi.inputs.features import check_labels, known_target, read_features
from fermi.inputs.groups import ARGUMENT, label_order, match_columns, positions, word_of
from fermi.linear.options import Settings
from fermi.linear.stream import Online, kind_of


def read_chunk(
    estimator: Any, source: Source, classes: Any, groups: Any, online: Online | None, settings: Settings
) -> tuple[Online, Problem]:
    """Read a chunk: a copy of the model so far with room for what the chunk brings, and the chunk in its codes."""
    _refuse_what_streams_cannot_do(estimator, settings)
    matrix, labels = read_features(estimator, source.X, source.y, reset=online is None, rows=True)
    model = Online(matrix.shape[1]) if online is None else online.copy()
    source = source._replace(sensitive_features=_columns(source.sensitive_features, model, settings, online is None))
    known = _classes(labels, classes, model, settings)
    target = known_target(labels, known, "y")
    problem = read_problem(
        source, matrix, labels, target, known, estimator.class_weight, settings.fairness, settings.attributes,
        known=False,
    )  # fmt: skip
    names = [attribute.labels for attribute in problem.attributes]
    prior = None
    if groups is not None:
        names[0], prior = _declared_groups(groups, source.sensitive_features, settings)
    conditions = known if settings.fairness.conditions_are_labels else problem.condition_names
    _refuse_new_groups(model, problem)
    model.make_room(known, conditions, names)
    if groups is not None:
        model.declare(names[0], prior)
        _refuse_new_groups(model, problem)
    return model, model.coded(problem)


def _columns(sensitive_features: Any, model: Online, settings: Settings, first: bool) -> Any:
    """The sensitive columns of a chunk in the order of the first one, by name where they have one."""
    columns = {} if sensitive_features is None else read_columns(sensitive_features, ARGUMENT)
    kind = kind_of(settings)
    if first:
        model.kind, model.columns = kind, tuple(columns)
        return sensitive_features
    if kind != model.kind:
        raise bad_argument("fairness", f"is now {kind}", f"the same as before, {model.kind}, or a new model")
    if bool(columns) != bool(model.columns):
        raise bad_argument(ARGUMENT, "has other columns than before, or is missing", "the same columns in every chunk")
    return match_columns(columns, model.columns) or None


def _refuse_what_streams_cannot_do(estimator: Any, settings: Settings) -> None:
    if estimator.solver not in ("auto", "sgda"):
        raise bad_argument("solver", f"is {estimator.solver!r}", "'auto' or 'sgda': partial_fit sees each row once")
    sgda = settings.sgda
    usual = {
        "max_violation": (settings.max_violation, None),
        "output": (sgda.output, "last"),
        "checkpoint": (settings.checkpoint, None),
        "max_iter": (sgda.max_iter, None),
    }
    for name, (value, expected) in usual.items():
        if value != expected:
            raise bad_argument(name, f"is {value!r}", f"{expected!r}: partial_fit does not do that, use fit")
    for name in ("eta_theta", "eta_w", "radius"):
        if getattr(sgda, name) == "theory":
            raise bad_argument(name, "is 'theory', which needs all rows", "another choice, or fit")
    if isinstance(estimator.class_weight, str):
        raise bad_argument("class_weight", "is 'balanced', which needs all rows", "a dict of class and weight, or fit")


def _classes(labels: Any, declared: Any, model: Online, settings: Settings) -> list[Any]:
    """All classes so far, those declared or those met."""
    met = encode(labels, "y").compact()
    if met.n_unknown:
        raise bad_argument("y", f"has {met.n_unknown} missing entries", "a label in every row")
    check_labels(met.values_of, labels.dtype)
    if not same_kind(met.values_of, model.classes):
        raise bad_argument("y", f"holds {listed(met.values_of)}", f"labels of the same type as {listed(model.classes)}")
    if declared is not None:
        if isinstance(declared, str | bytes) or np.ndim(declared) != 1 or len(declared) < 2:
            raise bad_argument("classes", f"is {declared!r}", "a sequence of at least two labels")
        named = read_labels(declared, "classes")
        if not same_kind(met.values_of, named):
            raise bad_argument(
                "classes", f"is {listed(named)}", f"labels of the same type as `y`, {listed(met.values_of)}"
            )
        if model.classes and set(named) != set(model.classes):
            raise bad_argument("classes", f"is {listed(named)}", f"the same as before, {listed(model.classes)}")
        return sorted(named, key=sort_key)
    if not model.classes and settings.fairness.needs_all_labels:
        raise bad_argument(
            "classes", "is missing", "all labels, or EqualOpportunity(advantaged=...) to name those that count"
        )
    found = sorted({*model.classes, *met.values_of}, key=sort_key)
    if len(found) < 2:
        raise bad_argument("y", f"holds one class only so far, {found[0]!r}", "two, or `classes` to declare the others")
    return found


def _declared_groups(groups: Any, sensitive_features: Any, settings: Settings) -> tuple[tuple[str, ...], Any]:
    """Read `groups`: the labels of all groups, in order, and their prior if each is mapped to its share."""
    if settings.attributes == "each" or sensitive_features is None:
        raise bad_argument("groups", "is given without joint groups to declare", "None")
    columns = list(read_columns(sensitive_features, ARGUMENT))
    if isinstance(groups, str | bytes) or not isinstance(groups, Iterable):
        raise bad_argument("groups", f"is {groups!r}", "the labels of all groups, or a dict of label to share")
    given = [word_of(label) for label in read_labels(list(groups), "groups")]
    if len(columns) == 1 and columns[0] is not None and not str(columns[0]).isdigit():
        prefix = f"{columns[0]}="
        given = [label if label.startswith(prefix) else prefix + label for label in given]
    ordered = tuple(label_order(given))
    if not isinstance(groups, Mapping):
        return ordered, None
    try:
        shares = np.array([np.atleast_1d(value) for value in groups.values()], dtype=np.float64).T
    except (TypeError, ValueError):
        shares = np.zeros((1, 0))
    if shares.shape[1] != len(ordered) or not (shares >= 0).all() or np.abs(shares.sum(axis=1) - 1.0).max() > 1e-3:
        raise bad_argument(
            "groups",
            "gives shares that are negative, missing or do not sum to one",
            "the share of each group among all rows, or within each condition",
        )
    return ordered, shares[:, positions(ordered, given)]


def _refuse_new_groups(model: Online, problem: Problem) -> None:
    for known, attribute in zip(model.groups, problem.attributes, strict=False):
        strange = [label for label in attribute.labels if known.declared and label not in known.labels]
        if strange:
            raise bad_argument(
                ARGUMENT,
                f"holds the group {strange[0]!r}",
                f"one of those declared in `groups`, {listed(known.labels)}",
            )
