"""What `FermiRegularizer` adds to a training step: the same step with and without it, by turns in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from fermi.torch import FermiRegularizer, models

ROUNDS, SECONDS = 15, 0.4  # of each side; a round takes about so long


class Shape(NamedTuple):
    """Rows per step, classes and groups."""

    batch: int
    n_classes: int
    n_groups: int


CASES: dict[str, tuple[str, Shape]] = {
    "LeNet-5, batch 512": ("lenet", Shape(512, 10, 10)),
    "linear, 1,000 classes × 1,000 groups, batch 256": ("linear", Shape(256, 1000, 1000)),
    **{f"linear, 10 classes × 10 groups, batch {b:,}": ("linear", Shape(b, 10, 10)) for b in (256, 1024, 4096, 16384)},
    **{f"linear, 2 classes × {k:,} groups, batch 256": ("linear", Shape(256, 2, k)) for k in (2, 1000, 100_000)},
}


def make_step(kind: str, shape: Shape, *, fair: bool) -> Callable[[], None]:
    """One step of SGD on fixed rows, with the fairness term or without it."""
    torch.manual_seed(0)
    n, m, k = shape
    net = models.lenet5(m, channels=1) if kind == "lenet" else models.logistic(64, m)
    x = torch.randn(n, 1, 28, 28) if kind == "lenet" else torch.randn(n, 64)
    y, s = torch.randint(0, m, (n,)), torch.randint(0, k, (n,))
    regularizer = FermiRegularizer(m, k, lam=1.0)
    optimizer = torch.optim.SGD([*net.parameters(), *(regularizer.parameters() if fair else ())], lr=0.01)

    def step() -> None:
        logits = net(x)
        loss = nn.functional.cross_entropy(logits, y)
        if fair:
            loss = loss + regularizer(logits, s)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def measure() -> list[dict[str, Any]]:
    """Seconds per step of both sides, and their ratio and difference."""
    cases = []
    for case, (kind, shape) in CASES.items():
        sides = [make_step(kind, shape, fair=fair) for fair in (False, True)]
        for step in sides:
            step()
        began = time.perf_counter()
        sides[0]()
        steps = max(3, round(SECONDS / max(time.perf_counter() - began, 1e-5)))
        rounds = np.array([[_seconds(step, steps) for step in sides] for _ in range(ROUNDS)])
        best, median = rounds.min(axis=0), np.median(rounds, axis=0)
        cases.append(
            {
                "case": case,
                "peer": "the step without the term",
                "fermi_seconds": best[1],
                "peer_seconds": best[0],
                "ratio": best[1] / best[0],
                "extra_milliseconds": 1e3 * (best[1] - best[0]),
                # Noise that lasts longer than a round hits both sides of a pair alike.
                "median_ratio_of_pairs": float(np.median(rounds[:, 1] / rounds[:, 0])),
                "median_extra_milliseconds": 1e3 * float(median[1] - median[0]),
            }
        )
    return cases


def _seconds(step: Callable[[], None], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - began) / times


def show(cases: list[dict[str, Any]]) -> None:
    """Print them."""
    for case in cases:
        print(
            f"{case['case']}: {case['ratio']:.3f} of {case['peer']}, {case['extra_milliseconds']:.2f} ms more\n"
            f"    {1e3 * case['fermi_seconds']:.2f} ms against {1e3 * case['peer_seconds']:.2f} ms, the best rounds of "
            f"each; median ratio {case['median_ratio_of_pairs']:.3f}, median extra "
            f"{case['median_extra_milliseconds']:.2f} ms"
        )
