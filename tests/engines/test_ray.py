"""Sums over shards on a Ray cluster, one of whose workers is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("ray", reason="the extra `ray` is not installed")

from fermi.engines import LocalEngine, RayEngine, engine_of
from fermi.errors import DataError, FermiError
from tests.ray_cluster import DEPRECATED, running

pytestmark = [pytest.mark.slow, pytest.mark.first, pytest.mark.filterwarnings(DEPRECATED)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with running():
        yield


class Numbers:
    """A shard that holds some numbers, and kills its process when a file says so."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers, self.shift = np.array(numbers), 0.0

    def tell(self, shift: float) -> None:
        self.shift += shift

    def moments(self, power: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        power += 0.0  # what arrives can be written to
        return np.array(len(self.numbers)), ((self.numbers - self.shift)[:, None] ** power).sum(axis=0)

    def die(self, notes: str, first: float) -> tuple[NDArray[Any], ...]:
        marker = Path(notes)
        if self.numbers[0] == first and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.moments(np.array([1.0, 2.0]))

    def always_die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def blame(self) -> None:
        raise DataError("The file 'a' is bad.")


PARTS = [([1.0, 2.5, -3.0],), ([8.0, 0.25],)]


@pytest.mark.usefixtures("cluster")
def test_sums_are_those_of_one_process_and_survive_a_kill(tmp_path: Path) -> None:
    engine = engine_of("ray")
    assert engine.workers == 2
    shards, local = engine.open(Numbers, PARTS), LocalEngine().open(Numbers, PARTS)
    for both in (shards, local):
        both.each("tell", 0.5)
        both.each("tell", 0.25)
    powers = np.array([1.0, 2.0, 3.0])
    for ours, theirs in zip(shards.sum("moments", powers), local.sum("moments", powers), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    found = shards.sum("die", str(tmp_path / "killed"), 8.0)
    assert (tmp_path / "killed").exists()
    for ours, theirs in zip(found, local.sum("moments", np.array([1.0, 2.0])), strict=True):
        np.testing.assert_array_equal(ours, theirs)  # the new shard was told the shifts again
    with pytest.raises(DataError, match="The file 'a' is bad"):
        shards.each("blame")
    shards.close()


@pytest.mark.usefixtures("cluster")
def test_a_worker_that_always_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fermi.engines.ray._MOST_DEATHS", 2)
    shards = RayEngine(workers=1).open(Numbers, PARTS[:1])
    with pytest.raises(FermiError, match="A worker died 2 times at the same work"):
        shards.each("always_die")
    shards.close()
