"""Weights of conditions mean the same to every trainer: Σ w_z p(z) D_R(z) / Σ w_z p(z), with the gradient of that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fermi
from fermi import ConditionalParity, EqualizedOdds, EqualOpportunity
from fermi.boosting import objective
from fermi.fitting.problem import Problem, Source, read_problem
from fermi.linear.stream import Groups
from tests.boosting.samples import differences

N, CLASSES, GROUPS, LAM = 150, 3, 3, 2.5
RATED = np.random.default_rng(5).choice(["x", "y", "z"], N, p=[0.7, 0.2, 0.1])
GIVEN: list[Any] = [
    EqualizedOdds("balanced"),
    EqualizedOdds({1: 7.5}),
    EqualOpportunity({0, 2}, "balanced"),
    EqualOpportunity({0, 2}, {0: 1e-3, 2: 2.0}),
    ConditionalParity(RATED, weights="balanced"),
    ConditionalParity(RATED, within=["x", "z"], weights={"z": 4.0}),
]


class Sample:
    """Random rows with weights, some of unknown group, labels and groups far from even; and logits for them."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.y = rng.choice(CLASSES, N, p=[0.6, 0.3, 0.1])
        self.codes = rng.choice([-1, 0, 1, 2], N, p=[0.1, 0.5, 0.3, 0.1])
        self.s = np.array([None if code < 0 else f"g{code}" for code in self.codes], dtype=object)
        self.weight = rng.random(N) + 0.2
        self.logits = rng.standard_normal((N, CLASSES))

    def problem(self, notion: Any) -> Problem:
        source = Source(None, self.y, self.s, self.weight)
        return read_problem(
            source, np.empty((N, 0)), self.y, self.y, range(CLASSES), None, notion, "intersection"
        )  # fmt: skip

    def weighed_ermi(self, notion: Any, logits: Any) -> float:
        """The definition, from the measure of each condition by itself."""
        F = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        z = RATED if isinstance(notion, ConditionalParity) else self.y
        names = {"x", "z"} if getattr(notion, "within", None) else {*z.tolist()}
        names = set(getattr(notion, "advantaged", None) or names)
        total = weights = 0.0
        for name in names:
            inside = z == name
            p = self.weight[inside & (self.codes >= 0)].sum()
            w = 1.0 / p if notion.weights == "balanced" else notion.weights.get(name, 1.0)
            measured = fermi.ermi(F[inside], self.s[inside], sample_weight=self.weight[inside], classes=range(CLASSES))
            total, weights = total + w * p * measured, weights + w * p
        return total / weights


@pytest.mark.parametrize("notion", GIVEN, ids=repr)
def test_the_term_is_the_weighed_mean_of_the_measures_of_its_conditions(notion: Any) -> None:
    sample = Sample()
    fair = sample.problem(notion).objective(LAM)
    assert fair.evaluate(sample.logits).ermi == pytest.approx(sample.weighed_ermi(notion, sample.logits), rel=1e-10)
    assert fair.terms[0].p_z.sum() == pytest.approx(1.0)
    _, gradient = fair.value_and_gradient(sample.logits)
    found = differences(lambda x: fair.evaluate(x.reshape(N, CLASSES)).objective, sample.logits, 1e-5)
    assert gradient.ravel() == pytest.approx(found.ravel(), abs=1e-8)


@pytest.mark.parametrize("notion", GIVEN, ids=repr)
def test_boosters_get_the_same_gradient(notion: Any) -> None:
    sample = Sample()
    fair = objective(sample.s, sample.y, notion=notion, lam=LAM, sample_weight=sample.weight)
    value, exact = sample.problem(notion).objective(LAM).value_and_gradient(sample.logits)
    assert fair.evaluate(sample.logits) == pytest.approx(value, rel=1e-12)
    assert fair.lightgbm(sample.logits)[0] == pytest.approx(sample.weight.sum() * exact, abs=1e-10)


@pytest.mark.parametrize("notion", GIVEN[:4], ids=repr)
def test_the_regularizer_of_torch_has_the_same_value_and_gradients(notion: Any) -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    from fermi.torch import FermiRegularizer

    sample = Sample()
    fair = sample.problem(notion).objective(LAM)
    weight = torch.tensor(sample.weight * N / sample.weight.sum())
    rows = torch.tensor(sample.codes), torch.tensor(sample.y)
    reg = FermiRegularizer.from_labels(*rows, n_classes=CLASSES, notion=notion, lam=LAM, weight=weight).double()
    (W,) = fair.optimal_duals(sample.logits)
    with torch.no_grad():
        reg.W.copy_(torch.tensor(W))
    x = torch.tensor(sample.logits, requires_grad=True)
    loss = reg(x, *rows, weight)
    loss.backward()
    value, exact = fair.value_and_gradient(sample.logits)
    assert loss.item() == pytest.approx(LAM * value.ermi, abs=1e-6)
    slope = exact - fair._loss_gradient(fair.predictions(sample.logits))
    assert x.grad.numpy() == pytest.approx(slope, abs=1e-7)
    assert reg.W.grad is not None
    assert reg.W.grad.numpy() == pytest.approx(np.zeros_like(W), abs=1e-6)  # W is at its optimum
    again = FermiRegularizer(CLASSES, GROUPS, notion=notion, lam=LAM).double()
    with pytest.raises(fermi.FermiError, match=r"`notion` has weights, but no rows were counted; expected from_labels"):
        again(x, *rows, weight)
    again.load_state_dict(reg.state_dict())
    assert again(x, *rows, weight).item() == pytest.approx(loss.item())


@pytest.mark.parametrize("notion", GIVEN[:4], ids=repr)
def test_a_stream_that_has_seen_all_rows_has_the_same_term(notion: Any) -> None:
    sample = Sample()
    problem = sample.problem(notion)
    (attribute,), Z = problem.attributes, problem.n_conditions
    empty = np.zeros((Z, GROUPS))
    groups = Groups(attribute.labels, empty, np.zeros((Z, GROUPS, CLASSES)), empty, empty)
    groups.table = groups.cells(problem, attribute.codes).totals()
    groups.renew_prior()
    found, whole = groups.term(problem, attribute.codes, N), problem.objective(LAM).terms[0]
    assert found.share == pytest.approx(whole.share, rel=1e-12)
    assert found.p_z == pytest.approx(whole.p_z, rel=1e-12)
    assert found.prior == pytest.approx(whole.prior, rel=1e-12)
