"""Turns columns of a file into numbers that any model takes, and does the same again on new files."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from fermi._typing import Floats, Ints
from fermi.errors import FermiError, listed
from fermi.inputs.groups import word_of
from fermi.inputs.plain import from_plain

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 100  # of one column that have a feature of their own
TEXT = 1000  # a column of more distinct words says little per word
FEW = 20  # categories, or numbers, that any column may have
_MOSTLY = 0.9
_DAY = r"\d{4}-\d{2}-\d{2}"
_KINDS = ("number", "date", "category", "ignored")
_EMPTY, _CONSTANT = "no value in any row", "the same value in every row"


@dataclass(frozen=True)
class ColumnRule:
    """What one column of a file becomes.

    `kind` is number, date, category or ignored; `why` says why it is ignored. Numbers are standardised by `mean` and
    `scale`, and a missing one becomes the mean, with a 0/1 column beside it that says so if any was missing in
    training. Categories become 0/1 columns, one per entry of `categories` and one that all `rare` ones share; a value
    that training never saw is zero in all of them.
    """

    name: str
    kind: str
    missing: int = 0
    why: str = ""
    mean: float = 0.0
    scale: float = 1.0
    categories: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()

    @property
    def features(self) -> list[str]:
        """The names of the numbers that the column becomes."""
        if self.kind == "ignored":
            return []
        gap = [f"{self.name}: missing"] if self.missing else []
        if self.kind == "category":
            others = [f"{self.name}: other"] if self.rare else []
            return [*(f"{self.name}={c}" for c in self.categories), *others, *gap]
        return [self.name, *gap]


class TableEncoder:
    """Learns from training rows what each column is; then turns any rows into a matrix.

    Attributes
    ----------
    columns : list of ColumnRule
        In the order of the file.
    """

    def __init__(self, columns: Sequence[ColumnRule]) -> None:
        self.columns = list(columns)

    @classmethod
    def learn(cls, frame: pd.DataFrame) -> Self:
        """Learn an encoder by looking at every column of the training rows."""
        encoder = cls([_learn(name, frame[name]) for name in frame.columns])
        if not encoder.features:
            raise FermiError("No column can serve as a feature: all are constant, missing or text without repetition.")
        return encoder

    @property
    def features(self) -> list[str]:
        """The names of the matrix's columns."""
        return [feature for column in self.columns for feature in column.features]

    def transform(self, frame: pd.DataFrame) -> tuple[Floats, dict[str, int]]:
        """Turn rows into a matrix; also count, per column, values of a kind that training never saw."""
        used = [column for column in self.columns if column.kind != "ignored"]
        lacking = [column.name for column in used if column.name not in frame.columns]
        if lacking:
            raise FermiError(f"The file lacks the columns {listed(lacking, limit=4)}, which the model needs.")
        matrix = np.zeros((len(frame), len(self.features)))
        unseen: dict[str, int] = {}
        place = 0
        for column in used:
            block = matrix[:, place : place + len(column.features)]
            strange = (_fill_category if column.kind == "category" else _fill_number)(column, frame[column.name], block)
            if strange:
                unseen[column.name] = strange
            place += block.shape[1]
        return matrix, unseen

    def to_json(self) -> list[dict[str, Any]]:
        """The encoder in JSON's types."""
        return [asdict(column) for column in self.columns]

    @classmethod
    def from_json(cls, columns: list[dict[str, Any]]) -> Self:
        """The encoder that `to_json` gave as JSON."""
        if not isinstance(columns, list):
            raise ValueError("the columns are no list")
        found = [from_plain(ColumnRule, column) for column in columns]
        for column in found:
            words = (*column.categories, *column.rare)
            if column.kind not in _KINDS or column.missing < 0 or len(set(words)) < len(words):
                raise ValueError(f"the column {column.name!r} is of no known kind, or has a category twice")
            if not 0.0 < column.scale < np.inf:
                raise ValueError(f"the scale of the column {column.name!r} is not above 0")
        return cls(found)


def _learn(name: str, values: pd.Series[Any]) -> ColumnRule:
    kind = _kind(values)
    if kind == "category":
        return _learn_category(name, values)
    numbers = numbers_of(kind, values)
    missing = int(np.isnan(numbers).sum())
    present = numbers[~np.isnan(numbers)]
    if not len(present):
        return number_rule(name, kind, missing, None)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = (float(present.mean()), float(present.std()))
    return number_rule(name, kind, missing, spread, constant=bool(present.min() == present.max()))


def number_rule(
    name: str, kind: str, missing: int, spread: tuple[float, float] | None, *, constant: bool = False
) -> ColumnRule:
    """The rule of a column of numbers, from the mean and standard deviation of those that are there, if any are."""
    if spread is None:
        return ColumnRule(name, "ignored", missing, _EMPTY)
    mean, scale = spread
    if not np.isfinite(spread).all():
        return ColumnRule(name, "ignored", missing, "numbers too large")
    if constant:
        # Whether it is there at all may still tell something.
        return ColumnRule(name, kind, missing, mean=mean) if missing else ColumnRule(name, "ignored", 0, _CONSTANT)
    return ColumnRule(name, kind, missing, mean=mean, scale=scale)


