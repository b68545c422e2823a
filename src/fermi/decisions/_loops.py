"""One pass over the rows of the stage, compiled: what `Program.expand` says in numpy's words in its docstring."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats
from fermi.compiled.jit import compiled_reordered

Flags: TypeAlias = NDArray[np.bool_]
SURE = 36.0  # exp(-36) is below the rounding of one: a row this certain, in units of τ, adds nothing but its label


@compiled_reordered
def expand_two(
    margin: Floats, g: Floats, weight: Floats, psi: Floats, tau: float, rates: Floats, spread: Floats
) -> float:
    """Two classes: add up the rates of the second, write w p (1 − p), return Σ w (u₊ + τ log(1 + exp(−|u| / τ)))."""
    value = 0.0
    for i in range(margin.shape[0]):
        u = margin[i]
        for c in range(g.shape[1]):
            u -= g[i, c] * psi[c]
        value += weight[i] * max(u, 0.0)
        p, spread[i] = 1.0 if u > 0.0 else 0.0, 0.0
        if abs(u) < SURE * tau:
            tail = math.exp(-abs(u) / tau)
            p = (1.0 if u > 0.0 else tail) / (1.0 + tail)
            value += weight[i] * tau * math.log1p(tail)
            spread[i] = weight[i] * tail / (1.0 + tail) ** 2
        if p > 0.0:
            for c in range(g.shape[1]):
                rates[c] += weight[i] * p * g[i, c]
    return value


@compiled_reordered
def expand_many(
    scores: Floats,
    g: Floats,
    weight: Floats,
    psi: Floats,
    tau: float,
    rates: Floats,
    P: Floats,
    is_open: Flags,
) -> float:
    """Several classes: write softmax(u / τ) and which rows it leaves open, add up the rates, return Σ w τ log Σ exp."""
    value = 0.0
    m = scores.shape[1]
    for i in range(scores.shape[0]):
        top = -math.inf
        for j in range(m):
            u = scores[i, j]
            for c in range(g.shape[1]):
                u -= g[i, c] * psi[c, j]
            P[i, j] = u
            top = max(top, u)
        total = 0.0
        for j in range(m):
            P[i, j] = math.exp((P[i, j] - top) / tau) if top - P[i, j] < SURE * tau else 0.0
            total += P[i, j]
        is_open[i] = total > 1.0
        value += weight[i] * (top + tau * math.log(total) if total > 1.0 else top)
        for j in range(m):
            P[i, j] /= total
            if P[i, j] > 0.0:
                for c in range(g.shape[1]):
                    rates[c, j] += weight[i] * P[i, j] * g[i, c]
    return value
