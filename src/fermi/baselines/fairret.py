"""fairret: fairness regularization terms (Buyl, De Bie and Defrance 2024), by the authors' library of that name.

The penalty is the library's norm loss: the sum over groups of |rate of the group / rate of all − 1|, where the rate is
the mean predicted probability of the second class. For demographic parity that is its `PositiveRate`. Within the rows
of one label it is the true or the false positive rate, so equal opportunity takes one such term and equalized odds the
sum of two. `strength` is the weight. A ratio of batch means inside an absolute value, so batch gradients are biased.
"""

from __future__ import annotations

from torch import Tensor, nn

from fermi._optional import require
from fermi.baselines.common.networks import Penalty, TorchBaseline, group_means, pick
from fermi.baselines.common.protocol import Capabilities, Rows

_STEEPEST = 30.0  # a logit beyond which a probability may round to 0, which the library does not divide by


class Fairret(TorchBaseline):
    """A network with the norm loss of the library fairret as a penalty.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; `strength` sets the weight of the penalty, on a scale of equal factors.
    module, batch_size, steps, lr
        The network, the rows per step, the number of steps and Adam's rate, as in `TorchBaseline`.
    """

    capabilities = Capabilities(nonbinary_attribute=True, beyond_logistic=True, stochastic=True, unknown_attribute=True)
    weights = (0.01, 1.0)

    def _penalty(self, rows: Rows) -> nn.Module:
        return NormPenalty(rows)


class NormPenalty(Penalty):
    """A penalty on a batch: the sum over conditions of `fairret.loss.NormLoss` of the positive rate."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        rate = require("fairret.statistic", extra="baselines").PositiveRate()
        self.norm = require("fairret.loss", extra="baselines").NormLoss(rate)

    def forward(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Tensor:
        """The penalty of a batch."""
        score = (logits[..., 1:] - logits[..., :1]).clamp(-_STEEPEST, _STEEPEST)
        term = self.of_one if logits.dim() == 2 else self.of_several
        terms = [term(pick(score, rows), s[rows]) for _, rows in self.conditions(s, z)]
        return sum(terms, start=logits.sum((-2, -1)) * 0.0)

    def of_one(self, score: Tensor, s: Tensor) -> Tensor:
        """The library's loss."""
        value: Tensor = self.norm(score, nn.functional.one_hot(s, self.n_groups).to(score.dtype))
        return value

    def of_several(self, score: Tensor, s: Tensor) -> Tensor:
        """The library's loss of each of several networks, of which it takes one at a time; a test compares both."""
        rate = score.sigmoid()
        rates, overall = group_means(rate, s, self.n_groups)[0], rate.mean(-2, keepdim=True)
        value: Tensor = (rates / overall - 1.0).abs().sum((-2, -1))
        return value
