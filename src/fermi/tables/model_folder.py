"""A model folder: JSON and arrays only, preprocessing included, so that predicting needs nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import fermi
from fermi.errors import DataError, FermiError
from fermi.tables import kinds
from fermi.tables.encoder import TableEncoder
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
            document = json.loads((folder / MARK).read_text(encoding="utf-8"))
            if document["format"] not in (_PLAIN, _WITH_LABELS):
                raise DataError(f"The model in {str(folder)!r} was written by another version, {document['fermi']}.")
            encoder = TableEncoder.from_json(document["columns"])
            task: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in document["task"].items()}
            with np.load(folder / ARRAYS, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            kind, classes = document["kind"], document["classes"]
            model = kinds.restore(kind, document["model"], arrays, classes, len(encoder.features))
            if (model.decision_ == "labels") != (document["format"] == _WITH_LABELS):
                raise ValueError("what gives the labels is missing, or of another model")
            if model.predict_proba(np.zeros((1, len(encoder.features)))).shape[1] != len(classes):
                raise ValueError("the arrays are of another model")
            return cls(kind, model, encoder, classes, Task(**task), document["lam"], document["facts"])
        except FermiError:
            raise
        except Exception as error:  # what a library raises over a file that somebody changed is not known beforehand
            raise DataError(f"The model in {str(folder)!r} is damaged: {type(error).__name__}, {error}.") from error

    def predict(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
        """Predict label and probabilities of each row; also count, per column, values that training never saw."""
        import pandas as pd

        X, unseen = self.encoder.transform(frame)
        probabilities = self.model.predict_proba(X)
        found = {"prediction": self.model.predict(X)}
        found |= {f"probability={label}": probabilities[:, j] for j, label in enumerate(self.classes)}
        return pd.DataFrame(found, index=frame.index), unseen
