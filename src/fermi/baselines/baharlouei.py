"""Rényi fair inference (Baharlouei, Nouiehed, Beirami and Razaviyayn 2019).

The penalty is the squared Rényi (HGR) correlation of prediction and group: the largest vᵀ QQᵀ v over unit vectors v
orthogonal to v₁ = √p_s, with Q = P / √(p_s p_y). That is the second singular value of Q, squared. As in the paper's
Algorithm 1, each step finds the best v exactly and goes down the gradient with v held fixed. With two groups or two
classes only one singular value is left, and the penalty is that of `mary`. Equalized odds and equal opportunity take
the mean over the conditions. `strength` is the weight λ. The paper runs on all rows at once, for which it proves
convergence, and so table 1 calls it not stochastic; here Q is that of the batch, which makes it stochastic, biased and
without that proof.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fermi.baselines.common.networks import TorchBaseline, WithinConditions, group_means, probabilities
from fermi.baselines.common.protocol import Capabilities, Rows
from fermi.formulas.ermi import centred, excess, nonzero


class Baharlouei(TorchBaseline):
    """A network with the squared Rényi correlation of each batch as a penalty.

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
        return RenyiCorrelation(rows)


class RenyiCorrelation(WithinConditions):
    """A penalty on a batch: the squared Rényi correlation, the second singular value of Q."""

    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The squared Rényi correlation among the rows of one condition."""
        rates, counts = group_means(probabilities(logits), s, self.n_groups)
        p_s = counts / len(s)
        P = p_s[:, None] * rates
        with torch.no_grad():  # by Danskin's theorem no gradient goes through the best v
            M = centred(P.double())
            # M has as few columns as there are classes, and may have thousands of rows: the small side is enough.
            v = M @ torch.linalg.eigh(M.mT @ M).eigenvectors[..., -1:]
            v = (v / nonzero(v.norm(dim=-2, keepdim=True))).to(P.dtype)
        # ‖Mᵀv‖², divided by p_y once instead of by its root twice, whose gradient could overflow for a rare class.
        a = ((v / nonzero(p_s)[:, None] ** 0.5).mT @ excess(P))[..., 0, :]
        value: Tensor = (a * (a / nonzero(P.sum(-2)))).sum(-1)
        return value
