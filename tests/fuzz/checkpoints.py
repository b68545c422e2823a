"""Checkpoints that somebody altered, sealed again or not: one sentence, or a fit that ends with a model."""

from __future__ import annotations

import io
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fermi
from fermi.fitting.checkpoint import Checkpoint, MarkedFile
from fermi.stream import fit_stream
from tests.fuzz.attempt import Defect, Family
from tests.fuzz.files import flipped
from tests.fuzz.folders import STRANGE, places
from tests.fuzz.values import Rng
from tests.stream.samples import SENSITIVE, frame_of, write

FILE = "fit.state"


class Enough(BaseException):
    """The end of a fit that has saved often enough."""


@contextmanager
def ending_after(saves: int) -> Iterator[None]:
    """End a fit when it has written so many checkpoints."""
    original, count = MarkedFile._write, [0]

    def writing(self: MarkedFile, content: bytes) -> None:
        original(self, content)
        count[0] += 1
        if count[0] == saves:
            raise Enough

    MarkedFile._write = writing  # type: ignore[method-assign]
    try:
        yield
    except Enough:
        pass
    finally:
        MarkedFile._write = original  # type: ignore[method-assign]


@cache
def _rows() -> tuple[Any, Any, Any]:
    data = fermi.datasets.synthetic(300, 3, 3, bias=0.9, rated=False).numeric()
    return data.X_train.to_numpy(), data.y_train.to_numpy(), data.s_train["group"].to_numpy().astype(object)


def _linear(**options: Any) -> Callable[[], Any]:
    def fit() -> Any:
        X, y, s = _rows()
        own = {"lam": 3.0, "l2": 1e-6, "random_state": 5, "checkpoint": FILE, "tol": 1e-12, **options}
        return fermi.FermiClassifier(**own).fit(X, y, sensitive_features=s, eval_set=(X[::3], y[::3], s[::3])).coef_

    return fit


def _network() -> Any:
    from fermi.torch import FermiNet, models

    X, y, s = _rows()
    net = FermiNet(models.logistic, lam=1.0, max_epochs=4, random_state=0, device="cpu", checkpoint=FILE)
    return net.fit(X.astype(np.float32), y, sensitive_features=s).predict_proba(X.astype(np.float32))


def _stream() -> Any:
    folder = write(frame_of(200), Path("rows"), files=2)
    model = fermi.FermiClassifier(lam=2.0, random_state=0, solver="sgda", max_iter=3, batch_size=32)
    return fit_stream(model, folder, target="y", sensitive=SENSITIVE, checkpoint=FILE).coef_


FITS: dict[str, Callable[[], Any]] = {
    "sgda": _linear(batch_size=20, max_iter=6),
    "single": _linear(batch_size=1, max_iter=6),
    "newton": _linear(solver="newton"),
    "lbfgs": _linear(solver="lbfgs"),
    "sreda": _linear(solver="sreda", max_iter=20),
    "network": _network,
    "stream": _stream,
}


@cache
def original(kind: str) -> dict[str, bytes]:
    """The files of a fit that was interrupted."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            with ending_after(1 if kind == "lbfgs" else 2):
                FITS[kind]()
            found = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
        finally:
            os.chdir(here)
    if not found:
        raise Defect(f"{kind} has saved nothing")
    return found


def _array(array: Any, rng: Rng) -> Any:
    """Another array in the place of one."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changes: list[Callable[[], Any]] = [
            lambda: array[..., :-1], lambda: array[None], lambda: array * np.nan, lambda: array.astype(str),
            lambda: array.astype(np.int64), lambda: array.astype(np.float32), lambda: array * 1e300,
            lambda: array * 1e300 * 1e300, lambda: -array, lambda: np.zeros(0), lambda: array.T, lambda: array * 0.0,
            lambda: array.astype(complex), lambda: np.concatenate([array, array]),
        ]  # fmt: skip
        return changes[int(rng.integers(len(changes)))]()


def _resealed(file: Path, rng: Rng) -> None:
    """Change what the file of a linear model holds, and seal it again."""
    with np.load(file) as found:
        arrays = dict(found)
    note = json.loads(arrays.pop("note").tobytes())
    facts = note["facts"]
    if rng.random() < 0.5 and arrays:
        name = str(rng.choice(sorted(arrays)))
        arrays[name] = _array(arrays[name], rng)
        if rng.random() < 0.2:
            del arrays[name]
    else:
        every = list(places(facts))
        where, key = every[int(rng.integers(len(every)))]
        where[key] = STRANGE[int(rng.integers(len(STRANGE)))]
    Checkpoint(file, note["mark"]).save({**arrays, **facts})


def _resealed_network(file: Path, rng: Rng) -> None:
    """The same for a network."""
    import torch

    state = torch.load(io.BytesIO(file.read_bytes()), weights_only=True)
    every = [(where, key) for where, key in places(state) if key != "mark"]
    where, key = every[int(rng.integers(len(every)))]
    value = where[key]
    if isinstance(value, torch.Tensor):
        changes: list[Callable[[], Any]] = [
            lambda: value[..., :-1] if value.ndim else value, lambda: value[None], lambda: value * float("nan"),
                   lambda: value.double(), lambda: value.long(), lambda: value * 1e30, lambda: None]  # fmt: skip
        where[key] = changes[int(rng.integers(len(changes)))]()
    else:
        where[key] = STRANGE[int(rng.integers(len(STRANGE)))]
    room = io.BytesIO()
    torch.save(state, room)
    MarkedFile(file, "")._write(room.getvalue())


def checkpoints(rng: Rng) -> None:
    """A fit that goes on from a file that was altered."""
    kind = str(rng.choice(list(FITS)))
    for name, content in original(kind).items():
        Path(name).write_bytes(content)
    file, draw = Path(FILE), rng.random()
    if draw < 0.6:
        (_resealed_network if kind == "network" else _resealed)(file, rng)
    elif draw < 0.9:
        file.write_bytes(flipped(file.read_bytes(), rng))
    else:
        content = file.read_bytes()
        file.write_bytes(content[: int(rng.integers(len(content)))])
    if not np.isfinite(FITS[kind]()).all():
        raise Defect(f"{kind}: a model that is no number")
    if Path(FILE).exists():
        raise Defect(f"{kind}: the checkpoint is left")


FAMILIES: dict[str, Family] = {"checkpoints": checkpoints}
