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


def fit_group_models(problem: Problem) -> tuple[CellModel, ...]:
    """A group model of each attribute, from all rows of a problem."""
    features = group_features(problem.X)
    found = []
    for attribute, cells in zip(problem.attributes, problem.cells(), strict=True):
        template = default_group_model(features, cells.size)
        kinds = kinds_of_cell(cells, attribute.codes >= 0)
        found.append(CellModel.fit(template, features, kinds, cells.size, problem.weight))
    return tuple(found)


def choose_labels(
    parts: Sequence[tuple[Problem, Problem]], judged: Problem, F: Floats, bound: float
) -> tuple[Choice, list[str]]:
    """Choose labels within a bound on held-out rows, and name the groups whose labels hang by a thread.

    Parameters
    ----------
    parts : sequence of (trained, judged)
        The rows that models were trained on, and those held out of them.
    judged : Problem
        The held-out rows of all parts, one after the other.
    F : (n, m) array
        What the models say of them.
    bound : float
        The largest hard parity difference.
    """
    each: list[list[Floats]] = [[] for _ in judged.attributes]
    for trained, rows in parts:
        for t, model in enumerate(fit_group_models(trained)):
            each[t].append(model.probabilities(group_features(rows.X)))
    q = tuple(np.concatenate(found) for found in each)
    facts = JudgedRows(F, q, judged.target, judged.cells(), judged.weight, F.argmax(axis=1))
    choice = Stage(facts).choose(Requirements.read(bound))
    return choice, hanging_groups(facts, choice.rule, [attribute.labels for attribute in judged.attributes])
