"""The λ of a fit: the one given, or the smallest that keeps `max_violation` on held-out rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fermi.errors import bad_argument
from fermi.fitting.contract import Fitted, Trains
from fermi.fitting.options import Common
from fermi.fitting.problem import Problem
from fermi.fitting.progress import Progress
from fermi.fitting.smallest_lam import Violation, smallest, violation
from fermi.inputs.folds import folds

_FOLDS = 3
_MANY_ROWS = 200_000  # one part held out says enough
_FIRST_SHARE = 0.02  # of the loss, that the fairness term first makes up


def choose_lam(
    problem: Problem,
    settings: Common,
    trainer_for: Callable[[Problem], Trains],
    held_out: Problem | None,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[float, list[dict[str, float]]]:
    """Choose λ, and return it with the path of the search, if there was one."""
    bound = settings.max_violation
    if bound is None:
        return settings.lam, []
    if not problem.attributes:
        raise bad_argument("max_violation", f"is {bound} without `sensitive_features`", "the groups to compare")
    parts = _parts(problem, trainer_for, held_out, rng)
    path = _Path(parts, rng)
    plain = path.fits_at(0.0)[0].history[-1]
    first = _FIRST_SHARE * plain["loss"] / max(plain["ermi"], 1e-12)

    def measure(lam: float) -> Violation:
        found = path.violation_at(lam)
        progress.say(f"λ = {lam:.4g}: held-out violation {found.gap:.4f} ± {found.error:.4f}")
        return found

    choice = smallest(measure, bound, first)
    trial = choice.trial
    if not choice.reached:
        warnings.warn(
            f"No λ brought the held-out violation down to max_violation={bound:g}; the best reached is "
            f"{trial.violation.gap:.4f} (standard error {trial.violation.error:.4f}) at λ = {trial.lam:.4g}.",
            ConvergenceWarning,
            stacklevel=3,  # the line that called `fit`
        )
    return trial.lam, [
        {"lam": t.lam, "violation": t.violation.gap, "standard_error": t.violation.error} for t in choice.trials
    ]


def _parts(
    problem: Problem, trainer_for: Callable[[Problem], Trains], held_out: Problem | None, rng: np.random.Generator
) -> list[tuple[Trains, Problem]]:
    """The parts of the search: what trains on some rows, and the rows to judge it on."""
    if held_out is not None:
        return [(trainer_for(problem), held_out)]
    fold = folds(problem.strata(), _FOLDS, rng)
    used = range(1 if len(fold) > _MANY_ROWS else _FOLDS)
    parts = [(problem.take(np.flatnonzero(fold != f)), problem.take(np.flatnonzero(fold == f))) for f in used]
    if not all(rows.is_judgeable() for pair in parts for rows in pair):
        raise bad_argument(
            "max_violation", "has too few rows with a known group to hold some out", "an `eval_set`, or `lam` instead"
        )
    return [(trainer_for(trained), judged) for trained, judged in parts]


class _Path:
    """The fits of the search along λ, each started from that of the nearest λ before it."""

    def __init__(self, parts: list[tuple[Trains, Problem]], rng: np.random.Generator) -> None:
        self.parts, self.rng = parts, rng
        self.fits: dict[float, list[Fitted]] = {}
        self.rows = join([judged for _, judged in parts])

    def fits_at(self, lam: float) -> list[Fitted]:
        """The fit of every part at one λ."""
        if lam not in self.fits:
            near = min(self.fits, key=lambda other: abs(math.log((other + 1e-9) / (lam + 1e-9))), default=None)
            starts: list[Any] = [None] * len(self.parts) if near is None else self.fits[near]
            self.fits[lam] = [
                trainer.fit(lam, self.rng, start) for (trainer, _), start in zip(self.parts, starts, strict=True)
            ]
        return self.fits[lam]

    def violation_at(self, lam: float) -> Violation:
        """The violation at one λ, of the predictions for the held-out rows of all parts together."""
        predicted = [fit.predict(judged.X) for fit, (_, judged) in zip(self.fits_at(lam), self.parts, strict=True)]
        return violation(self.rows, np.concatenate(predicted))


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
