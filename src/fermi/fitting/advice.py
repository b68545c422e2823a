"""What a user must know about a model that was trained, as warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fermi.compiled.threads import limited_threads
from fermi.errors import ConstantPredictionWarning, SmallGroupWarning, UnfairTrainingWarning, listed
from fermi.fitting.contract import Record
from fermi.fitting.problem import Problem, take_rows

_UNSETTLED = 0.01  # dual gap over objective
_SAMPLE = 1000  # rows
_EXACT = ("lbfgs", "newton")


class Stopped(Protocol):
    """A fit made in steps: its records, whether the tolerance was met, and the passes or iterations made."""

    @property
    def history(self) -> list[Record]: ...  # noqa: D102
    @property
    def converged(self) -> bool: ...  # noqa: D102
    @property
    def n_iter(self) -> int: ...  # noqa: D102


def _warn(text: str, category: type[Warning], level: int = 4) -> None:
    warnings.warn(text, category, stacklevel=level)  # the line that called `fit`


def plain_model() -> None:
    """Warn that a model has no fairness term."""
    _warn("No `sensitive_features`: this trains a plain model, without its fairness term.", UnfairTrainingWarning)


def small_groups(problem: Problem) -> None:
    """Warn that some groups consist of one row."""
    for labels, codes in problem.attributes:
        counts = np.bincount(codes[codes >= 0], minlength=len(labels))
        single = [labels[s] for s in np.flatnonzero(counts == 1)]
        if single:
            _warn(
                f"{len(single)} of the {len(labels)} groups have a single row ({listed(single, limit=2)}): their rates "
                "cannot be estimated, so the fairness term fits noise; merge them, or use attributes='each'.",
                SmallGroupWarning,
            )


def convergence(fit: Stopped, solver: str, tol: float) -> None:
    """Warn that the solver has stopped short."""
    last = fit.history[-1]
    if solver in _EXACT and not fit.converged and tol > 0:
        _warn(
            f"{solver} stopped after {fit.n_iter} iterations with a gradient of {last['grad_norm']:.1e}, above "
            f"tol={tol:g}: raise `max_iter` or `tol`.",
            ConvergenceWarning,
            level=5,
        )
    elif solver not in _EXACT and not fit.converged and (_is_behind(last) or _falling(fit, solver)):
        cure = "raise `max_iter` or `batch_size`, or use solver='lbfgs'"
        _warn(_not_settled(solver, last, fit.n_iter, cure), ConvergenceWarning, level=5)


def net_convergence(last: Record, epochs: int, n_classes: int) -> None:
    """Warn that a network has learned nothing, or that W has not found its place."""
    if last["loss"] > np.log(n_classes):
        _warn(
            f"After {epochs} passes the loss is {last['loss']:.3g}, above {np.log(n_classes):.3g} of equal "
            "probabilities: standardise the features, raise `max_epochs` or change `lr`.",
            ConvergenceWarning,
            level=5,
        )
    elif _is_behind(last):
        cure = "raise `max_epochs`, `batch_size` or `lr_w`"
        _warn(_not_settled("The adversary W", last, epochs, cure), ConvergenceWarning, level=5)


def _is_behind(last: Record) -> bool:
    """Whether W is far from its optimum."""
    return last["dual_gap"] > _UNSETTLED * abs(last["objective"])


def _not_settled(who: str, last: Record, passes: int, cure: str) -> str:
    return (
        f"{who} has not settled after {passes} passes (objective {last['objective']:.3g}, dual gap "
        f"{last['dual_gap']:.2g}): {cure}."
    )


def _falling(fit: Stopped, solver: str) -> bool:
    """Whether sreda's objective was still falling; sgda's falls with its noise."""
    last, before = fit.history[-1], fit.history[-2:][0]
    return solver == "sreda" and before["objective"] - last["objective"] > _UNSETTLED * abs(last["objective"])


def constant_predictions(predict: Callable[[Any], Any], problem: Problem, lam: float, classes: list[Any]) -> None:
    """Warn that the fairness term has made all predictions the same."""
    if problem.attributes and lam > 0:
        predicted = np.unique(predict(take_rows(problem.X, slice(_SAMPLE))))
        if len(predicted) == 1:  # seldom: then look at all rows
            with limited_threads(problem.X):
                predicted = np.unique(predict(problem.X))
        if len(predicted) == 1:
            _warn(
                f"Every training row is predicted as {classes[predicted[0]]!r}: with λ = {lam:.4g} the predictions are "
                "constant. A smaller λ keeps them apart, unless the model has hardly been trained.",
                ConstantPredictionWarning,
            )
