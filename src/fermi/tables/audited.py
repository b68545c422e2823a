"""The audit of a file, or of a folder of files that is read batch by batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fermi._typing import Ints
from fermi.auditing import Audit, RunningAudit, audit
from fermi.engines import Engine, Shards, engine_of
from fermi.errors import FermiError
from fermi.inputs.natural import natural, refuse_amounts
from fermi.notions import Notion, as_notion
from fermi.tables.asked import Asked
from fermi.tables.favourable import wanted_last
from fermi.tables.folders import Folder
from fermi.tables.formats import read_table
from fermi.tables.probabilities import probability_matrix
from fermi.tables.question import Complete, Question
from fermi.tables.read_rows import ReadRows, needed, read_rows, taken
from fermi.tables.reporting import Said, said
from fermi.tables.together import is_folder

if TYPE_CHECKING:
    pass


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


class FileShard:
    """Some files of a folder, wherever an engine has them read."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def counted(self, columns: Sequence[str], schema: Any) -> Any:
        """The combinations of values in these files, with counts."""
        return self._folder.counted(columns, schema)

    def audited(
        self, question: Question, columns: list[str], named: dict[Any, Any], schema: Any
    ) -> tuple[RunningAudit | None, Complete, list[Any]]:
        """The sums over the probabilities in these files; labels are `named` as all files have them."""
        every = sorted(set(named.values()))
        running, classes, complete = None, every, Complete(question)
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
    if question.weight is not None or (question.prediction is not None and question.probability):
        # Weights and labels beside probabilities are no counts: the rows themselves are needed.
        frames = list(folder.frames(question.columns, folder.schema(question.columns)))
        return _audit_frame(pd.concat(frames, ignore_index=True), None, question)
    shards = where.open(FileShard, [(part,) for part in folder.parts(where.workers)])
    try:
        if question.probability or _are_fractions_in(folder, str(question.prediction)):
            return _audit_batches(folder, shards, question)
        return _audit_frame(*folder.counts(question.columns, shards), question)
    finally:
        shards.close()


def _audit_frame(frame: pd.DataFrame, counts: Ints | None, question: Question) -> tuple[Audit, list[str]]:
    read = read_rows(frame, counts, question)
    wanted = question.wanted(read.every)
    classes, predicted = read.classes, read.predicted
    if wanted is not None and read.every[-1] != wanted:  # of two classes, the rates of the last are told
        declared = wanted_last(read.every, wanted)
        if read.soft:
            predicted = predicted[:, [list(classes or ()).index(label) for label in declared]]
        classes = declared
    found = audit(
        read.y_true,
        predicted,
        sensitive_features=read.frame[list(question.sensitive)],
        notion=question.fairness_of(read.frame, read.y_true, read.every),
        classes=classes,
        sample_weight=read.weight,
        counts=read.counts,
        labels=read.labels,
        **question.options,
    )
    return found.judged(wanted), [*read.notes, *_the_wrong_way_round(found, read)]


def _audit_batches(folder: Folder, shards: Shards, question: Question) -> tuple[Audit, list[str]]:
    """The audit of probabilities in many files: one pass to learn labels and groups, one to add up."""
    if question.target is None:
        needed([])
    target = str(question.target)
    seen, _ = folder.counts([target, *(name for name in question.sensitive if name != target)], shards)
    for name in question.sensitive:
        refuse_amounts(seen[name])
    values = seen[target].dropna().drop_duplicates()
    if not len(values):
        raise FermiError(f"No row has a value in {target!r} (`target`).")
    named = dict(zip(values.tolist(), natural(values, f"The target {target!r}").tolist(), strict=True))
    columns = list(question.probability) or [str(question.prediction)]
    complete = Complete(question)
    answers = shards.each("audited", question, columns, named, folder.schema(question.columns))
    for _, part, _ in answers:
        complete.merge(part)
    notes = complete.notes()
    parts = [(running, classes) for running, _, classes in answers if running is not None]
    found = sum((running for running, _ in parts[1:]), parts[0][0])
    audited = found.audit(**question.options).judged(question.wanted(sorted(set(named.values()))))
    return audited, [*notes, taken(columns, parts[0][1])]


_BACKWARDS = 0.45  # an area under the ROC curve below which probabilities rank the wrong way round


def _the_wrong_way_round(found: Audit, read: ReadRows) -> list[str]:
    """Say so where a single column of probabilities seems to be about the other class."""
    ranks = found.ranks
    if ranks is None or len(read.columns) != 1 or (area := ranks.auc()) is None or area >= _BACKWARDS:
        return []
    other = next(label for label in read.every if label != read.about)
    return [
        f"{read.columns[0]!r} ranks people the wrong way round (AUC {area:.2f}): if it is the probability of "
        f"{other!r}, say `probability_of` {str(other)!r}."
    ]


def judged_words(found: Audit, asked: Asked) -> Said:
    """What is said first of an audit: whether a bound is met, and whether the labels are of any use."""
    return said(asked, {}, {"audit": found.record}, None, kept=True, needless=False)


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
