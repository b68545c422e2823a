"""Sums over the rows of a design that a Hessian is made of, without a copy of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi._typing import Floats, Ints
from fermi.compiled import kernels
from fermi.linear.design import Design

_IN_CACHE = 65_536  # entries of X that are standardised at a time
_LONG = 50_000_000  # multiplications, which take about five milliseconds


def weighted_grams(design: Design, weights: list[Floats]) -> list[Floats]:
    """Aᵀ diag(r) A for each vector r of row weights, of any sign; the intercept is the last column of A.

    Where that saves milliseconds, dense rows are multiplied in single precision, in parts that fit the cache, and the
    parts added up in double precision: six digits are enough for a metric or for a Newton step, whose gradient has them
    all.
    """
    return _sparse(design, weights) if hasattr(design.X, "tocsr") else _dense(design, weights)


def sums_by_cell(X: Any, cells: Ints, weight: Floats, n_cells: int) -> Floats:
    """The weighted sum of the rows of X in every cell, cells × columns; a row in cell -1 counts in none."""
    table = np.zeros((n_cells, X.shape[1]))
    if hasattr(X, "tocsr"):
        kernels.add_sparse_rows_by_cell(cells, weight, X.indptr, X.indices, X.data, table)
    else:
        kernels.add_rows_by_cell(cells, weight, X, table)
    return table


def _dense(design: Design, weights: list[Floats]) -> list[Floats]:
    width = design.shape[0]
    grams = [np.zeros((width, width)) for _ in weights]
    step = max(64, _IN_CACHE // width)
    precision = np.float32 if design.X.shape[0] * width**2 > _LONG else np.float64
    part = np.ones((step, width), dtype=precision)
    for first in range(0, design.X.shape[0], step):
        rows = slice(first, first + step)
        X = design.X[rows]
        A = part[: len(X)]
        A[:, : X.shape[1]] = (X - design.centre) / design.scale
        for gram, r in zip(grams, weights, strict=True):
            gram += _product(A, r[rows].astype(precision))
    return grams


def _product(A: Any, r: Any) -> Any:
    """Aᵀ diag(r) A, by half the work that two different factors would take."""
    negative = r < 0.0
    if negative.any():
        low = A[negative] * np.sqrt(-r[negative])[:, None]
        high = A[~negative] * np.sqrt(r[~negative])[:, None]
        return high.T @ high - low.T @ low
    root = A * np.sqrt(r)[:, None]
    return root.T @ root


def _sparse(design: Design, weights: list[Floats]) -> list[Floats]:
    X, width = design.X, design.X.shape[1]
    grams = []
    for r in weights:
        half = np.zeros((width, width))
        kernels.add_sparse_gram(X.indptr, X.indices, X.data, r, half)
        gram = half + half.T
        np.fill_diagonal(gram, np.diagonal(half))
        sums, total = np.asarray(X.T @ r.astype(X.dtype), dtype=np.float64), float(r.sum())
        gram += design.centre[:, None] * (total * design.centre - sums) - sums[:, None] * design.centre
        gram /= design.scale[:, None] * design.scale
        grams.append(_bordered(gram, (sums - total * design.centre) / design.scale, total, design.intercept))
    return grams


def _bordered(gram: Floats, sums: Floats, total: float, intercept: bool) -> Floats:
    return np.block([[gram, sums[:, None]], [sums[None, :], np.array([[total]])]]) if intercept else gram
