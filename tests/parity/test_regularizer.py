"""The regularizer is the mathematics of the linear solvers."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from torch import nn

import fermi
from fermi.fitting.objective import FairObjective, Term
from fermi.inputs.cells import Cells
from fermi.notions import as_notion
from fermi.torch import FermiRegularizer
from tests.min_max import saddle_value
from tests.torch.samples import NOTIONS, batch


@pytest.mark.parametrize("notion", NOTIONS)
def test_value_and_gradients_are_those_of_the_linear_solvers(notion: str) -> None:
    logits, s, y = batch()
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, lam=2.5, notion=notion)
    with torch.no_grad():
        reg.W.copy_(torch.randn(reg.W.shape, generator=torch.Generator().manual_seed(0)))
    conditions = as_notion(notion).conditions(y, len(y))
    term = Term.of(Cells.of(conditions.dense(), s, (len(conditions.values_of), 4), np.ones(len(y))))
    assert reg.group_prior.numpy() == pytest.approx(term.prior, rel=1e-6)
    assert float(reg.known) == pytest.approx((term.cells >= 0).mean())
    reg.double().group_prior.copy_(torch.tensor(term.prior))
    objective = FairObjective(y, np.full(len(y), 1.0 / len(y)), (term,), 2.5)
    W = reg.W.detach().double().numpy()
    x = torch.tensor(logits, requires_grad=True)
    loss = reg(x, torch.tensor(s), torch.tensor(y))
    loss.backward()
    value = saddle_value(objective, logits, (W,)) - objective.evaluate(logits).loss
    assert loss.item() == pytest.approx(value, rel=1e-6)
    slope = objective.saddle_gradient(logits, (W,)) - objective._loss_gradient(objective._predict(logits)[0])
    assert x.grad is not None
    assert x.grad.numpy() == pytest.approx(slope, abs=1e-6)
    laws = term.laws(objective._predict(logits)[0])
    ascent = [p * fermi.formulas.ermi.dual_gradient(w, P) for p, w, P in zip(term.p_z, W, laws, strict=True)]
    assert reg.W.grad is not None
    assert reg.W.grad.numpy() == pytest.approx(-2.5 * np.stack(ascent), abs=1e-6)  # reversed


@pytest.mark.parametrize("notion", NOTIONS)
def test_single_rows_average_to_the_whole(notion: str) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()
    x = torch.randn(40, 5, dtype=torch.float64)
    _, s, y = (torch.tensor(part) for part in batch(40))
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion=notion)
    with torch.no_grad():
        reg.W.normal_()
    parameters = [*net.parameters(), reg.W]
    whole = torch.autograd.grad(reg(net(x), s, y), parameters)
    rows = [torch.autograd.grad(reg(net(x[i : i + 1]), s[i : i + 1], y[i : i + 1]), parameters) for i in range(40)]
    for total, parts in zip(whole, zip(*rows, strict=True), strict=True):
        assert torch.stack(parts).mean(0).numpy() == pytest.approx(total.numpy(), abs=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning")
def test_compilation_breaks_no_graph_and_changes_no_gradient() -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion="equalized_odds", lam=2.0)
    with torch.no_grad():
        reg.W.normal_()
    logits = logits.float().requires_grad_()
    compiled = torch.compile(reg, fullgraph=True, backend="aot_eager")
    value, value_compiled = reg(logits, s, y), compiled(logits, s, y)
    assert value_compiled.item() == pytest.approx(value.item(), rel=1e-6)
    slopes = torch.autograd.grad(value, [logits, reg.W])
    for slope, slope_compiled in zip(slopes, torch.autograd.grad(value_compiled, [logits, reg.W]), strict=True):
        assert slope_compiled.numpy() == pytest.approx(slope.numpy(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*autograd.function.Function.* should not be instantiated:DeprecationWarning")
def test_compilation_breaks_no_graph_where_w_is_projected() -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    plain = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion="equalized_odds", radius=0.5)
    with torch.no_grad():
        plain.W.normal_()
    twin = copy.deepcopy(plain)
    logits = logits.float().requires_grad_()
    compiled = torch.compile(twin, fullgraph=True, backend="aot_eager")
    value, value_compiled = plain(logits, s, y), compiled(logits, s, y)
    assert twin.W.detach().norm().item() == pytest.approx(0.5, rel=1e-5)
    assert value_compiled.item() == pytest.approx(value.item(), rel=1e-6)
    slopes = zip(
        torch.autograd.grad(value, [logits, plain.W]),
        torch.autograd.grad(value_compiled, [logits, twin.W]),
        strict=True,
    )
    for slope, slope_compiled in slopes:
        assert slope_compiled.numpy() == pytest.approx(slope.numpy(), abs=1e-6)


@pytest.mark.parametrize("notion", NOTIONS)
def test_second_derivatives_are_those_of_the_formula(notion: str) -> None:
    logits, s, y = (torch.tensor(part) for part in batch())
    reg = FermiRegularizer.from_labels(s, y, n_classes=3, n_groups=4, notion=notion).double()
    with torch.no_grad():
        reg.W.normal_()
    logits.requires_grad_()
    z = torch.tensor(as_notion(notion).conditions(y.numpy(), len(y)).dense())
    counted = (s >= 0) & (z >= 0)
    prior, F = reg.group_prior[z, s][:, None], logits.softmax(-1)
    psi = (F * (2 * reg.W[z, s] / prior**0.5 - (reg.W**2).sum(1)[z])).sum(1) - 1
    plain = psi[counted].sum() / (len(y) * reg.known)
    direction = torch.randn(logits.shape, dtype=torch.float64)
    for one, two in zip(
        *(_second(value, logits, reg.W, direction) for value in (plain, reg(logits, s, y))), strict=True
    ):
        assert two.numpy() == pytest.approx(one.numpy(), abs=1e-7)


def _second(value: torch.Tensor, logits: torch.Tensor, W: torch.Tensor, direction: torch.Tensor) -> Any:
    slope = torch.autograd.grad(value, logits, create_graph=True)[0]
    return torch.autograd.grad((slope * direction).sum(), [logits, W])
