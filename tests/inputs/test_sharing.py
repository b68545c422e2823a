"""Rows that are read once: the same values while they are kept, anew after."""

from __future__ import annotations

import numpy as np

from fermi.inputs.sharing import remembered, shared_rows


def test_what_is_made_of_the_same_parts_is_made_once_while_it_is_kept() -> None:
    X = np.zeros(3)
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [remembered((X,), make), remembered((X,), make)] == [0, 1]
    with shared_rows():
        assert [remembered((X, "a", 1), make) for _ in range(3)] == [2, 2, 2]
        with shared_rows():
            assert remembered((X, "a", 1), make) == 2
            assert remembered((X, "a", True), make) == 3
            assert [remembered((X, "a"), make, here=True) for _ in range(2)] == [4, 4]
        assert remembered((X.copy(), "a", 1), make) == 5
        assert [remembered((X, "a"), make, here=here) for here in (True, False)] == [6, 6]
    with shared_rows():
        assert remembered((X, "a", 1), make) == 7
