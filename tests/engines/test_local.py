"""The one reducer, on shards of this process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fermi.engines import LocalEngine, engine_of, task_pool
from fermi.errors import FermiError


class Numbers:
    """A shard that holds some numbers."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = np.array(numbers)

    def moments(self, shift: float) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.array(len(self.numbers)), np.array(
            [(self.numbers - shift).sum(), (self.numbers - shift) @ self.numbers]
        )


def test_sums_over_shards_are_those_of_all_numbers_whatever_the_cut() -> None:
    numbers = (1.0, 2.5, -3.0, 8.0, 0.25)
    engine = engine_of("local")
    whole = engine.open(Numbers, [numbers]).sum("moments", 0.5)
    parts = engine.open(Numbers, [numbers[:2], numbers[2:3], numbers[3:]])
    cut = parts.sum("moments", 0.5)
    assert len(parts) == 3
    assert int(cut[0]) == 5
    np.testing.assert_allclose(cut[1], whole[1])
    np.testing.assert_allclose(whole[1], [np.sum(numbers) - 2.5, np.square(numbers).sum() - 0.5 * np.sum(numbers)])
    assert [int(answer[0]) for answer in parts.each("moments", 0.0)] == [2, 1, 2]


def test_no_shards_have_no_sum() -> None:
    shards = LocalEngine().open(Numbers, [(1.0,)])
    shards.close()
    with pytest.raises(ValueError, match="no shards"):
        shards.sum("moments", 0.0)


def test_an_unknown_engine_is_refused_by_name() -> None:
    with pytest.raises(FermiError, match=r"`engine` is 'spark'; expected"):
        engine_of("spark")


def test_an_address_is_for_a_cluster() -> None:
    with pytest.raises(FermiError, match="`address` is 'ray://head:1', and the engine is 'local'"):
        engine_of("local", address="ray://head:1")
    with pytest.raises(FermiError, match="`address` is"), task_pool("local", address="ray://head:1"):
        pass
    assert engine_of("local", address=None).name == "local"
    engine = LocalEngine()
    assert engine_of(engine) is engine
