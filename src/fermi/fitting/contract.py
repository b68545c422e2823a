"""What a room that trains (linear, torch, boosting) brings, and what every fit is known by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from fermi._typing import Ints
from fermi.fitting.problem import Problem

Record: TypeAlias = dict[str, float]
Report: TypeAlias = Callable[[Record], None]


def unheard(entry: Record) -> None:
    """A `Report` that nobody reads."""


class Fitted(Protocol):
    """A model trained at one λ: its records of loss and ERMI, and the codes of the classes it predicts."""

    @property
    def history(self) -> list[Record]:
        """The records, in the order made."""

    def scores(self, X: Any) -> Any:
        """The logits of rows: (n,) of the second of two classes, or (n, m)."""

    def predict(self, X: Any) -> Any:
        """The code of each row's most probable class."""


FitT = TypeVar("FitT", bound=Fitted)


class Trainer(Protocol[FitT]):
    """Trains one problem at any λ.

    Between two fits the search for λ keeps what a trainer has measured of the rows: moments, bins, copies.
    """

    def fit(
        self,
        lam: float,
        rng: np.random.Generator,
        start: FitT | None = None,
        report: Report = unheard,
        *,
        held_out: Problem | None = None,
        saving: bool = False,
    ) -> FitT:
        """Train at λ, from the model of another λ if that helps.

        Parameters
        ----------
        lam : float
            λ.
        rng : numpy Generator
            The random numbers of this fit.
        start : fit, optional
            A fit of the same problem at another λ.
        report : function of a record
            Called with each record as it is made.
        held_out : Problem, optional
            Rows on which training stops early when the objective no longer falls.
        saving : bool
            Whether this fit writes its checkpoint, and goes on from one it finds.
        """


@runtime_checkable
class TellsKinds(Protocol):
    """A trainer that can also learn to tell kinds of its rows, such as groups, from what it has measured of them."""

    def tell_kinds(self, kinds: Ints, seen: Ints) -> Any:
        """Train a classifier of the rows' kinds; it has a `predict_proba` that takes features.

        Parameters
        ----------
        kinds : (n,) int64
            The kind of each row, -1 where it is not known.
        seen : (c,) int64
            The kinds that occur, two or more, in order.
        """
