"""Populations whose law is known, and the best error that any blind rule reaches in them, by a linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, identity, kron

from fermi._typing import Floats, Ints
from fermi.decisions.judged import JudgedRows
from fermi.decisions.requirements import Requirements
from fermi.inputs.cells import Cells

NOTIONS = ("demographic_parity", "equalized_odds", "equal_opportunity")


@dataclass(frozen=True, eq=False)
class Population:
    """A law over points x: p(x), p(y | x) and p(s | x, y) of each attribute; attributes are independent given both."""

    point: Floats
    outcome: Floats
    groups: tuple[Floats, ...]

    @property
    def n_classes(self) -> int:
        return int(self.outcome.shape[1])

    def conditions(self, notion: str) -> Ints:
        """The condition of each class, -1 outside 𝒵."""
        m = self.n_classes
        if notion == "demographic_parity":
            return np.zeros(m, dtype=np.int64)
        if notion == "equalized_odds":
            return np.arange(m)
        return np.where(np.arange(m) == m - 1, 0, -1)

    def cell_laws(self, notion: str) -> list[Floats]:
        """p(c, s | x) of each attribute, points × conditions × groups."""
        conditions = self.conditions(notion)
        found = []
        for group in self.groups:
            law = np.zeros((len(self.point), conditions.max() + 1, group.shape[2]))
            for y, z in enumerate(conditions):
                if z >= 0:
                    law[:, z] += self.outcome[:, y, None] * group[:, y]
            found.append(law)
        return found

    def rows(self, notion: str) -> JudgedRows:
        """Every combination of point, class and groups as a row, weighed by its probability; models are exact."""
        n, m = self.outcome.shape
        sizes = [group.shape[2] for group in self.groups]
        joint = (self.point[:, None] * self.outcome).reshape(n, m, *(1 for _ in sizes))
        for a, group in enumerate(self.groups):
            joint = joint * group.reshape(n, m, *(size if b == a else 1 for b, size in enumerate(sizes)))
        x, y, *codes = (np.ravel(part) for part in np.indices(joint.shape))
        weight = joint.ravel()
        conditions = self.conditions(notion)
        cells = tuple(
            Cells.of(conditions[y], code, (int(conditions.max()) + 1, size), weight)
            for code, size in zip(codes, sizes, strict=True)
        )
        q = tuple(law.reshape(n, -1)[x] for law in self.cell_laws(notion))
        return JudgedRows(self.outcome[x], q, y, cells, weight, self.outcome.argmax(axis=1)[x])


def population(n_classes: int, sizes: tuple[int, ...], seed: int, n: int = 1500, bias: float = 1.0) -> Population:
    """A smooth law over a grid of a plane, in which groups differ in where they are and in what becomes of them."""
    rng = np.random.default_rng(seed)
    side = int(np.sqrt(n))
    first, second = (part.ravel() for part in np.meshgrid(np.linspace(-2, 2, side), np.linspace(-2, 2, n // side)))
    features = np.column_stack([first, second, first * second, np.sin(2.0 * first), np.ones(len(first))])
    outcome = _softmax(features @ rng.normal(0.0, 0.9, (5, n_classes)))
    groups = []
    for size in sizes:
        logits = (features @ rng.normal(0.0, 0.5 * bias, (5, size)))[:, None] + rng.normal(0, bias, (n_classes, size))
        groups.append(_softmax(logits))
    point = np.exp(-0.25 * (first**2 + second**2)) * rng.uniform(0.5, 1.5, len(first))
    return Population(point / point.sum(), outcome, tuple(groups))


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def best_error(law: Population, notion: str, asked: Requirements, costs: Floats | None = None) -> float:
    """The least error of any rule that sees x alone and may draw its label, and keeps what is asked."""
    n, m = law.outcome.shape
    table = 1.0 - np.eye(m) if costs is None else costs
    program = _Limits(n, m)
    for cell_law in law.cell_laws(notion):
        joint = law.point[:, None, None] * cell_law
        for z in range(joint.shape[1]):
            _within_condition(program, joint[:, z] / joint[:, z].sum(axis=0), asked)
    low, high = asked.selection_rate
    program.add(program.rate(law.point, m - 1), high)
    program.add(-program.rate(law.point, m - 1), -low)
    return program.least((law.point[:, None] * (law.outcome @ table)).ravel())


def _within_condition(program: _Limits, given: Floats, asked: Requirements) -> None:
    """Limits on the rates of one condition, with p(x | group) in the columns of `given`."""
    last = program.m - 1
    pairs = [(s, r) for s in range(given.shape[1]) for r in range(given.shape[1]) if s != r]
    for s, r in pairs:
        if asked.max_violation is not None:
            for j in range(program.m):
                program.add(program.rate(given[:, s] - given[:, r], j), asked.max_violation)
        if asked.min_ratio is not None:
            program.add(program.rate(asked.min_ratio * given[:, s] - given[:, r], last), 0.0)
    if asked.min_rate is not None:
        for s in range(given.shape[1]):
            program.add(-program.rate(given[:, s], last), -asked.min_rate)


class _Limits:
    """Limits on the chances h(x, j) of labels, one after the other."""

    def __init__(self, n: int, m: int) -> None:
        self.n, self.m = n, m
        self.lines: list[Floats] = []
        self.bounds: list[float] = []

    def rate(self, weight: Floats, j: int) -> Floats:
        """What of h is the rate of class j among points with these weights."""
        line = np.zeros((self.n, self.m))
        line[:, j] = weight
        return line.ravel()

    def add(self, line: Floats, bound: float) -> None:
        self.lines.append(line)
        self.bounds.append(bound)

    def least(self, cost: Floats) -> float:
        limits: Any = csr_matrix(np.array(self.lines))
        one_label: Any = kron(identity(self.n), np.ones((1, self.m)), format="csr")
        found = linprog(cost, limits, self.bounds, one_label, np.ones(self.n), method="highs")
        assert found.fun is not None, found.message
        return float(found.fun)


def with_rare_group(law: Population, share: float) -> Population:
    """The same law, but for the last group of the first attribute, which is so many times as likely."""
    group = law.groups[0].copy()
    group[:, :, -1] *= share
    return Population(law.point, law.outcome, (group / group.sum(axis=2, keepdims=True), *law.groups[1:]))
