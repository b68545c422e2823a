"""Chooses the multipliers on rows that no model was trained on: solve, compare with the truth, correct, solve again.

The group model's q is not calibrated on the very rows that a rule accepts. So the difference between the true rates of
the labels (by the true groups of these rows) and the rates that the convex stage computes is put into its limits, and
the stage is solved again from where it was. A few rounds settle; the best of them is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fermi._typing import Floats, Ints
from fermi.decisions.corrections import Corrections
from fermi.decisions.figures import Figures, measure, rates_of
from fermi.decisions.judged import JudgedRows, layout_of
from fermi.decisions.lacking import lacking
from fermi.decisions.newton import AGAIN, PATH, Limits, solve
from fermi.decisions.polish import charge, largest, polish, total
from fermi.decisions.program import Program
from fermi.decisions.requirements import Miss, Requirements, allowances, limits, misses
from fermi.decisions.rule import Rule, class_scores
from fermi.formulas.ermi import nonzero

_ROUNDS = 16
_STALE, _PATIENT = 4, 6  # rounds without anything better, where corrections are sought and where limits are tightened
_AT_PRICE = 0.9  # of its cap: a multiplier that would be larger if it might
_DEARER = 4.0
_KEPT, _WORTH = 0.05, 5.0  # of error: what keeping a bound is worth, and each unit that it is missed by
_BEYOND = 1e3
_SMALL = 1e-7  # a multiplier this small, in the units of the scores, is none


class Choice(NamedTuple):
    """The rule that was chosen for some requirements, and what it reaches on the rows it was chosen on.

    `excess` is by how much a requirement is missed at most, 0 where all are kept; `psi` is Ψ in the units of the stage;
    `warm` is where a choice for requirements nearby may start.
    """

    asked: Requirements
    rule: Rule
    labels: Ints
    figures: Figures
    excess: float
    psi: Floats
    warm: Warm | None


class Warm(NamedTuple):
    """Multipliers of the limits, the correction of the rates, and by how much dearer than at first a limit may be."""

    mu: Floats
    shift: Floats
    price: float


class Stage:
    """The stage over one set of rows, ready for any requirements."""

    def __init__(self, rows: JudgedRows, costs: Floats | None = None) -> None:
        self.rows, self.costs = rows, costs
        n, m = rows.F.shape
        weight = rows.weight / rows.weight.sum()
        q = np.concatenate([np.zeros((n, 0)), *rows.q], axis=1)
        self.mean = weight @ q
        g = np.column_stack([q / nonzero(self.mean), np.ones(n)])
        # The units of the scores, which are those of the costs, are those of τ and of the prices as well.
        self.unit = 1.0 if costs is None else float(np.ptp(costs)) or 1.0
        scores = np.ascontiguousarray(class_scores(rows.F, costs) / self.unit)
        self.program = Program(scores, g, weight)
        self.layout = layout_of(rows, m)
        self.loss_table = 1.0 - np.eye(m) if costs is None else costs

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.rows.F.shape[1])

    @property
    def own_labels(self) -> Ints:
        """The labels without any charge: the model's own, or those of the least expected cost."""
        return self.rows.labels if self.costs is None else self.program.labels(np.zeros(self.program.shape))

    def choose(self, asked: Requirements, warm: Warm | None = None) -> Choice:
        """Choose the rule with the least error that keeps what is asked, or comes nearest to it."""
        best = self._unchanged(asked)
        if best.excess == 0.0 or not (asked.about_groups or asked.about_all):
            return best
        shift = np.zeros((self.layout.size + 1, self.layout.columns)) if warm is None else warm.shift
        mu = None if warm is None else warm.mu
        corrections = Corrections()
        price = 1.0 if warm is None else warm.price
        stale, seen, path = 0, best.labels, PATH if warm is None else AGAIN
        tighter = np.zeros((self.layout.size + 1, self.n_classes))
        for _ in range(_ROUNDS):
            lower = self._limits(asked, seen, shift, tighter).at_price(price)
            if mu is not None and not lower.admit(mu):
                mu, path = None, PATH
            found = solve(self.program, lower, path, mu)
            mu, path = found.mu, AGAIN
            choice = self._choice(asked, found.psi, Warm(mu, shift, price))
            better = _better(choice, best, self.unit)
            best, stale, seen = choice if better else best, 0 if better else stale + 1, choice.labels
            error = self._rates(seen)[:, -self.layout.columns :] - found.rates - shift
            settled = bool((np.abs(error[:-1]) < self.layout.grain[:, None]).all())
            if stale >= _STALE or (settled and choice.excess == 0.0):
                break
            if settled and bool((mu > _AT_PRICE * lower.cap).any()):
                price *= _DEARER  # a tighter bound would not move a rate whose limit is at its price
            elif settled:  # what rounding to whole rows leaves beyond the limits is asked for in advance
                self._tighten(tighter, self.misses(asked, seen))
            shift = corrections.next(shift, error)
        polished = self._polished(best)
        if polished.excess > 0.0:
            insisted = self._polished(self._insisted(best))
            polished = insisted if _better(insisted, polished, self.unit) else polished
        return self._or_constant(polished)

    def _insisted(self, best: Choice) -> Choice:
        """A choice that is nearer to what is asked, by asking for more wherever it is missed.

        In small cells the true rates of one set of labels say little of those of the next, so that no correction
        reproduces itself. What is missed then goes into the limits, and the correction stays as it was.
        """
        if best.warm is None:
            return best
        asked, (mu, shift, price), seen, stale = best.asked, best.warm, best.labels, 0
        tighter = np.zeros((self.layout.size + 1, self.n_classes))
        for _ in range(_ROUNDS):
            if best.excess == 0.0 or stale >= _PATIENT:
                break
            self._tighten(tighter, self.misses(asked, seen))
            lower = self._limits(asked, seen, shift, tighter).at_price(price)
            if not lower.admit(mu):
                break
            found = solve(self.program, lower, AGAIN, mu)
            mu = found.mu
            choice = self._choice(asked, found.psi, Warm(mu, shift, price))
            better, seen = _better(choice, best, self.unit), choice.labels
            best, stale = choice if better else best, 0 if better else stale + 1
        return best

    def _tighten(self, tighter: Floats, missed: list[Miss]) -> None:
        """Ask for half of what is missed in advance: the other half is that of the cell at the other end."""
        for miss in missed:
            # The rate of all rows has one limit below and one above, those of cells have theirs in common.
            sign = -0.5 * miss.sign if miss.cell == self.layout.size else 0.5
            tighter[miss.cell, miss.label] += sign * miss.amount

    def _limits(self, asked: Requirements, labels: Ints, shift: Floats, tighter: Floats) -> Limits:
        """The limits, with the sampling error of rates such as those of some labels."""
        allowed = allowances(self.layout, self._rates(labels)[:-1], asked.slack)
        moved = shift.copy()
        moved[-1] += tighter[-1, -self.layout.columns :]
        return limits(asked, self.layout, allowed - tighter[:-1], moved)

    def _unchanged(self, asked: Requirements) -> Choice:
        """The model's own labels."""
        choice = self._choice(asked, np.zeros(self.program.shape), None)
        own = self.own_labels
        return choice._replace(labels=own, figures=self.figures(own), excess=self._excess(asked, own))

    def _choice(self, asked: Requirements, psi: Floats, warm: Warm | None) -> Choice:
        psi = np.where(np.abs(psi) * nonzero(self.program.rate_weights.max(axis=0))[:, None] < _SMALL, 0.0, psi)
        labels = self.program.labels(psi)
        full = psi if self.layout.columns == self.n_classes else np.column_stack([np.zeros(len(psi)), psi])
        rule = Rule(full[:-1] * self.unit, self.mean, full[-1] * self.unit, self.costs)
        return Choice(asked, rule, labels, self.figures(labels), self._excess(asked, labels), psi, warm)

    def _excess(self, asked: Requirements, labels: Ints) -> float:
        """By how much labels miss a requirement at most; 0 where all are kept."""
        return max((miss.amount for miss in self.misses(asked, labels)), default=0.0)

    def losses(self, labels: Ints) -> Floats:
        """What each row's label costs."""
        found: Floats = self.loss_table[self.rows.target, labels]
        return found

    def figures(self, labels: Ints) -> Figures:
        """What labels reach on these rows."""
        return measure(labels, self.losses(labels), self.rows.weight, self.rows.cells, self.n_classes)

    def _rates(self, labels: Ints) -> Floats:
        """The true rates of labels, (C + 1) × m; the last line is that of all rows."""
        tables = [rates_of(c.hard(labels, self.n_classes)).reshape(-1, self.n_classes) for c in self.rows.cells]
        overall = np.bincount(labels, weights=self.program.weight, minlength=self.n_classes)
        rates: Floats = np.concatenate([*tables, overall[None]])
        return rates

    def misses(self, asked: Requirements, labels: Ints) -> list[Miss]:
        """The rates by which labels miss requirements."""
        return misses(asked, self.layout, self._rates(labels))

    def lacking(self, asked: Requirements, labels: Ints) -> list[str]:
        """The requirements that labels miss, each with the nearest that they keep."""
        return lacking(asked, self.layout, self._rates(labels))

    def one_label_keeps(self, asked: Requirements) -> bool:
        """Whether one label for all rows would keep all that is asked."""
        constants = (np.full(len(self.rows.target), j) for j in range(self.n_classes))
        return any(not self.misses(asked, labels) for labels in constants)

    def _or_constant(self, choice: Choice) -> Choice:
        """A choice, or one label for all rows where that is both nearer to what is asked and as right."""
        for j in range(self.n_classes):
            psi = np.zeros((self.program.shape[0], self.n_classes))
            psi[-1, np.arange(self.n_classes) != j] = 2.0  # scores differ by one at most
            psi = psi - psi[:, :1] if self.layout.columns == 1 else psi
            other = self._choice(choice.asked, psi[:, -self.layout.columns :], None)
            mark, best = (other.excess, other.figures.error), (choice.excess, choice.figures.error)
            choice = other if mark != best and mark[0] <= best[0] and mark[1] <= best[1] else choice
        return choice

    def _polished(self, choice: Choice) -> Choice:
        """A choice with single rows moved, where that brings it nearer to what is asked."""
        asked, warm = choice.asked, choice.warm

        def misses_of(psi: Floats) -> list[Miss]:
            return self.misses(asked, self.program.labels(psi))

        for lack in (largest, total):
            if choice.excess == 0.0 or warm is None:
                break
            other = self._choice(asked, polish(choice.psi, misses_of, self._changed, lack), warm)
            choice = other if _better(other, choice, self.unit) else choice
        return choice

    def _changed(self, psi: Floats, miss: Miss) -> Floats:
        """Ψ that turns the labels of the rows that a rate misses."""
        inside = self._inside(miss.cell)
        part = replace(self.program, scores=self.program.scores[inside], rate_weights=self.program.rate_weights[inside])
        u = part.adjusted(psi)
        column = miss.label - (self.n_classes - self.layout.columns)
        distance = u if part.two_classes else u[:, column] - np.delete(u, column, axis=1).max(axis=1)
        changed = psi.copy()
        changed[miss.cell, column] += charge(
            miss, distance, part.rate_weights[:, miss.cell], self.program.weight[inside]
        )
        return changed

    def _inside(self, cell: int) -> Ints:
        """The rows that are truly in a cell; all rows for the number after the last."""
        for cells in self.rows.cells:
            if cell < cells.size:
                return np.flatnonzero(cells.index == cell)
            cell -= cells.size
        return np.arange(len(self.rows.target))


def badness(excess: float, error: float, noise: float) -> float:
    """How bad a choice is: its error, and what it lacks, which counts for more than any error beyond noise.

    Within one standard error of the gap, what is lacking is worth a few points of error and no more: labels that keep
    the letter of a bound by being wrong in every second row are no answer.
    """
    missed = _KEPT + _WORTH * min(excess, noise) if excess > 0.0 else 0.0
    return error + missed + _BEYOND * max(excess - noise, 0.0)


def _better(one: Choice, other: Choice, unit: float) -> bool:
    """Whether one choice is less bad than another, with errors in units of the scores."""
    marks = (badness(c.excess, c.figures.error / unit, c.figures.standard_error) for c in (one, other))
    return next(marks) < next(marks)
