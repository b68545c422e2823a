"""What every solver returns and reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fermi._typing import Floats

Watch = Callable[[Floats, tuple[Floats, ...], int], bool]


def never(theta: Floats, duals: tuple[Floats, ...], done: int) -> bool:
    """A `Watch`: called after each record with θ, W and the passes made, it says whether to stop there."""
    return False


class Solution(NamedTuple):
    """The parameters θ, W of each term (Z × k × m), whether the tolerance was met, and the passes or iterations."""

    theta: Floats
    duals: tuple[Floats, ...]
    converged: bool
    n_iter: int
