"""Discrimination-aware decision tree (Kamiran, Calders and Pechenizkiy 2010): leaves relabelled until it is fair.

The tree is grown on the sum of the information gains about class and group, IGC+IGS of the paper, which makes leaves of
mostly one group. Then labels of leaves are turned, first those that cost the least accuracy for the discrimination they
remove, until P(ŷ = 1 | favoured) − P(ŷ = 1 | deprived) on the training rows is at most 1 − `strength` times what it
was. The group is not needed to predict. Two classes, two groups, demographic parity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from fermi._typing import Floats, Ints
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows

_LEAF, _FEWEST = 0.005, 20  # the least share of the rows in a leaf, and their least number


class Kamiran(Baseline):
    """A decision tree with relabelled leaves.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    max_depth : int, optional
        Of the tree.
    """

    capabilities = Capabilities(notions=("demographic_parity",), beyond_logistic=True)

    def __init__(
        self,
        strength: float = 0.5,
        notion: Any = "demographic_parity",
        random_state: Any = None,
        *,
        max_depth: int | None = None,
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.max_depth = max_depth

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        self.tree_ = DecisionTreeClassifier(
            criterion="entropy",
            max_depth=self.max_depth,
            min_samples_leaf=max(round(_LEAF * len(rows.y)), _FEWEST),
            random_state=int(rng.integers(2**31)),
        )
        # Of two outputs, scikit-learn averages the entropies.
        leaf = self.tree_.fit(rows.X, np.stack([rows.y, rows.s], axis=1)).apply(rows.X)
        counts = np.zeros((self.tree_.tree_.node_count, 2, 2))  # leaf, class, group
        np.add.at(counts, (leaf, rows.y, rows.s), 1.0)
        labels = counts.sum(axis=2).argmax(axis=1)
        turned = relabelled(counts, labels, strength)
        self.labels_: Ints = np.where(turned, 1 - labels, labels)
        F = counts.sum(axis=2) / np.maximum(counts.sum(axis=(1, 2)), 1.0)[:, None]
        self.proba_: Floats = np.where(turned[:, None], F[:, ::-1], F)

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(self.proba_[self.tree_.apply(X)])

    def _labels(self, X: Any, s: Ints | None) -> Ints:
        codes: Ints = self.labels_[self.tree_.apply(X)]  # of a tie, which the probabilities do not tell
        return codes


def relabelled(counts: Floats, labels: Ints, strength: float) -> Any:
    """Choose the leaves to turn, given the rows of each leaf, class and group, and the leaves' labels."""
    share = counts.sum(axis=1) / counts.sum(axis=(0, 1))  # of each group, what is in a leaf
    gap = share[:, 1] - share[:, 0]
    start = float(gap[labels == 1].sum())
    gain = np.where(labels == 1, gap, -gap) * np.sign(start)  # discrimination that turning the leaf removes
    loss = np.abs(counts.sum(axis=2) @ [1.0, -1.0])  # rows that it misclassifies besides
    useful = np.flatnonzero(gain > 0)
    order = useful[np.argsort(loss[useful] / gain[useful], kind="stable")]
    turned, left, bound = np.zeros(len(labels), dtype=bool), abs(start), (1.0 - strength) * abs(start) + 1e-12
    for leaf in order:
        if left <= bound:
            break
        if abs(left - gain[leaf]) < left:  # a large leaf would turn the discrimination round
            turned[leaf], left = True, left - gain[leaf]
    return turned
