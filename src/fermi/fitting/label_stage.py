"""Labels within a bound for the estimators that train here: the convex stage of `decisions` on the rows of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.decisions.fragile import hanging_groups
from fermi.decisions.group_models import CellModel, default_group_model, group_features, kinds_of_cell
from fermi.decisions.judged import JudgedRows
from fermi.decisions.requirements import Requirements
from fermi.decisions.rule import Rule
from fermi.decisions.stage import Choice, Stage
from fermi.fitting.contract import TellsKinds
from fermi.fitting.problem import Problem


class AdjustedLabels(NamedTuple):
    """What gives labels within a bound: the rule, and the group models that it asks, one per attribute."""

    rule: Rule
    group_models: tuple[CellModel, ...]

    def codes(self, F: Floats, X: Any) -> Ints:
        """The code of each row's class, from its probabilities and its features."""
        if self.rule.changes_nothing:
            own: Ints = F.argmax(axis=1)
            return own
        features = group_features(X)
        q = np.concatenate([model.probabilities(features) for model in self.group_models], axis=1)
        return self.rule.labels(F, q)


def fit_group_models(problem: Problem, trainer: object = None) -> tuple[CellModel, ...]:
    """A group model of each attribute, from all rows of a problem; a trainer of these rows makes it where it can."""
    features = group_features(problem.X)
    found = []
    for attribute, cells in zip(problem.attributes, problem.cells(), strict=True):
        kinds = kinds_of_cell(cells, attribute.codes >= 0)
        if isinstance(trainer, TellsKinds):
            seen = np.unique(kinds[(kinds >= 0) & (problem.weight > 0.0)])
            model = trainer.tell_kinds(kinds, seen) if len(seen) > 1 else None
            found.append(CellModel(model, seen, cells.size))
        else:
            template = default_group_model(features, cells.size)
            found.append(CellModel.fit(template, features, kinds, cells.size, problem.weight))
    return tuple(found)


def choose_labels(
    parts: Sequence[tuple[Problem, Problem]],
    trainers: Sequence[object],
    judged: Problem,
    F: Floats,
    bound: float,
) -> tuple[Choice, list[str]]:
    """Choose labels within a bound on held-out rows, and name the groups whose labels hang by a thread.

    Parameters
    ----------
    parts : sequence of (trained, judged)
        The rows that models were trained on, and those held out of them.
    trainers : sequence
        Who trains on the rows of each part: models of groups, too, where it can (`TellsKinds`).
    judged : Problem
        The held-out rows of all parts, one after the other.
    F : (n, m) array
        What the models say of them.
    bound : float
        The largest hard parity difference.
    """
    each: list[list[Floats]] = [[] for _ in judged.attributes]
    for (trained, rows), trainer in zip(parts, trainers, strict=True):
        for t, model in enumerate(fit_group_models(trained, trainer)):
            each[t].append(model.probabilities(group_features(rows.X)))
    q = tuple(np.concatenate(found) for found in each)
    facts = JudgedRows(F, q, judged.target, judged.cells(), judged.weight, F.argmax(axis=1))
    choice = Stage(facts).choose(Requirements.read(bound))
    return choice, hanging_groups(facts, choice.rule, [attribute.labels for attribute in judged.attributes])
