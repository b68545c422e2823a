"""The last step: single rows moved over the edge, and never away from what is asked."""

from __future__ import annotations

import numpy as np
import pytest

from fermi._typing import Floats
from fermi.decisions.polish import charge, largest, polish, total
from fermi.decisions.requirements import Miss


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("missing", [1, 3])
def test_as_many_rows_turn_as_are_missing(sign: float, missing: int) -> None:
    rng = np.random.default_rng(0)
    distance, g, n = rng.normal(0.0, 0.3, 40), rng.uniform(0.5, 2.0, 40), 40
    change = charge(Miss(0, 1, sign, missing / n), distance, g, np.full(n, 1.0 / n))
    before, after = distance > 0.0, distance - g * change > 0.0
    turned = np.flatnonzero(before != after)
    assert len(turned) == missing
    assert (after[turned] == (sign > 0.0)).all()


def test_rows_that_the_cell_does_not_charge_cannot_turn() -> None:
    assert charge(Miss(0, 1, 1.0, 0.1), np.full(5, -0.2), np.zeros(5), np.full(5, 0.2)) == 0.0
    assert charge(Miss(0, 1, 1.0, 0.1), np.full(5, 0.2), np.ones(5), np.full(5, 0.2)) == 0.0


def test_a_change_that_makes_it_worse_is_not_made() -> None:
    def misses_of(psi: Floats) -> list[Miss]:
        return [Miss(0, 1, 1.0, abs(float(psi[0]) - 0.25))]

    first = np.array([0.0])
    assert polish(first, misses_of, lambda psi, miss: psi + 1.0, largest) == pytest.approx(first)
    # Steps of 0.1 bring it to 0.2 or 0.3, and the next one would lead away again.
    found = polish(first, misses_of, lambda psi, miss: psi + 0.1, largest)
    assert abs(found[0] - 0.25) == pytest.approx(0.05)


def test_nothing_is_moved_where_nothing_is_missed() -> None:
    first = np.array([0.3, 0.1])

    def never(psi: Floats, miss: Miss) -> Floats:
        raise AssertionError

    assert polish(first, lambda psi: [], never, total) is first


def test_where_several_rates_are_off_by_the_same_they_are_mended_one_by_one() -> None:
    def misses_of(psi: Floats) -> list[Miss]:
        return [Miss(cell, 1, 1.0, float(off)) for cell, off in enumerate(np.abs(psi)) if off > 1e-9]

    def mended(psi: Floats, miss: Miss) -> Floats:
        return np.where(np.arange(len(psi)) == miss.cell, psi - miss.amount, psi)

    first = np.full(3, 0.25)
    assert polish(first, misses_of, mended, total) == pytest.approx(np.zeros(3), abs=1e-9)
    assert polish(first, misses_of, mended, largest) == pytest.approx(first)  # no single change makes that one less
