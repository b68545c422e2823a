"""Algorithm 1 over rows that arrive in chunks, each seen once: what `partial_fit` keeps and does.

Centre and scale of the features and the group prior are estimated from the rows seen so far and renewed at fixed
numbers of rows, which grow by half each time. So with single rows (the default) the result does not depend on how a
stream is cut into chunks, as long as its classes are declared.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.errors import DivergedError, bad_argument, listed
from fermi.fitting.contract import Record
from fermi.fitting.objective import FairObjective, Term
from fermi.fitting.pace import RECENT
from fermi.fitting.problem import Attribute, Problem
from fermi.formulas.ermi import nonzero
from fermi.inputs.cells import Cells
from fermi.inputs.encode import sort_key
from fermi.inputs.groups import label_order, positions
from fermi.linear.design import Design
from fermi.linear.moments import Moments
from fermi.linear.options import Settings
from fermi.linear.solvers._loop import Loop
from fermi.linear.solvers.history import record
from fermi.linear.solvers.step_sizes import sizes_of, untuned
from fermi.linear.trainer import Fit

_GROWTH = 1.5
_RAREST = 100.0  # rows per known group, beyond which a stream that begins to tell them would start with giant steps
_FEW = 64  # rows, up to which every step renews: the scale of fewer may be far off
_FULL_STEPS = 1_000  # rows, after which steps shrink
_EXPLODED = 100.0  # times the objective of a model that knows nothing
_POWER = 2.0 / 3.0


@dataclass(eq=False)
class Groups:
    """The groups of one term in a stream: labels, the weight of each (condition, group), W, and the prior in use."""

    labels: tuple[str, ...]
    table: Floats
    W: Floats
    prior: Floats
    used: Floats
    declared: bool = False
    given: bool = False  # the prior

    def grow(self, labels: Sequence[str], conditions: list[int], Z: int, classes: list[int], m: int) -> None:
        """Make room for new groups, conditions and classes; each old one moves to its place among them."""
        groups = positions(self.labels, labels)
        for name in ("table", "prior", "used"):
            wider = np.zeros((Z, len(labels)))
            wider[np.ix_(conditions, groups)] = getattr(self, name)
            setattr(self, name, wider)
        W = np.zeros((Z, len(labels), m))
        W[np.ix_(conditions, groups, classes)] = self.W
        self.labels, self.W = tuple(labels), W

    def renew_prior(self) -> None:
        """Take the prior from the rows seen; W = P_s^{-1/2} P P_ŷ^{-1} moves with it."""
        self.used = self.table.copy()
        if not self.given:
            old, self.prior = self.prior, self.table / nonzero(self.table.sum(axis=1, keepdims=True))
            self.W = self.W * np.sqrt(old / nonzero(self.prior))[:, :, None]

    def cells(self, problem: Problem, codes: Ints) -> Cells:
        """The cells of some rows, whose groups have these codes."""
        return Cells.of(problem.conditions, codes, self.prior.shape, problem.weight)

    def term(self, problem: Problem, codes: Ints, rows: int) -> Term:
        """The term of some rows with the prior in use; a group without one counts from the next renewal on."""
        cells = self.cells(problem, codes)
        has_prior = np.append(self.prior.ravel() > 0.0, False)  # the last for rows that have no cell
        index = np.where(has_prior[cells.index], cells.index, -1)
        total = self.used.sum()
        factor = min(rows / nonzero(total), _RAREST)
        share = np.where(index >= 0, problem.weight, 0.0) * (factor / len(codes))
        counted, p_z = Cells(index, cells.shape, share), self.used.sum(axis=1) / nonzero(total)
        factors = problem.factors(self.used)
        if factors is not None:
            counted, p_z = counted.weighed_by_condition(factors), p_z * factors
        return Term(counted, p_z, self.prior)


def kind_of(settings: Settings) -> str:
    """The kind of terms in a stream, which cannot change on the way."""
    return f"{settings.fairness!r}, attributes={settings.attributes!r}"


class Online:
    """A model in training on a stream."""

    def __init__(self, width: int) -> None:
        self.kind = ""  # the notion and attributes that the terms are about
        self.columns: tuple[str | None, ...] = ()
        self.classes: list[Any] = []
        self.condition_names: list[Any] = []
        self.groups: list[Groups] = []
        self.weights, self.shift = np.zeros((0, width)), np.zeros(0)
        self.moments = Moments.empty(width)
        self.design = self.moments.design(intercept=True, n_classes=2)
        self.loss_weight = 0.0
        self.rows = self.taken = self.steps = 0  # rows counted, rows trained on, steps
        self.renewal = 0
        self.frozen = (0, 0.0)  # rows and their weight in the loss at the last renewal

    def learn(self, problem: Problem, settings: Settings) -> Record:
        """Pass over a chunk whose classes, conditions and groups are all known here."""
        began = time.perf_counter()
        batch, n, at = settings.sgda.batch_size or 1, len(problem.target), 0
        while at < n:
            due = self.rows >= self.renewal
            size = min(batch if due else self.renewal - self.rows, n - at)
            part = problem.take(slice(at, at + size))
            self.moments.add(part.X, part.weight * part.class_weight[part.target], centred=settings.fit_intercept)
            self._count(part)
            if due:
                self._renew(settings)
            self._advance(part, settings, batch)
            at += size
        found = self._measured(problem, settings)
        if not found["objective"] <= _EXPLODED * np.log(len(self.classes)):  # NaN too
            raise DivergedError("The steps diverged: choose a smaller `eta_theta` or `eta_w`, or leave them automatic.")
        return {"step": self.steps, "seconds": time.perf_counter() - began, **found}

    def _measured(self, problem: Problem, settings: Settings) -> Record:
        """Measure the objective on these rows alone, with their own group statistics."""
        known = [t for t, a in enumerate(problem.attributes) if replace(problem, attributes=(a,)).is_judgeable()]
        objective = replace(problem, attributes=tuple(problem.attributes[t] for t in known)).objective(settings.lam)
        design = replace(self.design, X=problem.X, n_classes=len(self.classes))
        theta = design.parameters(self.weights, self.shift)
        return record(design, objective, theta, tuple(self.groups[t].W for t in known), settings.l2)

    def copy(self) -> Online:
        """Copy the model, which can go on by itself: arrays are shared, since none is changed in place."""
        other = copy.copy(self)
        other.moments, other.groups = copy.copy(self.moments), [copy.copy(groups) for groups in self.groups]
        return other

    def _count(self, part: Problem) -> None:
        """Add rows to all counts of the stream."""
        self.loss_weight += float(part.weight @ part.class_weight[part.target])
        self.rows += len(part.target)
        for groups, attribute in zip(self.groups, part.attributes, strict=True):
            groups.table = groups.table + groups.cells(part, attribute.codes).totals()

    def _renew(self, settings: Settings) -> None:
        """Take over what the rows so far say about the features and the groups."""
        width = len(self.classes)
        self.design = self.moments.design(intercept=settings.fit_intercept, n_classes=width, l2=settings.l2)
        for groups in self.groups:
            groups.renew_prior()
        self.frozen = (self.rows, self.loss_weight)
        self.renewal = self.rows if self.rows < _FEW else int(self.rows * _GROWTH)

    def _model(self, part: Problem, settings: Settings) -> tuple[Design, FairObjective]:
        rows, total = self.frozen
        design = replace(self.design, X=part.X, n_classes=len(self.classes))
        weight = part.weight * part.class_weight[part.target] * (rows / (nonzero(total) * len(part.target)))
        terms = tuple(g.term(part, a.codes, rows) for g, a in zip(self.groups, part.attributes, strict=True))
        return design, FairObjective(part.target, weight, terms, settings.lam)

    def _advance(self, part: Problem, settings: Settings, batch: int) -> None:
        """Take steps through some rows in their order, with the centre, scale and prior in use."""
        design, objective = self._model(part, settings)
        n = len(part.target)
        batch = min(batch, n)
        radius = np.inf if settings.sgda.radius is None else float(settings.sgda.radius)
        loop = Loop(design, objective, l2=settings.l2, batch=batch, radius=radius, averaged=False)
        eta, eta_w = self._sizes(design, objective, settings, batch, -(-n // batch))
        state = loop.start(design.parameters(self.weights, self.shift), tuple(g.W for g in self.groups))
        loop.advance(state, np.arange(n), eta, eta_w)
        self.weights, self.shift = design.coefficients(loop.theta(state))
        for groups, W in zip(self.groups, loop.duals(state), strict=True):
            groups.W = W
        self.steps += len(eta)
        self.taken += n

    def _sizes(
        self, design: Design, objective: FairObjective, settings: Settings, batch: int, count: int
    ) -> tuple[Floats, Floats]:
        """The step sizes of the next steps.

        Without a last step to fall towards, automatic ones shrink like rows^(-2/3); θ's are smaller where λ is large.
        W is at first a mean over the rows so far, the later ones counting more, which finds its place soonest.
        """
        number = np.arange(self.steps + 1, self.steps + 1 + count)
        seen = self.taken + batch * np.arange(1, count + 1)
        fall = (1.0 + seen / (_FULL_STEPS * np.sqrt(batch))) ** -_POWER
        eta, rate = untuned(design, objective, batch)
        automatic = eta * fall / (1.0 + settings.lam / 2.0)
        # eta_w moves W as a mean does that gives new rows the weight 2 λ eta_w.
        automatic_w = np.clip(RECENT * batch / (seen + batch), rate * fall, 0.5) / (2.0 * (settings.lam or 1.0))
        return (
            sizes_of("eta_theta", settings.sgda.eta_theta, lambda step: automatic)(number),
            sizes_of("eta_w", settings.sgda.eta_w, lambda step: automatic_w)(number),
        )

    def make_room(self, classes: Sequence[Any], conditions: Sequence[Any], labels: Sequence[Sequence[str]]) -> None:
        """Make room for classes, conditions and groups never met before; what is known keeps its parameters."""
        known = self.classes
        new = {*classes} - {*known} or {*conditions} - {*self.condition_names}
        if self.groups and not new and all({*n} <= {*g.labels} for n, g in zip(labels, self.groups, strict=True)):
            return
        self.classes = sorted({*known, *classes}, key=sort_key)
        moved = positions(known, self.classes)
        if self.classes != known:
            self._add_classes(known, moved)
        old, self.condition_names = self.condition_names, sorted({*self.condition_names, *conditions}, key=sort_key)
        Z, m = len(self.condition_names), len(self.classes)
        if not self.groups:
            empty = np.zeros((len(old), 0))
            self.groups = [Groups((), empty, np.zeros((*empty.shape, len(known))), empty, empty) for _ in labels]
        for groups, names in zip(self.groups, labels, strict=True):
            merged = label_order([*groups.labels, *names])
            groups.grow(merged, positions(old, self.condition_names), Z, moved, m)

    def declare(self, labels: Sequence[str], prior: Floats | None) -> None:
        """Declare all groups, with one prior for every condition or one for each."""
        (groups,) = self.groups
        if set(labels) != set(groups.labels):
            raise bad_argument("groups", f"is {listed(labels)}", f"all groups met so far, {listed(groups.labels)}")
        groups.declared = True
        if prior is not None:
            if len(prior) not in (1, len(self.condition_names)):
                raise bad_argument("groups", f"has {len(prior)} shares each", f"one, or {len(self.condition_names)}")
            groups.given = True
            groups.prior = np.broadcast_to(prior, groups.prior.shape).copy()

    def _add_classes(self, known: list[Any], moved: list[int]) -> None:
        """Add rows for new classes, zero at first; two classes share one row, that of the second."""
        full, shift = self.weights, self.shift
        if len(known) == 2:
            full, shift = np.vstack([0.0 * full, full]), np.append(0.0 * shift, shift)
        m = len(self.classes)
        weights, intercepts = np.zeros((m, full.shape[1])), np.zeros(m)
        if known:
            weights[moved], intercepts[moved] = full, shift
        self.weights, self.shift = (weights[1:], intercepts[1:]) if m == 2 else (weights, intercepts)
        self.design = replace(self.design, n_classes=m)

    def coded(self, problem: Problem) -> Problem:
        """Translate the conditions and groups of a chunk to those of the whole stream."""
        conditions = np.append(np.array(positions(problem.condition_names, self.condition_names), dtype=np.int64), -1)
        attributes = []
        for attribute, groups in zip(problem.attributes, self.groups, strict=True):
            at = np.append(np.array(positions(attribute.labels, groups.labels), dtype=np.int64), -1)
            attributes.append(Attribute(groups.labels, at[attribute.codes]))
        return replace(
            problem,
            conditions=conditions[problem.conditions],
            condition_names=tuple(self.condition_names),
            attributes=tuple(attributes),
        )

    @classmethod
    def after(cls, fit: Fit, problem: Problem, classes: Sequence[Any], settings: Settings) -> Online:
        """A stream that goes on as if the rows of a fit had come in it."""
        design = fit.design
        assert design is not None
        model = cls(design.X.shape[1])
        model.kind, model.columns = kind_of(settings), problem.columns
        labels = [attribute.labels for attribute in problem.attributes]
        model.make_room(classes, problem.condition_names, labels)
        model._count(model.coded(problem))
        model.weights, model.shift, model.taken = fit.weights, fit.shift, model.rows
        for groups, W in zip(model.groups, fit.duals or (), strict=False):
            groups.renew_prior()
            groups.W = W
        model.moments = Moments.of(design, float((problem.weight * problem.class_weight[problem.target]).sum()))
        return model
