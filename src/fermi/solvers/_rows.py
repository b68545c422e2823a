"""One row of a feature matrix inside compiled loops: the same two verbs for dense and for sparse rows.

X is a dense array, or the tuple (data, indices, indptr) of a CSR matrix. Dense rows are centred; sparse ones are not.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import overload

from fermi._jit import REORDERED


def row_dot(X: Any, i: int, centre: Any, a: Any, r: int) -> float:
    """Σ_j (x_ij − centre_j) a_rj."""
    raise RuntimeError("only compiled code calls this")


def row_add(X: Any, i: int, centre: Any, step: float, inverse_square: Any, shrink: Any, a: Any, r: int) -> None:
    """a_rj ← shrink_j a_rj − step (x_ij − centre_j) / scale_j², for the columns that the row has."""
    raise RuntimeError("only compiled code calls this")


@overload(row_dot, jit_options={"fastmath": REORDERED})
def _row_dot(X: Any, i: Any, centre: Any, a: Any, r: Any) -> Any:
    if isinstance(X, types.Array):

        def dense(X: Any, i: Any, centre: Any, a: Any, r: Any) -> Any:
            total = 0.0
            for j in range(a.shape[1]):
                total += a[r, j] * (X[i, j] - centre[j])
            return total

        return dense

    def sparse(X: Any, i: Any, centre: Any, a: Any, r: Any) -> Any:
        data, indices, indptr = X
        total = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            total += a[r, indices[entry]] * data[entry]
        return total

    return sparse


@overload(row_add, jit_options={"fastmath": REORDERED})
def _row_add(X: Any, i: Any, centre: Any, step: Any, inverse_square: Any, shrink: Any, a: Any, r: Any) -> Any:
    if isinstance(X, types.Array):

        def dense(X: Any, i: Any, centre: Any, step: Any, inverse_square: Any, shrink: Any, a: Any, r: Any) -> Any:
            for j in range(a.shape[1]):
                a[r, j] = shrink[j] * a[r, j] - step * (X[i, j] - centre[j]) * inverse_square[j]

        return dense

    def sparse(X: Any, i: Any, centre: Any, step: Any, inverse_square: Any, shrink: Any, a: Any, r: Any) -> Any:
        data, indices, indptr = X
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            a[r, j] = shrink[j] * a[r, j] - step * data[entry] * inverse_square[j]

    return sparse
