"""Batches of Arrow to rows in compact form, by rules that were learned in the first pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fermi._typing import Floats, Ints
from fermi.compiled import table_rows
from fermi.errors import listed
from fermi.inputs.table_encoder import ColumnRule, TableEncoder
from fermi.stream import _columns as columns_of
from fermi.stream._files import BadFileError
from fermi.stream._profile import Reading, known_label

_BYTES = 8


class Rows(NamedTuple):
    """Rows in compact form, as `compiled/table_rows.py` takes them; `cells` are terms × rows, -1 for none."""

    numbers: Floats
    codes: NDArray[np.int32]
    target: Ints
    cells: Ints

    @classmethod
    def empty(cls, n: int, coding: Coding) -> Rows:
        """Room for some rows."""
        p, q = len(coding.numbers), len(coding.coded)
        cells = np.full((len(coding.groups), n), -1)  # room that is never filled holds codes that are none
        return cls(np.empty((n, p)), np.empty((n, q), dtype=np.int32), np.zeros(n, dtype=np.int64), cells)

    def part(self, first: int, last: int) -> Rows:
        """Some of the rows, in place."""
        return Rows(
            self.numbers[first:last], self.codes[first:last], self.target[first:last], self.cells[:, first:last]
        )


@dataclass(frozen=True, eq=False)
class Coding:
    """How rows are coded: plain values, so that any process can do it.

    Attributes
    ----------
    reading : Reading
        Which columns are read.
    columns : list of dict
        The rules of the encoder, in JSON's types.
    labels : list
        The classes.
    mixed : bool
        Whether labels of several types are classes by their words.
    groups : list of dict
        Of each term: the group of the words of its sensitive columns.
    places : list of tuple of int
        Of each term: which of the sensitive columns it is about.
    conditions : (m,) int64
        The condition of each class, -1 outside 𝒵.
    """

    reading: Reading
    columns: list[dict[str, Any]]
    labels: list[Any]
    mixed: bool
    groups: list[dict[tuple[str, ...], int]]
    places: list[tuple[int, ...]]
    conditions: Ints
    numbers: list[ColumnRule] = field(init=False)
    coded: list[tuple[ColumnRule, str]] = field(init=False)

    def __post_init__(self) -> None:
        used = [rule for rule in TableEncoder.from_json(listed_json(self.columns)).columns if rule.kind != "ignored"]
        numbers = [rule for rule in used if rule.kind != "category"]
        coded = [(rule, "category") for rule in used if rule.kind == "category"]
        coded += [(rule, "missing") for rule in numbers if rule.missing]
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "coded", coded)

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.numbers) + sum(self._widths())

    def _widths(self) -> list[int]:
        return [len(rule.features) if kind == "category" else 1 for rule, kind in self.coded]

    def places_of_features(self) -> Ints:
        """Where each feature of the encoder stands here: numbers first, then what is 0 or 1."""
        first = np.cumsum([len(self.numbers), *self._widths()])
        starts = {(rule.name, kind): int(at) for (rule, kind), at in zip(self.coded, first, strict=False)}
        numbers = {rule.name: j for j, rule in enumerate(self.numbers)}
        found: list[int] = []
        for rule in TableEncoder.from_json(listed_json(self.columns)).columns:
            if rule.kind == "category":
                found += range(starts[rule.name, "category"], starts[rule.name, "category"] + len(rule.features))
            elif rule.kind != "ignored":
                found += [numbers[rule.name], *([starts[rule.name, "missing"]] if rule.missing else [])]
        return np.array(found, dtype=np.int64)

    @property
    def bytes_per_row(self) -> int:
        """What a coded row takes, and about what it takes before."""
        return _BYTES * (len(self.numbers) + 1 + len(self.groups)) + 4 * len(self.coded)


def listed_json(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rules with lists in the place of tuples, as JSON has them."""
    return [{k: list(v) if isinstance(v, tuple) else v for k, v in column.items()} for column in columns]


