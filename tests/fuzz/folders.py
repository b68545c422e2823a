"""Model folders that somebody altered: one sentence, or predictions that are some."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fermi.tables import kinds
from fermi.tables.model_folder import ARRAYS, MARK, SavedModel
from fermi.tables.task import Task, prepare
from tests.fuzz.attempt import Defect, Family
from tests.fuzz.files import flipped
from tests.fuzz.values import Rng
from tests.tables.samples import people

KINDS: dict[str, dict[str, Any]] = {
    "linear": {}, "labels": {"max_violation": 0.05, "decision": "labels"}, "boosting": {"n_estimators": 4},
    "mlp": {"max_epochs": 1},
}  # fmt: skip
STRANGE: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    5,
    1.5,
    1e308,
    10**30,
    float("nan"),
    "",
    "x",
    "\0",
    [],
    [1],
    {},
    {"a": []},
)


@cache
def original(kind: str) -> tuple[bytes, bytes]:
    """The two files of a good model."""
    rows = prepare(people(150), Task("hired", ("group",)))
    name = "linear" if kind == "labels" else kind
    model = kinds.make(name, rows.fairness, attributes="intersection", seed=0).set_params(**KINDS[kind])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows.train.X, rows.train.y, sensitive_features=rows.train.s)
        SavedModel(name, model, rows.encoder, rows.classes, rows.task, 1.0, {}).save(Path(folder))
        return (Path(folder) / MARK).read_bytes(), (Path(folder) / ARRAYS).read_bytes()


def places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a document, with each of its keys."""
    if isinstance(part, dict | list):
        for key in list(part) if isinstance(part, dict) else range(len(part)):
            yield part, key
            yield from places(part[key])


def _document(data: bytes, rng: Rng) -> bytes:
    """Some entries gone, or something else."""
    document = json.loads(data)
    for _ in range(int(rng.integers(1, 3))):
        every = list(places(document))
        if not every:
            break
        where, key = every[int(rng.integers(len(every)))]
        if rng.random() < 0.3:
            del where[key]
        else:
            where[key] = STRANGE[int(rng.integers(len(STRANGE)))]
    return json.dumps(document).encode()


def _booster(data: bytes, rng: Rng) -> bytes:
    """Another text of trees, with its own digest, as somebody would write who knows how."""
    document = json.loads(data)
    if "booster" in document["model"]:
        document["model"]["booster"] = text = trees(document["model"]["booster"], rng)
        document["model"]["sha256"] = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return json.dumps(document).encode()


def trees(text: str, rng: Rng) -> str:
    """The text of a booster with a number, a line or some letters that are others."""
    lines = text.split("\n")
    for _ in range(int(rng.integers(1, 3))):
        k = int(rng.integers(len(lines)))
        name, sign, values = lines[k].partition("=")
        entries, kind = values.split(" "), rng.random()
        new = str(
            rng.choice(
                ["0", "-1", "-2", "1", "2", "99999999", "-99999999", "nan", "inf", "1e999", "x", "", "4294967296"]
            )
        )
        if kind < 0.5 and sign:
            entries[int(rng.integers(len(entries)))] = new
            lines[k] = f"{name}={' '.join(entries)}"
        elif kind < 0.6 and sign:
            lines[k] = f"{name}={' '.join(entries[:-1] if rng.random() < 0.5 else [*entries, new])}"
        elif kind < 0.7:
            del lines[k]
        elif kind < 0.8:
            lines.insert(k, lines[int(rng.integers(len(lines)))])
        elif kind < 0.9:
            lines[k] = lines[k][: int(rng.integers(len(lines[k]) + 1))]
        else:
            lines[k] = flipped(lines[k].encode(), rng).decode(errors="replace")
    return "\n".join(lines)


def _arrays(data: bytes, rng: Rng) -> bytes:
    """Arrays of other shapes, kinds or numbers."""
    with np.load(io.BytesIO(data)) as file:
        arrays = dict(file)
    if not arrays:
        return data
    name = str(rng.choice(sorted(arrays)))
    array = arrays[name]
    changes: list[Any] = [
        array[..., :-1] if array.ndim else array, array[None], array * np.nan, array.astype(str), array.astype(complex),
        array.astype(np.int64), array.astype(np.float32), array * 1e300 * 1e300 if array.dtype.kind == "f" else -array,
        array * 1e300, np.zeros(0), array.astype(">f8"), array.astype(np.float16), array.T, None,
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        change = changes[int(rng.integers(len(changes)))]
    arrays[name] = change
    if change is None:
        del arrays[name]
    room = io.BytesIO()
    np.savez(room, **arrays)
    return room.getvalue()


def folders(rng: Rng) -> None:
    """A folder of some kind of model, altered, and rows for it."""
    kind = str(rng.choice(list(KINDS)))
    mark, arrays = original(kind)
    draw = rng.random()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if draw < 0.35:
            mark = _document(mark, rng)
        elif draw < 0.6:
            mark, arrays = (_booster(mark, rng), arrays) if kind == "boosting" else (mark, _arrays(arrays, rng))
        elif draw < 0.8:
            mark = flipped(mark, rng)
        else:
            arrays = flipped(arrays, rng) if rng.random() < 0.7 else arrays[: int(rng.integers(len(arrays)))]
    Path(MARK).write_bytes(mark)
    Path(ARRAYS).write_bytes(arrays)
    found, _ = SavedModel.load(Path()).predict(people(30, seed=3))
    if not np.isfinite(found.iloc[:, 1:].to_numpy()).all():
        raise Defect("probabilities that are no numbers")


def boosters(rng: Rng) -> None:
    """A boosted model whose text somebody altered, digest included."""
    mark, arrays = original("boosting")
    Path(MARK).write_bytes(_booster(mark, rng))
    Path(ARRAYS).write_bytes(arrays)
    found, _ = SavedModel.load(Path()).predict(people(30, seed=3))
    if not np.isfinite(found.iloc[:, 1:].to_numpy()).all():
        raise Defect("probabilities that are no numbers")


FAMILIES: dict[str, Family] = {"folders": folders, "boosters": boosters}
