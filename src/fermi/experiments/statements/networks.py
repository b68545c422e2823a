"""Colour MNIST in the appendix: what less colour noise does to a plain network, and what small batches save."""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import nn

from fermi.datasets import color_mnist
from fermi.experiments.judging.frontier import interval
from fermi.experiments.statements.statement import Measured, Statement, compared, several, untested
from fermi.torch import models
from fermi.torch.feed import predict_logits
from fermi.torch.regularizer import FermiRegularizer

_SCALE = np.float32(0.308)  # the standard deviation of MNIST's pixels
_DIGITS = 6_000


def _errors(sigma: float, seed: int, epochs: int) -> tuple[float, float]:
    """The training error on coloured digits and the test error on grey ones of LeNet-5 without any penalty."""
    torch.manual_seed(seed)
    data = color_mnist.load(sigma=sigma, random_state=seed)
    images, test = (part / _SCALE for part in (data.images()[0][:_DIGITS], data.images()[1][:2_000]))
    y, y_test = data.y_train.to_numpy()[:_DIGITS], data.y_test.to_numpy()[:2_000]
    del data
    net, rng = models.lenet5(), np.random.default_rng(seed)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(_DIGITS), _DIGITS // 64):
            optimizer.zero_grad()
            logits = net(torch.from_numpy(images[rows]))
            torch.autograd.backward(nn.functional.cross_entropy(logits, torch.from_numpy(y[rows])))
            optimizer.step()
    parts = ((images, y), (test, y_test))
    own, other = (float(np.mean(predict_logits(net, X, torch.device("cpu")).argmax(1) != t)) for X, t in parts)
    return own, other


def less_noise(sign: float, quick: bool) -> Measured:
    """Measure a plain LeNet-5 as the colours' σ falls to 0: its training error, and its test error on grey digits."""
    torch.set_num_threads(1)
    sigmas, seeds = (0.3, 0.1, 0.0), range(2 if quick else 4)
    found = np.array([[_errors(sigma, seed, 1 if quick else 3) for sigma in sigmas] for seed in seeds])
    means = found.mean(axis=0)
    along = ", ".join(f"{own:.3f} and {test:.3f} at σ = {s:g}" for s, (own, test) in zip(sigmas, means, strict=True))
    train, width = interval(found[:, -1, 0])
    rise, own = interval(sign * (found[:, -1, 1] - found[:, 0, 1]))
    return several(
        {
            f"training and test error {along}; at σ = 0": compared(
                train, width, "at most", 0.02, what="training error"
            ),
            "from σ = 0.3 to 0": compared(rise, own, "at least", 0.0, what="what the test error gains"),
        }
    )


def per_iteration(least: float, quick: bool) -> Measured:
    """Measure the time of a step on 60,000 rows over that of 512, for the paper's network and three colours."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    n = 6_000 if quick else 60_000
    X, y = torch.randn(n, 3 * 28 * 28), torch.randint(0, 10, (n,))
    net, reg = models.mlp(X.shape[1], 10), FermiRegularizer(10, 10)
    optimizer = torch.optim.SGD([*net.parameters(), *reg.parameters()], lr=1e-3)

    def step(rows: slice) -> float:
        began = time.perf_counter()
        optimizer.zero_grad()
        logits = net(X[rows])
        (nn.functional.cross_entropy(logits, y[rows]) + reg(logits, y[rows])).backward()
        optimizer.step()
        return time.perf_counter() - began

    small = [step(slice(0, 512)) for _ in range(12)][2:]
    large = [step(slice(0, n)) for _ in range(3)]
    mean, width = interval([one / float(np.median(small)) for one in large])
    what = f"seconds of {n:,} rows ({np.mean(large):.2f}) over those of 512 ({np.median(small):.4f})"
    return compared(mean, width, "at least", least * n / 60_000, what=what)


STATEMENTS = (
    Statement(
        "sigma", "As σ falls to 0 a plain convolutional network has no training error left and generalises worse",
        "section 4.4, after Li and Vasconcelos", less_noise, 1.0, -1.0, "it generalises better",
    ),
    Statement(
        "speed-up", "A step on 512 of 60,000 rows is around 100 times faster: at least 50 times", "appendix E.1",
        per_iteration, 50.0, 5_000.0, "at least 5,000 times",
    ),
    Statement(
        "speed-up-overall", "Training as a whole is around 40 times faster", "appendix E.1", lambda claim, quick: claim,
        untested(
            "the paper says neither how many steps either training took nor what was reached; 2,000 steps of its "
            "network on all 60,000 digits would take hours here"
        ),
        compared(1.0, 0.0, "at least", 40.0, what="times faster"), "a speed-up of 1 is one of 40",
    ),
)  # fmt: skip
