"""One training loop in which only the estimate of the penalty on a batch differs: rows, batches and rates do not.

FERMI is `FermiRegularizer` with W by plain ascent, as in the paper's Algorithm 1. Others are the penalties of
`fermi.baselines`. Between steps the caller may measure what he likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fermi import baselines
from fermi.baselines.common.networks import batches
from fermi.baselines.common.protocol import Rows
from fermi.torch import FermiRegularizer


@dataclass(frozen=True)
class Training:
    """The settings of a training: batch size, steps, rates and seed.

    Attributes
    ----------
    batch_size, steps : int
        Rows per step, and the number of steps.
    lr : float
        Adam's rate for the network.
    lr_w : float
        2 λ times the rate of W, whose step is a running mean that gives a batch this weight times its class's share.
    falling : bool
        Whether Adam's rate falls to zero.
    seed : int
        Of the order of rows.
    """

    batch_size: int
    steps: int
    lr: float
    lr_w: float
    falling: bool
    seed: int


class FermiPenalty(nn.Module):
    """A penalty on a batch: λ times FERMI's unbiased estimate, in the form of the other penalties."""

    def __init__(self, rows: Rows, lam: float) -> None:
        super().__init__()
        self.term = FermiRegularizer.from_labels(rows.s, n_classes=rows.n_classes, lam=lam)

    def forward(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Tensor:
        """The weighed penalty of a batch."""
        value: Tensor = self.term(logits, s)
        return value


class ScaledPenalty(nn.Module):
    """A penalty on a batch: λ times the penalty of another method."""

    def __init__(self, method: str, rows: Rows, lam: float) -> None:
        super().__init__()
        made: Any = baselines.make(method, 1.0, module=nn.Identity())
        self.penalty, self.lam = made._penalty(rows), lam

    def forward(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Tensor:
        """The weighed penalty of a batch."""
        value: Tensor = self.lam * self.penalty(logits, y, s, z)
        return value


def penalty(method: str, rows: Rows, lam: float) -> nn.Module:
    """Make the penalty of a method, λ times what it adds to the loss."""
    return FermiPenalty(rows, lam) if method == "fermi" else ScaledPenalty(method, rows, lam)


def coded(X: Any, y: Any, s: Any) -> Rows:
    """Make rows of one condition, with codes from 0."""
    return Rows(X, y, s, np.zeros_like(s), int(y.max()) + 1, int(s.max()) + 1, 1)


def train(module: nn.Module, rows: Rows, extra: nn.Module | None, how: Training, lam: float = 1.0) -> Iterator[int]:
    """Train a network step by step: yield the number of each step, so that the caller may measure and stop."""
    optimizer = torch.optim.Adam(module.parameters(), lr=how.lr)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1.0 / how.steps if how.falling else 1.0, how.steps)
    own = [] if extra is None else list(extra.parameters())
    ascent = torch.optim.SGD(own, lr=how.lr_w / (2.0 * lam)) if own else None
    X, y, s, z = (torch.as_tensor(column) for column in (rows.X, rows.y, rows.s, rows.z))
    parts = batches(len(y), how.batch_size, how.steps, np.random.default_rng(how.seed))
    for step, part in enumerate(parts, start=1):
        module.train()
        own_X, own_y, own_s, own_z = (column[part] for column in (X, y, s, z))
        logits = module(own_X)
        loss = nn.functional.cross_entropy(logits, own_y)
        if extra is not None:
            loss = loss + extra(logits, own_y, own_s, own_z)
        module.zero_grad()
        if ascent is not None:
            ascent.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        if ascent is not None:
            ascent.step()
        falling.step()
        yield step