class Coder:
    """Codes batches; what it has looked up of a dictionary it keeps for the next batch, which mostly has the same."""

    def __init__(self, coding: Coding) -> None:
        self.coding = coding
        self._known: dict[Any, tuple[Any, Any]] = {}
        rules = coding.numbers
        self._mean = np.array([rule.mean for rule in rules])
        self._inverse = np.array([1.0 / rule.scale for rule in rules])
        self._label_codes = {label: j for j, label in enumerate(coding.labels)}
        widths = coding._widths()
        self._starts = np.cumsum([len(rules), *widths])[: len(widths)]
        reading = coding.reading
        self.words = [rule.name for rule, kind in coding.coded if kind == "category"]
        self.columns = list(dict.fromkeys([reading.target, *reading.sensitive, *(r.name for r in rules), *self.words]))

    def rows_of(self, path: str, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Ints]:
        """The rows that have a label, and the class of each."""
        reading = self.coding.reading
        indices, table = self._looked_up("y", path, batch.column(reading.target), self._class_of)
        target = table[indices]
        if (target >= 0).all():
            return batch, target
        return batch.filter(pa.array(target >= 0)), target[target >= 0]

    def fill(self, path: str, batch: pa.RecordBatch, target: Ints, out: Rows, places: Ints) -> None:
        """Write the coded rows of a batch, all of which have a label, each at its place."""
        out.target[places] = target
        self._fill_cells(path, batch, target, out.cells, places)
        p = len(self.coding.numbers)
        values = [columns_of.numbers(batch.column(rule.name), rule.kind) for rule in self.coding.numbers]
        values = [np.ascontiguousarray(column, dtype=np.float64) for column in values]
        absent = np.zeros(p, dtype=np.int64)
        addresses = np.array([column.ctypes.data for column in values], dtype=np.int64)
        table_rows.fill_numbers(addresses, places, self._mean, self._inverse, out.numbers, absent)
        for j in np.flatnonzero(absent):
            if not self.coding.numbers[j].missing:
                raise self._changed(path, self.coding.numbers[j].name, "a missing entry")
        self._fill_codes(path, batch, values, out.codes, places)

    def _fill_codes(
        self, path: str, batch: pa.RecordBatch, values: list[Floats], out: NDArray[np.int32], places: Ints
    ) -> None:
        n_words, nothing = len(self.words), self.coding.width
        indices, tables = [], []
        for (rule, _), start in zip(self.coding.coded[:n_words], self._starts, strict=False):
            found, table = self._looked_up(rule.name, path, batch.column(rule.name), _features_of(rule, int(start)))
            indices.append(np.ascontiguousarray(found))
            tables.append(table.astype(np.int32))
        if indices:
            starts = np.cumsum([0, *(len(table) for table in tables)])[:-1]
            addresses = np.array([found.ctypes.data for found in indices], dtype=np.int64)
            if table_rows.fill_codes(addresses, places, starts, np.concatenate(tables), out):
                self._blame(path, indices, tables)
        numbers = [rule.name for rule in self.coding.numbers]
        for j in range(n_words, len(self.coding.coded)):
            column = values[numbers.index(self.coding.coded[j][0].name)]
            table_rows.mark_absent(column, places, int(self._starts[j]), nothing, out[:, j])

    def _fill_cells(self, path: str, batch: pa.RecordBatch, target: Ints, out: Ints, places: Ints) -> None:
        reading, first = self.coding.reading, 0
        condition = self.coding.conditions[target]
        for t, (groups, own) in enumerate(zip(self.coding.groups, self.coding.places, strict=True)):
            columns = [batch.column(reading.sensitive[k]) for k in own]
            codes = self._groups(t, path, columns, groups)
            k = len(groups)
            out[t, places] = np.where((codes >= 0) & (condition >= 0), first + condition * k + codes, -1)
            first += k * (int(self.coding.conditions.max()) + 1)

    def _groups(self, t: int, path: str, columns: list[pa.Array], groups: dict[tuple[str, ...], int]) -> Ints:
        """The group of each row, -1 where a word is missing."""
        coded = [columns_of.dictionary(column) for column in columns]
        words = [[columns_of.word(value) for value in values] for _, values in coded]
        joint = coded[0][0].astype(np.int64)
        for (indices, _), own in zip(coded[1:], words[1:], strict=True):
            joint = joint * len(own) + indices
        kept = self._known.get(("groups", t))
        if kept is None or kept[0] != words:
            sizes = [len(own) for own in words]
            codes, inverse = np.unique(joint, return_inverse=True)
            if np.prod(sizes, dtype=np.float64) > 4 * len(joint):
                table = np.array([self._group(path, c, sizes, words, groups) for c in codes.tolist()], dtype=np.int64)
                return np.asarray(table[inverse])
            table = np.full(int(np.prod(sizes)), -2)
            kept = self._known["groups", t] = (words, table)
        table = kept[1]
        found = table[joint]
        if (found == -2).any():
            sizes = [len(own) for own in words]
            for code in np.unique(joint[found == -2]).tolist():
                table[code] = self._group(path, code, sizes, words, groups)
            found = table[joint]
        return np.asarray(found)

    def _group(
        self, path: str, code: int, sizes: list[int], words: list[list[str | None]], groups: dict[tuple[str, ...], int]
    ) -> int:
        own = tuple(part[k] for part, k in zip(words, np.unravel_index(code, sizes), strict=True))
        if None in own:
            return -1
        if own not in groups:
            raise BadFileError(path, f"holds the group {listed(own)}, which the first pass over the files did not see")
        return groups[own]  # type: ignore[index]

    def _class_of(self, value: Any) -> int:
        label = known_label(value, self.coding.reading.target)
        if label is None:
            return -1
        return self._label_codes.get(str(value).strip() if self.coding.mixed else label, -2)

    def _looked_up(
        self, name: str, path: str, column: pa.Array, look_up: Callable[[Any], int]
    ) -> tuple[NDArray[np.int32], Ints]:
        """The index of each row, and what each index stands for; an unknown label or category is the file's fault."""
        indices, values = columns_of.dictionary(column)
        kept = self._known.get(name)
        if kept is None or kept[0] != values:
            table = np.array([look_up(value) for value in values], dtype=np.int64)
            kept = self._known[name] = (values, table)
        table = kept[1]
        if (table == -2).any() and (table[indices] == -2).any():
            strange = values[int(indices[np.flatnonzero(table[indices] == -2)[0]])]
            shown = self.coding.reading.target if name == "y" else name
            raise self._changed(path, shown, repr(strange))
        return indices, table

    def _blame(self, path: str, indices: list[NDArray[np.int32]], tables: list[NDArray[np.int32]]) -> None:
        for j, (found, table) in enumerate(zip(indices, tables, strict=True)):
            if (table[found] < 0).any():
                raise self._changed(path, self.words[j], "a missing entry")

    def _changed(self, path: str, column: str, what: str) -> BadFileError:
        return BadFileError(
            path, f"holds {what} in the column {column!r}, which the first pass over the files did not see"
        )


def _features_of(rule: ColumnRule, start: int) -> Callable[[Any], int]:
    """What looks up the feature that a value of a category is: -1 for a missing one that there was none of."""
    places = {word: start + min(k, len(rule.categories)) for k, word in enumerate((*rule.categories, *rule.rare))}
    missing = start + len(rule.features) - 1 if rule.missing else -1

    def look_up(value: Any) -> int:
        text = columns_of.word(value)
        return missing if text is None else places.get(text, -2)

    return look_up
