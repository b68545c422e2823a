"""One row of a feature matrix inside compiled loops: the same verbs for dense and for sparse rows.

X is a dense array, or the tuple (data, indices, indptr) of a CSR matrix. Dense rows are copied to a small window,
standardised, before the recursion reaches them: the processor fetches many rows at once, and the recursion then finds
plain float64 rows in its nearest cache. Sparse rows are scaled but not centred, and stay where they are.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from fermi.compiled.jit import REORDERED, inlined
from fermi.compiled.prefetch import prefetch

WINDOW = 16  # rows
BLOCK = 16  # columns that a compiled loop takes at once


@inlined
def load_row(X: Any, i: int, centre: Any, inverse_scale: Any, window: Any, u: int) -> None:
    """Load a dense row into the window: window[u] = (x_i − centre) / scale.

    The columns behind the last whole block are the end of a block that overlaps it: one by one they would take longer.
    """
    d = centre.shape[0]
    if d < BLOCK:
        for j in range(d):
            window[u, j] = (X[i, j] - centre[j]) * inverse_scale[j]
        return
    for j in range(d // BLOCK * BLOCK):
        window[u, j] = (X[i, j] - centre[j]) * inverse_scale[j]
    for back in range(BLOCK):
        j = d - BLOCK + back
        window[u, j] = (X[i, j] - centre[j]) * inverse_scale[j]


def load_rows(X: Any, order: Any, start: int, stop: int, centre: Any, inverse_scale: Any, window: Any) -> None:
    """Load rows into the window: window[u] = (x_i − centre) / scale for the rows i = order[start + u]."""
    raise RuntimeError("only compiled code calls this")


def fetch_row(X: Any, i: int) -> None:
    """Ask for row i, to be loaded soon."""
    raise RuntimeError("only compiled code calls this")


def row_dot(X: Any, i: int, inverse_scale: Any, window: Any, u: int, theta: Any, r: int) -> float:
    """The product θ_r · row i, which is row u of the window."""
    raise RuntimeError("only compiled code calls this")


def row_add(X: Any, window: Any, u: int, factor: float, out: Any, r: int) -> None:
    """Add a row: out_r ← out_r + factor · row u of the window, if X has one."""
    raise RuntimeError("only compiled code calls this")


def row_step(
    X: Any, i: int, inverse_scale: Any, window: Any, u: int, step: float, penalty: float, l2: Any, small: bool,
    theta: Any, r: int,
) -> None:  # fmt: skip
    """Step along a row: θ_r ← θ_r shrunk by the penalty − step · row i, in the columns that the row has.

    Shrunk is θ (1 − penalty · l2), or θ / (1 + penalty · l2) where that is not `small`: no step makes it unstable.
    """
    raise RuntimeError("only compiled code calls this")


@overload(load_rows, jit_options={"fastmath": REORDERED})
def _load_rows(X: Any, order: Any, start: Any, stop: Any, centre: Any, inverse_scale: Any, window: Any) -> Any:
    if isinstance(X, types.Array):

        def dense(X: Any, order: Any, start: Any, stop: Any, centre: Any, inverse_scale: Any, window: Any) -> None:
            for u in range(stop - start):
                load_row(X, order[start + u], centre, inverse_scale, window, u)

        return dense

    def sparse(X: Any, order: Any, start: Any, stop: Any, centre: Any, inverse_scale: Any, window: Any) -> None:
        pass

    return sparse


@overload(fetch_row)
def _fetch_row(X: Any, i: Any) -> Any:
    if isinstance(X, types.Array):
        per_line = 64 * 8 // X.dtype.bitwidth

        def dense(X: Any, i: Any) -> None:
            for j in range(0, X.shape[1], per_line):
                prefetch(X, i, j)
            prefetch(X, i, X.shape[1] - 1)

        return dense

    def sparse(X: Any, i: Any) -> None:
        pass

    return sparse


@overload(row_dot, jit_options={"fastmath": REORDERED})
def _row_dot(X: Any, i: Any, inverse_scale: Any, window: Any, u: Any, theta: Any, r: Any) -> Any:
    if isinstance(X, types.Array):

        def dense(X: Any, i: Any, inverse_scale: Any, window: Any, u: Any, theta: Any, r: Any) -> Any:
            total = 0.0
            for j in range(theta.shape[1]):
                total += theta[r, j] * window[u, j]
            return total

        return dense

    def sparse(X: Any, i: Any, inverse_scale: Any, window: Any, u: Any, theta: Any, r: Any) -> Any:
        data, indices, indptr = X
        total = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            total += theta[r, j] * inverse_scale[j] * data[entry]
        return total

    return sparse


@overload(row_add, jit_options={"fastmath": REORDERED})
def _row_add(X: Any, window: Any, u: Any, factor: Any, out: Any, r: Any) -> Any:
    if isinstance(X, types.Array):

        def dense(X: Any, window: Any, u: Any, factor: Any, out: Any, r: Any) -> None:
            for j in range(out.shape[1]):
                out[r, j] += factor * window[u, j]

        return dense

    def sparse(X: Any, window: Any, u: Any, factor: Any, out: Any, r: Any) -> None:
        pass

    return sparse


@overload(row_step, jit_options={"fastmath": REORDERED})
def _row_step(
    X: Any, i: Any, inverse_scale: Any, window: Any, u: Any, step: Any, penalty: Any, l2: Any, small: Any,
    theta: Any, r: Any,
) -> Any:  # fmt: skip
    if isinstance(X, types.Array):

        def dense(
            X: Any, i: Any, inverse_scale: Any, window: Any, u: Any, step: Any, penalty: Any, l2: Any, small: Any,
            theta: Any, r: Any,
        ) -> None:  # fmt: skip
            if small:
                for j in range(theta.shape[1]):
                    theta[r, j] -= penalty * l2[j] * theta[r, j] + step * window[u, j]
            else:
                for j in range(theta.shape[1]):
                    theta[r, j] = theta[r, j] / (1.0 + penalty * l2[j]) - step * window[u, j]

        return dense

    def sparse(
        X: Any, i: Any, inverse_scale: Any, window: Any, u: Any, step: Any, penalty: Any, l2: Any, small: Any,
        theta: Any, r: Any,
    ) -> None:  # fmt: skip
        data, indices, indptr = X
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            shrunk = theta[r, j] * (1.0 - penalty * l2[j]) if small else theta[r, j] / (1.0 + penalty * l2[j])
            theta[r, j] = shrunk - step * inverse_scale[j] * data[entry]

    return sparse
