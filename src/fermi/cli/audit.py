"""`fermi audit`: how far somebody's predictions depend on the group."""

from __future__ import annotations

import dataclasses
import json
import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fermi._files import whole_file
from fermi.auditing import SMALL, Audit, audit, judged, usefulness
from fermi.cli._console import printable
from fermi.cli._same import refuse_same_file
from fermi.cli._summaries import audit_summary, group_summary
from fermi.cli._verdicts import require, verdict_summary
from fermi.errors import FermiError, listed
from fermi.fitting.scores import most_probable
from fermi.inputs.encode import sort_key
from fermi.inputs.features import natural_labels
from fermi.inputs.groups import word_of
from fermi.records import AuditRecord
from fermi.tables.asked import NOTHING, Asked
from fermi.tables.columns import natural, refuse_amounts, require_columns
from fermi.tables.favourable import wanted_last
from fermi.tables.formats import read_table, write_table
from fermi.tables.probabilities import probability_matrix
from fermi.tables.reporting import Said, said
from fermi.tables.task import Task

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OUTPUTS = (".html", ".json", ".csv")


@dataclasses.dataclass(frozen=True)
class Question:
    """What an audit is asked: which columns hold what, and how they are judged."""

    target: str | None
    prediction: str | None
    probability: Sequence[str]
    sensitive: Sequence[str]
    notion: str
    confidence: float
    min_group_size: int | None
    advantaged: Sequence[str] = ()
    asked: Asked = NOTHING


def run(file: str, question: Question, *, output: str | None, as_json: bool, required: bool = False) -> None:
    """Audit the predictions of a file; print the audit, and write it as a page, JSON or CSV."""
    suffix = Path(output).suffix.lower() if output is not None else ""
    if output is not None and suffix not in _OUTPUTS:
        raise FermiError(f"--output is {output!r}; expected a name that ends in one of {', '.join(_OUTPUTS)}.")
    if output is not None:
        refuse_same_file(output, file)
    if (question.prediction is None) == (not question.probability):
        raise FermiError("Give either --prediction, a column of labels, or --probability, one column per class.")
    frame, notes = _complete(read_table(file), question)
    if required and not question.asked.anything:
        raise FermiError("--require is given without a bound; expected one as well, say --max-violation 0.1.")
    found, words = _audit(frame, question, notes)
    if output is not None and required:
        require(words.verdict, required=True)
    groups = [group_summary(g) for g in found.record.groups]
    document = {**verdict_summary(words, None), **audit_summary(found.record), "groups": groups}
    text = json.dumps({**document, "notes": [*notes, *found.record.notes]}, ensure_ascii=False, indent=2)
    if output is not None:
        _write(found, text, Path(output), suffix)
    if as_json:
        print(text)
        return
    for line in (*words.warnings, *([words.verdict.sentence] if words.verdict is not None else []), *words.summary):
        print("\n".join(textwrap.wrap(printable(line), _width())))
    print(found)
    for note in notes:
        print(f"Note: {printable(note)}")
    if output is not None:
        print(f"Written: {printable(output)}")


def _complete(frame: pd.DataFrame, question: Question) -> tuple[pd.DataFrame, list[str]]:
    """The rows that have a prediction and a target, and notes on those that have not."""
    asked = {
        "target": [question.target],
        "prediction": [question.prediction],
        "probability": question.probability,
    }
    given = {argument: [name for name in names if name is not None] for argument, names in asked.items()}
    require_columns(frame, {**given, "sensitive": question.sensitive})
    for name in question.sensitive:
        if name == question.prediction:
            raise FermiError(f"{name!r} is both the prediction and a sensitive column.")
        refuse_amounts(frame[name])
    notes = []
    for argument, names in given.items():
        whole = frame[names].notna().all(axis=1)
        if not whole.any():
            raise FermiError(f"No row has a value in {listed(names)} (`{argument}`).")
        if not whole.all():
            notes.append(f"{int((~whole).sum()):,} rows have no {listed(names)} and were left out.")
            frame = frame[whole]
    return frame.reset_index(drop=True), notes


