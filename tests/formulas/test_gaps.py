"""The parity difference of a table and its standard error, beside pairs of groups one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fermi._typing import Floats
from fermi.formulas.gaps import parity_difference, standard_error


def by_pairs(table: Floats, squares: Floats) -> tuple[float, float]:
    """The largest difference of two rates, and the root of the sum of both variances."""
    found = []
    for z in range(len(table)):
        groups = [s for s in range(table.shape[1]) if table[z, s].sum() > 0]
        for (s, t), j in itertools.product(itertools.permutations(groups, 2), range(table.shape[2])):
            p, q = table[z, s, j] / table[z, s].sum(), table[z, t, j] / table[z, t].sum()
            one, two = squares[z, s].sum() / table[z, s].sum() ** 2, squares[z, t].sum() / table[z, t].sum() ** 2
            found.append((p - q, math.sqrt(p * (1 - p) * one + q * (1 - q) * two)))
    return max(found)


@pytest.mark.parametrize("seed", range(8))
def test_the_gap_and_its_error_are_those_of_the_pair_that_differs_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, squares = rng.uniform(0.05, 0.3, (3, 4, 3)), rng.uniform(0.05, 0.3, (3, 4, 3))
    table[1, 2] = squares[1, 2] = 0.0  # a group that is absent in one condition
    gap, error = by_pairs(table, squares)
    assert parity_difference(table) == pytest.approx(gap, rel=1e-12)
    assert standard_error(table, squares) == pytest.approx(error, rel=1e-12)


def test_a_condition_without_weight_does_not_count() -> None:
    table = np.array([[[0.3, 0.1], [0.1, 0.3]], [[0.0, 0.0], [0.0, 0.0]]])
    assert parity_difference(table) == pytest.approx(0.5)
