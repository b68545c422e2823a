"""What the first pass has learned, in JSON's types, and the problem that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.errors import FermiError, bad_argument, listed
from fermi.fitting.objective import Term
from fermi.fitting.problem import Attribute, Problem, class_weights
from fermi.formulas.ermi import nonzero
from fermi.inputs.cells import Cells
from fermi.inputs.features import natural_labels
from fermi.inputs.groups import ARGUMENT, group_label, label_order
from fermi.inputs.natural import refuse_amounts
from fermi.inputs.table_encoder import TableEncoder
from fermi.linear.design import Design, scale_of
from fermi.linear.table_loop import Tables
from fermi.notions import Notion
from fermi.stream._coding import Coding
from fermi.stream._profile import Profile, Reading


@dataclass
class Learned:
    """What the first pass has learned: JSON's types alone, so that a checkpoint can hold it.

    Attributes
    ----------
    columns : list of dict
        The rules of the encoder.
    joint : list of [label, words, count]
        The rows by label and words of the sensitive columns, None for a missing one.
    present : dict
        How often each feature that is 0 or 1 is 1, by its name.
    extremes : dict
        Of each column of numbers: smallest, largest, and how many there are.
    unlabelled : int
        The rows without a label, which do not count.
    seed : int
        Of the sample, the order of the rows and the test rows.
    skipped : list of [path, reason]
        The files that were left out.
    """

    columns: list[dict[str, Any]]
    joint: list[Any]
    present: dict[str, int]
    extremes: dict[str, list[float]]
    unlabelled: int
    seed: int
    skipped: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, profile: Profile, seed: int, skipped: list[list[str]]) -> Learned:
        """What is kept of a profile."""
        rules = [column.rule(name) for name, column in profile.columns.items()]
        encoder = TableEncoder(rules)
        if not encoder.features:
            raise FermiError("No column can serve as a feature: all are constant, missing or text without repetition.")
        present: dict[str, int] = {}
        extremes: dict[str, list[float]] = {}
        for rule in rules:
            column = profile.columns[rule.name]
            if rule.kind == "category":
                present |= {f"{rule.name}={word}": column.words[word] for word in rule.categories}
                present[f"{rule.name}: other"] = sum(column.words[word] for word in rule.rare)
            elif rule.kind != "ignored":
                found = column.days if rule.kind == "date" and column.family == "words" else column.numbers
                extremes[rule.name] = [found.low, found.high, found.count]
            present[f"{rule.name}: missing"] = rule.missing
        joint = [[label, list(words), count] for (label, words), count in profile.joint.items()]
        return cls(encoder.to_json(), joint, present, extremes, profile.unlabelled, seed, skipped)


@dataclass(frozen=True, eq=False)
class Model:
    """A problem whose rows are elsewhere: how they are coded, and all that is known of them together.

    Attributes
    ----------
    coding : Coding
        How rows are coded.
    problem : Problem
        Classes, conditions and groups, without rows.
    terms : tuple of Term
        The terms of the objective, without rows.
    tables : Tables
        What rows count, by cell and by class.
    design : Design
        Centre and scale of the features, without rows; the last feature is the one that says nothing.
    counts : list of (Z, k) arrays
        The rows by condition and group, of each term.
    """

    coding: Coding
    problem: Problem
    terms: tuple[Term, ...]
    tables: Tables
    design: Design
    counts: list[Floats]

    @property
    def classes(self) -> Any:
        """The labels, in order."""
        return natural_labels(self.coding.labels)

    @property
    def compares(self) -> bool:
        """Whether there is anything to compare; if not, λ is 0."""
        return any(bool(term.compared.any()) for term in self.terms)


def model_of(
    learned: Learned,
    reading: Reading,
    notion: Notion,
    attributes: str,
    class_weight: Any,
    *,
    intercept: bool,
    l2: float,
) -> Model:
    """The problem that follows from what was learned."""
    found = [label for label, _, _ in learned.joint]
    mixed = len({type(label) for label in found}) > 1
    labels = sorted({str(label) if mixed else label for label in found})
    if len(labels) < 2:
        raise FermiError(
            f"The target {reading.target!r} holds {listed(labels) or 'no label'} only; expected two classes."
        )
    places = _places(reading, attributes)
    named = [_groups(learned, reading, columns) for columns in places]
    conditions = notion.conditions(natural_labels(labels), len(labels), labels)
    groups = [group for _, group in named]
    coding = Coding(reading, learned.columns, labels, mixed, groups, places, conditions.dense())
    counts, per_class = _counted(learned, coding)
    rows = int(per_class.sum())
    own_weights = class_weights(class_weight, labels, np.arange(len(labels)), per_class)
    nobody = np.zeros(0, dtype=np.int64)
    problem = Problem(
        np.zeros((0, coding.width)), nobody, np.zeros(0), nobody, own_weights, tuple(conditions.values_of),
        tuple(Attribute(names, nobody) for names, _ in named), reading.sensitive, notion.condition_weights(labels),
    )  # fmt: skip
    terms, shares = _terms(problem, counts)
    zone = np.repeat(np.arange(sum(len(c) for c in counts)), [k for c in counts for k in [c.shape[1]] * len(c)])
    prior = np.concatenate([np.zeros(0), *(term.prior.ravel() for term in terms)])
    tables = Tables(zone, prior, np.concatenate([np.zeros(0), *shares]), own_weights / (own_weights @ per_class), rows)
    design = _design(learned, coding, rows, len(labels), intercept=intercept, l2=l2)
    return Model(coding, problem, terms, tables, design, counts)


def _places(reading: Reading, attributes: str) -> list[tuple[int, ...]]:
    every = tuple(range(len(reading.sensitive)))
    return [(k,) for k in every] if attributes == "each" else [every] if every else []


def _groups(
    learned: Learned, reading: Reading, columns: tuple[int, ...]
) -> tuple[tuple[str, ...], dict[tuple[str, ...], int]]:
    """The labels of a term's groups in order, and the group of the words of its columns."""
    combinations = {tuple(words[k] for k in columns) for _, words, _ in learned.joint}
    names = [reading.sensitive[k] for k in columns]
    known = {words: group_label(names, words) for words in combinations if None not in words}
    if not known:
        raise bad_argument(ARGUMENT, f"{listed(names)} is unknown in every row", "a known group in at least one")
    ordered = tuple(label_order(known.values()))
    return ordered, {words: ordered.index(label) for words, label in known.items()}


