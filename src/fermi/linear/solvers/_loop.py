"""θ and W while Algorithm 1 runs, and the call of the compiled loops that move them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.fitting.checkpoint import Saved
from fermi.fitting.objective import FairObjective
from fermi.linear.design import Design
from fermi.linear.solvers._batches import Features, Labels, Limits, Moving, Scratch, run_steps
from fermi.linear.solvers._row_access import BLOCK
from fermi.linear.solvers._single_rows import run_dense_rows, run_sparse_rows
from fermi.linear.solvers._zones import Zones

_KEPT = ("theta", "b", "V", "scale", "norms", "taken")


@dataclass(eq=False)
class State:
    """The state that the steps change: θ with one row per logit, W[c] = scale[z] ∘ V[c], norms[z] = Σ_s W², Σ θ."""

    theta: Floats
    b: Floats
    V: Floats
    scale: Floats
    norms: Floats
    theta_sum: Floats
    b_sum: Floats
    taken: int = 0

    def kept(self) -> dict[str, Any]:
        """All that the next steps depend on: W as it is factored here, since its product has other last digits."""
        return {name: getattr(self, name) for name in _KEPT}

    def finite(self) -> bool:
        """Whether nothing has overflowed. Once something has, it stays so."""
        return all(bool(np.isfinite(part).all()) for part in (self.theta, self.b, self.norms))


class Loop:
    """The constants of a run of Algorithm 1, arranged for the compiled loops."""

    def __init__(
        self, design: Design, objective: FairObjective, *, l2: float, batch: int, radius: float, averaged: bool
    ) -> None:
        self.design, self.lam, self.batch, self.averaged = design, objective.lam, batch, averaged
        self.limits = Limits(float(radius), objective.dual_l2)
        self.terms = terms = Zones.of(objective)
        self.n = len(objective.target)
        X, self.sparse = design.X, hasattr(design.X, "tocsr")
        penalty = self._padded(l2 * design.inverse_presence() / design.scale**2)
        used = len(terms.shapes) if self.lam > 0.0 else 0
        entries = (X.data, X.indices, X.indptr) if self.sparse else X
        self._rows = Features(entries, self.sparse, design.centre, 1.0 / design.scale, penalty, design.intercept)
        cells, counts = terms.cells[:used], terms.counts[:used]
        weight = self.n * objective.weight
        self._labels = Labels(objective.target, weight, cells, counts, terms.zone, terms.inverse_root)

    def start(self, theta: Floats, duals: tuple[Floats, ...] | None) -> State:
        """The state to begin with, at θ and W of each term, zero unless given."""
        m = self.design.n_classes
        rows = np.array(theta[: self.design.X.shape[1]].T, dtype=np.float64, order="C")
        b = theta[-1].astype(np.float64) if self.design.intercept else np.zeros(self.design.n_logits)
        V = np.zeros((len(self.terms.zone), m)) if duals is None else self.terms.join(duals, m)
        norms = self.terms.squares(V)
        return State(rows, b, V, np.ones_like(norms), norms, np.zeros_like(rows), np.zeros_like(b))

    def restored(self, saved: Saved, most: int) -> State:
        """The state that a checkpoint holds, after at most so many steps: the compiled loops trust its shapes."""
        state = self.start(np.zeros(self.design.shape), None)
        for name in _KEPT[:-1]:
            setattr(state, name, np.ascontiguousarray(saved.array(name, getattr(state, name).shape)))
        state.taken = saved.whole("taken", 0, most)
        return state

    def advance(self, state: State, order: Ints, eta: Floats, eta_w: Floats) -> None:
        """Take steps through these rows, a batch and a step size each."""
        rate = 2.0 * self.lam * eta_w
        moving = Moving(self._padded(state.theta), state.b, state.V, state.scale, state.norms)
        if self.batch == 1 and self.design.n_logits == 1 and not self.averaged and self.limits == (np.inf, 0.0):
            fixed, width = (self._rows, self._labels, order, eta, rate, self.lam, moving), moving.theta.shape[1]
            if self.sparse:
                run_sparse_rows(*fixed, np.empty((width, 4)))  # four, so that no column lies on two cache lines
            else:
                run_dense_rows(*fixed, np.zeros((3, width)))
        else:
            sums, room = (state.theta_sum, state.b_sum), Scratch.of(self.batch, moving, self.sparse)
            constants = self._rows, self._labels, order, self.batch
            run_steps(*constants, eta, rate, self.lam, self.limits, moving, self.averaged, sums, room)
        state.theta[:] = moving.theta[:, : state.theta.shape[1]]
        state.taken += len(eta)

    def _padded(self, columns: Floats) -> Floats:
        """Columns with zeros behind them up to a whole block, for dense rows."""
        if self.sparse:
            return columns
        width = columns.shape[-1]
        wider = np.zeros((*columns.shape[:-1], -(-width // BLOCK) * BLOCK))
        wider[..., :width] = columns
        return wider

    def theta(self, state: State) -> Floats:
        """The θ of a state as the design wants it: the present one, or the mean over all steps."""
        if self.averaged and state.taken > 0:
            weights, b = state.theta_sum.T / state.taken, state.b_sum / state.taken
        else:
            weights, b = state.theta.T, state.b
        return np.vstack([weights, b]) if self.design.intercept else weights.copy()

    def duals(self, state: State) -> tuple[Floats, ...]:
        """The W of each term in a state."""
        return self.terms.split(state.V * state.scale[self.terms.zone])
