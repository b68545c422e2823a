"""One training run on colour MNIST: the same digits, network, rates and number of steps for every method.

A part of the training digits is held out and rendered grey, as the test digits are: it chooses λ, the test digits never
choose anything. Learning rates and the number of steps were found on such digits too.
"""

from __future__ import annotations

import functools
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.optim.swa_utils import AveragedModel

from fermi.datasets import color_mnist
from fermi.experiments.figure import Cell, CellRecord
from fermi.experiments.runs import penalised_loop
from fermi.torch import models
from fermi.torch.feed import predict_logits

HELD_OUT = 5_000  # training digits that choose λ
SCALE = np.float32(0.308)  # the standard deviation of MNIST's pixels, by which all are divided
JUDGED = 5_000  # training digits whose error is the training error
AVERAGED = 0.98  # the memory of the running mean over the steps that is judged: λ makes network and W swing

Pixels = NDArray[np.float32]


class Digits(NamedTuple):
    """The digits of a run: coloured ones to train on, grey ones that choose λ, the grey test digits."""

    train: tuple[Pixels, Any]
    held_out: tuple[Pixels, Any]
    test: tuple[Pixels, Any]


@functools.lru_cache(maxsize=1)
def digits(seed: int) -> Digits:
    """The digits of a colour seed, which also draws those held out."""
    coloured, plain = (color_mnist.load(random_state=seed, include_sensitive=tinted) for tinted in (True, False))
    y = coloured.y_train.to_numpy()
    judges, train = np.split(np.random.default_rng(seed).permutation(len(y)), [HELD_OUT])
    (tinted_rows, test), (grey_rows, _) = coloured.images(), plain.images()
    parts = ((tinted_rows[train], y[train]), (grey_rows[judges], y[judges]), (test, coloured.y_test.to_numpy()))
    return Digits(*((pixels / SCALE, labels) for pixels, labels in parts))


def run(cell: Cell) -> CellRecord:
    """Train with one penalty, and measure on the digits trained on, on those that choose λ, and on the test digits."""
    torch.set_num_threads(1)
    train, held_out, test = digits(cell["seed"])
    began = time.perf_counter()
    module = fitted(cell, train)
    record: CellRecord = {"seconds": time.perf_counter() - began}
    parts = {"train": (train[0][:JUDGED], train[1][:JUDGED]), "val": held_out, "test": test}
    return record | {f"{name}_error": error(module, part) for name, part in parts.items()}


def fitted(cell: Cell, train: tuple[Pixels, Any]) -> nn.Module:
    """Train the network of a cell; its weights are a running mean over the steps."""
    torch.manual_seed(cell["seed"])
    module = models.lenet5() if cell["model"] == "lenet5" else models.mlp(int(np.prod(train[0].shape[1:])), 10)
    average = AveragedModel(module, avg_fn=faded)
    lam, rows = cell["lam"], penalised_loop.coded(train[0], train[1], train[1])  # with σ = 0 the colour is the label
    extra = penalised_loop.penalty(cell["method"], rows, lam) if lam > 0.0 else None
    how = penalised_loop.Training(cell["batch_size"], cell["steps"], cell["lr"], cell["lr_w"], True, cell["seed"])
    for _ in penalised_loop.train(module, rows, extra, how, lam or 1.0):
        average.update_parameters(module)
    return average


def faded(mean: Any, new: Any, seen: Any) -> Any:
    """Update a mean over all steps whose weights fade by the same factor each: the first has no more than its share."""
    return mean + (1.0 - AVERAGED) / (1.0 - AVERAGED ** (seen + 1)) * (new - mean)


def error(module: nn.Module, part: tuple[Pixels, Any]) -> float:
    """The share of digits that are not recognised."""
    return float(np.mean(predict_logits(module, part[0], torch.device("cpu")).argmax(1) != part[1]))
