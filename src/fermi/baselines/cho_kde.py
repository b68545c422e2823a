"""A fair classifier using kernel density estimation (Cho, Hwang and Suh 2020).

How often a group gets a label is not differentiable. A Gaussian kernel density of the scores is, and its mass beyond
the threshold is the mean of Φ((score − threshold) / bandwidth). The penalty is the Huber loss of the difference
between each group's rate and that of all rows, summed over groups. With two classes the score is p(ŷ = 1) and the
threshold ½; with more, each class has its own: half of what its probability is ahead of the best other. Equalized odds
and equal opportunity take the mean over the conditions. `strength` is the weight. A square of batch means, so batch
gradients are biased.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fermi.baselines.common.networks import TorchBaseline, WithinConditions, group_means, probabilities
from fermi.baselines.common.protocol import Capabilities, Rows


class ChoKDE(TorchBaseline):
    """A network with a penalty on the gaps between groups' rates, which a kernel estimates on each batch.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; `strength` sets the weight of the penalty, on a scale of equal factors.
    module, batch_size, steps, lr
        The network, the rows per step, the number of steps and Adam's rate, as in `TorchBaseline`.
    """

    capabilities = Capabilities(
        nonbinary_target=True, nonbinary_attribute=True, beyond_logistic=True, stochastic=True, unknown_attribute=True
    )
    weights = (0.2, 300.0)

    def _penalty(self, rows: Rows) -> nn.Module:
        return DensityGap(rows)


class DensityGap(WithinConditions):
    """A penalty on a batch: Σ over groups of Huber(rate of the group − rate of all), the mean over classes."""

    def __init__(self, rows: Rows, bandwidth: float = 0.1, delta: float = 0.5) -> None:
        super().__init__(rows)
        self.bandwidth, self.delta = bandwidth, delta

    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The penalty among the rows of one condition."""
        labelled = self.labelled(logits)
        rates, counts = group_means(labelled, s, self.n_groups)
        overall = labelled.mean(-2, keepdim=True).expand_as(rates)
        seen = counts > 0
        gaps = nn.functional.huber_loss(rates[..., seen, :], overall[..., seen, :], reduction="none", delta=self.delta)
        return gaps.sum((-2, -1)) / self.n_classes

    def labelled(self, logits: Tensor) -> Tensor:
        """A smoothed indicator, for each row and class, of the class being the most probable."""
        F = probabilities(logits)
        if F.shape[-1] == 2:
            ahead = F - F.flip(-1)
        else:
            best, second = F.topk(2, dim=-1).values.split(1, dim=-1)
            ahead = F - torch.where(best == F, second, best)
        indicator: Tensor = torch.special.ndtr(0.5 * ahead / self.bandwidth)
        return indicator
