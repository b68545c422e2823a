"""How far predictions hang on many attributes at once: on the worst of them, on large intersections, on all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fermi._typing import Floats
from fermi.experiments.runs.tabular import joined
from fermi.formulas.gaps import standard_error
from fermi.measures import linf_violation, parity_difference
from fermi.measures.contingency import Contingency
from fermi.notions import Notion

ENOUGH = 20  # rows that an intersection must have for its rates to be looked at
_SHUFFLES = 20
HARD = ("attribute", "intersection")  # violations of labels


def worst_attribute(tables: list[Contingency]) -> tuple[float, float]:
    """The largest gap between the two groups of any attribute, and its standard error."""
    gaps = [parity_difference(table) for table in tables]
    worst = tables[int(np.argmax(gaps))].table
    return max(gaps), standard_error(worst, worst)


def large_intersections(every: Contingency, enough: int = ENOUGH) -> tuple[float, float, int]:
    """The largest ``|p(ŷ|s) − p(ŷ)|`` over the groups of enough rows, its standard error, and how many those are.

    The paper's conditional L∞ without the groups too small to have a rate: nan where all are. p(ŷ) is that of all rows,
    so that one large group is enough.
    """
    table, rates = every.table, every.rates()
    sizes = table.sum(axis=2)
    large = sizes >= enough
    if not large.any():
        return float("nan"), float("nan"), 0
    overall = table.sum(axis=1, keepdims=True) / np.maximum(sizes.sum(axis=1), 1)[:, None, None]
    gaps = np.where(large[..., None], np.abs(rates - overall), -1.0)
    worst = np.unravel_index(gaps.argmax(), gaps.shape)
    p, n = rates[worst], sizes[worst[:2]]
    return float(gaps[worst]), float(np.sqrt(p * (1.0 - p) / n)), int(large.sum())


def gaps(F: Floats, y: Any, s: pd.DataFrame, notion: Notion) -> dict[str, float]:
    """Errors and violations of probabilities F, of their most probable labels and of draws ("soft") from them."""
    classes = list(range(F.shape[1]))
    own = np.asarray(y)

    def table(predicted: Any, groups: Any) -> Contingency:
        return Contingency.from_predictions(predicted, groups, y_true=own, notion=notion, classes=classes)

    labels, together = F.argmax(axis=1), joined(s).to_numpy()
    found = {"error": float(np.mean(labels != own)), "soft_error": float(1.0 - F[np.arange(len(F)), own].mean())}
    for kind, predicted in (("", labels), ("soft_", F)):
        found[f"{kind}attribute"], noise = worst_attribute([table(predicted, s[name].to_numpy()) for name in s])
        every = table(predicted, together)
        found[f"{kind}intersection"], large_noise, count = large_intersections(every)
        found[f"{kind}everything"] = linf_violation(every)
        if not kind:
            found |= {"attribute_noise": noise, "intersection_noise": large_noise, "large": count}
    return found


def by_chance(F: Floats, y: Any, s: pd.DataFrame, notion: Notion, rng: np.random.Generator) -> dict[str, float]:
    """The mean violations of labels when predictions are shuffled among the rows: what no fairness goes below.

    They are shuffled among rows of one condition, so that a group keeps its size there.
    """
    conditions = notion.conditions(np.asarray(y), len(F)).dense()
    ordered = np.argsort(conditions, kind="stable")
    drawn = []
    for _ in range(_SHUFFLES):
        shuffled = np.empty_like(F)
        shuffled[ordered] = F[np.lexsort((rng.random(len(F)), conditions))]
        drawn.append(gaps(shuffled, y, s, notion))
    return {f"chance_{name}": float(np.mean([found[name] for found in drawn])) for name in HARD}


def cooled(F: Floats, divisor: float) -> Floats:
    """The probabilities after all logits are divided by a number: the most probable class stays what it was."""
    logits = np.log(np.maximum(F, np.finfo(float).tiny)) / divisor
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
