"""The entry of a solver's history for one point."""

from __future__ import annotations

import numpy as np

from fermi._typing import Floats
from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective
from fermi.linear.design import Design


def record(design: Design, objective: FairObjective, theta: Floats, duals: tuple[Floats, ...], l2: float) -> Record:
    """The objective at θ, and how far W is from its optimum there."""
    logits = design.logits(theta)
    value, gradient, dual_gap = objective.with_dual_gap(logits, duals)
    penalty, slope = design.penalty(theta, l2)
    return {
        "loss": value.loss,
        "ermi": value.ermi,
        "objective": value.objective + penalty,
        "dual_gap": dual_gap,
        "grad_norm": float(np.abs(design.pull_back(gradient) + slope).max()),
    }
