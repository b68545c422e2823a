"""What every solver returns and reports."""

from __future__ import annotations

from typing import NamedTuple

from fermi._kernels import Floats

Record = dict[str, float]


class Solution(NamedTuple):
    """The parameters θ, W of each term (Z × k × m), whether the tolerance was met, and the passes or iterations."""

    theta: Floats
    duals: tuple[Floats, ...]
    converged: bool
    n_iter: int
