"""Random laws of (group, prediction), and duals for them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.strategies import tables

Law = NDArray[np.float64]


@st.composite
def laws(draw: st.DrawFn, min_groups: int = 1, min_classes: int = 1) -> Law:
    table: Law = draw(tables(conditions=1, min_groups=min_groups, min_classes=min_classes))[0]
    law: Law = table / table.sum()
    return law


def inverse(x: Law) -> Law:
    return np.divide(1.0, x, out=np.zeros_like(x), where=x > 0)


def duals(P: Law, seed: int, scale: float = 1.0) -> Law:
    return scale * np.random.default_rng(seed).standard_normal(P.shape)
