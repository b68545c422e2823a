"""One problem, one λ, one booster: from rows to trees."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi.boosting._engine import engine
from fermi.boosting._run import Run
from fermi.boosting.custom_objective import BoostingObjective
from fermi.boosting.options import BoostingSettings
from fermi.errors import bad_argument
from fermi.fitting.contract import Record
from fermi.fitting.problem import Problem
from fermi.fitting.scores import most_probable
from fermi.inputs.folds import folds

_HELD_OUT = 10  # one row in so many judges when to stop


@dataclass(frozen=True, eq=False)
class BoostingFit:
    """A trained booster, and how it came about."""

    library: str
    booster: Any
    history: list[Record]
    n_iter: int

    def scores(self, X: Any) -> Any:
        """The raw scores of rows: (n,) of the second of two classes, or (n, m)."""
        return engine(self.library).raw_scores(self.booster, X)

    def predict(self, X: Any) -> Any:
        """The code of each row's most probable class."""
        return most_probable(self.scores(X))


class BoostingTrainer:
    """Fits one problem at any λ; `judges` are the rows held out of those fits that are given none."""

    def __init__(self, problem: Problem, settings: BoostingSettings, judges: Problem | None = None) -> None:
        self.problem, self.settings, self.judges = problem, settings, judges
        self.engine = engine(settings.booster)
        self._rows: tuple[Problem, Problem | None] | None = None
        self._data: Any = None

    def fit(
        self,
        lam: float,
        rng: np.random.Generator,
        start: BoostingFit | None = None,
        report: Callable[[Record], None] = lambda entry: None,
        *,
        held_out: Problem | None = None,
        saving: bool = False,
    ) -> BoostingFit:
        """Minimise loss + λ Σ ERMI by boosting from the base rate; trees of another λ would be no help as a `start`.

        With `early_stopping_rounds` the round that is best on the rows held out counts: those given, or some of these.
        """
        own = self.settings
        params = {**own.params, "learning_rate": own.learning_rate, "seed": int(rng.integers(2**31 - 1))}
        rows, judges = self._split(held_out or self.judges, rng)
        fair = self._objective(rows, lam)
        judge = None if judges is None else self._objective(judges, lam)
        run = Run(fair, judge, own.n_estimators, own.early_stopping_rounds, report)
        with self._naming_refused_params():
            if self._data is None:  # binned once: the search for λ trains on the same rows many times
                self._data = self.engine.make_data(rows, fair, own.params)
            judged = None if judges is None else self.engine.make_data(judges, fair, own.params, self._data)
            booster, rounds = self.engine.train(self._data, judged, run, params)
        return BoostingFit(own.booster, booster, run.history, rounds)

    @contextmanager
    def _naming_refused_params(self) -> Iterator[None]:
        """Say in one sentence what the library says of the user's parameters, without where in its source it stands."""
        try:
            yield
        except self.engine.Error as error:
            given = self.settings.params
            if not given:
                raise
            first = str(error).strip().splitlines()[0]
            said = re.sub(r"^\[[\d:]+\] \S+: |\s+at \S+, line \d+.*$", "", first)
            found = f"is {given!r}, at which {self.settings.booster} says: {said.rstrip(' .')}"
            raise bad_argument("booster_params", found, "values that it takes") from None

    def _objective(self, rows: Problem, lam: float) -> BoostingObjective:
        return BoostingObjective(rows, np.arange(rows.n_classes), lam, self.settings.learning_rate)

    def _split(self, held_out: Problem | None, rng: np.random.Generator) -> tuple[Problem, Problem | None]:
        """The rows to train on and those that judge when to stop, if any do."""
        if held_out is not None or self.settings.early_stopping_rounds is None:
            return self.problem, held_out
        if self._rows is None:
            fold = folds(self.problem.strata(), _HELD_OUT, rng)
            parts = self.problem.take(np.flatnonzero(fold > 0)), self.problem.take(np.flatnonzero(fold == 0))
            if not all(part.is_judgeable() for part in parts):
                raise bad_argument("early_stopping_rounds", "has too few rows to hold some out", "an `eval_set`")
            self._rows = parts
        return self._rows
