"""The engine of one process: its shards answer one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from fermi.engines.contract import Arrays, added


class LocalShards:
    """Shards that live in this process."""

    def __init__(self, shards: Sequence[Any]) -> None:
        self._shards = list(shards)

    def __len__(self) -> int:
        return len(self._shards)

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every shard, one after the other."""
        return [getattr(shard, method)(*arguments) for shard in self._shards]

    def sum(self, method: str, *arguments: Any) -> Arrays:
        """Add up what a method answers, in the order of the shards."""
        return added(getattr(shard, method)(*arguments) for shard in self._shards)

    def close(self) -> None:
        """Let go of the shards."""
        self._shards.clear()


class LocalEngine:
    """The engine of one process: one shard, which overlaps its reading with its sums."""

    name: ClassVar[str] = "local"
    workers = 1

    def open(self, make: Callable[..., Any], parts: Sequence[tuple[Any, ...]]) -> LocalShards:
        """Make the shards in this process."""
        return LocalShards([make(*part) for part in parts])
