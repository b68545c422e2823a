"""A fair classifier using mutual information (Cho, Hwang and Suh 2020).

I(S; Ŷ) = H(S) + max over D of E log D_S(Ŷ), where D gives each group a probability given the prediction. So a
discriminator D that tells groups from predicted probabilities is trained to maximise what the classifier minimises, and
both take their steps at once. Here D has one hidden layer, and one set of weights for each condition, so that
equalized odds and equal opportunity penalise the information given the label. `strength` is the weight. For a given D
the penalty is a mean over rows, so the batch gradients are unbiased (table 1); that the two together converge is not
known.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import entropy
from torch import Tensor, nn

from fermi.baselines.common.networks import (
    TorchBaseline,
    WithinConditions,
    cross_entropy,
    probabilities,
    reversed_gradient,
)
from fermi.baselines.common.protocol import Capabilities, Rows

_HIDDEN = 16


class ChoMI(TorchBaseline):
    """A network with the mutual information of prediction and group, found by a discriminator, as a penalty.

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
        unbiased=True,
        unknown_attribute=True,
        adversarial=True,
    )
    weights = (0.05, 20.0)
    penalty_lr = 5.0  # the discriminator must follow

    def _penalty(self, rows: Rows) -> nn.Module:
        return Discriminator(rows)


class Discriminator(WithinConditions):
    """A penalty on a batch: H(S) + E log D_S(Ŷ), at most the mutual information, and equal to it for the best D."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        n, m, k = self.n_conditions, self.n_classes, self.n_groups
        self.share = float((rows.cells >= 0).mean())
        table = np.bincount(rows.cells[rows.cells >= 0], minlength=n * k).reshape(n, k)
        # At least something, for a condition without a row whose group is known.
        self.entropy = np.asarray(entropy(np.maximum(table, 1e-300), axis=1))
        self.inside = nn.Parameter(3.0 * torch.randn(n, m, _HIDDEN))
        self.shift = nn.Parameter(torch.randn(n, _HIDDEN))
        self.outside = nn.Parameter(torch.zeros(n, _HIDDEN, k))
        self.prior = nn.Parameter(torch.as_tensor(np.log(np.maximum(table, 1.0)), dtype=torch.float32))

    def forward(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Tensor:
        """The penalty, divided by the expected number of rows that count: the number found would bias it."""
        counted = int(((s >= 0) & (z >= 0)).sum())
        return super().forward(logits, y, s, z) * (counted / (self.share * len(s)))

    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The penalty among the rows of one condition."""
        inside, outside = (reversed_gradient(own[..., z, :, :]) for own in (self.inside, self.outside))
        shift, prior = (reversed_gradient(own[..., z, None, :]) for own in (self.shift, self.prior))
        hidden = torch.tanh(probabilities(logits).to(inside.dtype) @ inside + shift)
        return float(self.entropy[z]) - cross_entropy(hidden @ outside + prior, s)
