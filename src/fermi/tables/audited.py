"""The audit of a file, or of a folder of files that is read batch by batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fermi._typing import Ints
from fermi.auditing import Audit, RunningAudit, audit, ranking
from fermi.engines import Engine, Shards, engine_of
from fermi.errors import FermiError, listed
from fermi.inputs.encode import sort_key
from fermi.inputs.natural import natural, refuse_amounts
from fermi.notions import Notion, as_notion
from fermi.tables.asked import NOTHING, Asked
from fermi.tables.favourable import wanted_last
from fermi.tables.folders import Folder, is_folder
from fermi.tables.formats import read_table
from fermi.tables.probabilities import probability_matrix
from fermi.tables.reporting import Said, said
from fermi.tables.task import Task, require_columns

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


def audit_files(
    source: str | Path,
    *,
    sensitive: str | Sequence[str],
    prediction: str | None = None,
    probability: str | Sequence[str] = (),
    target: str | None = None,
    notion: str | Notion = "demographic_parity",
    confidence: float = 0.95,
    min_group_size: int = 0,
    engine: str | Engine = "local",
) -> Audit:
    """Audit the predictions in files that need not fit into memory, as `fermi audit` does.

    Labels are counted as a GROUP BY would, batch by batch; of probabilities the sums are added up. The figures are
    those of all rows together.

    Parameters
    ----------
    source : path
        A folder of Parquet, Feather, CSV or TSV files, a pattern such as ``"days/2026-11-*.parquet"``, or one file.
    sensitive : str or sequence of str
        The sensitive column or columns.
    prediction : str, optional
        The column of predicted labels.
    probability : str or sequence of str
        Instead: the column of the probability of the second of two classes, or one column per class.
    target : str, optional
        The column of true labels.
    notion : str or Notion
        What must be independent of the group.
    confidence, min_group_size
        As in `fermi.audit`.
    engine : "local", "ray" or Engine
        Where the files are read: here, or by the workers of a Ray cluster that see the same files.

    Returns
    -------
    Audit
        Its notes say what was left out.
    """
    chances, columns = ([name] if isinstance(name, str) else list(name) for name in (probability, sensitive))
    question = Question(target, prediction, chances, columns, as_notion(notion), confidence, min_group_size)
    found, notes = audit_file(source, question, engine)
    return Audit(dataclasses.replace(found.record, notes=(*notes, *found.record.notes)))


class _Complete:
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

    def merge(self, other: _Complete) -> None:
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


class FileShard:
    """Some files of a folder, wherever an engine has them read."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def counted(self, columns: Sequence[str], schema: Any) -> Any:
        """The combinations of values in these files, with counts."""
        return self._folder.counted(columns, schema)

    def audited(
        self, question: Question, columns: list[str], named: dict[Any, Any], schema: Any
    ) -> tuple[RunningAudit | None, _Complete, list[Any]]:
        """The sums over the probabilities in these files; labels are `named` as all files have them."""
        every = sorted(set(named.values()))
        running, classes, complete = None, every, _Complete(question)
        for batch in self._folder.frames(question.columns, schema):
            frame = batch[complete.rows(batch)].reset_index(drop=True)
            if not len(frame):
                continue
            F, classes = probability_matrix(frame, columns, every)
            running = running or RunningAudit(question.fairness(every), classes=classes)
            y_true = frame[str(question.target)].map(named).to_numpy()
            running.add(y_true, F, sensitive_features=frame[list(question.sensitive)])
        return running, complete, classes


def audit_file(source: str | Path, question: Question, engine: str | Engine = "local") -> tuple[Audit, list[str]]:
    """The audit of a file, or of the files of a folder or pattern, and notes on what was left out or assumed."""
    question.check()
    where = engine_of(engine)
    if not is_folder(str(source)) and where.name == "local":
        return _audit_frame(read_table(source), None, question)
    folder = Folder(source)
    shards = where.open(FileShard, [(part,) for part in folder.parts(where.workers)])
    try:
        if question.probability or _are_fractions_in(folder, str(question.prediction)):
            return _audit_batches(folder, shards, question)
        return _audit_frame(*folder.counts(question.columns, shards), question)
    finally:
        shards.close()


