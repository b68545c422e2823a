"""The smallest λ whose hard parity difference on held-out rows is within a bound.

Nothing is assumed of how the violation depends on λ, nor of λ's scale. The violation of labels is no monotone function
of λ: the gap between two groups may change its sign, so that it falls to zero and grows again. And one data set needs
λ of 5 where another needs 100.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.fitting.problem import Problem
from fermi.formulas.gaps import parity_difference, standard_error

_GROWTH = 2.0
_DOUBLINGS = 20
FINE = 1.1  # two values of λ closer than this factor are as good as one
_DIP_TRIALS = 5
_FLAT_TRIALS = 5
_FLAT = 0.1
NEARLY = 0.25
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


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


def smallest(measure: Callable[[float], Violation], bound: float, first: float) -> Choice:
    """Search the smallest λ within a bound: try 0, `first` and its doublings, then refine between the last two."""
    trials: list[Trial] = []

    def tried(lam: float) -> Trial:
        trials.append(Trial(lam, measure(lam)))
        return trials[-1]

    path = [tried(0.0)]
    while path[-1].violation.gap > bound:
        if len(path) > _DOUBLINGS or _is_flat(path):
            return Choice(_nearly_best(trials), False, trials)
        path.append(tried(first * _GROWTH ** (len(path) - 1)))
        if path[-1].violation.gap > bound and _is_dip(path):
            found = _lowest_between(tried, path[-3].lam or first / _GROWTH, path[-1].lam, bound)
            if found is not None:
                before = [trial for trial in trials if trial.lam < found.lam and trial.violation.gap > bound]
                path = [max(before, key=lambda trial: trial.lam), found]
    return Choice(path[0] if len(path) == 1 else _refined(tried, path[-2], path[-1], bound), True, trials)


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


def _refined(tried: Callable[[float], Trial], outside: Trial, inside: Trial, bound: float) -> Trial:
    """Refine a search: halve the gap between the last λ outside the bound and the first within, on a log scale."""
    low = outside.lam or inside.lam / _GROWTH
    while inside.lam / low > FINE:
        middle = tried(math.sqrt(low * inside.lam))
        if middle.violation.gap <= bound:
            inside = middle
        else:
            low = middle.lam
    return inside


def violation(problem: Problem, predicted: Ints) -> Violation:
    """The hard parity difference of predicted class codes; of several attributes, the largest."""
    tables = hard_tables(problem, predicted)
    return max(Violation(parity_difference(table), standard_error(table, sq)) for table, sq in tables)


def hard_tables(problem: Problem, predicted: Ints) -> list[tuple[Floats, Floats]]:
    """The weight of each (condition, group, predicted class), and the squared weights; a pair for every attribute."""
    found = []
    for labels, codes in problem.attributes:
        shape = (problem.n_conditions, len(labels), problem.n_classes)
        counted = (codes >= 0) & (problem.conditions >= 0)
        cells = np.ravel_multi_index((problem.conditions[counted], codes[counted], predicted[counted]), shape)
        weight = problem.weight[counted]
        found.append((_totals(cells, weight, shape), _totals(cells, weight**2, shape)))
    return found


def _totals(cells: Ints, weight: Floats, shape: tuple[int, ...]) -> Floats:
    totals: Floats = np.bincount(cells, weights=weight, minlength=math.prod(shape)).astype(np.float64)
    return totals.reshape(shape)
