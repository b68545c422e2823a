"""Rows on several machines: what each of them needs to know of the rows of all, by XGBoost's own communication."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fermi._optional import require
from fermi._typing import Floats, Ints
from fermi.errors import FermiError, bad_argument
from fermi.fitting.objective import FairObjective, Term
from fermi.fitting.problem import Attribute, Problem
from fermi.formulas.ermi import nonzero
from fermi.inputs.cells import Cells
from fermi.inputs.encode import sort_key
from fermi.inputs.groups import label_order, positions


class Alone:
    """One process that holds all rows."""

    several = False

    def sum(self, values: Any) -> Any:
        """The sum over all processes."""
        return values


class XGBoostRanks:
    """The processes of XGBoost's distributed training, each with some of the rows.

    All of them call the same methods in the same order; each gets the same answer.
    """

    several = True

    def __init__(self) -> None:
        self._collective = require("xgboost.collective", extra="boosting")
        if not self._collective.is_distributed():
            raise FermiError(
                "`distributed` is for the workers of XGBoost's distributed training: call this inside "
                "`xgboost.collective.CommunicatorContext`, which Ray Train's XGBoostTrainer enters by itself."
            )

    def sum(self, values: Any) -> Any:
        """The sum over all processes, added up in the same way on each."""
        array = np.asarray(values, dtype=np.float64)
        added = self._collective.allreduce(np.ascontiguousarray(array), self._collective.Op.SUM)
        return float(added[0]) if array.ndim == 0 else added.reshape(array.shape)

    def union(self, labels: Iterable[Any]) -> list[Any]:
        """All labels that some process has, each once."""
        own = list(labels)
        found: dict[Any, None] = {}
        for root in range(self._collective.get_world_size()):
            found |= dict.fromkeys(self._collective.broadcast(own, root))
        return list(found)


def shared_codes(problem: Problem, ranks: XGBoostRanks) -> Problem:
    """The problem of some rows, its groups and conditions coded as those of all rows."""
    attributes = []
    for attribute in problem.attributes:
        labels = tuple(label_order(ranks.union(attribute.labels)))
        if not labels:
            raise bad_argument("sensitive", "is unknown in every row of every worker", "a known group in at least one")
        attributes.append(Attribute(labels, _recoded(attribute.codes, attribute.labels, labels)))
    names = tuple(sorted(ranks.union(problem.condition_names), key=sort_key))
    conditions = _recoded(problem.conditions, problem.condition_names, names)
    return replace(problem, attributes=tuple(attributes), condition_names=names, conditions=conditions)


def _recoded(codes: Ints, before: Sequence[Any], now: Sequence[Any]) -> Ints:
    table = np.array([*positions(before, now), -1], dtype=np.int64)  # index -1 reaches the last entry
    return table[codes]


def shared_objective(problem: Problem, lam: float, ranks: XGBoostRanks) -> FairObjective:
    """The objective over all rows, as a function of the logits of some: weights, shares and priors are those of all."""
    weight = problem.weight * problem.class_weight[problem.target]
    weight /= ranks.sum(weight.sum())
    terms = tuple(_term(cells, problem.factors, ranks) for cells in problem.cells())
    return FairObjective(problem.target, weight, terms, 0.0).at(lam)


def _term(cells: Cells, factors: Callable[[Floats], Floats | None], ranks: XGBoostRanks) -> Term:
    """The term of the rows of all processes, made as `Term.of` makes it of its own."""
    counted = cells.counted
    total = ranks.sum(cells.weight[counted].sum())
    if total == 0.0:
        raise bad_argument("sensitive", "is unknown in every row that the notion compares", "some known groups")
    by_condition = factors(ranks.sum(cells.totals()))
    rows = cells.weighed(np.where(counted, cells.weight / total, 0.0))
    if by_condition is not None:
        rows = rows.weighed_by_condition(by_condition)
    joint = ranks.sum(rows.totals())
    p_z = joint.sum(axis=1)
    return Term(rows, p_z, joint / nonzero(p_z)[:, None])
