"""Random tables and rows: zeros, one-row groups, 1 to 5 classes, 1 to 6 groups, several conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from fermi import Contingency


@st.composite
def tables(draw: st.DrawFn, conditions: int = 3, min_groups: int = 1, min_classes: int = 1) -> NDArray[np.float64]:
    shape = (
        draw(st.integers(1, conditions)),
        draw(st.integers(min_groups, 6)),
        draw(st.integers(min_classes, 5)),
    )
    cells = draw(
        st.sampled_from(
            [
                st.integers(0, 3).map(float),  # many zeros, groups of one row
                st.integers(0, 1000).map(float),
                st.floats(0.0, 1.0).map(lambda x: 0.0 if x < 1e-6 else x),
                st.floats(-12.0, 3.0).map(lambda x: 10.0**x),  # rare groups and classes
            ]
        )
    )
    table = draw(hnp.arrays(np.float64, shape, elements=cells))
    if not table.any():
        table[0, 0, 0] = 1.0
    return table


def contingencies(**options: Any) -> st.SearchStrategy[Contingency]:
    return tables(**options).map(Contingency)


@dataclass
class Rows:
    y_pred: list[int]
    sensitive: list[str | None]
    y_true: list[int]
    weight: list[int]


@st.composite
def rows(draw: st.DrawFn, missing: bool = True, min_size: int = 1) -> Rows:
    n = draw(st.integers(min_size, 40))
    m, k = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    groups: list[str | None] = [f"g{j}" for j in range(k)]

    def column(options: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(options), min_size=n, max_size=n))

    sensitive = column([*groups, None] if missing else groups)
    sensitive[0] = "g0"  # at least one known group
    weight = column([0, 1, 2, 5])
    weight[0] = 1
    return Rows(column(list(range(m))), sensitive, column([0, 1, 2]), weight)
