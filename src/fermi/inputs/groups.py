"""Turns sensitive columns into groups: a code per combination of values that occurs, -1 where any is unknown."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from fermi._typing import Ints
from fermi.compiled.kernels import pair_codes
from fermi.compiled.parallel import chunks, over_parts
from fermi.errors import FermiError, bad_argument, listed
from fermi.inputs.codes import Codes
from fermi.inputs.columns import Column, check_rows, read_columns
from fermi.inputs.encode import encode

ARGUMENT = "sensitive_features"
_NUMBER = re.compile(r"((?<![\w.])-?\d+(?:\.\d+)?|\d+(?:\.\d+)?)")


class GroupEncoder:
    """Learn the groups of one or several sensitive columns; code the same groups again on new rows.

    Several columns mean the combinations of their values that occur. A row with a missing entry (NaN, None, NA) in
    any column belongs to no group and gets the code -1.

    Attributes
    ----------
    groups_ : tuple of str
        The label of each code, ``"sex=Female, race=Black"``, in an order that depends on the labels alone. Columns
        without a name show their values alone.
    columns_ : tuple of str or None
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
        """Learn the groups that occur.

        Parameters
        ----------
        sensitive_features : array, Series, DataFrame or dict of columns
            One sensitive column or several.

        Returns
        -------
        GroupEncoder
            The encoder itself.
        """
        self.fit_transform(sensitive_features)
        return self

    def fit_transform(self, sensitive_features: Any) -> Ints:
        """Learn the groups that occur and return each row's code.

        Parameters
        ----------
        sensitive_features : array, Series, DataFrame or dict of columns
            One sensitive column or several.

        Returns
        -------
        (n,) int64 array
            The place of each row's group in `groups_`, or -1 where an entry is missing.
        """
        columns = read_columns(sensitive_features, ARGUMENT)
        check_rows((ARGUMENT, column) for column in columns.values())
        self.columns_ = tuple(columns)
        codes = ordered_codes(columns)
        self.groups_: tuple[str, ...] = tuple(codes.values_of)
        return codes.dense()

    def transform(self, sensitive_features: Any, *, unseen: Literal["error", "unknown"] = "error") -> Ints:
        """Code new rows by the groups learned.

        Parameters
        ----------
        sensitive_features : array, Series, DataFrame or dict of columns
            The columns that were learned: matched by name where all have one, else by position.
        unseen : "error" or "unknown"
            Whether a group never learned is an error, or gets the code -1.

        Returns
        -------
        (n,) int64 array
            The place of each row's group in `groups_`, or -1.
        """
        if unseen not in ("error", "unknown"):
            raise bad_argument("unseen", f"is {unseen!r}", "'error' or 'unknown'")
        if not hasattr(self, "groups_"):
            raise FermiError("This GroupEncoder has learned no groups yet: call `fit` first.")
        columns = match_columns(read_columns(sensitive_features, ARGUMENT), self.columns_)
        check_rows((ARGUMENT, column) for column in columns.values())
        codes = ordered_codes(columns)
        to = positions(codes.values_of, self.groups_)
        if unseen == "error" and -1 in to:
            raise bad_argument(
                ARGUMENT,
                f"holds the group {codes.values_of[to.index(-1)]!r}, never seen before",
                f"one of {listed(self.groups_)}, or unseen='unknown' to count such rows as unknown",
            )
        return codes.recode(to, self.groups_).dense()


def match_columns(columns: dict[str | None, Column], learned: Sequence[str | None]) -> dict[str | None, Column]:
    """Put new columns into the order learned: by name where all have one, else by position."""
    if set(columns) == set(learned):
        return {name: columns[name] for name in learned}
    named = all(_is_name(name) for name in (*columns, *learned))
    if named or len(columns) != len(learned):
        raise bad_argument(ARGUMENT, f"has the columns {listed(columns)}", f"the columns {listed(learned)}")
    return dict(zip(learned, columns.values(), strict=True))


def group_codes(columns: dict[str | None, Column]) -> Codes:
    """The group of each row; `values_of` are labels.

    Of several columns these are the labels of the combinations that occur, in order. Of one column they stand for all
    values of the column's codes, whether they occur or not: `arrange` puts those that do into order.
    """
    prefixes = [f"{name}=" if _is_name(name) else "" for name in columns]
    coded = [encode(column, ARGUMENT) for column in columns.values()]
    if len(coded) == 1:
        codes = coded[0]
        return Codes(codes.raw, codes.first, Labels(prefixes[0], codes.values_of), codes.n_unknown)
    coded = [_reworded(codes.compact()) for codes in coded]
    joint, combinations = _joined(coded)
    parts = [
        np.array([prefix + word for word in codes.values_of], dtype=object)[combination]
        for prefix, codes, combination in zip(prefixes, coded, combinations.T, strict=True)
    ]
    return Codes(joint.raw, joint.first, [", ".join(row) for row in zip(*parts, strict=True)], joint.n_unknown)


