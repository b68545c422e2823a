"""Algorithm 1 of the paper, to be read: slow, on plain arrays, with nothing kept that could be computed again.

    θ ← θ − η_θ · mean over the batch of ∇_θ (loss_i + λ ψ_i(θ, W))
    W ← W + η_w · mean over the batch of ∇_W λ ψ_i(θ, W),    W⁰ = 0

The compiled loops (`_batches.py`, `_single_rows.py`) take the same steps, as `tests/parity/test_sgda.py` checks. They
keep W as scale ∘ V and its column norms up to date, so that a step costs the same for any number of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import softmax

from fermi._typing import Floats, Ints
from fermi.fitting.objective import FairObjective
from fermi.formulas.ermi import class_costs, dual_gradient, tilt
from fermi.linear.design import Design

SMALL_PENALTY_STEP = 0.01  # above, the penalty's step is implicit: θ / (1 + step) instead of θ (1 − step)


def descend_ascend(
    design: Design,
    objective: FairObjective,
    theta: Floats,
    duals: Sequence[Floats],
    batches: Sequence[Ints],
    eta_theta: Floats,
    eta_w: Floats,
    l2: float,
) -> tuple[Floats, list[Floats]]:
    """θ and W of each term after one step for each batch of rows, with the step sizes given for each."""
    n, m, lam = len(objective.target), design.n_classes, objective.lam
    for rows, eta, rate in zip(batches, eta_theta, eta_w, strict=True):
        few, per_row = replace(design, X=design.X[rows]), n / len(rows)  # weights and shares sum to one over all n rows
        F = softmax(few.logits(theta), axis=1)
        gradient = per_row * objective.weight[rows, None] * (F - np.eye(m)[objective.target[rows]])
        ascended = []
        for term, W in zip(objective.terms, duals, strict=True):
            cells = term.rows.take(rows).weighed(per_row * term.share[rows])
            costs = np.concatenate([class_costs(W_z, p) for W_z, p in zip(W, term.prior, strict=True)])
            gradient += lam * cells.weight[:, None] * tilt(F, costs[cells.index])  # a row without a cell has no weight
            slopes = [dual_gradient(*parts) for parts in zip(W, cells.soft(F), term.prior, strict=True)]
            ascended.append(W + rate * lam * (np.stack(slopes) - 2.0 * objective.dual_l2 * W))
        step = np.zeros((len(theta), 1))
        step[: len(design.scale), 0] = eta * l2 / design.scale**2
        shrunk = theta * (1.0 - step) if step.max() < SMALL_PENALTY_STEP else theta / (1.0 + step)
        theta, duals = shrunk - eta * few.pull_back(gradient), ascended
    return theta, list(duals)
