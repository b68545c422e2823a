"""What the methods that act on labels share: a linear model, and labels within a bound from its probabilities."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fermi._typing import Floats, Ints
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows
from fermi.baselines.common.several import once
from fermi.errors import SmallGroupWarning
from fermi.inputs.features import known_target
from fermi.labels import FairLabels

_ANY = 1.0  # a bound that every classifier keeps


class LabelStage(Baseline):
    """A linear model whose labels keep a bound on held-out rows.

    `strength` lowers the bound from the gap of the plain model, 0, to no gap at all, 1. A subclass says in `_model`
    what is trained.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    slack : float
        As in `FairLabels`: how many standard errors of its rate each group may be farther off than the bound.
    """

    capabilities = Capabilities(
        nonbinary_target=True,
        nonbinary_attribute=True,
        beyond_logistic=True,
        unknown_attribute=True,
        adjusts_labels=True,
    )

    def __init__(
        self,
        strength: float = 0.5,
        notion: Any = "demographic_parity",
        random_state: Any = None,
        *,
        slack: float = 0.0,
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.slack = slack

    @abstractmethod
    def _model(self, n: int, strength: float) -> Any:
        """The classifier whose probabilities become labels; at strength 0 the plain one."""

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        seed = int(rng.integers(2**31))
        plain = once(rows, "plain labels", lambda: self._trained(rows, 0.0, seed))
        if strength == 0.0:
            self.model_ = plain
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmallGroupWarning)  # said by the plain model
            warnings.simplefilter("ignore", ConvergenceWarning)  # as fair as it can be is what a strength asks for
            model = self._trained(rows, strength, seed) if self._trains_fairly else plain
            self.model_ = model.at((1.0 - strength) * plain.violation_)

    @property
    def _trains_fairly(self) -> bool:
        """Whether the model itself depends on the strength."""
        return False

    def _trained(self, rows: Rows, strength: float, seed: int) -> FairLabels:
        """The model and its folds, with its own labels."""
        labels = FairLabels(self._model(len(rows.y), strength), self.notion, _ANY, slack=self.slack, random_state=seed)
        # The classes as they were given, which the notion may name.
        return labels.fit(rows.X, self.classes_[rows.y], sensitive_features=np.ma.masked_less(rows.s, 0, copy=False))

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return self.model_.predict_proba(X)

    def _labels(self, X: Any, s: Ints | None) -> Ints:
        return known_target(self.model_.predict(X), self.classes_.tolist(), "estimator")
