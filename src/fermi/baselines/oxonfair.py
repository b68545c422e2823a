"""OxonFair (Delaney, Fu, Wachter, Mittelstadt and Russell 2024): a threshold for each group, chosen on validation rows.

A fast search over all groups' thresholds gives the frontier of accuracy and gap, and the most accurate point within a
bound on the gap is kept. Here the model is logistic regression, and the validation scores are those of five-fold
cross-validation, so that every row has one. `strength` lowers the bound from the gap of the plain model to a twentieth
of it: no gap at all is reached by constant predictions alone. Groups are the true ones, which prediction then needs, or
those that a second logistic regression infers from the features, with one more for rows of which it is unsure.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from fermi._optional import require
from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import logistic_regression, plain_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows
from fermi.baselines.common.several import once
from fermi.inputs.arguments import chosen
from fermi.inputs.folds import folds

_FOLDS = 5
_LEAST = 0.05  # of the plain model's gap
_SURE = 2.0 / 3.0  # of an inferred group; the library's default
_POINTS = 200_000  # of the grid over all thresholds: the library's own 30⁵ take gigabytes


class _ByInstance:
    """A descriptor for `capabilities` that inferred groups change; on the class it gives those of the default."""

    can = Capabilities(nonbinary_attribute=True, needs_attribute=True)

    def __get__(self, instance: Any, owner: Any) -> Capabilities:
        if hasattr(instance, "guess_"):  # of what was fitted, whatever the parameter says now
            return replace(self.can, needs_attribute=instance.guess_ is None)
        inferred = instance is not None and instance.groups == "inferred"
        return replace(self.can, needs_attribute=not inferred)


class OxonFair(Baseline):
    """Logistic regression with thresholds by group.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    groups : "true" or "inferred"
        Whether thresholds belong to the groups, which `predict` then needs, or to what the features tell of them.
    """

    capabilities: ClassVar[Any] = _ByInstance()

    def __init__(
        self,
        strength: float = 0.5,
        notion: Any = "demographic_parity",
        random_state: Any = None,
        *,
        groups: str = "true",
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.groups = groups

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        library = require("oxonfair", extra="baselines")
        inferred = chosen("groups", self.groups, ("true", "inferred")) == "inferred"
        fold = folds(rows.y * rows.n_groups + rows.s, _FOLDS, rng)
        self.model_ = plain_regression(rows)
        self.guess_ = logistic_regression(len(rows.y)).fit(rows.X, rows.s) if inferred else None
        # One entry for each group and one, the last, for rows whose group is not known or not sure.
        self.offsets_ = np.zeros(rows.n_groups + 1)
        if strength > 0.0:
            F = once(rows, "held out", lambda: _held_out(rows, rows.y, rows.n_classes, fold))
            given = (
                _hard(once(rows, "groups", lambda: _held_out(rows, rows.s, rows.n_groups, fold)))
                if inferred
                else rows.s
            )
            self._search(library, rows, F, given, max(1.0 - strength, _LEAST))

    def _search(self, library: Any, rows: Rows, F: Floats, given: Ints, share: float) -> None:
        """Find the most accurate thresholds whose gap is within a share of the plain model's."""
        accuracy = library.group_metrics.accuracy
        gap = _gap(library.group_metrics, rows)
        used, codes = np.unique(given, return_inverse=True)  # the search trips over numbers that do not occur
        bound = share * float(gap(rows.y, F.argmax(axis=1), rows.s)[0])
        steps = min(30.0, _POINTS ** (1.0 / len(used)))
        (accuracies, gaps), offsets = library.learners.efficient_compute.grid_search(
            rows.y, F[:, 0] - F[:, 1], (accuracy, gap), codes, rows.s, steps=steps, directions=np.array([1.0, -1.0])
        )
        best = np.argmax(np.where(gaps <= max(bound, gaps.min()), accuracies, -np.inf))
        self.offsets_[used] = offsets[:, best]

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        F = np.asarray(self.model_.predict_proba(X))
        given = s if self.guess_ is None else _hard(np.asarray(self.guess_.predict_proba(X)))
        # A threshold of ½ on what is shifted by half the offset, since one class loses what the other gains.
        upper = np.clip(F[:, 1] + 0.5 * self.offsets_[given], 0.0, 1.0)
        return np.column_stack([1.0 - upper, upper])


def _held_out(rows: Rows, target: Ints, size: int, fold: Ints) -> Floats:
    """The probabilities of each row's classes, from a model that has not seen the row."""
    F = np.zeros((len(target), size))
    for number in range(_FOLDS):
        learn, judge = rows.take(fold != number), rows.take(fold == number)
        model = logistic_regression(len(learn.y)).fit(learn.X, target[fold != number])
        F[np.ix_(fold == number, model.classes_)] = model.predict_proba(judge.X)
    return F


def _hard(G: Floats) -> Ints:
    """The inferred group of each row, or -1 where the inference is not sure."""
    codes: Ints = np.where(G.max(axis=1) < _SURE, -1, G.argmax(axis=1))
    return codes


def _gap(known: Any, rows: Rows) -> Any:
    """OxonFair's metric for the largest gap within any condition."""
    counted = np.unique(rows.y[rows.z >= 0])  # the classes within which groups are compared
    if len(counted) == 1:
        return (known.true_neg_rate, known.true_pos_rate)[counted[0]].max_diff
    return known.equalized_odds_max if rows.n_conditions == 2 else known.pos_pred_rate.max_diff