class Labels(Sequence[str]):
    """The labels of one column's values, made when asked for."""

    def __init__(self, prefix: str, values: Sequence[Any]) -> None:
        self.prefix, self.values = prefix, values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, j: Any) -> Any:
        return self.prefix + word_of(self.values[j])

    def take(self, kept: Sequence[int]) -> Labels:
        """The labels of some of the values."""
        return Labels(self.prefix, [self.values[j] for j in kept])


def arrange(codes: Codes, kept: Sequence[int]) -> tuple[list[str], list[int]]:
    """The labels of some groups in order, and the place of each among them; two may share a label (1 and "1")."""
    labels = [codes.values_of[j] for j in kept]
    values = codes.values_of.values if isinstance(codes.values_of, Labels) else ()
    if isinstance(values, range) or not values:
        return labels, list(range(len(labels)))  # in order already
    ordered = label_order(labels)
    return ordered, positions(labels, ordered)


def ordered_codes(columns: dict[str | None, Column]) -> Codes:
    """The group of each row; the labels in `values_of` all occur, once each and in order."""
    codes = group_codes(columns)
    kept = codes.occurring()
    ordered, places = arrange(codes, kept.tolist())
    to = np.full(len(codes.values_of), -1)
    to[kept] = places
    return codes.recode(to, ordered)


def _reworded(codes: Codes) -> Codes:
    """One of several columns, recoded by the words of its values, which are those of the labels, in their order."""
    words = [_quoted(word_of(value)) for value in codes.values_of]
    ordered = sorted(set(words), key=natural_key)
    return codes.recode(positions(words, ordered), ordered)


def _joined(coded: list[Codes]) -> tuple[Codes, Ints]:
    """The combinations of columns that occur, in lexicographic order, and the code of each column in each of them.

    Columns are joined one at a time and the combinations that occur renumbered each time, so that the numbers stay
    small however many columns there are.
    """
    joint, *others = coded
    members: Ints = np.arange(len(joint.values_of))[:, None]
    for right in others:
        width = max(len(right.values_of), 1)
        pairs = _pairs(joint, right, width).compact()
        kept = np.asarray(pairs.values_of, dtype=np.int64)
        members = np.column_stack([members[kept // width], kept % width])
        joint = pairs
    return joint, members


def _pairs(left: Codes, right: Codes, width: int) -> Codes:
    """The number of each pair (left, right), -1 where either is unknown."""
    numbers = np.empty(len(left), dtype=np.int64)

    def pair(part: slice) -> None:
        for rows in chunks(part):
            pair_codes(left.part(rows), left.first, right.part(rows), right.first, width, numbers[rows])

    over_parts(len(numbers), pair)
    return Codes(numbers, 0, range(len(left.values_of) * width), int(np.count_nonzero(numbers < 0)))


def _is_name(name: str | None) -> bool:
    """Whether a column is called something; those of a plain matrix have only their position."""
    return name is not None and not name.isdigit()


def word_of(value: Any) -> str:
    """A value as text, which is the same whatever library it came from.

    1.0 reads as 1, so that a column that became float for a missing entry keeps its groups; midnight is left out.
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    elif isinstance(value, datetime.datetime) and value.time() == datetime.time() and value.tzinfo is None:
        value = value.date()
    return str(value)


def _quoted(word: str) -> str:
    """A value's word as part of a label of several columns: what looks like punctuation between them is quoted."""
    return json.dumps(word, ensure_ascii=False) if re.search(r'[,="]', word) else word


def group_label(names: Sequence[str | None], words: Sequence[str]) -> str:
    """The label of a group, as `group_codes` writes it, from the words of its columns' values.

    Examples
    --------
    >>> group_label(["sex", "race"], ["F", "B"]), group_label(["sex"], ["F"])
    ('sex=F, race=B', 'sex=F')
    """
    shown = words if len(words) == 1 else [_quoted(word) for word in words]
    return ", ".join(f"{name}={word}" if _is_name(name) else word for name, word in zip(names, shown, strict=True))


def natural_key(text: str) -> tuple[Any, ...]:
    """A key that sorts the numbers inside a text by size: age=9 before age=10."""
    parts = _NUMBER.split(text)  # text and number in turn, so that like is compared with like
    return ([_number(part) if odd % 2 else part for odd, part in enumerate(parts)], text)


def _number(digits: str) -> float:
    return float(digits) if "." in digits else int(digits)


def label_order(labels: Iterable[str]) -> list[str]:
    """The distinct labels of groups in the order that `group_codes` gives them.

    Examples
    --------
    >>> label_order(["age=10, sex=F", "age=9, sex=M", "age=9, sex=F"])
    ['age=9, sex=F', 'age=9, sex=M', 'age=10, sex=F']
    """
    between = re.compile(r', (?=(?:[^"]*"[^"]*")*[^"]*$)')  # a comma that is not inside quotes
    return sorted(set(labels), key=lambda label: [natural_key(part) for part in between.split(label)])


def positions(items: Iterable[Any], vocabulary: Sequence[Any]) -> list[int]:
    """Where each item stands in the vocabulary, -1 where it does not.

    Examples
    --------
    >>> positions(["b", "x"], ["a", "b"])
    [1, -1]
    """
    place = {item: j for j, item in enumerate(vocabulary)}
    return [place.get(item, -1) for item in items]
