"""One training loop for every method that adds a penalty to the loss of a network, so that only penalties differ."""

from __future__ import annotations

import copy
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor, nn

from fermi._typing import Floats, Ints
from fermi.baselines.common.protocol import Baseline, Rows, geometric
from fermi.baselines.common.several import Together
from fermi.baselines.common.stacked import Stack, repeated, side_by_side, weights_of
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
        self._found: list[tuple[int, Tensor]] = []
        # The batch whose conditions were found last: all rows at once are the same every time.
        self._batch: tuple[Tensor | None, Tensor | None] = (None, None)

    def conditions(self, s: Tensor, z: Tensor) -> list[tuple[int, Tensor]]:
        """The conditions that a batch shows, each with its rows of known groups."""
        if self._batch[0] is not s or self._batch[1] is not z:
            known = z.where(s >= 0, -1)
            every = [(value, (known == value).nonzero()[:, 0]) for value in range(self.n_conditions)]
            self._found, self._batch = [(value, rows) for value, rows in every if len(rows)], (s, z)
        return self._found

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
        values = [len(rows) / counted * self.within(pick(logits, rows), s[rows], value) for value, rows in parts]
        return sum(values, start=logits.sum((-2, -1)) * 0.0)

    @abstractmethod
    def within(self, logits: Tensor, s: Tensor, z: int) -> Tensor:
        """The penalty of the rows of one condition, whose groups are known."""


class TorchBaseline(Baseline, Together):
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

    def _fit_together(self, models: Sequence[Any], rows: Rows, rng: np.random.Generator) -> bool:
        if self.module is not None or hasattr(rows.X, "toarray"):
            return False
        all_at_once, count = self.batch_size >= len(rows.y), len(models)
        joint: Any = copy.copy(self)
        joint.strength = weights_of([own.strength for own in models])
        with torch.random.fork_rng([]), torch.enable_grad():
            torch.default_generator.manual_seed(int(rng.integers(2**62)))
            joint.module_ = Stack(self._fresh_module(rows), count)
            joint._train(
                side_by_side(rows) if all_at_once else rows,
                repeated(self._penalty(rows), count),
                weights_of([geometric(own.strength, *self.weights) for own in models]),
                batches(len(rows.y), self.batch_size, self.steps, rng),
                self.lr,
                self.steps,
            )
        for own, network in zip(models, joint.module_.networks(), strict=True):
            own.module_ = network.eval()
            for parameter in network.parameters():
                _check_finite(parameter)
        return True

    def _train(
        self, rows: Rows, penalty: nn.Module, weight: Any, parts: Iterator[Ints | slice], lr: float, steps: int
    ) -> None:
        trained, own = list(self.module_.parameters()), list(penalty.parameters())
        groups: list[dict[str, Any]] = [{"params": trained, "lr": lr}]
        groups += [{"params": own, "lr": lr * self.penalty_lr}] if own else []
        optimizer = torch.optim.Adam(groups, fused=True)
        rates = [group["lr"] for group in groups]
        plain = self._plain(weight)
        for step, batch in enumerate(self._outputs(rows, parts)):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * (1.0 - step / steps)
            loss = cross_entropy(*batch[:2])
            optimizer.zero_grad()
            if plain:
                loss.sum().backward()
            else:
                self._backward(loss, penalty(*batch), weight, trained, own)
            optimizer.step()

    def _outputs(self, rows: Rows, parts: Iterator[Ints | slice]) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """The logits, classes, groups and conditions of each batch, one after the other."""
        feed, columns = Feed(self.module_, torch.device("cpu")), [torch.as_tensor(c) for c in (rows.y, rows.s, rows.z)]
        table = None if hasattr(rows.X, "toarray") else feed(rows.X)  # once, not batch by batch
        self.module_.train()
        for part in parts:
            if isinstance(part, slice):  # all of them
                y, s, z = columns
                X = feed(rows.X) if table is None else table
                X = X if self.module is None else X.clone()  # a module may change in place what it is given
            else:
                index = torch.as_tensor(part)
                y, s, z = (column[index] for column in columns)
                X = feed(rows.X[part]) if table is None else table[index]
            logits = self.module_(X)
            _check_finite(logits)
            yield logits, y, s, z

    def _plain(self, weight: Any) -> bool:
        """Whether the penalty has no weight, for none of several networks."""
        return not np.any(np.asarray(weight))

    def _backward(self, loss: Tensor, extra: Tensor, weight: Any, trained: list[Any], own: list[Any]) -> None:
        """Set the gradients: of loss + weight · penalty for the network, of the penalty for its own parameters.

        Several networks have a loss, a penalty and a weight each, and no parameter in common.
        """
        if not own:
            (loss + weight * extra).sum().backward()
            return
        inside = torch.autograd.grad(extra.sum(), own, retain_graph=True, allow_unused=True)
        (loss + weight * extra).sum().backward()
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


def group_sums(values: Tensor, s: Tensor, n_groups: int) -> Tensor:
    """The sum of the rows of each group; before rows and columns there may be an axis of networks."""
    if values.dim() == 2:
        return values.new_zeros(n_groups, values.shape[1]).index_add(0, s, values)
    member = nn.functional.one_hot(s, n_groups).to(values.dtype)
    return (values.mT @ member).mT


def group_means(values: Tensor, s: Tensor, n_groups: int) -> tuple[Tensor, Tensor]:
    """The mean of the rows of each group (0 for a group without any), and the number of its rows."""
    counts = torch.bincount(s, minlength=n_groups)
    return group_sums(values, s, n_groups) / counts.clamp(min=1)[:, None], counts


def probabilities(logits: Tensor) -> Tensor:
    """The softmax over classes, the last axis; before the rows there may be an axis of networks."""
    if logits.dim() == 2:
        return logits.softmax(1)
    return (logits - logits.logsumexp(-1, keepdim=True)).exp()  # as they lie: the rows of a network side by side


def cross_entropy(logits: Tensor, codes: Tensor) -> Tensor:
    """The mean cross-entropy over the rows, of each network if there is an axis of networks before them."""
    if logits.dim() == 2:
        return nn.functional.cross_entropy(logits, codes)
    own = logits.mT.gather(-2, codes.expand(len(logits), 1, -1))[..., 0, :]
    return (logits.logsumexp(-1) - own).mean(-1)


def pick(values: Tensor, rows: Tensor) -> Tensor:
    """Some rows, by number; before rows and columns there may be an axis of networks. Neighbours are not copied."""
    if len(rows) and int(rows[-1]) - int(rows[0]) + 1 == len(rows):  # rows are in order
        return values.narrow(-2, int(rows[0]), len(rows))
    return values[rows] if values.dim() == 2 else values.mT.index_select(-1, rows).mT


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
