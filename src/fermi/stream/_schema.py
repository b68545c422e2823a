"""The columns of a source: what most of its files say, so that one odd file cannot speak for all."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from fermi.errors import DataError, listed
from fermi.stream._columns import family_of, same_family
from fermi.stream._files import BadFileError, SourceFile


class Schemas(NamedTuple):
    """The columns of the files that can be read, and how many of these have each column as which kind."""

    files: list[tuple[str, dict[str, pa.DataType]]]
    kinds: dict[str, Counter[str]]

    @classmethod
    def of(cls, files: Sequence[SourceFile], *, skip: bool) -> Schemas:
        """Look at every file, without its rows; one that cannot be read is an error, or left to the first pass."""
        found: list[tuple[str, dict[str, pa.DataType]]] = []
        kinds: dict[str, Counter[str]] = {}
        for file in files:
            try:
                own = file.columns()
            except BadFileError:
                if not skip:
                    raise
                continue
            found.append((file.path, own))
            for name, kind in own.items():
                kinds.setdefault(name, Counter())[family_of(kind)] += 1
        if not found:
            raise DataError(f"None of the {len(files):,} files can be read.")
        return cls(found, kinds)

    def families(self, named: Sequence[str]) -> dict[str, str]:
        """The kind of each column that is `named` or in half of the files or more; the others are told and left."""
        rare = [name for name in self.kinds if name not in named and 2 * self._count(name) < len(self.files)]
        if rare:
            words = "are in few of the files and are" if len(rare) > 1 else "is in few of the files and is"
            warnings.warn(f"{listed(rare, limit=6)} {words} left out.", stacklevel=5)
        return {name: _mostly(kinds) for name, kinds in self.kinds.items() if name not in rare}

    def _count(self, name: str) -> int:
        return sum(self.kinds[name].values())

    def check(self, columns: Sequence[str], families: dict[str, str]) -> None:
        """Refuse the first file that does not fit."""
        for path, own in self.files:
            check_columns(path, own, columns, families)


def check_columns(path: str, own: dict[str, pa.DataType], columns: Sequence[str], families: dict[str, str]) -> None:
    """Refuse a file that lacks a column, or has one of another kind."""
    for name in columns:
        if name not in own:
            raise BadFileError(path, f"lacks the column {name!r}")
        if not same_family(family_of(own[name]), families[name]):
            kind = families[name].replace("flag", "true or false")
            raise BadFileError(path, f"has the column {name!r} as {own[name]}, where other files have {kind}")


def _mostly(kinds: Counter[str]) -> str:
    """The kind that most files say; a column without any value says nothing, and a dictionary of words is words."""
    told = Counter[str]()
    for kind, count in kinds.items():
        told["words" if kind == "category" and "words" in kinds else kind] += count
    told.pop("nothing", None)
    return told.most_common(1)[0][0] if told else "nothing"
