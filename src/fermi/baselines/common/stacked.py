"""Several linear networks on the same rows: one product of matrices per step for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fermi.baselines.common.protocol import Rows


class Stack(nn.Module):
    """Copies of a linear network with the same first weights, from rows to logits: networks × rows × classes."""

    def __init__(self, first: Any, count: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(first.weight.detach().repeat(count, 1, 1))
        self.bias = nn.Parameter(first.bias.detach().repeat(count, 1))

    def forward(self, X: Tensor) -> Tensor:
        """The logits; those of a network and class lie side by side."""
        logits: Tensor = torch.addmm(self.bias.view(-1, 1), self.weight.flatten(0, 1), X.T)
        return logits.view(*self.bias.shape, len(X)).mT

    def networks(self) -> list[nn.Linear]:
        """The networks, each by itself."""
        found = []
        for weight, bias in zip(self.weight.detach(), self.bias.detach(), strict=True):
            own = nn.Linear(weight.shape[1], weight.shape[0])
            own.weight, own.bias = nn.Parameter(weight.clone()), nn.Parameter(bias.clone())
            found.append(own)
        return found


def repeated(penalty: nn.Module, count: int) -> nn.Module:
    """Give a penalty's own parameters an axis of networks in front, each with the same first values."""
    for part in penalty.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            setattr(part, name, nn.Parameter(parameter.detach().repeat(count, *[1] * parameter.dim())))
    return penalty


def side_by_side(rows: Rows) -> Rows:
    """The rows in order of their condition, those that do not count first, so that no step has to pick any."""
    order = np.argsort(np.where(rows.s >= 0, rows.z, -1), kind="stable")
    return rows.take(order)


def weights_of(values: Sequence[float]) -> Tensor:
    """A number for each network."""
    return torch.tensor(values, dtype=torch.float32)
