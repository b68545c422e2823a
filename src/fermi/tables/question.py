"""What an audit of files is asked, and which of their rows can answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fermi._typing import Ints
from fermi.errors import FermiError, listed
from fermi.notions import Notion, as_notion
from fermi.tables.asked import NOTHING, Asked
from fermi.tables.task import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Question:
    """What an audit is asked: which columns hold what, and how they are judged."""

    target: str | None
    prediction: str | None
    probability: Sequence[str]
    sensitive: Sequence[str]
    notion: str | Notion
    confidence: float = 0.95
    min_group_size: int | None = None
    advantaged: Sequence[str] = ()
    asked: Asked = NOTHING

    @property
    def given(self) -> dict[str, list[str]]:
        """The columns that every row needs a value in, by what they are."""
        asked = {"target": [self.target], "prediction": [self.prediction], "probability": self.probability}
        return {argument: [name for name in names if name is not None] for argument, names in asked.items()}

    @property
    def columns(self) -> list[str]:
        """All columns asked for, each once."""
        return list(dict.fromkeys([*(name for names in self.given.values() for name in names), *self.sensitive]))

    @property
    def options(self) -> dict[str, Any]:
        """What `audit` takes besides."""
        least = {} if self.min_group_size is None else {"min_group_size": self.min_group_size}
        return {"confidence": self.confidence, **least}

    def fairness(self, labels: Sequence[Any]) -> Notion:
        """The notion, about the labels that are named or known."""
        return as_notion(self.notion) if isinstance(self.notion, Notion) else self._task.fairness(labels)

    def wanted(self, labels: Sequence[Any]) -> Any:
        """The label that people want, as named or known; refused where a bound needs it and it is neither."""
        return self._task.wanted(labels, self.asked.about_a_label)

    @property
    def _task(self) -> Task:
        return Task(self.target or "", tuple(self.sensitive), str(self.notion), tuple(self.advantaged))

    def check(self) -> None:
        """Refuse what contradicts itself."""
        if (self.prediction is None) == (not self.probability):
            raise FermiError("Give either `prediction`, a column of labels, or `probability`, one column per class.")
        if self.prediction in self.sensitive:
            raise FermiError(f"{self.prediction!r} is both the prediction and a sensitive column.")


class Complete:
    """Which rows have a prediction and a target, and how many have not, whether they come at once or in parts."""

    def __init__(self, question: Question) -> None:
        self._given = question.given
        self._left = dict.fromkeys(self._given, 0)
        self._kept = dict.fromkeys(self._given, 0)

    def rows(self, frame: pd.DataFrame, counts: Ints | None = None) -> NDArray[np.bool_]:
        """Which of these rows are complete."""
        often = np.ones(len(frame), dtype=np.int64) if counts is None else counts
        kept = np.ones(len(frame), dtype=np.bool_)
        for argument, names in self._given.items():
            whole = frame[names].notna().all(axis=1).to_numpy()
            self._left[argument] += int(often[kept & ~whole].sum())
            kept &= whole
            self._kept[argument] += int(often[kept].sum())
        return kept

    def merge(self, other: Complete) -> None:
        """Take the rows of another part into account."""
        for argument in self._given:
            self._left[argument] += other._left[argument]
            self._kept[argument] += other._kept[argument]

    def notes(self) -> list[str]:
        """What was left out, in words; refuses to have left out everything."""
        for argument, names in self._given.items():
            if not self._kept[argument]:
                raise FermiError(f"No row has a value in {listed(names)} (`{argument}`).")
        left = [(n, names) for n, names in zip(self._left.values(), self._given.values(), strict=True) if n]
        return [f"{n:,} rows have no {listed(names)} and were left out." for n, names in left]
