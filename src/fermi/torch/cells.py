"""The cells (condition, group) of a batch of rows, as tensors: what `inputs.cells` is for arrays."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class BatchCells(NamedTuple):
    """The cells of a batch of rows: condition z, cell z · n_groups + s, and whether a row counts; 0 and 0 if not."""

    z: Tensor
    cell: Tensor
    counted: Tensor

    @classmethod
    def of(cls, condition: Tensor | None, sensitive: Tensor, n_groups: int) -> BatchCells:
        """Make cells from codes, -1 where a row does not count; without conditions there is one."""
        if condition is None:
            cell = sensitive.clamp_min(0)
            return cls(cell, cell, sensitive >= 0)
        counted = (sensitive >= 0) & (condition >= 0)
        z = torch.where(counted, condition, 0)
        return cls(z, torch.where(counted, condition * n_groups + sensitive, 0), counted)
