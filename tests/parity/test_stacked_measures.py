"""Measures of a stack of tables are those of its tables."""

from __future__ import annotations

import numpy as np
import pytest

from fermi import Contingency
from fermi.auditing._measured import value_of
from fermi.formulas.stacked import NAMES, measures


def test_measures_of_a_stack_are_those_of_its_tables() -> None:
    rng = np.random.default_rng(0)
    for shape in [(1, 2, 2), (2, 5, 3), (3, 2, 4), (1, 3, 6)]:
        stack = rng.poisson(2.0, (30, *shape)).astype(float)
        stack[:, 0, 0] += 1.0
        stack[3, :, -1] = 0.0  # an absent group
        stack[4, -1, :-1] = 0.0
        for found, table in zip(measures(stack).T, stack, strict=True):
            peer = [value_of(name, Contingency(table)) for name in NAMES]
            assert found == pytest.approx(peer, abs=1e-7)
