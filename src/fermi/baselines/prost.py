"""MinDiff (Prost, Qian, Chen, Chi, Chen and Beutel 2019): match the groups' distributions of scores.

The penalty is the squared maximum mean discrepancy between the two groups' scores p(ŷ = 1), under a Gaussian kernel.
The paper takes it among the rows with one label, for equal opportunity; among all rows it serves demographic parity,
and the mean over both labels equalized odds. `strength` is its weight. A batch in which a group is missing gives no
penalty, and the pairs of a row with itself bias the rest, the more the smaller the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fermi.baselines.common.networks import TorchBaseline, WithinConditions
from fermi.baselines.common.protocol import Capabilities, Rows

# Of the kernel, in probability. A narrower one mostly punishes spread in batches of hundreds.
_BANDWIDTH = 0.3
_POINTS = 32


class Prost(TorchBaseline):
    """A network with the discrepancy between two groups' scores in each batch as a penalty (MinDiff).

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; `strength` sets the weight of the penalty, on a scale of equal factors.
    module, batch_size, steps, lr
        The network, the rows per step, the number of steps and Adam's rate, as in `TorchBaseline`.
    """

    capabilities = Capabilities(beyond_logistic=True, stochastic=True, unknown_attribute=True)
    weights = (0.1, 60.0)

    def _penalty(self, rows: Rows) -> nn.Module:
        return MeanDiscrepancy(rows)


class MeanDiscrepancy(WithinConditions):
    """A penalty on a batch: MMD² between two groups' scores, the mean kernel within groups less twice that across."""

    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The discrepancy among the rows of one condition."""
        counts = torch.bincount(s, minlength=2)
        if not counts.all():
            return logits.sum() * 0.0
        score = logits.softmax(1)[:, 1]
        signs = ((2 * s - 1) / counts[s]).to(score.dtype)
        with torch.no_grad():
            mass, slope = mean_kernel(score, signs)
        value: Tensor = signs @ mass + 2.0 * (signs * slope) @ (score - score.detach())
        return value


def mean_kernel(score: Tensor, signs: Tensor) -> tuple[Tensor, Tensor]:
    """The sums Σ_j sign_j k(x, x_j) and their derivatives at every score x, without the matrix of all pairs.

    The sum is a smooth function on [0, 1], so its values at a few Chebyshev points give it everywhere, to nearly all
    digits: barycentric interpolation.
    """
    steps = torch.arange(_POINTS + 1, dtype=score.dtype, device=score.device)
    points = 0.5 - 0.5 * torch.cos(steps * (torch.pi / _POINTS))
    away = score - points[:, None]
    kernel = (away.square() * (-0.5 / _BANDWIDTH**2)).exp() * signs
    at_points = torch.stack([kernel.sum(1), (kernel * away).sum(1) / _BANDWIDTH**2], 1)
    ends = torch.where((steps == 0) | (steps == _POINTS), 0.5, 1.0)
    share = (ends * (1.0 - 2.0 * (steps % 2)))[:, None] / torch.where(away == 0.0, 1e-12, away)
    mass, slope = (share.T @ at_points / share.sum(0)[:, None]).T
    return mass, slope
