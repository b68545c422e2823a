"""Σ ψ of a batch: the gradient in the predictions descends, the one in W arrives reversed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fermi.formulas.ermi import nonzero, row_costs


def saddle(
    F: Tensor, W: Tensor, prior: Tensor, condition: Tensor, sensitive: Tensor, weight: Tensor | None = None
) -> Tensor:
    """Σ weight_i (F_i · C[z_i, s_i] − 1) over the rows that count, C the class costs of W (corollary 1).

    Parameters
    ----------
    F : n × m
        Predicted probabilities.
    W : Z × k × m
        The adversary.
    prior : Z × k
        p(s|z).
    condition, sensitive : (n,) whole numbers
        The codes of each row, -1 where it does not count.
    weight : (n,) numbers, optional
        1 by default.
    """
    counted = (sensitive >= 0) & (condition >= 0)
    z = torch.where(counted, condition, 0)
    cell = torch.where(counted, condition * W.shape[1] + sensitive, 0)
    share = counted.to(F.dtype) if weight is None else torch.where(counted, weight.to(F.dtype), 0.0)
    total: Tensor = _Saddle.apply(F, W, prior, z, cell, share)
    return total


class _Saddle(torch.autograd.Function):
    """Written out because W may be large: autograd would pass over all of it a dozen times, this does it twice."""

    @staticmethod
    def forward(ctx: Any, F: Tensor, W: Tensor, prior: Tensor, z: Tensor, cell: Tensor, share: Tensor) -> Tensor:
        p = prior.flatten()[cell, None]
        costs = row_costs(W.flatten(0, 1).index_select(0, cell), p, (W * W).sum(1).index_select(0, z))
        ctx.save_for_backward(F, W, p, z, cell, share, costs)
        total: Tensor = (((F * costs).sum(1) - 1.0) * share).sum()
        return total

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient in F is C; the one in W is that of `formulas.ermi.dual_gradient`, with its sign turned."""
        F, W, p, z, cell, share, costs = ctx.saved_tensors
        share = (upstream * share)[:, None]
        F = F * (2.0 * share)
        sums = F.new_zeros(W.shape[0], W.shape[2]).index_add(0, z, F)
        ascent = W * sums[:, None]
        ascent.view(-1, W.shape[2]).index_add_(0, cell, F / nonzero(p) ** 0.5, alpha=-1)
        return costs * share, ascent, None, None, None, None
