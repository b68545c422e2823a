"""MinDiff (Prost, Qian, Chen, Chi, Chen and Beutel 2019): match the groups' distributions of scores.

The penalty is the squared maximum mean discrepancy between the two groups' scores p(ŷ = 1), under a Gaussian kernel.
The paper takes it among the rows with one label, for equal opportunity; among all rows it serves demographic parity,
and the mean over both labels equalized odds. `strength` is its weight. A batch in which a group is missing gives no
penalty, and the pairs of a row with itself bias the rest, the more the smaller the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fermi.baselines._protocol import Capabilities, Rows
from fermi.baselines._torch import Penalty, TorchBaseline

# Of the kernel, in probability. A narrower one mostly punishes spread in batches of hundreds.
_BANDWIDTH = 0.3


class Prost(TorchBaseline):
    """The discrepancy of each batch as a penalty."""

    capabilities = Capabilities(beyond_logistic=True, stochastic=True, unknown_attribute=True)
    weights = (0.1, 60.0)

    def _penalty(self, rows: Rows) -> nn.Module:
        return MeanDiscrepancy(rows)


class MeanDiscrepancy(Penalty):
    """MMD² between two groups' scores: the mean kernel within each group, less twice that across."""

    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """Of the rows of one condition."""
        counts = torch.bincount(s, minlength=2)
        if not counts.all():
            return logits.sum() * 0.0
        score = logits.softmax(1)[:, 1]
        signs = ((2 * s - 1) / counts[s]).to(score.dtype)
        # Gradient by hand: automatic differentiation would keep and go through every matrix of pairs, twice as slow.
        with torch.no_grad():
            kernel = (score[:, None] - score).square_().mul_(-0.5 / _BANDWIDTH**2).exp_()
            mass, moment = (kernel @ torch.stack([signs, signs * score], 1)).T
            slope = 2.0 / _BANDWIDTH**2 * signs * (moment - score * mass)
        value: Tensor = signs @ mass + slope @ (score - score.detach())
        return value
