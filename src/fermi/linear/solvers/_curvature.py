"""L, the largest curvature of the loss over a linear model, estimated from some rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fermi.fitting.objective import FairObjective
from fermi.formulas.ermi import nonzero
from fermi.linear.design import Design

ROUNDS = 10  # of the power iteration


def sample_size(design: Design, n: int) -> int:
    """The number of rows that L is estimated from: more than columns where that is cheap, as fewer overstate it."""
    return min(n, max(512, min(2 * design.shape[0], 4096)))


def largest_curvature(design: Design, objective: FairObjective, rng: np.random.Generator) -> float:
    """The curvature L, from some rows: a quarter of the design's largest eigenvalue, or half beyond two classes."""
    n = len(objective.target)
    rows = rng.choice(n, sample_size(design, n), replace=False)
    few = replace(design, X=design.X[rows])
    weight = objective.weight[rows, None] / nonzero(objective.weight[rows].sum())
    x = rng.standard_normal(design.shape)
    for _ in range(ROUNDS):
        x = few.pull_back(few.logits(x / max(float(np.linalg.norm(x)), 1e-300)) * weight)
    return max(float(np.linalg.norm(x)), 1e-12) * (0.25 if design.n_logits == 1 else 0.5)
