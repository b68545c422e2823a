"""Columns as the user says they are: ranges, names, categories, numbers with signs about them, dates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fermi.errors import FermiError, bad_argument
from fermi.inputs.groups import word_of

if TYPE_CHECKING:
    import pandas as pd

SIGNED = re.compile(r"[€$£¥]\s?[+-]?\d[\d,]*(\.\d+)?|[+-]?\d[\d,]*(\.\d+)?\s?[%€$£¥]")
"""Numbers with signs about them, such as $12,345 and 12.3%."""
_SIGNS = re.compile(r"[\s%€$£¥,]")
DAY = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")


@dataclass(frozen=True)
class Mending:
    """What a user says of columns, each as it was written.

    Attributes
    ----------
    bins : tuple of str
        Ranges for the numbers of a column, ``age=30,50``.
    labels : tuple of str
        Names for its values, ``sex=0:men,1:women``.
    as_category, as_number : tuple of str
        Columns whose numbers are names, and columns of numbers with signs about them.
    date : tuple of str
        Columns of dates, with their format where it is in doubt, ``day=%d.%m.%Y``.
    """

    bins: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    as_category: tuple[str, ...] = ()
    as_number: tuple[str, ...] = ()
    date: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for text in self.bins:
            _edges(text)
        for text in self.labels:
            _names(text)

    def columns(self) -> dict[str, list[str]]:
        """The columns that are spoken of, by the argument that named them."""
        every = {name: getattr(self, name) for name in ("bins", "labels", "as_category", "as_number", "date")}
        return {argument: [text.partition("=")[0] for text in texts] for argument, texts in every.items() if texts}

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The table with these columns as they are said to be; a column that it does not have is passed over."""
        steps: tuple[tuple[Sequence[str], Callable[[pd.Series[Any], str], pd.Series[Any]]], ...] = (
            (self.as_number, _number),
            (self.date, _date),
            (self.bins, _binned),
            (self.labels, _named),
            (self.as_category, _category),
        )
        changed: dict[str, pd.Series[Any]] = {}
        for texts, change in steps:
            for text in texts:
                name = text.partition("=")[0]
                if name in frame.columns:
                    changed[name] = change(changed.get(name, frame[name]), text)
        return frame.assign(**changed) if changed else frame


AS_THEY_ARE = Mending()


def said_of_columns(*texts: Sequence[str] | None) -> Mending:
    """What a command line says of columns: ranges, names, categories, numbers and dates, each None if nothing is."""
    return Mending(*(tuple(each or ()) for each in texts))


def _edges(text: str) -> list[float]:
    name, _, numbers = text.partition("=")
    try:
        edges = [float(number) for number in numbers.split(",")]
    except ValueError:
        edges = []
    if not name or not edges or sorted(set(edges)) != edges:
        raise bad_argument("bins", f"is {text!r}", "a column and growing numbers, as in age=30,50")
    return edges


def _names(text: str) -> dict[str, str]:
    name, _, pairs = text.partition("=")
    found = [pair.partition(":") for pair in pairs.split(",")]
    if not name or not all(sign and old.strip() and new.strip() for old, sign, new in found):
        raise bad_argument(
            "labels", f"is {text!r}", "a column and its values with their names, as in sex=0:men,1:women"
        )
    return {old.strip(): new.strip() for old, _, new in found}


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    return pd.to_numeric(column, errors="coerce")


def _number(column: pd.Series[Any], text: str) -> pd.Series[Any]:
    present = column.notna()
    stripped = column[present].map(lambda word: _SIGNS.sub("", word) if isinstance(word, str) else word)
    found = _numbers(stripped.reindex(column.index))
    if present.any() and not found.notna().any():
        raise FermiError(f"`as_number` is {text!r}, a column in which no entry can be read as a number.")
    return found


def _binned(column: pd.Series[Any], text: str) -> pd.Series[Any]:
    import pandas as pd

    edges, numbers = _edges(text), _numbers(column)
    if column.notna().any() and not numbers.notna().any():
        raise FermiError(f"`bins` is {text!r}, a column in which no entry is a number.")
    inner = [f"{a:g} to below {b:g}" for a, b in itertools.pairwise(edges)]
    names = np.array([f"below {edges[0]:g}", *inner, f"{edges[-1]:g} and above"], dtype=object)
    places = np.searchsorted(edges, numbers.fillna(0.0).to_numpy(dtype=float), side="right")
    return pd.Series(names[places], index=column.index, name=column.name).where(numbers.notna(), None)


def _named(column: pd.Series[Any], text: str) -> pd.Series[Any]:
    names = _names(text)
    words = column.map(lambda value: word_of(value).strip(), na_action="ignore")
    if column.notna().any() and not words.isin(list(names)).any():
        raise FermiError(f"`labels` is {text!r}, and the column has none of these values.")
    return words.map(lambda word: names.get(word, word), na_action="ignore")


def _category(column: pd.Series[Any], _: str) -> pd.Series[Any]:
    return column.map(lambda value: word_of(value).strip(), na_action="ignore").astype("category")


def _date(column: pd.Series[Any], text: str) -> pd.Series[Any]:
    import pandas as pd

    asked = text.partition("=")[2] or day_format(column)
    if asked is None:
        raise FermiError(
            f"`date` is {text!r}, a column of which day and month cannot be told apart; expected its format as well, "
            f"say '{text}=%d.%m.%Y'."
        )
    found = pd.to_datetime(column, format=asked, errors="coerce")
    if column.notna().any() and not found.notna().any():
        raise FermiError(f"`date` is {text!r}, a format that no entry of the column has.")
    return found


def day_format(column: pd.Series[Any]) -> str | None:
    """The format of dates such as 03/14/2021, where some entry tells which number is the day; None else.

    Examples
    --------
    >>> import pandas as pd
    >>> day_format(pd.Series(["03/14/2021", "04/02/2021"])), day_format(pd.Series(["03/04/2021"]))
    ('%m/%d/%Y', None)
    """
    found = [DAY.fullmatch(str(word)) for word in column.dropna().unique()]
    dates = [match for match in found if match is not None]
    if not dates or len(dates) < 0.9 * len(found):
        return "ISO8601" if not dates else None
    sign = dates[0][2]
    if any(int(match[1]) > 12 for match in dates):
        return f"%d{sign}%m{sign}%Y"
    return f"%m{sign}%d{sign}%Y" if any(int(match[3]) > 12 for match in dates) else None
