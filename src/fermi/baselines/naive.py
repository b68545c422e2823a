"""The naive trade: logistic regression whose label is replaced by the majority label with probability `strength`.

A constant label is fair by every notion, so every gap shrinks by the factor 1 − strength, and the error rises on a
straight line to that of the constant label. What lies above this line is no use to anyone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import mixture, plain_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows


class Naive(Baseline):
    """A plain model whose label is replaced by the majority's with probability `strength`.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(
        nonbinary_target=True,
        nonbinary_attribute=True,
        beyond_logistic=True,
        unknown_attribute=True,
        has_knob=False,
        draws=True,
    )

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        self.model_ = plain_regression(rows)
        self.share_ = strength
        self.majority_: Floats = np.eye(rows.n_classes)[np.bincount(rows.y, minlength=rows.n_classes).argmax()]

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return mixture(self.model_.predict_proba(X), self.majority_, self.share_)
