"""The Hessian of the objective over a linear model, from two products with the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fermi._typing import Floats
from fermi.fitting.objective import FairObjective, Term
from fermi.formulas import curvature as formula
from fermi.linear.design import Design
from fermi.linear.gram import sums_by_cell, weighted_grams


def hessian(design: Design, objective: FairObjective, logits: Floats, l2: float, *, exact: bool = True) -> Floats:
    """The Hessian of Φ + ½ l2 ‖weights‖² in the flattened θ, with W eliminated.

    Not `exact` is Gauss and Newton's part of it, which leaves out how ERMI bends row by row and is never negative.
    """
    F = objective.predictions(logits)
    blocks = _blocks(design, objective, F, exact=exact)
    H = blocks.reshape(2 * (blocks.shape[0] * blocks.shape[1],))
    if objective.lam > 0.0:
        for term in objective.terms:
            for root in _roots(design, term, F):
                H += objective.lam * (root.T @ root)
    penalty = np.zeros(design.shape)
    penalty[: len(design.scale)] = (l2 / design.scale**2)[:, None]
    H[np.diag_indices_from(H)] += penalty.ravel()
    return H


def root_entries(design: Design, objective: FairObjective) -> int:
    """The size of the largest matrix that the table's curvature is made of."""
    cells = max((term.rows.size for term in objective.terms), default=0)
    return cells * design.shape[0] * design.n_logits


def _logits(design: Design) -> range:
    """The classes that have a logit of their own."""
    return range(design.n_classes - design.n_logits, design.n_classes)


def _blocks(design: Design, objective: FairObjective, F: Floats, *, exact: bool) -> Floats:
    """What the rows contribute one by one: features × logits × features × logits."""
    tilt = np.zeros_like(F)
    if exact and objective.lam > 0.0:
        for term in objective.terms:
            term.add_gradient(F, term.optimal_dual(term.laws(F)), objective.lam, tilt)
    own = _logits(design)
    pairs = [(j, k) for j in own for k in own if j <= k]
    weights = [
        formula.row_curvature(F[:, j], F[:, k], objective.weight, tilt[:, j], tilt[:, k], same=j == k) for j, k in pairs
    ]
    p, L = design.shape
    blocks = np.empty((p, L, p, L))
    for (j, k), gram in zip(pairs, weighted_grams(design, weights), strict=True):
        blocks[:, j - own[0], :, k - own[0]] = blocks[:, k - own[0], :, j - own[0]] = gram
    return blocks


def _roots(design: Design, term: Term, F: Floats) -> Iterator[Floats]:
    """Roots of the curvature of ERMI through the table, one per class: entries of the table × parameters."""
    laws = term.laws(F)
    W, p_y = term.optimal_dual(laws), laws.sum(axis=1)
    others = np.zeros((*term.rows.shape, design.shape[0] * design.n_logits))
    for c in reversed(range(design.n_classes)):
        J = _table_slopes(design, term, F, c) if c else -others  # probabilities sum to one
        others += J
        for z, p_z in enumerate(term.p_z):
            if p_z > 0.0:
                # The law of a condition is its part of the table over p_z, and its ERMI counts by p_z.
                yield formula.table_root(J[z], W[z, :, c], term.prior[z], p_y[z, c]) / np.sqrt(p_z)


def _table_slopes(design: Design, term: Term, F: Floats, j: int) -> Floats:
    """The derivative of the class j's weight in every cell: Z × k × parameters."""
    cells, slopes = term.rows.size, []
    for k in _logits(design):
        moves = term.share * formula.probability_slopes(F[:, j], F[:, k], same=j == k)
        total = np.bincount(term.cells + 1, moves, minlength=cells + 1)[1:, None]
        sums = (sums_by_cell(design.X, term.cells, moves, cells) - total * design.centre) / design.scale
        slopes.append(np.hstack([sums, total]) if design.intercept else sums)
    return np.stack(slopes, axis=2).reshape(*term.rows.shape, -1)
