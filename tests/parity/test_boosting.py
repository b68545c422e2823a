"""The gradient that the boosters get is that of the objective, and autograd's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")

import torch

import fermi
from fermi.boosting import objective
from tests.boosting.samples import NOTIONS, differences, drawn


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("m", "k"), [(2, 2), (2, 5), (3, 2), (3, 4), (4, 3)])
def test_the_gradient_is_that_of_the_objective(m: int, k: int, notion: str) -> None:
    fair, scores = drawn(m, k, notion)
    gradient, hessian = fair.lightgbm(scores)
    total = fair._total
    found = differences(lambda x: fair.evaluate(x).objective, scores, 1e-5).reshape(scores.shape)
    assert gradient / total == pytest.approx(found, abs=1e-6 / total)
    assert gradient == pytest.approx(fair.xgboost(scores)[0])
    assert (hessian > 0).all()
    logits = np.column_stack([np.zeros(len(scores)), scores]) if m == 2 else scores
    value, exact = fair._fair.value_and_gradient(logits)
    assert gradient == pytest.approx(total * (exact[:, 1] if m == 2 else exact), abs=1e-12)
    assert fair.derivatives(scores, 1.0).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("m", "k"), [(2, 2), (2, 5), (3, 4), (4, 3)])
def test_the_gradient_is_autograds(m: int, k: int, notion: str) -> None:
    rng = np.random.default_rng(m + k)
    n = 90
    y, s, weight = rng.integers(0, m, n), rng.integers(-1, k, n), rng.random(n) + 0.2
    rated, z = rng.integers(0, 3, n), {"equalized_odds": y, "equal_opportunity": np.where(y == m - 1, 0, -1)}
    z |= {"demographic_parity": np.zeros(n, int), "conditional": rated}
    chosen: Any = {"conditional": fermi.ConditionalParity(rated), "equal_opportunity": fermi.EqualOpportunity([m - 1])}
    groups = [None if group < 0 else int(group) for group in s]
    fair = objective(groups, y, notion=chosen.get(notion, notion), lam=3.0, sample_weight=weight)
    scores = rng.standard_normal(n if m == 2 else (n, m))
    x = torch.tensor(scores, requires_grad=True)
    phi = phi_of_its_definition(x, y, torch.tensor(s), torch.tensor(z[notion]), torch.tensor(weight), 3.0)
    (gradient,) = torch.autograd.grad(phi, x)
    assert fair.evaluate(scores).objective == pytest.approx(phi.item())
    assert fair.xgboost(scores)[0] / weight.sum() == pytest.approx(gradient.numpy(), abs=1e-12)


def phi_of_its_definition(x: torch.Tensor, y: Any, s: Any, z: Any, weight: torch.Tensor, lam: float) -> torch.Tensor:
    """Mean cross-entropy + λ E_z Σ P²/(p_s p_y) − 1, over the rows whose group and condition are known."""
    logits = torch.stack([torch.zeros_like(x), x], dim=1) if x.ndim == 1 else x
    losses = torch.nn.functional.cross_entropy(logits, torch.tensor(y), reduction="none")
    phi = (weight * losses).sum() / weight.sum()
    counted = (s >= 0) & (z >= 0)
    for value in z[counted].unique():
        inside = counted & (z == value)
        rows = [(weight * (inside & (s == group)))[:, None] * logits.softmax(1) for group in s[inside].unique()]
        P = torch.stack([row.sum(0) for row in rows]) / weight[inside].sum()
        ermi = (P**2 / P.sum(1, keepdim=True) / P.sum(0)).sum() - 1.0
        phi = phi + lam * weight[inside].sum() / weight[counted].sum() * ermi
    return phi
