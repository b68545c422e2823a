"""One-hot and other repetitive columns as a sparse matrix: what differs from each column's usual value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, csr_matrix

from fermi._typing import Floats
from fermi.compiled import kernels
from fermi.linear.design import Design

_SAMPLE = 101  # rows, an odd number, so that the middle one of a column's sorted entries is one of them
_FEWEST = 100_000  # entries of X
_DENSEST = 0.25


def sparse_view(design: Design) -> Design:
    """A design with X as a CSR matrix where most entries are their column's usual value, else the design itself.

    With X = S + 1 bᵀ, the centred X − c is S − (c − b): logits and gradients of a θ are those of the dense rows up to
    rounding, and cost what the entries of S cost. `coefficients` are then in the units of S, not of X.
    """
    X = design.X
    if hasattr(X, "tocsr") or X.size < _FEWEST:
        return design
    rows = np.sort(X[:: max(1, len(X) // _SAMPLE)][:_SAMPLE], axis=0)
    middle = rows[len(rows) // 2]
    apart = (rows != middle).mean(axis=0)
    if apart.mean() > _DENSEST:
        return design
    base = np.where(apart < 0.5, middle, design.centre).astype(X.dtype)
    return replace(design, X=_apart(X, base), centre=design.centre - base)


def _apart(X: Floats, base: Floats) -> csr_matrix:
    """X − base as a CSR matrix; X is read in the order of its memory."""
    turned = X.strides[0] < X.strides[1]
    lines = X.T if turned else X
    ends = np.zeros(len(lines) + 1, dtype=np.int64)
    kernels.count_apart(lines, base, turned, ends[1:])
    np.cumsum(ends, out=ends)
    count = int(ends[-1])
    small = np.int32 if count < np.iinfo(np.int32).max else np.int64
    indices, data = np.empty(count + 1, dtype=small), np.empty(count + 1, dtype=X.dtype)
    kernels.fill_apart(lines, base, turned, ends, indices, data)
    parts: Any = data[:count], indices[:count], ends.astype(small)
    return csc_matrix(parts, shape=X.shape).tocsr() if turned else csr_matrix(parts, shape=X.shape)
