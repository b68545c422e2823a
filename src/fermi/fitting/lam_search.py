"""The smallest λ whose hard parity difference on held-out rows is within a bound.

Nothing is assumed of how the violation depends on λ, nor of λ's scale. The violation of labels is no monotone function
of λ: the gap between two groups may change its sign, so that it falls to zero and grows again. And one data set needs
λ of 5 where another needs 100.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.errors import bad_argument
from fermi.fitting.contract import FitT, Trainer
from fermi.fitting.problem import Problem
from fermi.fitting.scores import probabilities
from fermi.formulas.gaps import parity_difference, standard_error
from fermi.inputs.folds import folds

_FOLDS = 3
_MANY_ROWS = 200_000  # one part held out says enough
_LONGEST = 20  # doublings of the first λ
FINE = 1.1  # two values of λ closer than this factor are as good as one
_DIP_TRIALS = 5
_FLAT_TRIALS = 5
_FLAT = 0.1
NEARLY = 0.25
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class Pace(NamedTuple):
    """How a search goes: by which factor λ grows, and how near two values are as good as one.

    `first` is what part of the loss the fairness term makes up at the first λ.
    """

    first: float
    growth: float
    fine: float


CHEAP = Pace(0.02, 2.0, FINE)
"""For fits that take a fraction of a second."""
DEAR = Pace(0.1, 4.0, 1.3)
"""For fits that take seconds to hours: about half as many."""


def held_out_parts(
    problem: Problem, held_out: Problem | None, rng: np.random.Generator
) -> list[tuple[Problem, Problem]]:
    """The parts of a search: rows to train on, and rows to judge that on."""
    if held_out is not None:
        return [(problem, held_out)]
    fold = folds(problem.strata(), _FOLDS, rng)
    used = range(1 if len(fold) > _MANY_ROWS else _FOLDS)
    parts = [(problem.take(np.flatnonzero(fold != f)), problem.take(np.flatnonzero(fold == f))) for f in used]
    if not all(rows.is_judgeable() for pair in parts for rows in pair):
        raise bad_argument(
            "max_violation", "has too few rows with a known group to hold some out", "an `eval_set`, or `lam` instead"
        )
    return parts


class Path(Generic[FitT]):
    """The fits of a search along λ, each started from that of the nearest λ before it."""

    def __init__(
        self,
        parts: list[tuple[Problem, Problem]],
        trainer_for: Callable[[Problem], Trainer[FitT]],
        rng: np.random.Generator,
    ) -> None:
        self.parts = [(trainer_for(trained), judged) for trained, judged in parts]
        self.rng = rng
        self.fits: dict[float, list[FitT]] = {}
        self.rows = join([judged for _, judged in parts])

    def fits_at(self, lam: float) -> list[FitT]:
        """The fit of every part at one λ."""
        if lam not in self.fits:
            near = min(self.fits, key=lambda other: abs(math.log((other + 1e-9) / (lam + 1e-9))), default=None)
            starts: Sequence[FitT | None] = [None] * len(self.parts) if near is None else self.fits[near]
            self.fits[lam] = [
                trainer.fit(lam, self.rng, start) for (trainer, _), start in zip(self.parts, starts, strict=True)
            ]
        return self.fits[lam]

    def labels_at(self, lam: float) -> Ints:
        """The most probable classes at one λ, of the held-out rows of all parts together."""
        predicted = [fit.predict(judged.X) for fit, (_, judged) in zip(self.fits_at(lam), self.parts, strict=True)]
        return np.concatenate(predicted)

    def probabilities_at(self, lam: float) -> Floats:
        """The probabilities at one λ, of the held-out rows of all parts together."""
        scored = [fit.scores(judged.X) for fit, (_, judged) in zip(self.fits_at(lam), self.parts, strict=True)]
        return probabilities(np.concatenate(scored))

    def first_lam(self, pace: Pace) -> float:
        """The first λ above zero to try: the fairness term is then a small part of the loss."""
        plain = self.fits_at(0.0)[0].history[-1]
        return pace.first * plain["loss"] / max(plain["ermi"], 1e-12)


def join(problems: list[Problem]) -> Problem:
    """Join the rows of several parts of one problem, without their features."""
    first = problems[0]
    attributes = (
        a._replace(codes=np.concatenate([p.attributes[t].codes for p in problems]))
        for t, a in enumerate(first.attributes)
    )
    return replace(
        first,
        X=None,
        target=np.concatenate([p.target for p in problems]),
        weight=np.concatenate([p.weight for p in problems]),
        conditions=np.concatenate([p.conditions for p in problems]),
        attributes=tuple(attributes),
    )


class Violation(NamedTuple):
    """A hard parity difference on held-out rows and its standard error."""

    gap: float
    error: float


class Trial(NamedTuple):
    """One λ that was tried, and its violation."""

    lam: float
    violation: Violation


class Choice(NamedTuple):
    """The choice of λ: the trial chosen, whether it is within the bound, and all trials in the order made."""

    trial: Trial
    reached: bool
    trials: list[Trial]


def smallest(
    measure: Callable[[float], Violation],
    bound: float,
    first: float,
    pace: Pace = CHEAP,
    give_up: Callable[[float], bool] | None = None,
) -> Choice:
    """Search the smallest λ within a bound: try 0, `first` and what it grows to, then refine between the last two.

    Parameters
    ----------
    measure : function of λ
        The violation on held-out rows.
    bound : float
        The largest that is allowed.
    first : float
        The first λ above zero.
    pace : Pace
        How fast λ grows, and how near the search comes.
    give_up : function of λ, optional
        Whether a λ that is not yet within the bound is already worse than what else there is. With something else at
        hand the search does not look into dips between its steps either.
    """
    trials: list[Trial] = []

    def tried(lam: float) -> Trial:
        trials.append(Trial(lam, measure(lam)))
        return trials[-1]

    path = [tried(0.0)]
    while path[-1].violation.gap > bound:
        too_long = len(path) > _LONGEST / math.log2(pace.growth)
        if too_long or _is_flat(path) or (give_up is not None and give_up(path[-1].lam)):
            return Choice(_nearly_best(trials), False, trials)
        path.append(tried(first * pace.growth ** (len(path) - 1)))
        if give_up is None and path[-1].violation.gap > bound and _is_dip(path):
            found = _lowest_between(tried, path[-3].lam or first / pace.growth, path[-1].lam, bound)
            if found is not None:
                before = [trial for trial in trials if trial.lam < found.lam and trial.violation.gap > bound]
                path = [max(before, key=lambda trial: trial.lam), found]
    return Choice(path[0] if len(path) == 1 else _refined(tried, path[-2], path[-1], bound, pace), True, trials)


def _is_flat(path: list[Trial]) -> bool:
    """Whether the violation changed at first and has stopped changing, compared with its standard error."""
    gaps = [trial.violation.gap for trial in path[-_FLAT_TRIALS:]]
    noise = _FLAT * path[-1].violation.error
    moved = abs(path[0].violation.gap - gaps[-1]) > noise
    return moved and len(gaps) == _FLAT_TRIALS and max(gaps) - min(gaps) < noise


def _nearly_best(trials: list[Trial]) -> Trial:
    """The smallest λ whose violation is the smallest but for a fraction of its standard error.

    Violations of two λ on the same rows differ far less by chance than either does by itself, hence a fraction.
    """
    best = min(trials, key=lambda trial: trial.violation.gap).violation
    good = [trial for trial in trials if trial.violation.gap <= best.gap + NEARLY * best.error]
    return min(good, key=lambda trial: trial.lam)


def _is_dip(path: list[Trial]) -> bool:
    """Whether the violation fell and rose again over the last three trials."""
    if len(path) < 3:
        return False
    left, low, right = (trial.violation.gap for trial in path[-3:])
    return low < left and low < right


def _lowest_between(tried: Callable[[float], Trial], low: float, high: float, bound: float) -> Trial | None:
    """Golden-section search over log λ for a trial within the bound."""
    left, right = math.log(low), math.log(high)
    inner = [tried(math.exp(right - _GOLDEN * (right - left))), tried(math.exp(left + _GOLDEN * (right - left)))]
    for _ in range(_DIP_TRIALS):
        for trial in inner:
            if trial.violation.gap <= bound:
                return trial
        if inner[0].violation.gap < inner[1].violation.gap:
            right = math.log(inner[1].lam)
            inner = [tried(math.exp(right - _GOLDEN * (right - left))), inner[0]]
        else:
            left = math.log(inner[0].lam)
            inner = [inner[1], tried(math.exp(left + _GOLDEN * (right - left)))]
    return None


def _refined(tried: Callable[[float], Trial], outside: Trial, inside: Trial, bound: float, pace: Pace) -> Trial:
    """Refine a search: halve the gap between the last λ outside the bound and the first within, on a log scale."""
    low = outside.lam or inside.lam / pace.growth
    while inside.lam / low > pace.fine:
        middle = tried(math.sqrt(low * inside.lam))
        if middle.violation.gap <= bound:
            inside = middle
        else:
            low = middle.lam
    return inside


def violation(problem: Problem, predicted: Ints) -> Violation:
    """The hard parity difference of predicted class codes; of several attributes, the largest."""
    found = []
    for cells in problem.cells():
        table, squares = (count(predicted, problem.n_classes) for count in (cells.hard, cells.hard_squares))
        found.append(Violation(parity_difference(table), standard_error(table, squares)))
    return max(found)
