"""Fairness-aware learning for continuous attributes and treatments (Mary, Calauzènes and El Karoui 2019).

The χ² divergence between the joint law of prediction and group and the product of their marginals bounds the squared
HGR correlation. It is estimated on each batch by itself and back-propagated through that estimate. For discrete groups
no density has to be estimated, and χ² is ERMI of the batch; its expectation is not that of all rows, so the gradients
are biased, the more the smaller the batch.
"""

from __future__ import annotations

from torch import Tensor, nn

from fermi.baselines.common.networks import TorchBaseline, WithinConditions, group_sums, probabilities
from fermi.baselines.common.protocol import Capabilities, Rows
from fermi.formulas.ermi import ermi


class Mary(TorchBaseline):
    """A network with the χ² of prediction and group in each batch as a penalty.

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
    weights = (0.03, 300.0)

    def _penalty(self, rows: Rows) -> nn.Module:
        return ChiSquared(rows)


class ChiSquared(WithinConditions):
    """A penalty on a batch: its plug-in ERMI, which is the χ² between prediction and group."""

    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The χ² between prediction and group among the rows of one condition."""
        value: Tensor = ermi(group_sums(probabilities(logits), s, self.n_groups) / len(s))
        return value
