"""Rows in contiguous parts, on as many threads as help. The compiled loops release the GIL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")

# The number of parts is fixed, not the number of processors: floating-point sums come out the same on every machine.
_PARTS = 4
_WORTH_THREADS = 1 << 20
_CHUNK = 1 << 15  # rows at a time: the temporaries of a chunk stay in the processor's cache


def over_parts(n: int, work: Callable[[slice], T], result_size: int = 0) -> list[T]:
    """Do work on consecutive slices of n rows, on threads where that helps, and return the results in order.

    One slice does where there are few rows, or where each result would be as large as its part of them.
    """
    if n < _WORTH_THREADS or result_size * _PARTS > n:
        return [work(slice(0, n))]
    edges = [n * part // _PARTS for part in range(_PARTS + 1)]
    with ThreadPoolExecutor(_PARTS) as pool:
        return list(pool.map(work, (slice(a, b) for a, b in pairwise(edges))))


def chunks(rows: slice, size: int = _CHUNK) -> Iterator[slice]:
    """Cut a slice of rows into chunks."""
    return (slice(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size))
