"""A method at several strengths on the same rows: what the fits have in common is done once.

The models are those of as many fits one by one, up to rounding. The rows are read once; a model that does not depend on
the strength is trained once (see `once`); networks that are linear are trained side by side, in one product of matrices
per step (see `Together`).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import clone

from fermi.baselines.common.protocol import Baseline, Rows
from fermi.inputs.arguments import generator, number

T = TypeVar("T")
_ONCE: WeakKeyDictionary[Rows, dict[Hashable, Any]] = WeakKeyDictionary()


def once(rows: Rows, name: Hashable, make: Callable[[], T]) -> T:
    """What training rows give whatever the strength, such as a plain model: made where it is asked for first."""
    made = _ONCE.setdefault(rows, {})
    if name not in made:
        made[name] = make()
    found: T = made[name]
    return found


class Together(ABC):
    """A method that may train several models side by side."""

    @abstractmethod
    def _fit_together(self, models: Sequence[Any], rows: Rows, rng: np.random.Generator) -> bool:
        """Train models that differ in their strength alone, above 0, from the same draws; or say that it cannot."""


def fit_each(
    method: Baseline, strengths: Sequence[float], X: Any, y: Any, *, sensitive_features: Any
) -> list[Baseline]:
    """Train a method at several strengths.

    Parameters
    ----------
    method : Baseline
        The method with its arguments; its own strength counts for nothing, and it is not trained itself.
    strengths : sequence of float
        From 0 to 1.
    X, y, sensitive_features
        As in `Baseline.fit`.

    Returns
    -------
    list of Baseline
        A fitted method for each strength. All start from the same seed, and so from the same draws.
    """
    first = clone(method)
    rows = first._read(X, y, sensitive_features)
    models = []
    for strength in strengths:
        own = copy.copy(first)
        own.strength = number("strength", strength, "a number from 0 to 1", low=0.0, high=1.0)
        models.append(own)
    rngs = [generator(copy.deepcopy(method.random_state)) for _ in models]
    for own, rng in zip(models, rngs, strict=True):
        own._draws = int(rng.integers(2**62))
    alone = list(zip(models, rngs, strict=True))
    if isinstance(first, Together) and method.random_state is not None:
        some = [own for own in models if own.strength > 0.0]
        if len(some) > 1 and first._fit_together(some, rows, rngs[models.index(some[0])]):
            alone = [(own, rng) for own, rng in alone if own.strength == 0.0]
    for own, rng in alone:
        own._fit(rows, own.strength, rng)
    return models
