"""W on several processes: its gradient is their mean, as DistributedDataParallel makes the model's."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.join import Joinable, JoinHook


def ranks() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def add_over_ranks(counts: Tensor) -> None:
    """Replace counts by their sum over all ranks."""
    if ranks() > 1:
        own = counts.cuda() if dist.get_backend() == "nccl" else counts
        dist.all_reduce(own)
        counts.copy_(own)


def average_over_ranks(parameter: nn.Parameter) -> None:
    """Make W's gradient, after each backward pass, the mean over the ranks that made one; asking twice is harmless."""
    hooks = getattr(parameter, "_post_accumulate_grad_hooks", None) or {}
    if parameter.requires_grad and _queue not in hooks.values():
        parameter.register_post_accumulate_grad_hook(_queue)


def _queue(parameter: Tensor) -> None:
    """Average a gradient when the whole backward pass is over, after what DistributedDataParallel queues.

    Then every rank has sent the model's gradients first, in one order, so that a rank that has run out of batches can
    follow (`Joining`); and if the regularizer is inside, its gradient is no longer on its way.
    """
    if ranks() > 1:
        queue = torch.autograd.Variable._execution_engine.queue_callback
        queue(partial(queue, partial(_average, parameter)))


def _average(parameter: Tensor) -> None:
    assert parameter.grad is not None
    sums = _add_up(parameter.grad, 1.0)
    parameter.grad.copy_((sums[:-1] / sums[-1]).reshape(parameter.shape))


def _add_up(gradient: Tensor, passes: float) -> Tensor:
    """The sum of a gradient over ranks, followed by the number of ranks that made a backward pass."""
    sums = torch.cat([gradient.flatten(), gradient.new_full((1,), passes)])
    dist.all_reduce(sums)
    return sums


class Joining(Joinable):
    """A module with a parameter W that ranks with more batches than others can go on training.

    `with torch.distributed.algorithms.Join([ddp_model, regularizer]):` around the loop: a rank that has run out of
    batches takes part in the sums until the last one is done.
    """

    W: nn.Parameter

    @property
    def join_device(self) -> torch.device:
        """The device on which the sums over ranks are made."""
        return self.W.device

    @property
    def join_process_group(self) -> Any:
        """The process group of all ranks."""
        return dist.group.WORLD

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without batches does while others go on training.

        Parameters
        ----------
        **kwargs
            What `Join` was given; nothing of it is used.

        Returns
        -------
        JoinHook
            It takes part in the sums and in the end takes over W.
        """
        return _Shadow(self.W)


class _Shadow(JoinHook):
    def __init__(self, W: nn.Parameter) -> None:
        self.W = W

    def main_hook(self) -> None:
        """Send zeros in the place of a gradient."""
        _add_up(torch.zeros_like(self.W), 0.0)

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take W from a rank that made all steps."""
        last = torch.tensor(dist.get_rank() if is_last_joiner else -1, device=self.W.device)
        dist.all_reduce(last, dist.ReduceOp.MAX)
        dist.broadcast(self.W.data, int(last))
