"""REPAIR: removing representation bias by dataset resampling (Li and Vasconcelos 2019).

The bias of a data set towards a representation is 1 − R / H(Y), where R is the least cross-entropy of predicting the
label from the representation alone. Each row gets a weight in (0, 1), the sigmoid of a number that starts at 0 and goes
down the gradient of the bias; then the network is trained on weighed rows. Here the representation is the sensitive
attribute, such as the colour of a digit: the bias is the mutual information of label and group over H(Y), the best
predictor is known in closed form, and rows of one label and group always share one weight. Pre-processing, so it knows
demographic parity alone. `strength` raises the weights to a power: at strength 1 the one that is fairest for logistic
regression, as in `reweighing`, or the paper's, 1, for a network of the user's. Rows with an unknown group weigh 1. The
weights are fixed while the network trains, so batch gradients are unbiased; of the descent that finds them nothing is
proved.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import expit, xlogy
from torch import Tensor, nn

from fermi._typing import Floats
from fermi.baselines.common.networks import Penalty, TorchBaseline
from fermi.baselines.common.protocol import Capabilities, Rows
from fermi.baselines.reweighing import fairest_power


class Repair(TorchBaseline):
    """A network trained on rows weighed so that the group tells nothing of the label.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    module, batch_size, steps, lr
        The network, the rows per step, the number of steps and Adam's rate, as in `TorchBaseline`.
    """

    capabilities = Capabilities(
        notions=("demographic_parity",),
        nonbinary_target=True,
        nonbinary_attribute=True,
        beyond_logistic=True,
        stochastic=True,
        unbiased=True,
        unknown_attribute=True,
    )
    weights = (1.0, 1.0)  # strength is in the rows' weights

    def _penalty(self, rows: Rows) -> nn.Module:
        known = rows.take(rows.s >= 0)
        tabular = self.module is None and len(np.unique(known.y)) > 1
        return Reweighed(rows, self.strength, fairest=tabular and self.strength > 0.0)


class Reweighed(Penalty):
    """A penalty on a batch: the weighed loss less the plain loss, which the training loop adds."""

    def __init__(self, rows: Rows, power: float, *, fairest: bool) -> None:
        super().__init__(rows)
        table = np.zeros((self.n_classes, self.n_groups))
        known = rows.s >= 0
        np.add.at(table, (rows.y[known], rows.s[known]), 1.0)
        weights = repaired(table)
        if fairest:
            some = rows.take(known)
            power *= fairest_power(some, weights[some.y, some.s])
        weights = weights**power
        weights *= table.sum() / (table * weights).sum()
        # The last column is for unknown groups, whose code is -1.
        self.excess = torch.as_tensor(np.column_stack([weights, np.ones(self.n_classes)]) - 1.0, dtype=torch.float32)

    def forward(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Tensor:
        """The weighed loss of a batch less its plain loss."""
        return (self.excess[y, s] * nn.functional.cross_entropy(logits, y, reduction="none")).mean()


def bias_and_slope(table: Floats, weights: Floats) -> tuple[float, Floats]:
    """The bias 1 − R / H under weights of the rows in each cell, and its gradient in one row's weight times all rows.

    R and H are minima over predictors of y, so to the first order only the rows' shares in them change.
    """
    P = table * weights / table.sum()
    total, p_y, p_s = P.sum(), P.sum(1, keepdims=True), P.sum(0, keepdims=True)
    surprise = np.log(np.where(P > 0, p_s / np.where(P > 0, P, 1.0), 1.0))  # − log p(y|s)
    blind = np.log(total / np.where(p_y > 0, p_y, total))  # − log p(y)
    R, H = (P * surprise).sum() / total, -xlogy(p_y / total, p_y / total).sum()
    if H == 0.0:  # one label: nothing to predict
        return 0.0, np.zeros_like(P)
    return float(1.0 - R / H), (R / H * blind - surprise) / (H * total)


def repaired(table: Floats, steps: int = 2000, rate: float = 0.5) -> Floats:
    """Find the weight of each cell by gradient descent on the bias."""
    omega = np.zeros_like(table)
    for _ in range(steps):
        weights = expit(omega)
        bias, slope = bias_and_slope(table, weights)
        if bias < 1e-6:
            break
        omega -= rate * slope * weights * (1.0 - weights)
    return np.asarray(expit(omega))
