"""What every solver reports on the way and hands back at the end."""

from __future__ import annotations

from typing import NamedTuple

from fermi._kernels import Floats

Record = dict[str, float]


class Solution(NamedTuple):
    """θ, W of each term, whether the gradient fell under the tolerance, and the number of steps."""

    theta: Floats
    duals: tuple[Floats, ...]
    converged: bool
    n_iter: int
