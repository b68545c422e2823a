"""`fermi audit`: how far somebody's predictions depend on the group."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fermi._files import whole_file
from fermi.auditing import Audit, audit
from fermi.cli._summaries import audit_summary, group_summary
from fermi.errors import FermiError, listed
from fermi.inputs.natural import natural, refuse_amounts
from fermi.notions import as_notion
from fermi.tables.formats import read_table, write_table
from fermi.tables.probabilities import probability_matrix
from fermi.tables.task import advantaged, require_columns

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


def run(file: str, question: Question, *, output: str | None, as_json: bool) -> None:
    """Audit the predictions of a file; print the audit, and write it as a page, JSON or CSV."""
    suffix = Path(output).suffix.lower() if output is not None else ""
    if output is not None and suffix not in _OUTPUTS:
        raise FermiError(f"--output is {output!r}; expected a name that ends in one of {', '.join(_OUTPUTS)}.")
    if (question.prediction is None) == (not question.probability):
        raise FermiError("Give either --prediction, a column of labels, or --probability, one column per class.")
    frame, notes = _complete(read_table(file), question)
    found = _audit(frame, question, notes)
    document = {**audit_summary(found.record), "groups": [group_summary(g) for g in found.record.groups]}
    text = json.dumps({**document, "notes": [*notes, *found.record.notes]}, ensure_ascii=False, indent=2)
    if output is not None:
        _write(found, text, Path(output), suffix)
    if as_json:
        print(text)
        return
    print(found)
    for note in notes:
        print(f"Note: {note}")
    if output is not None:
        print(f"Written: {output}")


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


def _audit(frame: pd.DataFrame, question: Question, notes: list[str]) -> Audit:
    y_true, notion = None, as_notion(question.notion)
    if question.target is not None:
        y_true = natural(frame[question.target], f"The target {question.target!r}")
    predicted, classes = _predictions(frame, question, y_true)
    if classes is not None:
        columns = [*question.probability, *([question.prediction] if question.prediction else [])]
        notes.append(
            f"{listed(columns)}: taken as the probabilities of {listed(classes[-len(columns) :])}, in this order."
        )
    if question.advantaged:
        notion = advantaged(
            question.notion, question.advantaged, [] if y_true is None else sorted(set(y_true.tolist()))
        )
    options: dict[str, Any] = {"notion": notion, "confidence": question.confidence}
    if question.min_group_size is not None:
        options["min_group_size"] = question.min_group_size
    return audit(y_true, predicted, sensitive_features=frame[list(question.sensitive)], classes=classes, **options)


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
