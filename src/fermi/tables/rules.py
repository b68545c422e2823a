"""The rule that gives labels, for a page: what each group is charged, and which features tell the group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.decisions.group_models import CellModel
from fermi.fitting.label_stage import AdjustedLabels
from fermi.formulas.ermi import nonzero
from fermi.records import ChargeRecord

_SHOWN = 4  # features of a group
_WEAK = 0.05  # of the log odds: a feature that moves them less tells next to nothing
AVERAGE = "the average row"


def charges(
    labels: AdjustedLabels,
    groups: Sequence[str],
    conditions: Sequence[str],
    classes: Sequence[Any],
    features: Sequence[str],
    X: Floats,
) -> tuple[ChargeRecord, ...]:
    """What the rule charges, by attribute, condition and group; the last line is about the average row.

    The multipliers Ψ are not told as they are: a row that is likelier of one group is less likely of others, so that
    only differences between groups matter, and large multipliers may cancel. A charge is what a row pays more when it
    is likelier of a group and, in proportion, less likely of the others of the same condition.

    Parameters
    ----------
    labels : AdjustedLabels
        The rule, and group models of coefficients.
    groups : sequence of str
        The groups of all attributes, one after the other.
    conditions : sequence of str
        What the conditions are called; "" for the only one there is.
    classes : sequence
        The classes.
    features : sequence of str
        What the columns of the features are called.
    X : (n, d) array
        The features of the training rows.
    """
    names, rule = [str(label) for label in classes], labels.rule
    charged = [j for j in range(len(names)) if rule.psi[:, j].any() or rule.offset[j]]
    found, cell, group = [], 0, 0
    for model in labels.group_models:
        own = slice(cell, cell + model.n_cells)
        shape = (len(conditions), model.n_cells // len(conditions))
        q, told = model.probabilities(X), _told_by(model, len(conditions), features, X.std(axis=0))
        rates = _exchange(rule.psi[own].reshape(*shape, -1), rule.mean[own].reshape(shape))
        for c, (z, s) in enumerate(np.ndindex(shape)):
            price = {names[j]: float(rates[z, s, j]) for j in charged}
            likely, spread = float(q[:, c].mean()), float(q[:, c].std())
            found.append(ChargeRecord(groups[group + s], conditions[z], price, likely, spread, told[c]))
        cell, group = cell + model.n_cells, group + shape[1]
    base = rule.offset + rule.psi.sum(axis=0)
    return (*found, ChargeRecord(AVERAGE, "", {names[j]: float(base[j]) for j in charged}))


def _exchange(psi: Floats, mean: Floats) -> Floats:
    """What a row pays per unit of probability that passes to a group from the others of its condition, Z × k × m."""
    own = psi / nonzero(mean)[..., None]
    others = (psi.sum(axis=1, keepdims=True) - psi) / nonzero(mean.sum(axis=1, keepdims=True) - mean)[..., None]
    rates: Floats = own - others
    return rates


def _told_by(
    model: CellModel, n_conditions: int, features: Sequence[str], spread: Floats
) -> list[tuple[tuple[str, float], ...]]:
    """The features that tell each cell from the others of its condition, with the log odds per standard deviation."""
    lines = np.full((model.n_cells + 1, len(features)), np.nan)
    if model.model is not None:
        coef = model.model.coef
        lines[model.kinds] = np.concatenate([-0.5 * coef, 0.5 * coef]) if len(model.kinds) == 2 else coef
    told: list[tuple[tuple[str, float], ...]] = []
    for block in lines[:-1].reshape(n_conditions, -1, len(features)) * spread:
        seen = np.isfinite(block).all(axis=1)
        for s in range(len(block)):
            others = block[seen & (np.arange(len(block)) != s)]
            odds = block[s] - others.mean(axis=0) if seen[s] and len(others) else np.zeros(len(features))
            largest = np.argsort(-np.abs(odds), kind="stable")[:_SHOWN]
            told.append(tuple((features[j], float(odds[j])) for j in largest if abs(odds[j]) >= _WEAK))
    return told
