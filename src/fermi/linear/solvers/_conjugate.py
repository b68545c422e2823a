"""Newton's step by conjugate gradients: products with the Hessian, where it is too large to be written down.

Along a direction v the logits move by a = A v and the predictions by Ḟ = F ∘ (a − F · a). The row by itself contributes

    (w F + t) ∘ (a − F · a) − F (t · a),

with t what ERMI adds to the row's gradient (`formulas/curvature.py`). The table, which moves by Ṫ = Σ share_i Ḟ_i,
charges every cell by its own curvature, and the rows feel it as they feel the charges C.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fermi._typing import Floats
from fermi.compiled import kernels
from fermi.fitting.objective import Term
from fermi.formulas.curvature import table_charges
from fermi.linear.solvers._points import Point
from fermi.linear.solvers.contract import Task

_MOST = 250  # products with the Hessian in a step
_LOOSEST = 0.1  # part of the gradient that a step may leave unsolved

Product = Callable[[Floats], Floats]


def newton_step(task: Task, point: Point) -> Floats:
    """Minus the inverse of the Hessian times the gradient, as near as a step from here needs it, and always downhill.

    Where a direction bends down, the step ends before it; where the first one does, it is the gradient's, scaled. Near
    the optimum the rest that is left falls with the gradient, so that steps grow exact.
    """
    product, diagonal = hessian_product(task, point.logits)
    g = point.gradient
    enough = min(_LOOSEST, float(np.sqrt(np.linalg.norm(g)))) * float(np.linalg.norm(g))
    x, r = np.zeros_like(g), g.copy()
    z = r / diagonal
    d, rz = -z, float(r @ z)
    for _ in range(_MOST):
        Hd = product(d)
        bend = float(d @ Hd)
        if bend <= 0.0:
            break
        length = rz / bend
        x += length * d
        r += length * Hd
        if np.linalg.norm(r) <= enough:
            break
        z = r / diagonal
        before, rz = rz, float(r @ z)
        d = rz / before * d - z
    return x if x.any() else -g / diagonal


def hessian_product(task: Task, logits: Floats) -> tuple[Product, Floats]:
    """The product of the exact Hessian at some logits with a flat direction, and about what its diagonal is."""
    design, objective = task.design, task.objective
    F, w = objective.predictions(logits), objective.weight[:, None]
    tilt = np.zeros_like(F)
    charges: list[tuple[Term, Callable[[Floats], Floats]]] = []
    for term in objective.terms if objective.lam > 0.0 else ():
        laws = term.laws(F)
        W = term.optimal_dual(laws)
        term.add_gradient(F, W, objective.lam, tilt)
        charges.append((term, _charges(term, W, laws.sum(axis=1))))
    penalty = np.zeros(design.shape)
    penalty[: len(design.scale)] = (task.l2 / design.scale**2)[:, None]

    def product(direction: Floats) -> Floats:
        v = direction.reshape(design.shape)
        a = design.logits(v)
        apart = a - (F * a).sum(axis=1, keepdims=True)
        moved = F * apart
        out = w * moved + tilt * apart - F * (tilt * a).sum(axis=1, keepdims=True)
        for term, charged in charges:
            kernels.add_tilt(F, term.cells, charged(term.rows.soft(moved)), term.share, objective.lam, out)
        found: Floats = (design.pull_back(out) + penalty * v).ravel()
        return found

    squares = np.append(design.mean_square / design.scale**2, [1.0] if design.intercept else [])
    bends = (w * F * (1.0 - F)).sum(axis=0)[design.n_classes - design.n_logits :]
    diagonal = squares[:, None] * bends + penalty
    return product, np.maximum(diagonal, 1e-3 * diagonal.max()).ravel()


def _charges(term: Term, W: Floats, p_y: Floats) -> Callable[[Floats], Floats]:
    """What a movement of the table, Z × k × m, charges every cell, (Z·k) × m."""

    def charged(moved: Floats) -> Floats:
        found = np.zeros_like(W)
        for z, p_z in enumerate(term.p_z):
            if p_z > 0.0:
                # The law of a condition is its part of the table over p_z, and its ERMI counts by p_z.
                found[z] = table_charges(moved[z], W[z], term.prior[z], p_y[z]) / p_z
        return found.reshape(-1, W.shape[2])

    return charged
