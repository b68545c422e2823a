"""Models along λ or a bound, made here or on other processes and threads; what the fits warn of is gathered."""

from __future__ import annotations

import copy
import math
import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn import clone, config_context
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning

from fermi.errors import ConstantPredictionWarning
from fermi.inputs.features import known_target
from fermi.inputs.groups import positions
from fermi.inputs.sharing import remembered, shared_rows
from fermi.tradeoff._figures import Predicted
from fermi.tradeoff._knob import ANY, Knob
from fermi.tradeoff._splits import Fold, GivenRows

# All threads draw from torch's one generator, so that networks trained at once would not come out the same again.
_TORCH = threading.Lock()


class Said(NamedTuple):
    """A warning that a fit gave, and the fit's λ; NaN where that is not known."""

    category: type[Warning]
    text: str
    lam: float


class Outcome(NamedTuple):
    """A fit that came to an end: the model if it is needed again, and what it predicts for the rows of each split."""

    lam: float
    model: Any
    seconds: float
    seen: dict[str, Predicted]


class Chain(NamedTuple):
    """Values for one fold, each model made from the one before if that can be, the first from `start`."""

    fold: int
    values: tuple[float, ...]
    start: Any = None


@dataclass(frozen=True)
class CurvePlan:
    """All that the fits of a curve need to know."""

    estimator: Any
    knob: Knob
    given: GivenRows
    test: GivenRows | None
    folds: Sequence[Fold]
    classes: list[Any]
    first: float

    def run(self, chain: Chain, say: Callable[[float], None]) -> tuple[list[Outcome], list[Said]]:
        """Train a chain's models and let each predict.

        One that fails is left out with a warning, so that the hours of the others are not lost. At the first value of
        all, which is the easiest, the error is raised: the mistake is most likely one that concerns them all.
        """
        with shared_rows() if self.knob.reads_rows else nullcontext():
            return self._run(chain, say)

    def _run(self, chain: Chain, say: Callable[[float], None]) -> tuple[list[Outcome], list[Said]]:
        last = chain.fold == len(self.folds) - 1
        train, judged = remembered((self, chain.fold), lambda: self._rows(self.folds[chain.fold]))
        shown: dict[str, GivenRows | None] = {"train": train, "test": self.test} if last else {}
        shown["validation"] = judged
        outcomes: list[Outcome] = []
        said: list[Said] = []
        model = chain.start
        for value in chain.values:
            say(value)
            try:
                with _heard(said, value), config_context(enable_metadata_routing=self.knob.routing):
                    fitted, seconds = self._made(value, train, model if self.knob.chained else None)
                    seen = {name: self._predicted(fitted, rows) for name, rows in shown.items() if rows is not None}
            except Exception as error:
                if value == self.first:
                    raise
                said.append(Said(FitFailedWarning, _left_out(error), value))
                continue
            model = fitted
            outcomes.append(Outcome(value, model if last or self.knob.chained else None, seconds, seen))
        return outcomes, said

    def _rows(self, fold: Fold) -> tuple[GivenRows, GivenRows | None]:
        """The rows that train, and those that judge if there are any."""
        return self.given.take(fold.train), self.given.take(fold.judged) if len(fold.judged) else None

    def _made(self, value: float, train: GivenRows, start: Any) -> tuple[Any, float]:
        """Make a model of its own at one value, from the one before if there is one, and time it."""
        if not self.knob.one_fit:
            return self._fitted(value, train, start)
        trained, seconds = (start, 0.0) if start is not None else self._fitted(ANY, train, None)
        began = time.perf_counter()
        with _unheard():
            return self.knob.at(trained, value), seconds + time.perf_counter() - began

    def _fitted(self, value: float, train: GivenRows, start: Any) -> tuple[Any, float]:
        """Fit a model of its own at one value, and time it."""
        model = self._fresh() if start is None else copy.deepcopy(start)
        model.set_params(**self.knob.during_fit(value, train.notion))
        with _TORCH if self.knob.trains_network else nullcontext():
            began = time.perf_counter()
            model.fit(train.X, train.y, **{self.knob.fit_argument: train.s})
            seconds = time.perf_counter() - began
        return model.set_params(**self.knob.after_fit()), seconds

    def _fresh(self) -> Any:
        """A copy of the estimator to train; a clone would lose the model that one with `prefit` holds."""
        return copy.deepcopy(self.estimator) if self.knob.own.get("prefit") else clone(self.estimator)

    def _predicted(self, model: Any, rows: GivenRows) -> Predicted:
        groups = {"sensitive_features": rows.s} if self.knob.needs_attribute else {}
        labels = known_target(np.asarray(model.predict(rows.X, **groups)), self.classes, "estimator")
        if not hasattr(model, "predict_proba"):
            return Predicted(labels, None)
        F = np.zeros((len(labels), len(self.classes)))
        F[:, positions(np.asarray(model.classes_).tolist(), self.classes)] = model.predict_proba(rows.X, **groups)
        return Predicted(labels, F)


