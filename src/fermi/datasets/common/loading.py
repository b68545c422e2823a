"""What the loaders of tables share: sensitive columns, the split into training and test rows, known categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fermi.datasets.common.dataset import Dataset
from fermi.errors import bad_argument, listed
from fermi.inputs.arguments import generator, number

if TYPE_CHECKING:
    import pandas as pd

TEST_SIZE = 0.2  # as in the paper, where the publisher gives no split


def sensitive_columns(given: str | Iterable[str], allowed: Sequence[str]) -> list[str]:
    """Check the sensitive columns that a caller chose, and return them as a list."""
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not names or not all(name in allowed for name in names) or len(set(names)) != len(names):
        raise bad_argument("sensitive", f"is {given!r}", f"one or both of {listed(allowed)}")
    return names


def flag(name: str, value: Any) -> bool:
    """Check that an argument is True or False, and return it."""
    if not isinstance(value, bool | np.bool_):
        raise bad_argument(name, f"is {value!r}", "True or False")
    return bool(value)


def split(
    frame: pd.DataFrame, by: Sequence[str], test_size: float, random_state: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table into training and test rows, in the order of the file and with its row numbers as their index.

    Every combination of the columns `by`, even one of a single row, has its share of test rows to within one row:
    the shuffled rows are sorted by combination, and every (1 / test_size)th of them is taken.
    """
    expected = "a number between 0 and 1 that leaves rows on both sides"
    n = len(frame)
    n_test = round(n * number("test_size", test_size, expected, low=0.0, high=1.0))
    if not 0 < n_test < n:
        raise bad_argument("test_size", f"is {test_size!r}", expected)
    rng = generator(random_state)
    order = rng.permutation(n)
    if by:
        strata = frame.groupby(list(by), dropna=False, observed=True).ngroup().to_numpy()
        order = order[np.argsort(strata[order], kind="stable")]
    taken = np.diff((np.arange(n + 1) * n_test + rng.integers(n)) // n) > 0  # exactly n_test of them
    is_test = np.empty(n, dtype=bool)
    is_test[order] = taken
    return frame[~is_test], frame[is_test]


def table(
    name: str,
    train: pd.DataFrame,
    test: pd.DataFrame,
    *,
    target: str,
    sensitive: Sequence[str],
    include_sensitive: bool,
    note: str,
) -> Dataset:
    """Make a data set of tables: text becomes categories of the training rows; any other is missing in test rows."""
    text = train.columns.drop([*train.select_dtypes("number").columns.drop(target, errors="ignore"), target])
    train = train.astype(dict.fromkeys(text, "category"))
    known = {column: train[column].cat.categories for column in text}
    test = test.assign(**{c: test[c].where(test[c].isin(known[c])).astype(train[c].dtype) for c in text})
    dropped = [target] if flag("include_sensitive", include_sensitive) else [target, *sensitive]
    return Dataset(
        name,
        X_train=train.drop(columns=dropped),
        y_train=train[target],
        s_train=train[list(sensitive)],
        X_test=test.drop(columns=dropped),
        y_test=test[target],
        s_test=test[list(sensitive)],
        note=note,
    )
