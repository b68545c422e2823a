"""What people and programs pass by mistake, and rows to pass beside it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import csr_matrix

Rng = np.random.Generator

STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 0.5, 1.5, -0.25, float("nan"), float("inf"), float("-inf"), 1e308, 1e-308,
    5e-324, 10**400, -(10**400), 2**63, -(2**63) - 1, "", "x", "auto", "labels", "argmax", "each", "demographic_parity",
    "equalized_odds", "a\nb", "\x1b[31m", "\ud800", b"x", [], [1], [None], ["x", 1], (), (0.1, 0.5), (0.9, 0.1), {},
    {"a": 1}, {1: 0.5}, {"max_bin": 0}, {"num_leaves": "x"}, set(), {1, "a"}, object, len, print, complex(1, 1),
    Decimal("0.1"), Fraction(1, 3), np.float32(0.1), np.int8(3), np.bool_(True), np.array([1, 2]), np.array(0.5),
    np.array([[0.2, 0.8]]), pd.NA, pd.NaT, np.datetime64("2020-01-01"), datetime.date(2020, 1, 1),
    np.random.default_rng(0), np.random.RandomState(0), range(3), iter([1, 2]), slice(3), ..., NotImplemented,
)  # fmt: skip


class Rows(NamedTuple):
    """Rows that any estimator takes."""

    X: Any
    y: Any
    s: Any
    w: Any


def rows(rng: Rng, n: int | None = None) -> Rows:
    """Rows with two to four classes, one to four groups and features that tell something of both."""
    n = int(rng.integers(40, 120)) if n is None else n
    classes, groups, width = int(rng.integers(2, 5)), int(rng.integers(1, 5)), int(rng.integers(1, 5))
    s = rng.integers(0, groups, n)
    X = rng.normal(size=(n, width)) + 0.5 * s[:, None]
    score = X[:, 0] + rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    words = np.array(["no", "yes", "perhaps", "so"])
    labels = [y, words[y], y.astype(float), y == y.max(), pd.Categorical(words[y]), pd.Series(y)]
    found = labels[int(rng.integers(len(labels)))]
    return Rows(X, found, np.array(["a", "b", "c", "d"])[s], rng.random(n) + 0.1)


def _with(values: Any, rng: Rng, entry: Any) -> Any:
    changed = np.array(values, dtype=object)
    changed.reshape(-1)[int(rng.integers(changed.size))] = entry
    return changed


ALTERATIONS: tuple[Callable[[Any, Rng], Any], ...] = (
    lambda v, rng: v[:-1],
    lambda v, rng: v[:0],
    lambda v, rng: np.concatenate([v, v]),
    lambda v, rng: _with(v, rng, None),
    lambda v, rng: _with(v, rng, float("nan")),
    lambda v, rng: _with(v, rng, float("inf")),
    lambda v, rng: _with(v, rng, 1e308),
    lambda v, rng: _with(v, rng, "word"),
    lambda v, rng: _with(v, rng, STRANGE[int(rng.integers(len(STRANGE)))]),
    lambda v, rng: np.asarray(v)[..., None],
    lambda v, rng: np.stack([v, v]),
    lambda v, rng: v.tolist(),
    lambda v, rng: v.astype(str),
    lambda v, rng: v.astype(object),
    lambda v, rng: v.astype("S8"),
    lambda v, rng: np.zeros_like(v),
    lambda v, rng: v.astype(complex),
    lambda v, rng: v.astype("datetime64[D]"),
    lambda v, rng: v.astype(np.float16),
    lambda v, rng: v.astype(np.int8),
    lambda v, rng: v.astype(np.longdouble),
    lambda v, rng: -v,
    lambda v, rng: v[::-1],
    lambda v, rng: np.asfortranarray(v),
    lambda v, rng: np.ma.array(v, mask=rng.random(v.shape) < 0.1),
    lambda v, rng: csr_matrix(v),
    lambda v, rng: csr_matrix(v).tocoo(),
    lambda v, rng: pd.DataFrame(v),
    lambda v, rng: pd.DataFrame(v, index=rng.permutation(len(v))),
    lambda v, rng: pd.Series(list(v)),
    lambda v, rng: pd.Series(list(v)).where(rng.random(len(v)) > 0.1),
    lambda v, rng: pd.Series(v.reshape(len(v), -1)[:, 0]).astype("category"),
    lambda v, rng: pl.Series(v.reshape(len(v), -1)[:, 0].tolist()),
    lambda v, rng: pl.DataFrame(v.reshape(len(v), -1)),
    lambda v, rng: pl.DataFrame(v.reshape(len(v), -1)).lazy(),
    lambda v, rng: {"a": v, "b": v[::-1]},
    lambda v, rng: {"a": v, "b": v[:-2]},
    lambda v, rng: {1: v, "1": v},
    lambda v, rng: [[x] for x in v],
    lambda v, rng: (x for x in v),
    lambda v, rng: memoryview(cast(Any, np.ascontiguousarray(v))),
    lambda v, rng: np.lib.stride_tricks.as_strided(v, v.shape, (0,) * v.ndim),
)


def altered(values: Any, rng: Rng) -> Any:
    """A column or matrix that is not quite what it was, or something else altogether."""
    if rng.random() < 0.2:
        return strange(rng)
    plain = np.asarray(values)
    while True:
        change = ALTERATIONS[int(rng.integers(len(ALTERATIONS)))]
        try:
            return change(plain, rng)
        except (TypeError, ValueError):  # this one cannot be had of such values
            continue


def strange(rng: Rng) -> Any:
    """Something that few arguments can be."""
    return STRANGE[int(rng.integers(len(STRANGE)))]