def _counted(learned: Learned, coding: Coding) -> tuple[list[Floats], Floats]:
    """The rows by condition and group of each term, and by class."""
    Z, classes = int(coding.conditions.max()) + 1, {label: j for j, label in enumerate(coding.labels)}
    counts = [np.zeros((Z, max(group.values()) + 1)) for group in coding.groups]
    per_class = np.zeros(len(coding.labels))
    for label, words, count in learned.joint:
        y = classes[str(label) if coding.mixed else label]
        per_class[y] += count
        z = coding.conditions[y]
        for table, group, columns in zip(counts, coding.groups, coding.places, strict=True):
            s = group.get(tuple(words[k] for k in columns), -1)
            if s >= 0 and z >= 0:
                table[z, s] += count
    return counts, per_class


def _terms(problem: Problem, counts: list[Floats]) -> tuple[tuple[Term, ...], list[Floats]]:
    """The terms with the prior of all rows, and what a row counts in each of their cells; as `Term.of`."""
    terms, shares = [], []
    for joint in counts:
        total = float(joint.sum())
        if total == 0.0:
            raise bad_argument(ARGUMENT, "is unknown in every row that the notion compares", "some known groups")
        factors = problem.factors(joint)
        share = np.ones_like(joint) / total * (1.0 if factors is None else factors[:, None])
        p_z = (joint * share).sum(axis=1)
        rows = Cells(np.zeros(0, dtype=np.int64), (joint.shape[0], joint.shape[1]), np.zeros(0))
        terms.append(Term(rows, p_z, joint * share / nonzero(p_z)[:, None]))
        shares.append(share.ravel())
    return tuple(terms), shares


def _design(learned: Learned, coding: Coding, rows: int, n_classes: int, *, intercept: bool, l2: float) -> Design:
    """Scale of the features, which are not centred."""
    square, low, high = np.zeros(coding.width + 1), np.zeros(coding.width + 1), np.zeros(coding.width + 1)
    for j, rule in enumerate(coding.numbers):
        first, last, count = learned.extremes[rule.name]
        square[j] = count / rows
        low[j], high[j] = (first - rule.mean) / rule.scale, (last - rule.mean) / rule.scale
    at = len(coding.numbers)
    for rule, kind in coding.coded:
        names = rule.features if kind == "category" else [f"{rule.name}: missing"]
        for name in names:
            square[at] = learned.present[name] / rows
            high[at] = 1.0
            at += 1
    largest = np.maximum(np.abs(low), np.abs(high))
    scale = scale_of(square, largest, largest, l2)
    scale[-1] = 1.0
    return Design(np.zeros((0, coding.width + 1)), np.zeros_like(scale), scale, intercept, n_classes, square)


def refuse_no_groups(learned: Learned, reading: Reading) -> None:
    """Refuse sensitive columns that are amounts, or that hold one group alone, as for rows in memory."""
    import pandas as pd

    for k, name in enumerate(reading.sensitive):
        values = {words[k] for _, words, _ in learned.joint if words[k] is not None}
        refuse_amounts(pd.Series(sorted(values), name=name, dtype=object))
    if len({tuple(words) for _, words, _ in learned.joint if None not in words}) == 1:
        raise FermiError(
            f"The sensitive column {listed(reading.sensitive)} holds one group only: there is nothing to compare."
        )


def in_order(coding: Coding, weights: Floats) -> Floats:
    """Weights in the order of the encoder's features."""
    places: Ints = coding.places_of_features()
    return np.ascontiguousarray(weights[:, places])
