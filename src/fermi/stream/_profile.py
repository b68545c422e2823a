"""What the first pass learns of the rows: of each column, of classes and groups, and a sample of rows.

Profiles of disjoint rows add, so that files and shards can be read in any place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from fermi._typing import Floats
from fermi.compiled.table_rows import number_moments, uniforms
from fermi.errors import FermiError
from fermi.inputs.natural import MOST_LABELS, label_of
from fermi.inputs.table_encoder import TEXT, ColumnRule, category_rule, mostly, number_rule
from fermi.stream import _columns as columns_of

_SAMPLE = 1 << 16  # rows
_MOST_PRODUCTS = 1 << 20  # combinations of dictionary entries that are counted in a table
MOST_GROUPS = 250_000  # combinations of a label and a group: what is known of each is in memory
_OF_SAMPLE, _OF_TEST = 1, 2  # which of the numbers of a row


@dataclass
class Numbers:
    """Count, mean, squared deviations and extremes of numbers, and how many differ in one batch at most."""

    count: int = 0
    mean: float = 0.0
    square: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    distinct: int = 0

    def add(self, values: Floats, weight: Floats | None = None) -> None:
        """Take the finite ones of some numbers into account, each as often as its weight says."""
        if weight is not None:
            values = np.repeat(values, weight.astype(np.int64))
            self.distinct = max(self.distinct, len(np.unique(values[np.isfinite(values)])))
        self.merge(Numbers(*number_moments(np.ascontiguousarray(values, dtype=np.float64))))

    def merge(self, other: Numbers) -> None:
        """Take other numbers into account (Chan, Golub and LeVeque's update)."""
        both = self.count + other.count
        if other.count:
            shift = other.mean - self.mean
            with np.errstate(over="ignore", invalid="ignore"):
                self.square += other.square + float(np.float64(shift) ** 2) * self.count * other.count / both
                self.mean += shift * other.count / both
        self.count, self.distinct = both, max(self.distinct, other.distinct)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def rule(self, name: str, kind: str, rows: int) -> ColumnRule:
        """What a column of these numbers becomes."""
        spread = None
        if self.count:
            with np.errstate(over="ignore", invalid="ignore"):
                spread = (self.mean, float(np.sqrt(np.float64(self.square) / self.count)))
        return number_rule(name, kind, rows - self.count, spread, constant=self.low == self.high)


@dataclass
class ColumnProfile:
    """One column: numbers or days, or words with their counts and what they are as numbers and days."""

    family: str
    rows: int = 0
    numbers: Numbers = field(default_factory=Numbers)
    days: Numbers = field(default_factory=Numbers)
    words: Counter[str] = field(default_factory=Counter)
    present: int = 0
    many: bool = False  # words, more than any column of categories has

    def add(self, column: pa.Array) -> None:
        """Take some rows into account."""
        self.rows += len(column)
        if self.family in ("number", "date"):
            self.numbers.add(columns_of.numbers(column, self.family))
            return
        if self.family == "other" or pa.types.is_null(column.type):
            return
        indices, values = columns_of.dictionary(column)
        counts = np.bincount(indices, minlength=len(values))
        found = Counter[str]()
        for value, count in zip(values, counts.tolist(), strict=True):
            if count and (text := columns_of.word(value)) is not None:
                found[text] += count
        self._take(found)

    def _take(self, found: Counter[str]) -> None:
        self.present += sum(found.values())
        if self.many:
            self._count_numbers(found)
            return
        self.words.update(found)
        if len(self.words) > TEXT:
            self._give_up_words()

    def _give_up_words(self) -> None:
        """From here on only what the words are as numbers and days is known: they are too many to be categories."""
        if not self.many:
            self._count_numbers(self.words)
            self.many = True

    def _count_numbers(self, found: Counter[str]) -> None:
        if self.family == "words" and found:
            texts, weight = list(found), np.array(list(found.values()), dtype=np.float64)
            self.numbers.add(columns_of.words_to_numbers("number", [*texts]), weight)
            self.days.add(columns_of.words_to_numbers("date", [*texts]), weight)

    def merge(self, other: ColumnProfile) -> None:
        """Take other rows into account, which are then this profile's."""
        self.family = other.family if self.family == "nothing" else self.family
        self.rows += other.rows
        if not self.many and not other.many and self.family not in ("number", "date"):
            self._take(other.words)
            return
        if self.family not in ("number", "date"):
            self._give_up_words()
            other._give_up_words()
        self.numbers.merge(other.numbers)
        self.days.merge(other.days)
        self.present += other.present

    def rule(self, name: str) -> ColumnRule:
        """What the column becomes, by the rules of the encoder."""
        if self.family == "other":
            return ColumnRule(name, "ignored", 0, "values that are neither numbers nor words")
        if self.family in ("number", "date"):
            return self.numbers.rule(name, self.family, self.rows)
        if self.family == "words" and self.present:
            if not self.many:
                self.numbers, self.days = Numbers(), Numbers()
                self._count_numbers(self.words)
            for kind, found in (("number", self.numbers), ("date", self.days)):
                if mostly(found.count, self.present, found.distinct):
                    return found.rule(name, kind, self.rows)
        return category_rule(name, self.words, self.rows - self.present)


class Reading(NamedTuple):
    """What to read: target, sensitive columns and features; the seed, and the share of the rows left for a test."""

    target: str
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    seed: int
    test_size: float = 0.0

    @property
    def columns(self) -> list[str]:
        """All columns to read, each once."""
        return list(dict.fromkeys([self.target, *self.sensitive, *self.features]))

    def kept(self, file: int, first: int, n: int) -> Any:
        """Which rows train; None where all do."""
        return None if not self.test_size else ~self.test_rows(file, first, n, 1.0)

    def test_rows(self, file: int, first: int, n: int, share: float) -> Any:
        """Which rows are left for a test, or this share of them."""
        drawn = np.empty(n)
        uniforms(self.seed * 4 + _OF_TEST, file, first, drawn)
        return drawn < share * self.test_size


Key = tuple[Any, tuple[str | None, ...]]


@dataclass
class Profile:
    """All that the first pass learns. `joint` counts rows by label and words of the sensitive columns."""

    columns: dict[str, ColumnProfile]
    joint: Counter[Key] = field(default_factory=Counter)
    unlabelled: int = 0
    limit: float = 1.0  # of the number that a row of the sample has
    drawn: Floats = field(default_factory=lambda: np.zeros(0))
    sample: list[pa.Table] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The rows that train."""
        return sum(self.joint.values())

    def add(self, reading: Reading, path: str, file: int, first: int, batch: pa.RecordBatch) -> None:
        """Take a batch of a file into account."""
        kept = reading.kept(file, first, batch.num_rows)
        drawn = np.empty(batch.num_rows)
        uniforms(reading.seed * 4 + _OF_SAMPLE, file, first, drawn)
        if kept is not None:
            batch, drawn = batch.filter(pa.array(kept)), drawn[kept]
        batch, present = self._labelled(reading, path, batch)
        if present is not None:
            drawn = drawn[present]
        for name in reading.features:
            self.columns[name].add(batch.column(name))
        chosen = np.flatnonzero(drawn < self.limit)
        if len(chosen):
            families = {name: column.family for name, column in self.columns.items()}
            part = pa.Table.from_batches([batch]).take(pa.array(chosen))
            self.sample.append(columns_of.alike(part, families, reading.features))
            self.drawn = np.append(self.drawn, drawn[chosen])
            self._thin()

    def _labelled(self, reading: Reading, path: str, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Any]:
        """Count the rows by label and group; leave out those without a label."""
        coded = [columns_of.dictionary(batch.column(name)) for name in (reading.target, *reading.sensitive)]
        labels = [known_label(value, reading.target) for value in coded[0][1]]
        groups = [[columns_of.word(value) for value in values] for _, values in coded[1:]]
        joint, sizes = coded[0][0].astype(np.int64), [len(labels)]
        for (indices, _), words in zip(coded[1:], groups, strict=True):
            joint = joint * len(words) + indices
            sizes.append(len(words))
        if np.prod(sizes, dtype=np.float64) <= _MOST_PRODUCTS:
            counts = np.bincount(joint, minlength=0)
            codes = np.flatnonzero(counts)
            counts = counts[codes]
        else:
            codes, counts = np.unique(joint, return_counts=True)
        places = np.unravel_index(codes, sizes) if len(codes) else [np.zeros(0, dtype=np.int64)] * len(sizes)
        for count, own, *others in zip(counts.tolist(), *(place.tolist() for place in places), strict=True):
            if labels[own] is None:
                self.unlabelled += count
            else:
                self.joint[labels[own], tuple(words[k] for words, k in zip(groups, others, strict=True))] += count
        if len({key[0] for key in self.joint}) > MOST_LABELS:
            raise FermiError(
                f"The target {reading.target!r} has more than {MOST_LABELS} values in {path!r}; expected few."
            )
        self._refuse_crowds()
        known = np.array([label is not None for label in labels])[coded[0][0]]
        return (batch, None) if known.all() else (batch.filter(pa.array(known)), known)

    def merge(self, other: Profile) -> None:
        """Take other rows into account."""
        for name, column in other.columns.items():
            self.columns[name].merge(column)
        self.joint.update(other.joint)
        self._refuse_crowds()
        self.unlabelled += other.unlabelled
        self.limit = min(self.limit, other.limit)
        self.sample += other.sample
        self.drawn = np.append(self.drawn, other.drawn)
        self._thin(always=True)

    def _refuse_crowds(self) -> None:
        if len(self.joint) > MOST_GROUPS:
            raise FermiError(
                f"The sensitive columns hold more than {MOST_GROUPS:,} combinations of values and labels; expected "
                "groups: put numbers into ranges first."
            )

    def _thin(self, *, always: bool = False) -> None:
        """Keep the rows below the limit, which falls by half whenever there are too many."""
        while (self.drawn < self.limit).sum() > _SAMPLE:
            self.limit, always = self.limit / 2.0, True
        if always and len(self.drawn):
            keep = self.drawn < self.limit
            whole = pa.concat_tables(self.sample, promote_options="permissive").filter(pa.array(keep))
            self.sample, self.drawn = [whole], self.drawn[keep]


def known_label(value: Any, target: str) -> Any:
    """A label of the target in its own type, or None where there is none; fractions are refused."""
    if columns_of.word(value) is None:
        return None
    found = label_of(value)
    if found is None:
        raise FermiError(f"The target {target!r} holds {value!r}; expected words or whole numbers.")
    return found


def empty_profile(families: dict[str, str], features: Sequence[str]) -> Profile:
    """The profile of no rows."""
    return Profile({name: ColumnProfile(families[name]) for name in features})
