"""Columns as integer codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Ints
from fermi.compiled.kernels import mark_seen
from fermi.compiled.parallel import chunks, over_parts

# A table of all values this long is cheap beside any column.
SMALL_TABLE = 1 << 16


@dataclass(frozen=True, eq=False)
class Codes:
    """A coded column: row i holds `values_of[raw[i] - first]`, or nothing where that index is -1.

    The offset lets a column of small integers stand for its own codes, with no copy. Such a column may list
    values that never occur; `compact` drops them.
    """

    raw: NDArray[np.integer[Any]]
    first: int
    values_of: Sequence[Any]
    n_unknown: int = 0

    def __len__(self) -> int:
        return len(self.raw)

    @classmethod
    def constant(cls, n: int, value: Any) -> Codes:
        """A coded column with one value for every row, in no memory."""
        return cls(np.broadcast_to(np.int64(0), n), 0, (value,))

    @property
    def is_constant(self) -> bool:
        """Whether every row holds the same, known value by construction."""
        return self.raw.strides == (0,)

    def part(self, rows: slice) -> Ints:
        """The raw codes of some rows as int64; a copy only if they are not that already."""
        return np.ascontiguousarray(self.raw[rows], dtype=np.int64)

    def dense(self) -> Ints:
        """The code of every row, 0 to len(values_of) - 1, or -1."""
        codes: Ints = np.subtract(self.raw, self.first, dtype=np.int64)
        return codes

    def is_unknown(self) -> NDArray[np.bool_]:
        """Which rows hold no value."""
        return np.asarray(self.raw < self.first)

    def recode(self, to: Sequence[int] | Ints, values_of: Sequence[Any]) -> Codes:
        """The column with new values: code j becomes `to[j]`, where -1 is unknown."""
        table = np.append(np.asarray(to, dtype=np.int64), -1)  # index -1 reaches the last entry: unknown stays unknown
        codes = np.empty(len(self), dtype=np.int64)

        def look_up(part: slice) -> None:
            for rows in chunks(part):
                codes[rows] = table[self.part(rows) - self.first]

        over_parts(len(self), look_up)
        return Codes(codes, 0, values_of, int(np.count_nonzero(codes < 0)))

    def where(self, keep: NDArray[np.bool_]) -> Codes:
        """The column of some of the rows."""
        if self.is_constant:
            return Codes.constant(int(np.count_nonzero(keep)), self.values_of[0])
        raw = self.raw[keep]
        return Codes(raw, self.first, self.values_of, int(np.count_nonzero(raw < self.first)))

    def occurring(self) -> Ints:
        """The codes that some row has, ascending."""
        if len(self.values_of) > max(SMALL_TABLE, 4 * len(self)):
            found = np.unique(self.dense())  # a table of all values would be far longer than the column
            return found[found >= 0]
        seen = np.zeros(len(self.values_of) + 1, dtype=np.bool_)

        def mark(part: slice) -> None:
            for rows in chunks(part):
                mark_seen(self.part(rows), self.first, seen)  # -1 marks the extra last entry
                if len(seen) <= SMALL_TABLE and seen[:-1].all():
                    return  # most columns show all they hold in their first rows

        over_parts(len(self), mark)
        return np.flatnonzero(seen[:-1])

    def compact(self) -> Codes:
        """The column with only the values that occur."""
        kept = self.occurring()
        values = take(self.values_of, kept.tolist())
        if len(kept) == len(self.values_of):
            return self
        if len(self.values_of) > max(SMALL_TABLE, 4 * len(self)):
            dense = self.dense()
            codes = np.where(dense < 0, -1, np.searchsorted(kept, dense))
            return Codes(codes, 0, values, self.n_unknown)
        to = np.full(len(self.values_of), -1)
        to[kept] = np.arange(len(kept))
        return self.recode(to, values)


def take(values: Sequence[Any], kept: Sequence[int]) -> Sequence[Any]:
    """Some of the values of a sequence, in one of the same kind where that has a way of its own."""
    chosen: Sequence[Any] = values.take(kept) if hasattr(values, "take") else [values[j] for j in kept]
    return chosen
