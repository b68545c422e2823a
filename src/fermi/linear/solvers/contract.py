"""What every solver of a linear model returns and reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fermi._typing import Floats

Watch = Callable[[Floats, tuple[Floats, ...], int], bool]


def never(theta: Floats, duals: tuple[Floats, ...], done: int) -> bool:
    """The `Watch` that never stops; one is called after each record with θ, W and the passes made."""
    return False


class Solution(NamedTuple):
    """A solution: θ, W of each term (Z × k × m), whether the tolerance was met, and the passes or iterations."""

    theta: Floats
    duals: tuple[Floats, ...]
    converged: bool
    n_iter: int