def _left_out(error: Exception) -> str:
    first_line, *_ = str(error).splitlines() or [""]
    return f"training or predicting failed, so that the curve goes on without ({type(error).__name__}: {first_line})"


@contextmanager
def _unheard() -> Iterator[None]:
    """Say nothing of a bound that labels miss: that is part of a curve, and `reached_` of the model tells it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@contextmanager
def _heard(said: list[Said], value: float) -> Iterator[None]:
    """Keep the warnings of a fit, unless other threads train as well: Python's filters are those of all threads."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            said += [Said(entry.category, str(entry.message), value) for entry in caught]


def run_chains(
    plan: CurvePlan, chains: Sequence[Chain], n_jobs: Any, say: Callable[[float], None]
) -> tuple[list[list[Outcome]], list[Said]]:
    """Run chains of fits, here or elsewhere, and return the outcomes of each, in order, and all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = list(_results(plan, chains, n_jobs, say))
    said = [Said(entry.category, str(entry.message), math.nan) for entry in caught]
    return [outcomes for outcomes, _ in found], [*said, *(one for _, heard in found for one in heard)]


def _results(
    plan: CurvePlan, chains: Sequence[Chain], n_jobs: Any, say: Callable[[float], None]
) -> Iterator[tuple[list[Outcome], list[Said]]]:
    if min(effective_n_jobs(n_jobs), len(chains)) == 1:
        yield from (plan.run(chain, say) for chain in chains)
        return
    tasks = [delayed(plan.run)(chain, _silent) for chain in chains]
    try:
        pool = Parallel(n_jobs=n_jobs, return_as="generator")
    except ValueError:  # a backend that gives all results at once
        pool = Parallel(n_jobs=n_jobs)
    for chain, result in zip(chains, pool(tasks), strict=True):
        for value in chain.values:
            say(value)
        yield result


def _silent(value: float) -> None:
    """Say nothing of progress, as fits on other processes do."""


def repeat(said: Sequence[Said], knob: Knob, level: int) -> None:
    """Give each kind of warning once, with the values that it was about.

    That a strong λ makes predictions constant is part of a curve: its frame says so, and `pick` warns.
    """
    kinds: dict[Any, list[Said]] = {}
    for one in said:
        if not issubclass(one.category, ConstantPredictionWarning):
            kinds.setdefault((one.category, re.sub(r"[\d.e+-]+", "#", one.text)), []).append(one)
    for (category, _), alike in kinds.items():
        values = sorted({one.lam for one in alike if not math.isnan(one.lam)})
        text = alike[0].text
        failed = category is FitFailedWarning
        about_all = len(values) > 1 and len({one.text for one in alike}) == 1 and not failed
        if values and not about_all:
            several = f" ({len(alike)} fits), the first" if len(alike) > 1 else ""
            text = f"At {knob.word} = {_named(values, each=failed)}{several}: {text}"
        warnings.warn(text, category, stacklevel=level)


def _named(values: Sequence[float], *, each: bool) -> str:
    """Put values of the knob into words, each of them or their range."""
    shown = values if each or len(values) < 2 else (values[0], values[-1])
    return (", " if each else " to ").join(f"{value:.4g}" for value in shown)