def _audit(frame: pd.DataFrame, question: Question, notes: list[str]) -> tuple[Audit, Said]:
    """The audit, and what is said first: whether a bound is met, and whether the labels are of any use."""
    y_true = None
    if question.target is not None:
        y_true = natural(frame[question.target], f"The target {question.target!r}")
    predicted, classes = _predictions(frame, question, y_true)
    if classes is not None:
        columns = [*question.probability, *([question.prediction] if question.prediction else [])]
        notes.append(
            f"{listed(columns)}: taken as the probabilities of {listed(classes[-len(columns) :])}, in this order."
        )
    seen = [] if y_true is None else y_true.tolist()
    every = sorted({*seen, *(predicted.tolist() if classes is None else [])}, key=sort_key)
    task = Task(question.target or "", tuple(question.sensitive), question.notion, tuple(question.advantaged))
    notion, wanted = task.fairness(every), task.wanted(every, question.asked.about_a_label)
    options: dict[str, Any] = {"notion": notion, "confidence": question.confidence}
    least: dict[str, Any] = {} if question.min_group_size is None else {"min_group_size": question.min_group_size}
    sensitive = frame[list(question.sensitive)]
    declared = classes
    if wanted is not None and every[-1] != wanted:  # of two classes, the rates of the last are told
        declared = wanted_last(every, wanted)
        if classes is not None:
            predicted = predicted[:, [classes.index(label) for label in declared]]
    found = audit(y_true, predicted, sensitive_features=sensitive, classes=declared, **options, **least)
    soft = None if classes is None else predicted
    labels = predicted if soft is None else natural_labels(declared or [])[most_probable(soft)]
    record = _judged(found.record, y_true, labels, soft, declared or every, sensitive, question, wanted, options)
    words = said(question.asked, {}, {"audit": record}, None, kept=True, needless=False)
    return Audit(record, words.verdict, words.summary, words.warnings), words


def _judged(
    record: AuditRecord,
    y_true: NDArray[Any] | None,
    labels: NDArray[Any],
    soft: NDArray[Any] | None,
    classes: list[Any],
    sensitive: pd.DataFrame,
    question: Question,
    wanted: Any,
    options: dict[str, Any],
) -> AuditRecord:
    """An audit with what can be told of groups that have enough rows, and what its labels are worth."""
    least = max(SMALL, question.min_group_size or 0)
    told = judged(
        y_true, labels, sensitive_features=sensitive, classes=classes, favourable=wanted, least=least, **options
    )
    if question.min_group_size:  # how many rows a withheld group has is nobody's business
        told = dataclasses.replace(told, few=tuple(name.rpartition(" (")[0] for name in told.few))
    use = None if y_true is None else usefulness(y_true, labels, classes, soft)
    label = record.label if wanted is None else word_of(wanted)
    return dataclasses.replace(record, judged=told, use=use, label=label)


def _width() -> int:
    return max(min(shutil.get_terminal_size((80, 24)).columns, 120), 40)


def _predictions(
    frame: pd.DataFrame, question: Question, y_true: NDArray[Any] | None
) -> tuple[NDArray[Any], list[Any] | None]:
    """The predictions of a file: labels, or a matrix of probabilities with its classes.

    A single column of probabilities, or a --prediction of fractions between 0 and 1, is that of the second class.
    """
    columns = list(question.probability)
    if question.prediction is not None:
        values = frame[question.prediction]
        if not _are_fractions(values):
            return natural(values, f"The prediction {question.prediction!r}"), None
        columns = [question.prediction]
    if y_true is None:
        raise FermiError("Probabilities need --target: its values, sorted, are the classes of the columns.")
    classes = sorted(set(y_true.tolist()))
    return probability_matrix(frame, columns, classes)


def _are_fractions(values: pd.Series[Any]) -> bool:
    found = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    if np.isnan(found).any():
        return False
    return bool((found != np.round(found)).any() and found.min() >= 0.0 and found.max() <= 1.0)


def _write(found: Audit, text: str, path: Path, suffix: str) -> None:
    if suffix == ".html":
        found.to_html(path)
    elif suffix == ".csv":
        write_table(found.frame.reset_index(), path)
    else:
        with whole_file(path) as partial:
            partial.write_text(text + "\n", encoding="utf-8")
