"""Algorithm 1 over blocks of rows in compact form, one after the other, by the compiled loop of `solvers`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.fitting.objective import FairObjective
from fermi.linear.design import Design
from fermi.linear.solvers._batches import Labels, Moving, Scratch
from fermi.linear.solvers._table_rows import run_table_steps
from fermi.linear.solvers.step_sizes import Steps, make_steps


class Tables(NamedTuple):
    """What is known of all rows together, one entry per cell of all terms numbered through, or per class.

    Attributes
    ----------
    zone, prior : (cells,)
        The zone of each cell, which is a condition of a term, and the group's share within it.
    share : (cells,)
        What a row of the cell counts in ERMI; over all rows these sum to one in each term.
    class_weight : (m,)
        What a row of the class counts in the loss; over all rows these sum to one.
    rows : int
        The number of rows.
    """

    zone: Ints
    prior: Floats
    share: Floats
    class_weight: Floats
    rows: int


class Pace(NamedTuple):
    """How Algorithm 1 steps through blocks: all that a shard has to know of the options.

    `design` has no rows, and its last column is the one that says nothing. `factor` shrinks steps that diverged before.
    """

    design: Design
    eta_theta: Any
    eta_w: Any
    lam: float
    l2: float
    batch: int
    radius: float
    total: int
    averaged: bool
    factor: float = 1.0


class Progress(NamedTuple):
    """Where a run stands after a block: the weights in the units of X, b, W with one row per cell; sums if wanted."""

    theta: Floats
    b: Floats
    W: Floats
    theta_sum: Floats
    b_sum: Floats

    @property
    def finite(self) -> bool:
        """Whether nothing has overflowed."""
        return all(bool(np.isfinite(part).all()) for part in (self.theta, self.b, self.W))


class TableLoop:
    """The constants of a run, arranged for the compiled loop."""

    def __init__(self, pace: Pace, tables: Tables) -> None:
        self.pace, self.tables = pace, tables
        self._steps = self._made_steps()
        design = pace.design
        self._l2, self._inverse_square = pace.l2 / design.scale**2, 1.0 / design.scale**2
        self._inverse_square[-1] = 0.0
        root = np.sqrt(np.where(tables.prior > 0.0, tables.prior, 1.0))
        self._inverse_root = np.where(tables.prior > 0.0, 1.0 / root, 0.0)

    def _made_steps(self) -> Steps:
        pace = self.pace
        nobody = FairObjective(np.zeros(0, dtype=np.int64), np.zeros(0), (), pace.lam)
        steps = make_steps(
            pace.eta_theta, pace.eta_w, design=pace.design, objective=nobody, batch=pace.batch, total=pace.total
        )
        return steps if pace.factor == 1.0 else steps.scaled(pace.factor)

    def advance(
        self, at: Progress, X: tuple[Any, Any], target: Ints, cells: Ints, order: Ints, taken: int, most: int
    ) -> tuple[Progress, int]:
        """Take at most so many steps through rows in this order, after `taken` before; return where they led."""
        pace, tables = self.pace, self.tables
        count = min(-(-len(order) // pace.batch), most)
        number = np.arange(taken + 1, taken + 1 + count)
        cells = cells if pace.lam > 0.0 else cells[:0]
        weight = (tables.rows * tables.class_weight)[target]
        counts = np.append(tables.rows * tables.share, 0.0)[cells]
        V, n_zones = at.W.copy(), int(tables.zone.max(initial=-1)) + 1
        norms = np.zeros((n_zones, V.shape[1]))
        np.add.at(norms, tables.zone, V**2)
        scale = np.ones_like(norms)
        moving = Moving(at.theta.copy(), at.b.copy(), V, scale, norms)
        labels = Labels(target, weight, cells, counts, tables.zone, self._inverse_root)
        rate = 2.0 * pace.lam * self._steps.eta_w(number)
        sums = (at.theta_sum.copy(), at.b_sum.copy())
        run_table_steps(
            *X, order[: count * pace.batch], self._inverse_square, self._l2, pace.design.intercept, labels, pace.batch,
            self._steps.eta(number), rate, pace.lam, pace.radius, moving,
            Scratch.of(pace.batch, moving, sparse=True), np.zeros(len(at.b)), pace.averaged, sums,
        )  # fmt: skip
        return Progress(moving.theta, moving.b, V * scale[tables.zone], *sums), count
