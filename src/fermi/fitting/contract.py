"""What every estimator's training is made of, whatever it is that trains."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

Record: TypeAlias = dict[str, float]


class Fitted(Protocol):
    """A model trained at one λ: records of loss and ERMI, and the codes of the classes it predicts."""

    @property
    def history(self) -> list[dict[str, float]]: ...  # noqa: D102

    def predict(self, X: Any) -> Any: ...  # noqa: D102


class Trains(Protocol):
    """What trains one problem at any λ, from the model of another λ if that helps."""

    def fit(self, lam: float, rng: np.random.Generator, start: Any = None) -> Any: ...  # noqa: D102
