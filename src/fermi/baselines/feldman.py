"""Disparate impact remover (Feldman, Friedler, Moeller, Scheidegger and Venkatasubramanian 2015): repaired features.

In each feature, the value at a group's quantile q moves to the median over the groups of their values at q, so that
all groups get one law; `strength` is the share of the way. Equal values, such as those of indicator columns, span a
range of quantiles and move to the mean over it, without a draw. New rows are repaired by what was learned, between
learned values by interpolation, so their groups are needed; rows of an unknown group stay as they are. Logistic
regression is trained on the repaired features. The repair does not look at y, so it knows demographic parity alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import dense, logistic_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows


class Feldman(Baseline):
    """Logistic regression on features that are repaired to have one law for all groups.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(
        notions=("demographic_parity",),
        nonbinary_target=True,
        nonbinary_attribute=True,
        beyond_logistic=True,
        needs_attribute=True,
    )

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        X = np.asarray(dense(rows.X), dtype=float)
        self.repairs_ = [learn_repair([x[rows.s == group] for group in range(rows.n_groups)], strength) for x in X.T]
        self.model_ = logistic_regression(len(rows.y)).fit(self._repaired(X, rows.s), rows.y)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(self.model_.predict_proba(self._repaired(dense(X), np.asarray(s))))

    def _repaired(self, X: Any, s: Ints) -> Floats:
        repaired = np.array(X, dtype=float)
        members = [np.flatnonzero(s == group) for group in range(len(self.groups_))]
        for column, maps in zip(repaired.T, self.repairs_, strict=True):
            for rows, (values, shifts) in zip(members, maps, strict=True):
                column[rows] += np.interp(column[rows], values, shifts)
        return repaired


def learn_repair(groups: list[Floats], amount: float) -> list[tuple[Floats, Floats]]:
    """Learn for each group the distinct values of a feature, sorted, and what is to be added to them."""
    ordered = [np.sort(group) for group in groups]
    levels = np.unique(np.concatenate([np.arange(len(group) + 1) / len(group) for group in ordered]))
    middles = 0.5 * (levels[1:] + levels[:-1])  # all quantile functions are constant between two levels
    at = [group[np.minimum((middles * len(group)).astype(int), len(group) - 1)] for group in ordered]
    area = np.append(0.0, np.cumsum(np.median(at, axis=0) * np.diff(levels)))
    repairs = []
    for group in ordered:
        values, counts = np.unique(group, return_counts=True)
        edges = np.append(0.0, np.cumsum(counts)) / len(group)
        target = np.diff(np.interp(edges, levels, area)) / np.diff(edges)  # the mean over each value's quantiles
        repairs.append((values, amount * (target - values)))
    return repairs
