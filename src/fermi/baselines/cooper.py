"""Constrained training by the Lagrangian (Cooper: Gallego-Posada et al. 2025), with the library of that name.

The loss is minimised under the constraints that each group's mean probability of each class, within each condition,
lies at most ε from that of all rows. Network and multipliers step at once: Adam down, plain gradient up. `strength`
sets ε, as a share 1 − strength of the largest such gap without constraints: the first third of the steps knows none,
and the gap is measured after it. At 0 there are never any. A group that a batch does not show next to another tells
nothing, and its multipliers stay. So a batch's constraints are not those of all rows in the mean, and its gradients
are biased; nothing is proved for networks and batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from fermi._optional import require
from fermi._typing import Ints
from fermi.baselines.common.networks import Penalty, TorchBaseline, cross_entropy, group_means, pick, probabilities
from fermi.baselines.common.protocol import Capabilities, Rows
from fermi.torch.cells import BatchCells
from fermi.torch.feed import predict_logits

_DUAL_RATE = 0.1


class Cooper(TorchBaseline):
    """A network under constraints on the groups' rates, trained by Cooper's simultaneous descent and ascent.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; `strength` takes the gap allowed from that of the unconstrained network down to 0.
    module, batch_size, steps, lr
        The network, the rows per step, the number of steps and Adam's rate, as in `TorchBaseline`.
    """

    capabilities = Capabilities(
        nonbinary_target=True, nonbinary_attribute=True, beyond_logistic=True, stochastic=True, unknown_attribute=True
    )
    weights = (1.0, 1.0)  # multipliers take its place

    def _penalty(self, rows: Rows) -> nn.Module:
        return LargestGap(rows)

    def _train(
        self, rows: Rows, penalty: nn.Module, weight: float, parts: Iterator[Ints | slice], lr: float, steps: int
    ) -> None:
        free = steps if self._plain(weight) else steps // 3
        if free:
            super()._train(rows, penalty, 0.0, islice(parts, free), lr, free)
        if free < steps:
            columns = [torch.as_tensor(c) for c in (rows.y, rows.s, rows.z)]
            gap = penalty(torch.as_tensor(predict_logits(self.module_, rows.X, torch.device("cpu"))), *columns)
            self._constrain(rows, make_problem(penalty, (1.0 - self.strength) * gap), parts, lr, steps - free)

    def _constrain(self, rows: Rows, problem: Any, parts: Iterator[Ints | slice], lr: float, steps: int) -> None:
        descent = torch.optim.Adam(self.module_.parameters(), lr)
        ascent = torch.optim.SGD(problem.dual_parameters(), _DUAL_RATE, maximize=True)
        falling = torch.optim.lr_scheduler.LinearLR(descent, 1.0, 1.0 / steps, steps)
        optimizer = require("cooper.optim", extra="baselines").SimultaneousOptimizer(problem, descent, ascent)
        for logits, y, s, z in self._outputs(rows, parts):
            optimizer.roll({"logits": logits, "y": y, "s": s, "z": z})
            falling.step()


class LargestGap(Penalty):
    """The largest gap between the mean probabilities of a group and of all rows, in any condition and class."""

    def forward(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Tensor:
        """The largest gap that a batch shows."""
        return self.gaps(logits, s, z)[0].abs().amax((-2, -1))

    def gaps(self, logits: Tensor, s: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Every gap, condition · group × class, and which groups stand beside another one in their condition."""
        cells = BatchCells.of(z, s, self.n_groups)
        rows = cells.counted.nonzero()[:, 0]
        F, z = probabilities(pick(logits, rows)), z[rows]
        rates, counts = group_means(F, cells.cell[rows], self.n_conditions * self.n_groups)
        overall, totals = group_means(F, z, self.n_conditions)
        seen = ((counts > 0) & (counts < totals.repeat_interleave(self.n_groups)))[:, None]
        return torch.where(seen, rates - overall.repeat_interleave(self.n_groups, -2), 0.0), seen


def make_problem(gap: Any, epsilon: float | Tensor) -> Any:
    """The constrained problem as Cooper takes it: the loss under gaps of at most ε in both directions.

    Several networks on the same rows have an ε each; their problems do not touch each other.
    """
    bound = torch.as_tensor(epsilon)[..., None, None]
    cooper = require("cooper", extra="baselines")
    base: Any = cooper.ConstrainedMinimizationProblem

    class Problem(base):
        def __init__(self) -> None:
            super().__init__()
            n = 2 * bound.numel() * gap.n_conditions * gap.n_groups * gap.n_classes
            multiplier = cooper.multipliers.DenseMultiplier(num_constraints=n)
            self.close = cooper.Constraint(cooper.ConstraintType.INEQUALITY, multiplier=multiplier)

        def compute_cmp_state(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Any:
            gaps, seen = gap.gaps(logits, s, z)
            violation = torch.stack([gaps - bound, -gaps - bound]).where(seen, 0.0).flatten().float()
            loss = cross_entropy(logits, y).sum()
            return cooper.CMPState(loss, {self.close: cooper.ConstraintState(violation)})

    return Problem()
