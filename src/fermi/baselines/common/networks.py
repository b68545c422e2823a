"""One training loop for every method that adds a penalty to the loss of a network, so that only penalties differ."""

from __future__ import annotations

import copy
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn

from fermi._typing import Floats, Ints
from fermi.baselines.common.protocol import Baseline, Rows, geometric
from fermi.errors import FermiError
from fermi.inputs.arguments import AT_LEAST_ONE, number, whole
from fermi.torch import models
from fermi.torch.feed import Feed, first_logits, predict_logits, read_rows


class Penalty(nn.Module, ABC):
    """A term that a method adds to the loss of a batch, before its weight.

    Its own parameters, if any, are trained along with the network, by their own gradients: one that is to be maximised
    over them reverses those itself (see `reversed_gradient`).
    """

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self.n_classes, self.n_groups, self.n_conditions = rows.n_classes, rows.n_groups, rows.n_conditions

    def conditions(self, s: Tensor, z: Tensor) -> list[tuple[int, Tensor]]:
        """The conditions that a batch shows, each with its rows of known groups."""
        z = z.where(s >= 0, -1)
        every = [(value, (z == value).nonzero()[:, 0]) for value in range(self.n_conditions)]
        return [(value, rows) for value, rows in every if len(rows)]

    @abstractmethod
    def forward(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Tensor:
        """The penalty of a batch, given its logits, classes, groups and conditions."""


class WithinConditions(Penalty):
    """A penalty that looks at each condition by itself."""

    def forward(self, logits: Tensor, y: Tensor, s: Tensor, z: Tensor) -> Tensor:
        """The mean of `within` over the conditions in 𝒵, each weighed by its rows in the batch."""
        parts = self.conditions(s, z)
        counted = sum(len(rows) for _, rows in parts)
        if counted == len(s) and len(parts) == 1:  # all of them: there is nothing to pick, nor to put back
            return self.within(logits, s, parts[0][0])
        values = [len(rows) / counted * self.within(logits[rows], s[rows], value) for value, rows in parts]
        return sum(values, start=logits.sum() * 0.0)

    @abstractmethod
    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The penalty of the rows of one condition, whose groups are known."""


class TorchBaseline(Baseline):
    """A network trained on cross-entropy + weight · penalty, on batches of any size.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`; `strength` is the weight of the penalty, on a scale of equal factors.
    module : nn.Module or function, optional
        A network that returns one logit per class, or a function of the numbers of features and classes that makes
        one. A linear model by default.
    batch_size, steps : int
        Rows per step, and the number of steps.
    lr : float
        Adam's rate, which falls to zero over all steps.
    """

    weights: ClassVar[tuple[float, float]]  # of the penalty: hardly any, and enough
    penalty_lr: ClassVar[float] = 1.0  # Adam's rate for the penalty's own parameters, over that of the network

    def __init__(
        self,
        strength: float = 0.5,
        notion: Any = "demographic_parity",
        random_state: Any = None,
        *,
        module: Any = None,
        batch_size: int = 512,
        steps: int = 1500,
        lr: float = 0.02,
    ) -> None:
        super().__init__(strength, notion, random_state)
        self.module = module
        self.batch_size = batch_size
        self.steps = steps
        self.lr = lr

    @abstractmethod
    def _penalty(self, rows: Rows) -> nn.Module:
        """The penalty of the method: a module that takes the logits, classes, groups and conditions of a batch."""

    def _features(self, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
        return read_rows(self, X, y, reset=reset)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        batch_size = whole("batch_size", self.batch_size, AT_LEAST_ONE, low=1)
        steps = whole("steps", self.steps, AT_LEAST_ONE, low=1)
        lr = number("lr", self.lr, "a positive number", low=0.0, open_low=True)
        # First weights and dropout, without touching the global state.
        with torch.random.fork_rng([]), torch.enable_grad():
            torch.default_generator.manual_seed(int(rng.integers(2**62)))
            self.module_ = self._fresh_module(rows)
            first_logits(self.module_, rows.X[:1], rows.n_classes, torch.device("cpu"))
            penalty = self._penalty(rows)
            self._train(
                rows,
                penalty,
                geometric(strength, *self.weights),
                batches(len(rows.y), batch_size, steps, rng),
                lr,
                steps,
            )
        for parameter in self.module_.parameters():
            _check_finite(parameter)
        self.module_.eval()

    def _train(
        self, rows: Rows, penalty: nn.Module, weight: float, parts: Iterator[Ints | slice], lr: float, steps: int
    ) -> None:
        trained, own = list(self.module_.parameters()), list(penalty.parameters())
        groups: list[dict[str, Any]] = [{"params": trained, "lr": lr}]
        groups += [{"params": own, "lr": lr * self.penalty_lr}] if own else []
        optimizer = torch.optim.Adam(groups, fused=True)
        rates = [group["lr"] for group in groups]
        for step, batch in enumerate(self._outputs(rows, parts)):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * (1.0 - step / steps)
            loss = nn.functional.cross_entropy(*batch[:2])
            optimizer.zero_grad()
            if weight == 0.0:
                loss.backward()
            else:
                self._backward(loss, penalty(*batch), weight, trained, own)
            optimizer.step()

    def _outputs(self, rows: Rows, parts: Iterator[Ints | slice]) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """The logits, classes, groups and conditions of each batch, one after the other."""
        feed, columns = Feed(self.module_, torch.device("cpu")), [torch.as_tensor(c) for c in (rows.y, rows.s, rows.z)]
        table = None if hasattr(rows.X, "toarray") else feed(rows.X)  # once, not batch by batch
        self.module_.train()
        for part in parts:
            index = part if isinstance(part, slice) else torch.as_tensor(part)
            y, s, z = (column[index] for column in columns)
            X = feed(rows.X[part]) if table is None else table[index]
            if isinstance(part, slice) and self.module is not None:  # which may change in place what it is given
                X = X.clone()
            logits = self.module_(X)
            _check_finite(logits)
            yield logits, y, s, z

    def _backward(self, loss: Tensor, extra: Tensor, weight: float, trained: list[Any], own: list[Any]) -> None:
        """Set the gradients: of loss + weight · penalty for the network, of the penalty for its own parameters."""
        if not own:
            (loss + weight * extra).backward()
            return
        inside = torch.autograd.grad(extra, own, retain_graph=True, allow_unused=True)
        (loss + weight * extra).backward()
        for parameter, gradient in zip(own, inside, strict=True):
            parameter.grad = gradient

    def _fresh_module(self, rows: Rows) -> nn.Module:
        if isinstance(self.module, nn.Module):
            return copy.deepcopy(self.module)
        make = models.logistic if self.module is None else self.module
        module: nn.Module = make(int(np.prod(rows.X.shape[1:])), rows.n_classes)
        return module

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return np.asarray(softmax(predict_logits(self.module_, X, torch.device("cpu")), axis=1))


def batches(n: int, size: int, steps: int, rng: np.random.Generator) -> Iterator[Ints | slice]:
    """Choose the rows of each step: pass after pass, each in a new order, in parts of nearly one size."""
    if size >= n:
        yield from itertools.repeat(slice(None), steps)  # an order would only cost time
        return
    made = 0
    while made < steps:
        for part in np.array_split(rng.permutation(n), -(-n // size))[: steps - made]:
            made += 1
            yield part


def _check_finite(value: Tensor) -> None:
    # The sum of finite numbers is finite unless they are about to leave the range anyway.
    if not math.isfinite(value.detach().sum().item()):
        raise FermiError("Training diverged: choose a smaller `lr` or `strength`.")


def group_means(values: Tensor, s: Tensor, n_groups: int) -> tuple[Tensor, Tensor]:
    """The mean of the rows of each group (0 for a group without any), and the number of its rows."""
    counts = torch.bincount(s, minlength=n_groups)
    sums = values.new_zeros(n_groups, values.shape[1]).index_add(0, s, values)
    return sums / counts.clamp(min=1)[:, None], counts


class _Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return -gradients[0]


def reversed_gradient(x: Tensor) -> Tensor:
    """Pass x on unchanged, and its gradient with the other sign: what minimises before it maximises behind it."""
    reversed_x: Tensor = _Reversed.apply(x)
    return reversed_x
