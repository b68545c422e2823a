"""How a fit keeps a bound: by the smallest λ that does, by labels that do, or by whichever errs less."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fermi._typing import Ints
from fermi.decisions.figures import Figures, measure
from fermi.decisions.fragile import said_of_hanging
from fermi.decisions.stage import Choice, badness
from fermi.errors import FragileLabelsWarning, bad_argument
from fermi.fitting.contract import FitT, Trainer
from fermi.fitting.label_stage import AdjustedLabels, choose_labels, fit_group_models
from fermi.fitting.lam_search import CHEAP, Pace, Path, Violation, held_out_parts, smallest, violation
from fermi.fitting.options import Common
from fermi.fitting.problem import Problem
from fermi.fitting.progress import Progress


class Decision(NamedTuple):
    """What a fit is to be: its λ, the path of the search for it, and what gives its labels.

    `labels` is None where a label is the most probable class; `held_out` is what the labels reach on rows held out, if
    there was a bound, and `reached` whether they keep it there.
    """

    lam: float
    path: list[dict[str, float]]
    labels: AdjustedLabels | None = None
    held_out: Figures | None = None
    reached: bool = True


def decide(
    problem: Problem,
    settings: Common,
    trainer_for: Callable[[Problem], Trainer[FitT]],
    held_out: Problem | None,
    rng: np.random.Generator,
    progress: Progress,
    pace: Pace,
) -> Decision:
    """Decide on λ and on labels.

    Without a bound λ is the one given, and labels are the most probable classes. Otherwise models are trained on parts
    of the rows and judged on the others, or on those held out.
    """
    bound = settings.max_violation
    if bound is None:
        return Decision(settings.lam, [])
    if not problem.attributes:
        raise bad_argument("max_violation", f"is {bound} without `sensitive_features`", "the groups to compare")
    parts = held_out_parts(problem, held_out, rng)
    path = Path(parts, trainer_for, rng)
    labels, hanging = None, list[str]()
    if settings.decision != "argmax":
        progress.say(f"λ = {settings.lam:.4g}: labels within {bound:g}")
        F = path.probabilities_at(settings.lam)
        labels, hanging = choose_labels(parts, [trainer for trainer, _ in path.parts], path.rows, F, bound)
    by_lam = _by_lam(path, bound, labels, progress, pace) if settings.decision != "labels" else None
    if labels is None or (by_lam is not None and _keeps_lam(by_lam, path, bound, labels)):
        assert by_lam is not None, "one of the two is always tried"
        found = by_lam
    else:
        adjusted = AdjustedLabels(labels.rule, fit_group_models(problem, trainer_for(problem)))
        tried = [] if by_lam is None else by_lam.path
        found = Decision(settings.lam, tried, adjusted, labels.figures, labels.excess == 0.0)
    if not found.reached:
        warnings.warn(_shortfall(found, bound), ConvergenceWarning, stacklevel=3)  # the line that called `fit`
    elif found.labels is not None and hanging:
        warnings.warn(said_of_hanging(hanging), FragileLabelsWarning, stacklevel=3)
    return found


def _by_lam(path: Path[FitT], bound: float, labels: Choice | None, progress: Progress, pace: Pace) -> Decision:
    """The smallest λ within the bound; the search ends early where labels within it err less than what is tried."""

    def measured(lam: float) -> Violation:
        found = violation(path.rows, path.labels_at(lam))
        progress.say(f"λ = {lam:.4g}: held-out violation {found.gap:.4f} ± {found.error:.4f}")
        return found

    def errs_more_than_labels(lam: float) -> bool:
        return labels is not None and errs_more(path.rows, path.labels_at(lam), labels.labels)

    give_up = errs_more_than_labels if labels is not None and labels.excess == 0.0 else None
    if give_up is None:  # nothing else keeps the bound, and long steps may pass over all that λ can do
        pace = pace._replace(growth=min(pace.growth, CHEAP.growth))
    choice = smallest(measured, bound, path.first_lam(pace), pace, give_up)
    tried = [{"lam": t.lam, "violation": t.violation.gap, "standard_error": t.violation.error} for t in choice.trials]
    lam, rows = choice.trial.lam, path.rows
    codes = path.labels_at(lam)
    wrong = (codes != rows.target).astype(np.float64)
    figures = measure(codes, wrong, rows.weight, rows.cells(), rows.n_classes)
    return Decision(lam, tried, None, figures, choice.reached)


def _keeps_lam(by_lam: Decision, path: Path[FitT], bound: float, labels: Choice) -> bool:
    """Whether the plain model at the λ found is to be preferred to labels: it is one model, where those take two."""
    assert by_lam.held_out is not None
    kept = labels.excess == 0.0
    if by_lam.reached != kept:
        return by_lam.reached
    if not kept:
        f, g = by_lam.held_out, labels.figures
        beyond = f.violation - bound
        return badness(beyond, f.error, f.standard_error) <= badness(labels.excess, g.error, g.standard_error)
    return not errs_more(path.rows, path.labels_at(by_lam.lam), labels.labels)


def errs_more(rows: Problem, codes: Ints, others: Ints) -> bool:
    """Whether labels err more than others on the same rows, by more than one standard error of the difference."""
    share = rows.weight / rows.weight.sum()
    more = (codes != rows.target).astype(np.float64) - (others != rows.target)
    mean = float(share @ more)
    return mean > float(np.sqrt(share**2 @ (more - mean) ** 2))


def _shortfall(found: Decision, bound: float) -> str:
    """What was reached instead of the bound, in one sentence."""
    assert found.held_out is not None
    figures = f"{found.held_out.violation:.4f} (standard error {found.held_out.standard_error:.4f})"
    if found.labels is not None:
        return (
            f"No labels brought the held-out violation down to max_violation={bound:g}; the best reached is {figures}."
        )
    return (
        f"No λ brought the held-out violation down to max_violation={bound:g}; the best reached is {figures} at "
        f"λ = {found.lam:.4g}."
    )
