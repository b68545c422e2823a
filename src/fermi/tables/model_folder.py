"""A model folder: JSON and arrays only, preprocessing included, so that predicting needs nothing else."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fermi
from fermi._archive import Archive
from fermi.errors import DataError, FermiError
from fermi.inputs.plain import from_plain
from fermi.inputs.table_encoder import TableEncoder
from fermi.tables import kinds
from fermi.tables.task import Task

if TYPE_CHECKING:
    import pandas as pd

MARK = "model.json"
ARRAYS = "arrays.npz"
_PLAIN, _WITH_LABELS = 1, 2  # formats: a release that knows the first alone must not read the second


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A trained model with all that it needs to predict the rows of a file."""

    kind: str
    model: Any
    encoder: TableEncoder
    classes: list[Any]
    task: Task
    lam: float
    facts: dict[str, Any]

    def save(self, folder: Path) -> None:
        """Write the files of the model into a folder."""
        facts, arrays = kinds.dump(self.kind, self.model)
        document = {
            "format": _PLAIN if self.model._adjusted is None else _WITH_LABELS,
            "fermi": fermi.__version__,
            "kind": self.kind,
            "classes": self.classes,
            "lam": self.lam,
            "task": asdict(self.task),
            "columns": self.encoder.to_json(),
            "model": facts,
            "facts": self.facts,
        }
        text = json.dumps(document, ensure_ascii=False, indent=1)
        (folder / MARK).write_text(text + "\n", encoding="utf-8")
        np.savez(folder / ARRAYS, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, folder: str | Path) -> SavedModel:
        """Read a model folder that `save` wrote; nothing in it is executed."""
        folder = Path(folder)
        if not (folder / MARK).is_file():
            raise DataError(f"There is no model in {str(folder)!r}: `fermi train` writes such a folder.")
        try:
            return cls._read(folder)
        except FermiError:
            raise
        except Exception as error:  # what a library raises over a file that somebody changed is not known beforehand
            kind = "" if type(error) is ValueError else f"{type(error).__name__}, "
            words = " ".join(str(error).split()).rstrip(".")
            raise DataError(f"The model in {str(folder)!r} is damaged: {kind}{words}.") from error

    @classmethod
    def _read(cls, folder: Path) -> SavedModel:
        document = _checked(json.loads((folder / MARK).read_text(encoding="utf-8")), folder)
        encoder = TableEncoder.from_json(document["columns"])
        kind, classes, width = document["kind"], document["classes"], len(encoder.features)
        with Archive.open(folder / ARRAYS) as arrays:
            model = kinds.restore(kind, document["model"], arrays, classes, width)
        if (model.decision_ == "labels") != (document["format"] == _WITH_LABELS):
            raise ValueError("what gives the labels is missing, or of another model")
        if model.predict_proba(np.zeros((1, width))).shape[1] != len(classes):
            raise ValueError("the arrays are of another model")
        task = from_plain(Task, document["task"])
        return cls(kind, model, encoder, classes, task, float(document["lam"]), document["facts"])

    def predict(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
        """Predict label and probabilities of each row; also count, per column, values that training never saw."""
        import pandas as pd

        X, unseen = self.encoder.transform(self.task.mending(frame))
        probabilities = self.model.predict_proba(X)
        found = {"prediction": self.model.predict(X)}
        found |= {f"probability={label}": probabilities[:, j] for j, label in enumerate(self.classes)}
        return pd.DataFrame(found, index=frame.index), unseen


def _checked(document: Any, folder: Path) -> dict[str, Any]:
    """The content of `model.json`, if each of its parts is of the type that it was written with."""
    if not isinstance(document, dict) or "format" not in document:
        raise ValueError(f"{MARK} is none of this package")
    if document["format"] not in (_PLAIN, _WITH_LABELS):
        raise DataError(f"The model in {str(folder)!r} was written by another version, {document.get('fermi')!s:.20}.")
    lam: Any = document.get("lam")
    types: dict[str, type] = {"kind": str, "classes": list, "task": dict, "columns": list, "model": dict, "facts": dict}
    for name, kind in types.items():
        if not isinstance(document.get(name), kind):
            raise ValueError(f"{name!r} in {MARK} is missing, or of another type")
    if type(lam) not in (int, float) or not 0.0 <= lam < math.inf:
        raise ValueError(f"'lam' in {MARK} is no number of at least 0")
    classes = document["classes"]
    kinds_of_label = {type(label) for label in classes}
    if len(kinds_of_label) != 1 or not kinds_of_label <= {str, int, bool} or not 1 < len(set(classes)) == len(classes):
        raise ValueError(f"'classes' in {MARK} are not two or more different words or whole numbers")
    return document