def _kind(values: pd.Series[Any]) -> str:
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(values.dtype) or _are_days(values):
        return "date"
    if pd.api.types.is_bool_dtype(values.dtype) or isinstance(values.dtype, pd.CategoricalDtype):
        return "category"
    if pd.api.types.is_numeric_dtype(values.dtype):
        return "number"
    n_present = int(values.notna().sum())
    for kind in ("number", "date"):
        found = pd.Series(numbers_of(kind, values)).dropna()
        if mostly(len(found), n_present, found.nunique()):
            return kind
    return "category"


def mostly(n_found: int, n_present: int, n_distinct: int) -> bool:
    """Whether words are numbers: all of them, or all but a few that stand for something missing."""
    return n_found == n_present or (n_found >= _MOSTLY * n_present and n_distinct > FEW)


def _are_days(values: pd.Series[Any]) -> bool:
    """Whether the values are Python's own dates, as Parquet's days are read."""
    present = values.dropna() if values.dtype == object else values[:0]
    return len(present) > 0 and all(isinstance(value, datetime.date) for value in present)


def _learn_category(name: str, values: pd.Series[Any]) -> ColumnRule:
    codes, words = _coded_words(values)
    counts = np.bincount(codes[codes >= 0], minlength=len(words)).tolist()
    return category_rule(name, dict(zip(words, counts, strict=True)), int((codes < 0).sum()))


def category_rule(name: str, counts: Mapping[str, int], missing: int) -> ColumnRule:
    """The rule of a column of categories, from how often each occurs; of more than `TEXT` some may be left out."""
    if not counts:
        return ColumnRule(name, "ignored", missing, _EMPTY)
    if len(counts) == 1 and not missing:
        return ColumnRule(name, "ignored", 0, _CONSTANT)
    if len(counts) > TEXT or (len(counts) > FEW and len(counts) > 0.5 * sum(counts.values())):
        return ColumnRule(name, "ignored", missing, f"text or identifier: {len(counts):,} distinct values")
    # By frequency, then by name, so that ties do not depend on the order of rows.
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    kept, rare = sorted(ranked[:MOST_CATEGORIES]), sorted(ranked[MOST_CATEGORIES:])
    return ColumnRule(name, "category", missing, categories=tuple(kept), rare=tuple(rare))


def _coded_words(values: pd.Series[Any]) -> tuple[Ints, list[str]]:
    """The place of each row's word among those that occur, -1 where it has none, and the words.

    Words are without blanks around them, and 1.0 reads as 1.
    """
    import pandas as pd

    try:
        codes, distinct = pd.factorize(values)
        texts = [word_of(value).strip() for value in pd.Series(distinct).astype(object)]
    except TypeError:  # lists and such, which JSON lines may hold
        codes, found = pd.factorize(values.astype(str).where(values.notna(), None))
        texts = found.tolist()
    words = list(dict.fromkeys(texts))  # several values may be one
    place = {word: i for i, word in enumerate(words)}
    return np.array([*(place[text] for text in texts), -1], dtype=np.int64)[codes], words


def numbers_of(kind: str, values: pd.Series[Any]) -> Floats:
    """The values as floats, NaN where missing, infinite or no number; dates count days.

    Dates in words must begin with year, month and day: of 03/04/2020 nobody knows which is the month.
    """
    import pandas as pd

    if values.dtype == object or isinstance(values.dtype, pd.StringDtype):
        distinct: Any = values
        with suppress(TypeError):  # lists and such
            codes, distinct = pd.factorize(values)
        if 2 * len(distinct) < len(values):  # words are read once each
            return np.append(numbers_of(kind, pd.Series(distinct)), np.nan)[codes]
    if kind == "date":
        if not pd.api.types.is_datetime64_any_dtype(values.dtype):
            values = values.where(values.astype(str).str.match(_DAY), None)
        stamps = pd.to_datetime(values, utc=True, errors="coerce", format="ISO8601")
        days = (stamps - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)
        return np.asarray(days, dtype=np.float64)
    found: Floats = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(found), found, np.nan)


def _fill_number(column: ColumnRule, values: pd.Series[Any], block: Floats) -> int:
    """Fill the columns of a number; return how many values are no numbers, or missing as never in training."""
    with np.errstate(over="ignore"):
        numbers = (numbers_of(column.kind, values) - column.mean) / column.scale
    absent = ~np.isfinite(numbers)  # or too large to be scaled
    block[:, 0] = np.where(absent, 0.0, numbers)
    if column.missing:
        block[:, 1] = absent
        return int((absent & values.notna().to_numpy()).sum())
    return int(absent.sum())


def _fill_category(column: ColumnRule, values: pd.Series[Any], block: Floats) -> int:
    """Fill the 0/1 columns of a category; return how many values training never saw, missing ones included."""
    import pandas as pd

    codes, words = _coded_words(values)
    known = pd.Index([*column.categories, *column.rare], dtype=object)
    places = np.append(known.get_indexer(pd.Index(words, dtype=object)), -1)[codes]
    seen, present = places >= 0, codes >= 0
    # Rare values share the column after those of the categories.
    block[np.flatnonzero(seen), np.minimum(places[seen], len(column.categories))] = 1.0
    if column.missing:
        block[~present, -1] = 1.0
    return int((present & ~seen).sum()) + (0 if column.missing else int((~present).sum()))
