"""Σ ψ of a batch: the gradient in the predictions descends, the one in W arrives reversed."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fermi.formulas.ermi import nonzero, row_costs
from fermi.torch.cells import BatchCells


def saddle(F: Tensor, W: Tensor, prior: Tensor, cells: BatchCells, weight: Tensor | None = None) -> Tensor:
    """The sum Σ weight_i (F_i · C[z_i, s_i] − 1) over the rows that count, C the class costs of W (corollary 1).

    Parameters
    ----------
    F : n × m
        Predicted probabilities.
    W : Z × k × m
        The adversary.
    prior : Z × k
        p(s|z).
    cells
        Where each row belongs.
    weight : (n,) numbers, optional
        1 by default.
    """
    z, cell, counted = cells
    share = counted.to(F.dtype) if weight is None else torch.where(counted, weight.to(F.dtype), 0.0)
    total: Tensor = _Saddle.apply(F, W, prior, z, cell, share)
    return total


class _Saddle(torch.autograd.Function):
    """A gradient written out because W may be large: autograd would pass over it a dozen times, this does so twice."""

    @staticmethod
    def forward(ctx: Any, F: Tensor, W: Tensor, prior: Tensor, z: Tensor, cell: Tensor, share: Tensor) -> Tensor:
        p = prior.flatten()[cell, None]
        costs = _costs(W, p, z, cell)
        ctx.save_for_backward(F, W, p, z, cell, share, costs)
        total: Tensor = (((F * costs).sum(1) - 1.0) * share).sum()
        return total

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient in F is C; the gradient in W is `formulas.ermi.dual_gradient` with its sign turned."""
        F, W, p, z, cell, share, costs = ctx.saved_tensors
        if torch.is_grad_enabled():  # for a second derivative
            costs = _costs(W, p, z, cell)
        share = upstream * share
        sums = (share @ F)[None] if len(W) == 1 else F.new_zeros(len(W), F.shape[1]).index_add(0, z, F * share[:, None])
        ascent = W * (2.0 * sums[:, None])
        ascent.view(-1, F.shape[1]).index_add_(0, cell, F * (-2.0 * share[:, None] / nonzero(p) ** 0.5))
        return costs * share[:, None], ascent, None, None, None, None


def _costs(W: Tensor, p: Tensor, z: Tensor, cell: Tensor) -> Tensor:
    """The class costs C of each row."""
    norms = (W * W).sum(1)
    costs: Tensor = row_costs(W.flatten(0, 1).index_select(0, cell), p, norms if len(W) == 1 else norms[z])
    return costs
