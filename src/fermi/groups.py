"""Sensitive attributes to groups: one code per combination of values that occurs, -1 where any value is unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from fermi._kernels import Ints, pair_codes
from fermi._parallel import chunks, over_parts
from fermi.encoding import Codes, column_codes, read_columns
from fermi.errors import FermiError, bad_argument, listed

ARGUMENT = "sensitive_features"
_NUMBER = re.compile(r"((?<![\w.])-?\d+(?:\.\d+)?|\d+(?:\.\d+)?)")


class GroupEncoder:
    """Learn the groups of one or several sensitive columns; code the same groups again on new rows.

    Several columns mean the combinations of their values that occur. A row with a missing entry (NaN, None, NA) in
    any column belongs to no group and gets the code -1.

    Attributes
    ----------
    groups_ : tuple of str
        The label of each code, in the natural order of the labels: ``"sex=Female, race=Black"``. Columns without a
        name show their values alone.
    values_ : list of tuple
        The values behind each label, one per column.
    columns_ : list of str or None
        The columns' names, in the order learned.

    Examples
    --------
    >>> encoder = GroupEncoder()
    >>> encoder.fit_transform({"sex": ["F", "M", "F", None], "race": ["B", "B", "W", "W"]}).tolist()
    [0, 2, 1, -1]
    >>> encoder.groups_
    ('sex=F, race=B', 'sex=F, race=W', 'sex=M, race=B')
    >>> encoder.transform({"sex": ["M"], "race": ["W"]}, unseen="unknown").tolist()
    [-1]
    """

    def fit(self, sensitive_features: Any) -> GroupEncoder:
        """Learn the groups that occur."""
        self.fit_transform(sensitive_features)
        return self

    def fit_transform(self, sensitive_features: Any) -> Ints:
        """Learn the groups that occur and return each row's code."""
        columns = read_columns(sensitive_features, ARGUMENT)
        codes = joint_codes(columns).compact()
        labels = group_labels(list(columns), codes.values_of)
        self.columns_ = list(columns)
        self.groups_ = tuple(natural_order(labels))
        values = dict(zip(labels, codes.values_of, strict=True))
        self.values_ = [values[label] for label in self.groups_]
        return codes.recode(positions(labels, self.groups_), self.groups_).dense()

    def transform(self, sensitive_features: Any, *, unseen: Literal["error", "unknown"] = "error") -> Ints:
        """Code new rows; a group never learned is an error, or unknown (-1) where the caller says so."""
        if unseen not in ("error", "unknown"):
            raise bad_argument("unseen", f"is {unseen!r}", "'error' or 'unknown'")
        if not hasattr(self, "groups_"):
            raise FermiError("This GroupEncoder has learned no groups yet: call `fit` first.")
        columns = self._match(read_columns(sensitive_features, ARGUMENT))
        codes = joint_codes(columns).compact()
        labels = group_labels(self.columns_, codes.values_of)
        to = positions(labels, self.groups_)
        if unseen == "error" and -1 in to:
            raise bad_argument(
                ARGUMENT,
                f"holds the group {labels[to.index(-1)]!r}, never seen before",
                f"one of {listed(self.groups_)}, or unseen='unknown' to count such rows as unknown",
            )
        return codes.recode(to, self.groups_).dense()

    def _match(self, columns: dict[str | None, Any]) -> dict[str | None, Any]:
        """The new columns in the order learned: by name where all have one, else by position."""
        if set(columns) == set(self.columns_):
            return {name: columns[name] for name in self.columns_}
        named = all(_is_name(name) for name in (*columns, *self.columns_))
        if len(columns) != len(self.columns_) or (named and len(columns) > 1):
            raise bad_argument(ARGUMENT, f"has the columns {listed(columns)}", f"the columns {listed(self.columns_)}")
        return dict(zip(self.columns_, columns.values(), strict=True))


def joint_codes(columns: dict[str | None, Any]) -> Codes:
    """The combinations of the columns' values, as tuples. A single column keeps values that never occur.

    Columns are joined one at a time and the combinations that occur renumbered each time, so that the numbers stay
    small however many columns there are.
    """
    first, *others = [column_codes(column) for column in columns.values()]
    joint = Codes(first.raw, first.first, _Singles(first.values_of), first.n_unknown)
    for codes in others:
        if len(codes) != len(joint):
            name = list(columns)[1 + others.index(codes)]
            raise bad_argument(
                f"{ARGUMENT}[{name!r}]", f"has {len(codes)} rows", f"{len(joint)}, as many as the first column"
            )
        joint = _paired(joint.compact(), codes.compact())
    return joint


def _paired(left: Codes, right: Codes) -> Codes:
    """The pairs (value of left, value of right) that occur."""
    width = max(len(right.values_of), 1)
    joint = np.empty(len(left), dtype=np.int64)

    def pair(part: slice) -> None:
        for rows in chunks(part):
            pair_codes(left.part(rows), left.first, right.part(rows), right.first, width, joint[rows])

    over_parts(len(joint), pair)
    pairs = Codes(joint, 0, range(len(left.values_of) * width)).compact()
    values = [(*left.values_of[p // width], right.values_of[p % width]) for p in pairs.values_of]
    return Codes(pairs.raw, 0, values, int(np.count_nonzero(joint < 0)))


class _Singles(Sequence[Any]):
    """A sequence's items as tuples of one, made when asked for."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, j: Any) -> Any:
        return (self.items[j],)


def group_labels(names: Sequence[str | None], values: Sequence[tuple[Any, ...]]) -> list[str]:
    """'sex=Female, race=Black' for each tuple of values; the values alone where the columns have no name.

    Examples
    --------
    >>> group_labels(["sex"], [("F",), (1.0,)]), group_labels([None], [("F",)])
    (['sex=F', 'sex=1'], ['F'])
    """
    prefixes = [f"{name}=" if _is_name(name) else "" for name in names]
    several = len(names) > 1
    return [", ".join(prefix + _word(v, several) for prefix, v in zip(prefixes, row, strict=True)) for row in values]


def _is_name(name: str | None) -> bool:
    """Whether a column is called something; those of a plain matrix have only their position."""
    return name is not None and not name.isdigit()


def _word(value: Any, several: bool) -> str:
    """A value as text. 1.0 reads as 1, so that a column that became float for a missing entry keeps its groups."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if several and re.search(r'[,="]', text) else text


def natural_order(labels: Iterable[str]) -> list[str]:
    """The distinct labels in an order that depends on them alone, with the numbers inside them by size.

    Examples
    --------
    >>> natural_order(["age=10", "age=9", "age=-1", "age=9"])
    ['age=-1', 'age=9', 'age=10']
    """

    def key(label: str) -> tuple[Any, ...]:
        parts = _NUMBER.split(label)  # text and number in turn, so that like is compared with like
        return ([float(part) if odd % 2 else part for odd, part in enumerate(parts)], label)

    return sorted(set(labels), key=key)


def positions(items: Iterable[Any], vocabulary: Sequence[Any]) -> list[int]:
    """Where each item stands in the vocabulary, -1 where it does not.

    Examples
    --------
    >>> positions(["b", "x"], ["a", "b"])
    [1, -1]
    """
    place = {item: j for j, item in enumerate(vocabulary)}
    return [place.get(item, -1) for item in items]
