"""The record of a point of the min-max problem over a linear model."""

from __future__ import annotations

import numpy as np

from fermi._typing import Floats
from fermi.fitting.contract import Record
from fermi.fitting.history import parts
from fermi.fitting.objective import FairObjective
from fermi.linear.design import Design


def record(design: Design, objective: FairObjective, theta: Floats, duals: tuple[Floats, ...], l2: float) -> Record:
    """The objective at θ, and how far W is from its optimum there."""
    value, gradient, dual_gap = objective.with_dual_gap(design.logits(theta), duals)
    penalty, slope = design.penalty(theta, l2)
    grad_norm = float(np.abs(design.pull_back(gradient) + slope).max())
    return parts(value, penalty, dual_gap=dual_gap, grad_norm=grad_norm)
