"""Mitigating unwanted biases with adversarial learning (Zhang, Lemoine and Mitchell 2018).

An adversary predicts the group from the prediction, and from the label too for equalized odds; for equal opportunity it
sees the advantaged rows alone. The classifier steps along ∇L_P − proj_{∇L_A} ∇L_P − α ∇L_A: the projection keeps it
from helping the adversary, the last term hurts it. Both step at once. The adversary is that of the paper's experiments,
for any classes and groups: a linear model of the probabilities sharpened by a factor 1 + |c|, which it learns, with
weights of its own for each label. `strength` is α; since the projection is there for any α, the least strength above 0
already changes the model. With two classes and one row per batch both gradients have one direction, and the projection
leaves nothing of the loss: the method needs larger batches. The projection is not linear in the batch, so the gradients
are biased; nothing is proved for networks.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fermi.baselines.common.networks import TorchBaseline, WithinConditions, cross_entropy, probabilities
from fermi.baselines.common.protocol import Capabilities, Rows
from fermi.formulas.ermi import nonzero


class Zhang(TorchBaseline):
    """A network trained against an adversary that looks for the group in what it predicts.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; `strength` sets the weight of the penalty, on a scale of equal factors.
    module, batch_size, steps, lr
        The network, the rows per step, the number of steps and Adam's rate, as in `TorchBaseline`.
    """

    capabilities = Capabilities(
        nonbinary_target=True,
        nonbinary_attribute=True,
        beyond_logistic=True,
        stochastic=True,
        unknown_attribute=True,
        adversarial=True,
    )
    weights = (0.01, 3.0)
    penalty_lr = 20.0  # the adversary must follow

    def _penalty(self, rows: Rows) -> nn.Module:
        return Adversary(rows)

    def _backward(self, loss: Tensor, extra: Tensor, weight: Any, trained: list[Any], own: list[Any]) -> None:
        """Set the gradients: the paper's update for the network, ∇L_A for the adversary."""
        every = torch.autograd.grad(extra.sum(), [*own, *trained], retain_graph=True, allow_unused=True)
        loss.sum().backward()
        for parameter, gradient in zip(own, every, strict=False):
            parameter.grad = gradient
        pairs = [
            (p, a) for p, a in zip(trained, every[len(own) :], strict=True) if a is not None and p.grad is not None
        ]
        if not pairs:
            return
        first = extra.dim()  # of the axes of a parameter that are within a network: the one before counts networks
        length = nonzero(torch.stack([a.flatten(first).norm(dim=-1) for _, a in pairs]).norm(dim=0))
        along = sum((p.grad * a).flatten(first).sum(-1) / length for p, a in pairs) / length  # ∇L_P in units of ∇L_A
        for p, a in pairs:
            p.grad -= (along + weight).reshape(*extra.shape, *[1] * (p.dim() - first)) * a


class Adversary(WithinConditions):
    """The loss L_A of an adversary: its cross-entropy when it predicts the group."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self.sharper = nn.Parameter(torch.ones(()))
        self.slope = nn.Parameter(torch.zeros(self.n_conditions, self.n_classes, self.n_groups))
        self.start = nn.Parameter(torch.zeros(self.n_conditions, self.n_groups))

    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The adversary's cross-entropy among the rows of one condition."""
        seen = probabilities((1.0 + self.sharper.abs())[..., None, None] * logits).to(self.slope.dtype)
        return cross_entropy(seen @ self.slope[..., z, :, :] + self.start[..., z, None, :], s)
