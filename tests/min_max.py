"""F(θ, W) of the min-max problem, whose finite differences tests compare gradients with."""

from __future__ import annotations

from fermi._typing import Floats
from fermi.fitting.objective import FairObjective


def saddle_value(objective: FairObjective, logits: Floats, duals: tuple[Floats, ...]) -> float:
    """F(θ, W) for given W of each term."""
    F, loss = objective.predictions(logits), objective.evaluate(logits).loss
    return loss + objective.lam * sum(t.dual_value(W, t.laws(F)) for t, W in zip(objective.terms, duals, strict=True))
