"""The objective over rows that are elsewhere: from sums over shards, by one pass or two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from fermi._typing import Floats
from fermi.compiled.table_rows import add_pass
from fermi.engines import Shards
from fermi.fitting.contract import Record
from fermi.fitting.history import parts
from fermi.fitting.objective import FairObjective, Term, Value
from fermi.inputs.cells import Cells
from fermi.linear.solvers.contract import Task
from fermi.stream._coding import Rows
from fermi.stream._learned import Model

_READING = 16  # pairs of classes that take as long as reading a row again


class Evaluated(NamedTuple):
    """A point θ: its record, the gradient there, and the optimal W of each term."""

    record: Record
    gradient: Floats
    duals: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The objective of a model at any θ, which has one row per feature and one for the intercept.

    Attributes
    ----------
    model : Model
        The problem.
    lam, l2 : float
        The weights of fairness and of the penalty.
    most_pairs : int
        The most entries that the sums by cell and pair of classes may have: with more, an evaluation takes two passes,
        the table first and then the gradient.
    """

    model: Model
    lam: float
    l2: float
    most_pairs: int

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of θ."""
        width, logits = self.model.design.shape
        return width - 1, logits

    @property
    def n_cells(self) -> int:
        """The number of cells of all terms."""
        return len(self.model.tables.zone)

    @property
    def one_pass(self) -> bool:
        """Whether one pass is enough."""
        m = self.model.problem.n_classes
        n_pairs = m * (m - 1) // 2
        if self.lam == 0.0:
            return True
        # Sums by pairs grow with the square of the classes, and a second reading does not.
        entries = self.n_cells * n_pairs * (self.model.coding.width + 2)
        return n_pairs <= _READING + 2 * m and entries <= self.most_pairs

    def coefficients(self, theta: Floats) -> tuple[Floats, Floats]:
        """Weights with one row per logit, and the intercepts, in the units of the encoder's features."""
        width = self.model.coding.width
        weights = (theta[:width] / self.model.design.scale[:-1, None]).T
        return weights, theta[-1] if self.model.design.intercept else np.zeros(theta.shape[1])

    def of_shards(self, shards: Shards, theta: Floats, duals: tuple[Floats, ...] = ()) -> Evaluated:
        """Evaluate θ over all rows."""
        return self._made(theta, duals, lambda *arguments: shards.sum("evaluate", *arguments))

    def of_rows(self, rows: Rows, theta: Floats, duals: tuple[Floats, ...] = ()) -> Evaluated:
        """Evaluate θ over some rows in memory, which stand for all."""
        factor = self.model.tables.rows / len(rows.target)

        def sums(
            weights: Floats, shift: Floats, class_weight: Floats, costs: Floats, n_cells: int, with_pairs: bool
        ) -> tuple[Floats, ...]:
            m, width = len(class_weight), weights.shape[1] + 1
            table = np.zeros((n_cells, m))
            pairs = np.zeros((n_cells * (m * (m - 1) // 2) if with_pairs else 0, width))
            slopes = np.zeros((len(weights), width))
            loss = add_pass(*rows, weights, shift, class_weight, costs, table, pairs, slopes)
            return factor * np.array(loss), factor * table, factor * pairs, factor * slopes

        return self._made(theta, duals, sums)

    def _made(self, theta: Floats, given: tuple[Floats, ...], sums: Any) -> Evaluated:
        tables, m = self.model.tables, self.model.problem.n_classes
        weights, shift = self.coefficients(theta)
        point = np.hstack([weights, np.zeros((len(weights), 1))]), np.asarray(shift, dtype=np.float64)
        nothing = np.zeros((0, m))
        with_pairs = self.one_pass and self.lam > 0.0
        loss, table, pairs, slopes = sums(*point, tables.class_weight, nothing, self.n_cells, with_pairs)
        violation, gap, duals, costs = self._terms(table, given)
        if self.lam > 0.0 and with_pairs:
            slopes = slopes + _tilted(costs, pairs, len(weights))
        elif self.lam > 0.0:
            _, _, _, slopes = sums(*point, tables.class_weight, costs, self.n_cells, False)
        width, scale = self.model.coding.width, self.model.design.scale[:-1, None]
        gradient = slopes[:, :width].T / scale + self.l2 * weights.T / scale
        if self.model.design.intercept:
            gradient = np.vstack([gradient, slopes[:, -1]])
        value = Value(float(loss), violation, float(loss) + self.lam * violation)
        penalty = 0.5 * self.l2 * float((weights**2).sum())
        found = parts(value, penalty, dual_gap=gap, grad_norm=float(np.abs(gradient).max()))
        return Evaluated(found, gradient, duals)

    def _terms(self, table: Floats, given: tuple[Floats, ...]) -> tuple[float, float, tuple[Floats, ...], Floats]:
        """ERMI, the gap of given W, the optimal W of each term, and λ · share · C of every cell, from the sums of F."""
        violation, gap, duals, costs, first = 0.0, 0.0, [], [np.zeros((0, table.shape[1]))], 0
        share = self.model.tables.share
        for t, term in enumerate(self.model.terms):
            own = slice(first, first + term.rows.size)
            laws = term.conditional((share[own, None] * table[own]).reshape(*term.rows.shape, -1))
            violation += term.ermi(laws)
            gap += self.lam * (term.ermi(laws) - term.dual_value(given[t], laws)) if given else 0.0
            duals.append(term.optimal_dual(laws))
            costs.append(self.lam * share[own, None] * term.costs(duals[-1]))
            first += term.rows.size
        return violation, gap, tuple(duals), np.concatenate(costs)

    def task(self, rows: Rows, l2: float, tol: float) -> Task:
        """Make a solver's task of the objective over some rows in memory."""
        model, X = self.model, sparse_rows(rows, self.model.coding.width)
        n, tables, first = len(rows.target), self.model.tables, 0
        design = replace(
            model.design, X=X, centre=np.zeros(X.shape[1]), scale=model.design.scale[:-1],
            mean_square=model.design.mean_square[:-1],
        )  # fmt: skip
        terms, share = [], np.append(tables.share, 0.0) * (tables.rows / n)
        for term, cells in zip(model.terms, rows.cells, strict=True):
            index = np.where(cells >= 0, cells - first, -1)
            terms.append(Term(Cells(index, term.rows.shape, share[cells]), term.p_z, term.prior))
            first += term.rows.size
        weight = tables.class_weight[rows.target]
        return Task(design, FairObjective(rows.target, weight / weight.sum(), tuple(terms), self.lam), l2, tol)


def _tilted(costs: Floats, pairs: Floats, n_logits: int) -> Floats:
    """The slopes of Σ F · costs[cell] from the sums of F_j F_l x: F_l (C_l − F·C) = Σ_j F_j F_l (C_l − C_j)."""
    m = costs.shape[1]
    slopes, pairs = np.zeros((m, pairs.shape[1])), pairs.reshape(len(costs), -1, pairs.shape[1])
    h = 0
    for j in range(m):
        for k in range(j + 1, m):
            found = (costs[:, k] - costs[:, j]) @ pairs[:, h]
            slopes[k] += found
            slopes[j] -= found
            h += 1
    return slopes[m - n_logits :]


def sparse_rows(rows: Rows, width: int) -> csr_matrix:
    """Rows in compact form as a CSR matrix."""
    n, p = rows.numbers.shape
    indices = np.hstack([np.broadcast_to(np.arange(p, dtype=np.int32), (n, p)), rows.codes])
    data = np.hstack([rows.numbers, np.ones(rows.codes.shape)])
    real = indices < width
    ends = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
    return csr_matrix((data[real], indices[real], ends), shape=(n, width))