def _audit_frame(frame: pd.DataFrame, counts: Ints | None, question: Question) -> tuple[Audit, list[str]]:
    require_columns(frame, {**question.given, "sensitive": question.sensitive})
    for name in question.sensitive:
        refuse_amounts(frame[name])
    complete = _Complete(question)
    kept = complete.rows(frame, counts)
    notes = complete.notes()
    frame, counts = frame[kept].reset_index(drop=True), None if counts is None else counts[kept]
    y_true = None
    if question.target is not None:
        y_true = natural(frame[question.target], f"The target {question.target!r}")
    labels = [] if y_true is None else sorted(set(y_true.tolist()))
    every = labels
    columns = list(question.probability)
    if question.prediction is not None and _are_fractions(frame[question.prediction]):
        columns = [question.prediction]
    predicted: Any
    if columns:
        predicted, classes = probability_matrix(frame, columns, _needed(labels))
        notes.append(_taken(columns, classes))
    else:
        predicted, classes = natural(frame[str(question.prediction)], f"The prediction {question.prediction!r}"), None
        every = sorted({*labels, *predicted.tolist()}, key=sort_key)
    wanted = question.wanted(every)
    if wanted is not None and every[-1] != wanted:  # of two classes, the rates of the last are told
        declared = wanted_last(every, wanted)
        if classes is not None:
            predicted = predicted[:, [classes.index(label) for label in declared]]
        classes = declared
    found = audit(
        y_true,
        predicted,
        sensitive_features=frame[list(question.sensitive)],
        notion=question.fairness(every),
        classes=classes,
        counts=counts,
        **question.options,
    ).judged(wanted)
    if columns and y_true is not None and found.record.use is not None and classes is not None:
        use = dataclasses.replace(found.record.use, auc=ranking(y_true, classes, predicted))
        found.record = dataclasses.replace(found.record, use=use)
    return found, notes


def _audit_batches(folder: Folder, shards: Shards, question: Question) -> tuple[Audit, list[str]]:
    """The audit of probabilities in many files: one pass to learn labels and groups, one to add up."""
    if question.target is None:
        _needed([])
    target = str(question.target)
    seen, _ = folder.counts([target, *(name for name in question.sensitive if name != target)], shards)
    for name in question.sensitive:
        refuse_amounts(seen[name])
    values = seen[target].dropna().drop_duplicates()
    if not len(values):
        raise FermiError(f"No row has a value in {target!r} (`target`).")
    named = dict(zip(values.tolist(), natural(values, f"The target {target!r}").tolist(), strict=True))
    columns = list(question.probability) or [str(question.prediction)]
    complete = _Complete(question)
    answers = shards.each("audited", question, columns, named, folder.schema(question.columns))
    for _, part, _ in answers:
        complete.merge(part)
    notes = complete.notes()
    parts = [(running, classes) for running, _, classes in answers if running is not None]
    found = sum((running for running, _ in parts[1:]), parts[0][0])
    audited = found.audit(**question.options).judged(question.wanted(sorted(set(named.values()))))
    return audited, [*notes, _taken(columns, parts[0][1])]


def judged_words(found: Audit, asked: Asked) -> Said:
    """What is said first of an audit: whether a bound is met, and whether the labels are of any use."""
    return said(asked, {}, {"audit": found.record}, None, kept=True, needless=False)


def _needed(labels: list[Any]) -> list[Any]:
    if not labels:
        raise FermiError("Probabilities need `target`: its values, sorted, are the classes of the columns.")
    return labels


def _taken(columns: Sequence[str], classes: Sequence[Any]) -> str:
    """Say which classes the columns of probabilities were taken for."""
    return f"{listed(columns)}: taken as the probabilities of {listed(classes[-len(columns) :])}, in this order."


def _are_fractions(values: pd.Series[Any]) -> bool:
    found = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    if np.isnan(found).any():
        return False
    return bool((found != np.round(found)).any() and found.min() >= 0.0 and found.max() <= 1.0)


def _are_fractions_in(folder: Folder, name: str) -> bool:
    """Whether a column of many files holds fractions between 0 and 1, and nothing else."""
    fractions = False
    for frame in folder.frames([name], folder.schema([name])):
        distinct = pd.Series(frame[name].dropna().unique())
        if pd.api.types.is_integer_dtype(distinct.dtype) or pd.api.types.is_bool_dtype(distinct.dtype):
            return False
        found = pd.to_numeric(distinct, errors="coerce").to_numpy(dtype=np.float64)
        if not ((found >= 0.0) & (found <= 1.0)).all():
            return False
        fractions = fractions or bool((found != np.round(found)).any())
    return fractions
