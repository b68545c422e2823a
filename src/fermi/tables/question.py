"""What an audit of files is asked, and which of their rows can answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fermi._typing import Ints
from fermi.errors import FermiError, bad_argument, listed
from fermi.inputs.arguments import whole
from fermi.inputs.groups import word_of
from fermi.notions import ConditionalParity, Notion, as_notion
from fermi.tables.asked import NOTHING, Asked
from fermi.tables.mending import AS_THEY_ARE, Mending
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
    weight: str | None = None
    control: Sequence[str] = ()
    map_labels: Sequence[str] = ()
    columns_are: Mending = AS_THEY_ARE
    probability_of: str | None = None
    seed: int = 0

    @property
    def given(self) -> dict[str, list[str]]:
        """The columns that every row needs a value in, by what they are."""
        asked = {"target": [self.target], "prediction": [self.prediction], "probability": self.probability}
        asked["weight"] = [self.weight]
        return {argument: [name for name in names if name is not None] for argument, names in asked.items()}

    @property
    def columns(self) -> list[str]:
        """All columns asked for, each once."""
        named = [name for names in self.given.values() for name in names]
        return list(dict.fromkeys([*named, *self.sensitive, *self.control]))

    def understood(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The table with its columns as the user says they are, and labels called as `map_labels` says."""
        frame = self.columns_are(frame)
        names = label_names(self.map_labels)
        about = [name for name in (self.target, self.prediction) if name is not None and name in frame.columns]
        if not names or not about:
            return frame
        found = {name: frame[name].map(lambda value: word_of(value).strip(), na_action="ignore") for name in about}
        if not any(column.isin(list(names)).any() for column in found.values()):
            raise FermiError(f"`map_labels` is {listed(self.map_labels)}, and no label is called so.")
        return frame.assign(**{name: col.map(lambda word: names.get(word, word), na_action="ignore")
                               for name, col in found.items()})  # fmt: skip

    @property
    def options(self) -> dict[str, Any]:
        """What `audit` takes besides."""
        least = {} if self.min_group_size is None else {"min_group_size": self.min_group_size}
        return {"confidence": self.confidence, "random_state": self.seed, **least}

    def fairness(self, labels: Sequence[Any]) -> Notion:
        """The notion, about the labels that are named or known."""
        return as_notion(self.notion) if isinstance(self.notion, Notion) else self._task.fairness(labels)

    def fairness_of(self, frame: pd.DataFrame, y_true: Any, labels: Sequence[Any]) -> Notion:
        """The notion for these rows: where there are control columns, it is asked for within each of their values."""
        notion = self.fairness(labels)
        if not self.control:
            return notion
        words = [frame[name].map(word_of, na_action="ignore") for name in self.control]
        prefix = [f"{name}=" if len(words) > 1 else "" for name in self.control]
        known = np.logical_and.reduce([column.notna().to_numpy() for column in words])
        within = words[0].astype(object).map(lambda word: f"{prefix[0]}{word}")
        for name, column in zip(prefix[1:], words[1:], strict=True):
            within = within + ", " + column.map(lambda word, name=name: f"{name}{word}").astype(object)
        if notion.needs_target:
            true = pd.Series(y_true, index=frame.index)
            known &= np.isin(true.to_numpy(), list(notion.conditions(list(labels), len(labels), labels).values_of))
            within = within + ", truly " + true.map(str)
        return ConditionalParity(within.where(known, None).tolist())

    def wanted(self, labels: Sequence[Any]) -> Any:
        """The label that people want, as named or known; refused where a bound needs it and it is neither."""
        return self._task.wanted(labels, self.asked.about_a_label)

    @property
    def _task(self) -> Task:
        return Task(self.target or "", tuple(self.sensitive), str(self.notion), tuple(self.advantaged))

    def check(self) -> None:
        """Refuse what contradicts itself."""
        if self.prediction is None and not self.probability:
            raise FermiError("Give `prediction`, a column of labels, or `probability`, one column per class, or both.")
        label_names(self.map_labels)
        if self.probability_of is not None and len(self.probability) > 1:
            raise FermiError(f"`probability_of` is {self.probability_of!r}; expected it with one `probability` only.")
        whole("seed", self.seed, "a whole number of at least 0", low=0)
        if self.prediction in self.sensitive:
            raise FermiError(f"{self.prediction!r} is both the prediction and a sensitive column.")


def label_names(texts: Sequence[str]) -> dict[str, str]:
    """What labels are to be called, of words such as "approve:1,deny:0".

    Examples
    --------
    >>> label_names(["approve:1,deny:0"])
    {'approve': '1', 'deny': '0'}
    """
    found = {}
    for text in texts:
        for pair in text.split(","):
            old, sign, new = pair.partition(":")
            if not sign or not old.strip() or not new.strip():
                raise bad_argument("map_labels", f"is {text!r}", "labels and what they are called, as approve:1,deny:0")
            found[old.strip()] = new.strip()
    return found


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
            filled = frame[names].notna().all(axis=1).to_numpy()
            self._left[argument] += int(often[kept & ~filled].sum())
            kept &= filled
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
