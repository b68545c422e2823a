"""Tensors go through the same lines as arrays."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch
from hypothesis import given

from fermi.formulas.ermi import centred, dual_gradient, dual_value, ermi, optimal_dual
from tests.formulas.samples import Law, duals, laws


@given(laws())
def test_tensors_go_through_the_same_formulas(P: Law) -> None:
    tensor = torch.from_numpy(P)
    assert float(ermi(tensor)) == pytest.approx(ermi(P), abs=1e-12)
    assert optimal_dual(tensor).numpy() == pytest.approx(optimal_dual(P), rel=1e-12)
    W = duals(P, 0)
    assert float(dual_value(torch.from_numpy(W), tensor)) == pytest.approx(dual_value(W, P), abs=1e-12)
    assert dual_gradient(torch.from_numpy(W), tensor).numpy() == pytest.approx(dual_gradient(W, P), abs=1e-12)


def test_gradients_are_finite_where_a_group_or_class_is_empty() -> None:
    P = torch.tensor([[0.2, 0.3, 0.0], [0.0, 0.0, 0.0], [0.4, 0.1, 0.0]], dtype=torch.float64, requires_grad=True)
    W = torch.ones_like(P)
    for result in (ermi(P), centred(P).sum(), optimal_dual(P).sum(), dual_value(W, P), dual_gradient(W, P).sum()):
        (gradient,) = torch.autograd.grad(result, P)
        assert torch.isfinite(gradient).all()
