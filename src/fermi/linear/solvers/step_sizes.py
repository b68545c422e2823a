"""Step sizes of Algorithm 1, automatic, constant or a user's function, and how many passes do. Steps count from 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fermi._typing import Floats, Ints
from fermi.errors import bad_argument
from fermi.fitting.objective import FairObjective
from fermi.fitting.pace import RECENT, theta_share, w_rate, w_weight
from fermi.linear.design import Design

_PASSES = 30
_ENOUGH_STEPS = 2000  # the paper's T for full batches
_ENOUGH_ROWS, _MOST_PASSES = 300_000, 1000

Sizes = Callable[[Ints], Floats]
Choice = float | Literal["auto"] | Callable[[int], float]


@dataclass(frozen=True)
class Steps:
    """The step sizes η_θ, in the units of the standardised design, and η_w, as functions of step numbers."""

    eta: Sizes
    eta_w: Sizes
    automatic: bool = False

    def scaled(self, factor: float) -> Steps:
        """The step sizes, all times a factor."""
        eta, eta_w = self.eta, self.eta_w
        return Steps(lambda step: factor * eta(step), lambda step: factor * eta_w(step), self.automatic)


def make_steps(
    eta_theta: Choice, eta_w: Choice, *, design: Design, objective: FairObjective, batch: int, total: int
) -> Steps:
    """Make step sizes from what a user gave for each: "auto", a number, or a function of the step's number."""
    untuned = automatic(design, objective, batch, total)
    return Steps(
        sizes_of("eta_theta", eta_theta, untuned.eta),
        sizes_of("eta_w", eta_w, untuned.eta_w),
        automatic=isinstance(eta_theta, str) and isinstance(eta_w, str),
    )


def untuned(design: Design, objective: FairObjective, batch: int) -> tuple[float, float]:
    """The size of θ's steps, and the weight 2 λ η_w of a batch in the running mean that W's step is.

    θ: a fraction of one over the curvature that a batch sees, a quarter of E‖x‖² over the batch size plus one, in the
    units of the design.
    """
    mean_square = float((design.mean_square / design.scale**2).sum())
    curvature = 0.25 * mean_square / batch + 1.0
    return 0.3 / curvature, w_rate(objective.lam, batch)


def automatic(design: Design, objective: FairObjective, batch: int, total: int) -> Steps:
    """Step sizes that work untuned: from λ = 0 to 20 at any batch size, and for most problems to 200.

    They fall linearly to zero over `total` steps. At first W is a mean over all steps so far, the later ones counting
    more, and θ waits for it: with a large λ, a W far from its place would throw θ about.
    """
    eta, rate = untuned(design, objective, batch)

    def falling(size: float, step: Ints) -> Floats:
        # size (1 − (step − 1) / total), in few operations: this runs for every row
        sizes: Floats = step * np.float64(-size / total)
        sizes += size + size / total
        return sizes

    def theta_size(step: Ints) -> Floats:
        sizes = falling(eta, step)
        return sizes if step[0] * rate >= RECENT else sizes * theta_share(step, rate)

    def w_size(step: Ints) -> Floats:
        size = 1.0 / (2.0 * (objective.lam or 1.0))
        if step[0] * rate >= RECENT:
            return falling(rate * size, step)
        return np.asarray(falling(size, step) * w_weight(step, rate))

    return Steps(theta_size, w_size, automatic=True)


def sizes_of(name: str, choice: Choice, untuned: Sizes) -> Sizes:
    """The step sizes that a user gave; the untuned ones for "auto"."""
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
        try:
            found = [size(t) for t in step.tolist()]
        except TypeError as error:
            raise bad_argument(
                name, f"cannot be called with the number of a step ({error})", "a function of it"
            ) from None
        for t, value in zip(step.tolist(), found, strict=True):
            if not isinstance(value, float | int | np.floating | np.integer) or not 0.0 < value < np.inf:
                raise bad_argument(name, f"is {value!r} at step {t}", "a positive number")
        return np.array(found, dtype=np.float64)

    return sizes


def untuned_passes(n: int, batch: int, lam: float) -> int:
    """The number of passes that do untuned: enough rows for small data and steps for large batches, more at large λ."""
    enough = max(_PASSES, min(-(-_ENOUGH_ROWS // n), _MOST_PASSES), -(-_ENOUGH_STEPS * batch // n))
    return round(enough * min(max(1.0, math.sqrt(lam / 20.0)), 8.0))


def rows_per_step(batch_size: int | None, n: int, default: int) -> int:
    """The batch size for n rows: the one given, or the default where it is not larger than the data."""
    if batch_size is None:
        return min(default, n)
    if batch_size > n:
        raise bad_argument("batch_size", f"is {batch_size}", f"at most the number of rows, {n}")
    return batch_size
