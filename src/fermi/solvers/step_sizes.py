"""Step sizes of Algorithm 1: automatic, constant, or a user's function of the step's number. Steps count from 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fermi._kernels import Floats, Ints
from fermi.errors import bad_argument
from fermi.objective import FairObjective
from fermi.solvers.design import Design

Sizes = Callable[[Ints], Floats]
Choice = float | Literal["auto"] | Callable[[int], float]


@dataclass(frozen=True)
class Steps:
    """η_θ in the units of the standardised design and η_w, as functions of an array of step numbers."""

    eta: Sizes
    eta_w: Sizes
    automatic: bool = False

    def scaled(self, factor: float) -> Steps:
        """All steps times a factor."""
        eta, eta_w = self.eta, self.eta_w
        return Steps(lambda step: factor * eta(step), lambda step: factor * eta_w(step), self.automatic)


def make_steps(
    eta_theta: Choice, eta_w: Choice, *, design: Design, objective: FairObjective, batch: int, total: int
) -> Steps:
    """Steps from what a user gave for each: "auto", a number, or a function from the step's number to a number."""
    untuned = automatic(design, objective, batch, total)
    return Steps(
        _sizes("eta_theta", eta_theta, untuned.eta),
        _sizes("eta_w", eta_w, untuned.eta_w),
        automatic=isinstance(eta_theta, str) and isinstance(eta_w, str),
    )


def constant(eta: float, eta_w: float) -> Steps:
    """The same sizes in every step."""
    return Steps(_of_number("eta_theta", eta), _of_number("eta_w", eta_w))


def automatic(design: Design, objective: FairObjective, batch: int, total: int) -> Steps:
    """Steps that work untuned up to λ of about 20 (measured on Adult), falling linearly to zero over `total` steps.

    θ: a fraction of one over the curvature that a batch sees, a quarter of E‖x‖² over the batch size plus one, in the
    units of the design. W: its step is that of a running mean with weight 2 λ η_w on the batch; longer memory means
    less noise, which larger batches lessen by themselves and larger λ amplifies.
    """
    mean_square = float((design.mean_square / design.scale**2).sum())
    curvature = 0.25 * mean_square / batch + 1.0
    rate = 6e-4 * batch**0.65 * max(objective.lam, 1.0) ** -0.35
    return linear(0.3 / curvature, min(rate, 0.2) / (2.0 * (objective.lam or 1.0)), total, automatic=True)


def linear(eta: float, eta_w: float, total: int, *, automatic: bool = False) -> Steps:
    """Sizes that fall linearly from these at the first step to zero after the last of `total`."""

    def left(step: Ints) -> Floats:
        return np.asarray(1.0 - (step - 1) / total)

    return Steps(lambda step: eta * left(step), lambda step: eta_w * left(step), automatic)


def _sizes(name: str, choice: Choice, untuned: Sizes) -> Sizes:
    if isinstance(choice, str):
        return untuned
    if callable(choice):
        return _of_function(name, choice)
    return _of_number(name, choice)


def _of_number(name: str, size: float) -> Sizes:
    if not 0.0 < size < np.inf:
        raise bad_argument(name, f"is {size}", "a positive number")
    return lambda step: np.full(len(step), float(size))


def _of_function(name: str, size: Callable[[int], float]) -> Sizes:
    def sizes(step: Ints) -> Floats:
        found = np.array([size(t) for t in step.tolist()], dtype=np.float64)
        wrong = ~((found > 0.0) & (found < np.inf))
        if wrong.any():
            first = int(np.argmax(wrong))
            raise bad_argument(name, f"is {found[first]} at step {step[first]}", "a positive number")
        return found

    return sizes
