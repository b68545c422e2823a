"""Labels within a bound, kept in a model folder: the same labels come out, and damaged arrays are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from fermi.decisions.group_models import LinearCells
from fermi.errors import FermiError
from fermi.tables import kinds
from fermi.tables.model_folder import ARRAYS, MARK, SavedModel
from fermi.tables.task import Prepared, Task, prepare
from tests.tables.samples import people


def trained(kind: str, *, three: bool = False, notion: str = "equalized_odds") -> tuple[Any, Prepared]:
    frame = people(1500)
    if three:
        frame["hired"] = frame["hired"].where(frame["score"] < 1.2, "at once")
    rows = prepare(frame, Task("hired", ("group",), notion, ("yes",) if three else ()))
    model = kinds.make(kind, rows.fairness, max_violation=0.1, decision="labels", attributes="intersection", seed=0)
    if kind == "mlp":
        model.set_params(max_epochs=15)
    if kind == "boosting":
        model.set_params(n_estimators=20)
    return model.fit(rows.train.X, rows.train.y, sensitive_features=rows.train.s), rows


def in_folder(model: Any, rows: Prepared, folder: Path, kind: str = "linear") -> None:
    SavedModel(kind, model, rows.encoder, rows.classes, rows.task, 1.0, {}).save(folder)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_pipeline_folds_into_coefficients(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal([100.0, -3.0, 0.0], [5.0, 0.01, 1.0], size=(500, 3))
    y = np.digitize(X[:, 2] + (X[:, 0] - 100) / 5, np.linspace(-1, 1, n_classes - 1))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    found = LinearCells.of(model)
    np.testing.assert_allclose(found.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert found.classes_.tolist() == model.classes_.tolist()
    assert LinearCells.of(found) is found


def test_other_models_do_not_fold() -> None:
    for model in (LogisticRegression(), make_pipeline(MinMaxScaler(), LogisticRegression())):
        with pytest.raises(TypeError, match="cannot be written as coefficients"):
            LinearCells.of(model)


@pytest.mark.parametrize(
    ("kind", "three", "notion"),
    [
        ("linear", False, "equalized_odds"),
        ("linear", True, "equal_opportunity"),
        ("boosting", False, "demographic_parity"),
        pytest.param("mlp", True, "demographic_parity", marks=pytest.mark.slow),
    ],
)
def test_a_loaded_folder_labels_the_same(tmp_path: Path, kind: str, three: bool, notion: str) -> None:
    packages = {"boosting": "lightgbm", "mlp": "torch"}
    if kind in packages:
        pytest.importorskip(packages[kind], reason=f"the extra with {packages[kind]} is not installed")
    model, rows = trained(kind, three=three, notion=notion)
    in_folder(model, rows, tmp_path, kind)
    new = people(2000, seed=3)
    found, _ = SavedModel.load(tmp_path).predict(new)
    X, _ = rows.encoder.transform(new)
    F = model.predict_proba(X)
    np.testing.assert_allclose(found.iloc[:, 1:].to_numpy(), F, atol=1e-12)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    assert (np.asarray(rows.classes)[F.argmax(axis=1)] != found["prediction"]).any(), "the rule must matter here"
    assert json.loads((tmp_path / MARK).read_text())["format"] == 2


def test_a_model_without_a_rule_is_written_as_before(tmp_path: Path) -> None:
    rows = prepare(people(), Task("hired", ("group",)))
    model = kinds.make("linear", rows.fairness, attributes="intersection", seed=0)
    in_folder(model.fit(rows.train.X, rows.train.y, sensitive_features=rows.train.s), rows, tmp_path)
    document = json.loads((tmp_path / MARK).read_text())
    assert (document["format"], document["model"]) == (1, {})
    assert SavedModel.load(tmp_path).model.decision_ == "argmax"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("psi", lambda a: a[:-1]),
        ("psi", lambda a: a * np.nan),
        ("mean", lambda a: a[:, None]),
        ("offset", lambda a: a + np.inf),
        ("kinds0", lambda a: a + 2),  # one more is a row outside 𝒵
        ("kinds0", lambda a: a - 1),
        ("kinds0", lambda a: a * 0),
        ("kinds0", lambda a: a * 0.5),
        ("kinds0", lambda a: a[:0]),
        ("coef0", lambda a: a[:, 1:]),
        ("coef0", lambda a: a * np.nan),
        ("intercept0", lambda a: a[1:]),
        ("intercept0", None),
    ],
)
def test_damaged_labels_are_refused_in_one_sentence(tmp_path: Path, name: str, change: Any) -> None:
    model, rows = trained("linear")
    in_folder(model, rows, tmp_path)
    with np.load(tmp_path / ARRAYS) as file:
        arrays = dict(file)
    found = arrays.pop(f"labels.{name}")
    if change is not None:
        arrays[f"labels.{name}"] = change(found)
    np.savez(tmp_path / ARRAYS, **arrays)
    with pytest.raises(FermiError, match=r"^The model in .* is damaged: .*") as caught:
        SavedModel.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_labels_cannot_be_cut_out_of_a_folder(tmp_path: Path) -> None:
    model, rows = trained("linear")
    in_folder(model, rows, tmp_path)
    document = json.loads((tmp_path / MARK).read_text())
    changes: tuple[dict[str, Any], ...] = ({"model": {}}, {"format": 1})
    for change in changes:
        (tmp_path / MARK).write_text(json.dumps({**document, **change}))
        with pytest.raises(FermiError, match="what gives the labels is missing"):
            SavedModel.load(tmp_path)
    (tmp_path / MARK).write_text(json.dumps({**document, "format": 3}))
    with pytest.raises(FermiError, match="written by another version"):
        SavedModel.load(tmp_path)
