"""The objective: unbiased batches, exact gradients, the right optimum of W."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fermi
from fermi import Contingency
from fermi.fitting.objective import FairObjective, Term
from fermi.formulas.ermi import class_costs, tilt
from fermi.inputs.cells import Cells
from fermi.notions import as_notion
from tests.min_max import saddle_value

Floats = NDArray[np.float64]
NOTIONS: list[Any] = ["demographic_parity", "equalized_odds", fermi.EqualOpportunity({1, 2}), "conditional"]
N, CLASSES, GROUPS = 240, 3, 4


class Problem:
    """Random rows with missing groups and weights under a notion, and a random point (θ, W)."""

    def __init__(self, notion: Any, seed: int = 0, terms: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.notion = fermi.ConditionalParity(rng.integers(0, 2, N)) if notion == "conditional" else notion
        self.y = rng.integers(0, CLASSES, N)
        self.weight = rng.random(N) + 0.1
        conditions = as_notion(self.notion).conditions(self.y, N)
        self.z = conditions.dense()
        self.Z = len(conditions.values_of)
        self.groups = [rng.integers(-1, GROUPS, N) for _ in range(terms)]
        self.logits: Floats = rng.standard_normal((N, CLASSES))
        self.terms = tuple(Term.of(Cells.of(self.z, s, (self.Z, GROUPS), self.weight)) for s in self.groups)
        self.duals = tuple(rng.standard_normal((self.Z, GROUPS, CLASSES)) for _ in range(terms))
        self.lam = 2.5
        self.objective = FairObjective(self.y, self.weight / self.weight.sum(), self.terms, self.lam)

    @property
    def F(self) -> Floats:
        e = np.exp(self.logits)
        law: Floats = e / e.sum(axis=1, keepdims=True)
        return law

    def contingency(self, term: int) -> Contingency:
        s = [None if code < 0 else f"g{code}" for code in self.groups[term]]
        return Contingency.from_predictions(
            self.F, s, y_true=self.y, notion=self.notion, sample_weight=self.weight, classes=range(CLASSES)
        )


def problems() -> list[Any]:
    return [pytest.param(notion, terms, id=f"{notion}-{terms}") for notion in NOTIONS for terms in (1, 2)]


@pytest.mark.parametrize(("notion", "terms"), problems())
def test_the_objective_is_the_loss_plus_the_measured_ermi(notion: Any, terms: int) -> None:
    p = Problem(notion, terms=terms)
    value = p.objective.evaluate(p.logits)
    loss = -np.average(np.log(p.F[np.arange(N), p.y]), weights=p.weight)
    assert value.loss == pytest.approx(loss, rel=1e-12)
    assert value.ermi == pytest.approx(sum(fermi.ermi(p.contingency(t)) for t in range(terms)), rel=1e-10)
    assert value.objective == pytest.approx(value.loss + p.lam * value.ermi, rel=1e-14)
    again, _ = p.objective.value_and_gradient(p.logits)
    assert again == pytest.approx(value)


@pytest.mark.parametrize(("notion", "terms"), problems())
def test_the_saddle_value_touches_the_objective_at_the_optimal_dual(notion: Any, terms: int) -> None:
    p = Problem(notion, terms=terms)
    best = p.objective.optimal_duals(p.logits)
    top = p.objective.evaluate(p.logits).objective
    assert saddle_value(p.objective, p.logits, best) == pytest.approx(top, abs=1e-12)
    assert saddle_value(p.objective, p.logits, p.duals) < top
    assert best[0] == pytest.approx(fermi.optimal_dual(p.contingency(0)), rel=1e-9)


@pytest.mark.parametrize(("notion", "terms"), problems())
def test_gradients_agree_with_finite_differences(notion: Any, terms: int) -> None:
    p = Problem(notion, terms=terms)
    _, full = p.objective.value_and_gradient(p.logits)
    saddle = p.objective.saddle_gradient(p.logits, p.duals)
    rng = np.random.default_rng(1)
    for _ in range(20):
        direction, step = rng.standard_normal(p.logits.shape), 1e-5
        ahead, behind = p.logits + step * direction, p.logits - step * direction
        slope = (p.objective.evaluate(ahead).objective - p.objective.evaluate(behind).objective) / (2 * step)
        assert (full * direction).sum() == pytest.approx(slope, abs=1e-6)
        slope = (saddle_value(p.objective, ahead, p.duals) - saddle_value(p.objective, behind, p.duals)) / (2 * step)
        assert (saddle * direction).sum() == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize(("notion", "terms"), problems())
def test_single_rows_are_unbiased(notion: Any, terms: int) -> None:
    """The mean of the n single-row estimates of ∇F(θ, W) is the full gradient, in θ and in W, to 1e-12.

    A single row knows the prior and the weight of all rows that count, and nothing else of the rest.
    """
    p = Problem(notion, terms=terms)
    loss_part = np.zeros_like(p.logits)
    estimates = np.zeros_like(p.logits)
    for i in range(N):
        F = p.F[i]
        loss_part[i] = N * p.weight[i] / p.weight.sum() * (F - np.eye(CLASSES)[p.y[i]])
        estimates[i] = loss_part[i]
        for term, W, s in zip(p.terms, p.duals, p.groups, strict=True):
            z, group = p.z[i], s[i]
            if z < 0 or group < 0:
                continue
            counted = p.weight[(p.z >= 0) & (s >= 0)].sum()
            C = class_costs(W[z], term.prior[z])[group]
            estimates[i] += p.lam * N * p.weight[i] / counted * tilt(F[None], C[None])[0]
    full = p.objective.saddle_gradient(p.logits, p.duals)
    assert estimates / N == pytest.approx(full, abs=1e-12)
    for term, W, s in zip(p.terms, p.duals, p.groups, strict=True):
        laws = term.laws(p.F)
        ascent = np.zeros_like(W)
        for i in range(N):
            z, group = p.z[i], s[i]
            if z < 0 or group < 0:
                continue
            row = -2.0 * W[z] * p.F[i]
            row[group] += 2.0 * p.F[i] / np.sqrt(term.prior[z, group])
            ascent[z] += N * term.share[i] * row / N
        exact = [
            2.0 * w * (P / np.sqrt(P.sum(1))[:, None] - V * P.sum(0)) for w, P, V in zip(term.p_z, laws, W, strict=True)
        ]
        assert ascent == pytest.approx(np.array(exact), abs=1e-12)


def test_integer_weights_equal_repeated_rows() -> None:
    p = Problem("equalized_odds")
    counts = np.random.default_rng(2).integers(0, 4, N)
    weighted = FairObjective(
        p.y, counts / counts.sum(), (Term.of(Cells.of(p.z, p.groups[0], (p.Z, GROUPS), counts.astype(float))),), 1.5
    )
    rows = np.repeat(np.arange(N), counts)
    ones = np.ones(len(rows))
    term = Term.of(Cells.of(p.z[rows], p.groups[0][rows], (p.Z, GROUPS), ones))
    repeated = FairObjective(p.y[rows], ones / len(rows), (term,), 1.5)
    assert weighted.evaluate(p.logits) == pytest.approx(repeated.evaluate(p.logits[rows]), rel=1e-12)


def test_without_lambda_the_gradient_is_the_loss_s() -> None:
    p = Problem("demographic_parity")
    plain = FairObjective(p.y, p.objective.weight, p.terms, 0.0)
    _, gradient = plain.value_and_gradient(p.logits)
    expected = p.objective.weight[:, None] * (p.F - np.eye(CLASSES)[p.y])
    assert gradient == pytest.approx(expected, abs=1e-15)


def test_large_logits_do_not_overflow() -> None:
    p = Problem("demographic_parity")
    value, gradient = p.objective.value_and_gradient(1e4 * p.logits)
    assert np.isfinite(value).all()
    assert np.isfinite(gradient).all()


def test_no_row_that_counts_is_refused() -> None:
    with pytest.raises(fermi.FermiError, match="`sensitive_features` is unknown in every row that the notion compares"):
        Term.of(Cells.of(np.array([0, -1]), np.array([-1, 0]), (1, 1), np.ones(2)))
