"""A model folder that somebody altered: one sentence, whatever was altered, and nothing is read that is not needed."""

from __future__ import annotations

import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fermi.errors import FermiError
from fermi.tables import kinds
from fermi.tables.model_folder import ARRAYS, MARK, SavedModel
from fermi.tables.task import Task, prepare
from tests.tables.samples import people


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linear")
    return written(folder, "linear")


def written(folder: Path, kind: str, **options: Any) -> Path:
    rows = prepare(people(), Task("hired", ("group",)))
    model = kinds.make(kind, rows.fairness, attributes="intersection", seed=0).set_params(**options)
    model.fit(rows.train.X, rows.train.y, sensitive_features=rows.train.s)
    SavedModel(kind, model, rows.encoder, rows.classes, rows.task, 1.0, {}).save(folder)
    return folder


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    for name in (MARK, ARRAYS):
        (tmp_path / name).write_bytes((original / name).read_bytes())
    return tmp_path


def assert_refused(folder: Path) -> None:
    with pytest.raises(FermiError, match=r"^The model in .* is damaged: [^\n]*\.$|^`kind` is ") as caught:
        SavedModel.load(folder)
    assert "Error" not in str(caught.value)


ALTERED: list[tuple[str, Callable[[Any], Any]]] = [
    ("coef", lambda a: a * np.nan),
    ("coef", lambda a: a + np.inf),
    ("coef", lambda a: a.astype(complex)),
    ("coef", lambda a: a.astype(str)),
    ("coef", lambda a: a.astype("datetime64[s]")),
    ("coef", lambda a: a.astype(bool)),
    ("coef", lambda a: a[:, 1:]),
    ("coef", lambda a: np.vstack([a, a])),
    ("intercept", lambda a: np.zeros(5)),
    ("intercept", lambda a: a[0]),
    ("intercept", lambda a: a.astype("timedelta64[s]")),
    ("intercept", lambda a: a * np.nan),
]


@pytest.mark.parametrize(("name", "change"), ALTERED)
def test_arrays_of_another_kind_are_refused(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    with np.load(folder / ARRAYS) as file:
        arrays = dict(file)
    arrays[name] = change(arrays[name])
    np.savez(folder / ARRAYS, **arrays)
    assert_refused(folder)


def edits(document: Any) -> list[Any]:
    """Every part of model.json, in turn absent or of another type, and some values that cannot be."""
    strange: tuple[Any, ...] = (None, 5, -1.5, "x", True, [], [5], {}, {"a": 1}, [["a"], {}])
    found: list[Any] = [*strange]
    for name in set(document) - {"fermi", "facts"}:
        found.append({key: value for key, value in document.items() if key != name})
        found += [
            {**document, name: value} for value in strange if type(value) is not type(document[name]) or not value
        ]
    for part in ("columns", "task"):
        rules = document[part] if part == "columns" else [document[part]]
        for name in rules[0]:
            for value in strange:
                edited = [{**rules[0], name: value}, *rules[1:]]
                found.append({**document, part: edited if part == "columns" else edited[0]})
    twice = {**document["columns"][0], "kind": "category", "categories": ["a", "a"]}
    found.append({**document, "columns": [twice]})
    return found


def test_an_edited_model_json_is_one_sentence_or_predicts(folder: Path) -> None:
    document = json.loads((folder / MARK).read_text())
    rows, refused = people(20, seed=3), 0
    for edited in edits(document):
        (folder / MARK).write_text(json.dumps(edited))
        try:
            found, _ = SavedModel.load(folder).predict(rows)
        except FermiError as error:  # anything else fails this test
            refused += "\n" not in str(error)
        else:
            assert np.isfinite(found.iloc[:, 1:].to_numpy()).all()
    assert refused > 100


def test_what_is_no_json_or_nested_without_end_is_refused(folder: Path) -> None:
    for text in ("", "{", "[" * 100_000, "\ufeff{}", '{"format": 1' + "0" * 5000 + "}", "NaN"):
        (folder / MARK).write_text(text, encoding="utf-8")
        with pytest.raises(FermiError, match=r"^The model in [^\n]*\.$"):
            SavedModel.load(folder)


def test_an_entry_that_nobody_needs_costs_nothing(folder: Path) -> None:
    with zipfile.ZipFile(folder / ARRAYS, "a", zipfile.ZIP_DEFLATED) as file, file.open("bomb.npy", "w") as entry:
        np.lib.format.write_array_header_1_0(entry, {"descr": "<f8", "fortran_order": False, "shape": (1 << 22,)})
        for _ in range(32):
            entry.write(bytes(1 << 20))
    tracemalloc.start()
    SavedModel.load(folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


def test_an_array_that_claims_to_be_large_is_refused_unread(folder: Path) -> None:
    with np.load(folder / ARRAYS) as file:
        intercept = file["intercept"]
    with zipfile.ZipFile(folder / ARRAYS, "w") as file:
        with file.open("coef.npy", "w") as entry:
            np.lib.format.write_array_header_1_0(entry, {"descr": "<f8", "fortran_order": False, "shape": (1, 1 << 50)})
        with file.open("intercept.npy", "w") as entry:
            np.lib.format.write_array(entry, intercept)
    assert_refused(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    for name in (ARRAYS, MARK):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(FermiError, match=r"is missing, or no file|There is no model"):
            SavedModel.load(folder)


def test_numbers_too_large_to_be_scaled_count_as_missing(folder: Path) -> None:
    rows = people(20, seed=3)
    rows["score"] = rows["score"].astype(float)
    plain, _ = SavedModel.load(folder).predict(rows)
    rows.loc[0, "score"] = 1.7e308
    document = json.loads((folder / MARK).read_text())
    for column in document["columns"]:
        column["scale"] = 1e-3
    (folder / MARK).write_text(json.dumps(document))
    found, unseen = SavedModel.load(folder).predict(rows)
    assert unseen["score"] == 1
    assert np.isfinite(found.iloc[:, 1:].to_numpy()).all()
    assert len(plain) == len(found)


def test_an_altered_booster_never_reaches_its_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="the extra with lightgbm is not installed")
    written(tmp_path, "boosting", n_estimators=5)
    SavedModel.load(tmp_path)
    document = json.loads((tmp_path / MARK).read_text())
    text = document["model"]["booster"]
    monkeypatch.setattr(lightgbm, "Booster", lambda **given: pytest.fail("LightGBM saw the altered text"))
    own = {"booster": text.replace("left_child=", "left_child=0 ", 1)}
    for change in (own, {"booster": text[:-100]}, {"booster": None}, {"sha256": None}, {"sha256": "0" * 64}):
        (tmp_path / MARK).write_text(json.dumps({**document, "model": {**document["model"], **change}}))
        with pytest.raises(FermiError, match="the booster is not the one that was written, by its digest"):
            SavedModel.load(tmp_path)
    del document["model"]["sha256"]
    (tmp_path / MARK).write_text(json.dumps(document))
    with pytest.raises(FermiError, match="by its digest"):
        SavedModel.load(tmp_path)


def test_weights_of_a_network_of_another_kind_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the extra with torch is not installed")
    with pytest.warns(ConvergenceWarning):
        written(tmp_path, "mlp", max_epochs=1)
    with np.load(tmp_path / ARRAYS) as file:
        arrays = dict(file)
    first = next(iter(arrays))
    for change in (arrays[first] * np.nan, arrays[first][:1], arrays[first].astype(np.int64), None):
        altered = {**arrays, first: change} if change is not None else {k: a for k, a in arrays.items() if k != first}
        np.savez(tmp_path / ARRAYS, **altered)
        assert_refused(tmp_path)
