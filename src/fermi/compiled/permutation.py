"""Random permutations, compiled."""

from __future__ import annotations

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled.jit import compiled


def shuffled(n: int, rng: np.random.Generator) -> Ints:
    """Draw a random permutation, sooner than numpy does, which a pass over short rows would feel."""
    order = np.empty(n, dtype=np.int64)
    shuffle(rng.random(n), order)
    return order


@compiled
def shuffle(uniform: Floats, order: Ints) -> None:
    """Fill `order` with a random permutation, from one uniform number per entry (Fisher and Yates, inside out)."""
    for i in range(order.shape[0]):
        j = int(uniform[i] * (i + 1))
        order[i] = order[j]
        order[j] = i
