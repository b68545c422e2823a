"""Labels and groups as a file shows them: words and whole numbers, few of them."""

from __future__ import annotations

import numbers
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fermi.errors import FermiError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

MOST_LABELS = 50  # more different numbers are an amount, not classes or groups
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")
"""What a text file has where nothing is known."""
_WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)(\.0+)?")


def natural(values: pd.Series[Any], what: str) -> NDArray[Any]:
    """Labels in their own type, be they text or not: 1, 1.0, "1" and "1.0" are 1, and words are words."""
    distinct = values.unique().tolist()
    if len(distinct) > MOST_LABELS:
        raise FermiError(f"{what} holds {len(distinct):,} different values; expected a few classes.")
    labels = [label_of(value) for value in distinct]
    if None in labels:
        raise FermiError(f"{what} holds {distinct[labels.index(None)]!r}; expected words or whole numbers.")
    if len({type(label) for label in labels}) > 1:
        labels = [str(value).strip() for value in distinct]
    dtype = object if isinstance(labels[0], str) else type(labels[0])
    return values.map(dict(zip(distinct, labels, strict=True))).to_numpy(dtype=dtype)


def label_of(value: Any) -> Any:
    """One label, or None for what is none, such as a fraction."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    word = str(value).strip()
    return int(float(word)) if _WHOLE.fullmatch(word) and abs(float(word)) < 2**53 else word


def refuse_amounts(column: pd.Series[Any]) -> None:
    """A sensitive column of many different numbers has no groups."""
    import pandas as pd

    distinct = pd.Series(column.dropna().unique())
    if len(distinct) > MOST_LABELS and pd.to_numeric(distinct, errors="coerce").notna().all():
        raise FermiError(
            f"The sensitive column {column.name!r} holds {len(distinct):,} different numbers; expected groups: put "
            "them into ranges first."
        )
