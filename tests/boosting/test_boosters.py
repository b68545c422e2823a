"""What is trained is a stock booster: its own log loss, its own files, SHAP and ONNX."""

from __future__ import annotations

import pickle
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi.boosting import FermiBoostingClassifier
from tests.boosting.samples import BOOSTERS, THREADS, fitted, table

lightgbm: Any = pytest.importorskip("lightgbm")
xgboost: Any = pytest.importorskip("xgboost")


@pytest.mark.parametrize("m", [2, 3])
def test_without_fairness_it_is_the_boosters_own_log_loss(m: int) -> None:
    X, y, s = table(m=m)
    X["word"] = X["word"].astype("category")
    codes = np.searchsorted(np.unique(y), y)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    ours = {b: FermiBoostingClassifier(b, lam=0.0, n_estimators=50, booster_params=THREADS[b]) for b in BOOSTERS}
    found = {b: model.fit(X, y, sensitive_features=s, sample_weight=weight) for b, model in ours.items()}
    params: dict[str, Any] = {"learning_rate": 0.05, "verbosity": -1, "num_threads": 1}
    params |= {"objective": "binary"} if m == 2 else {"objective": "multiclass", "num_class": m}
    own = lightgbm.train(params, lightgbm.Dataset(X, codes, weight=weight), 50)
    assert found["lightgbm"].booster_.predict(X) == pytest.approx(own.predict(X), abs=1e-6)
    start = np.bincount(codes, weights=weight) / weight.sum()
    params = {"learning_rate": 0.05, "nthread": 1, "objective": "binary:logistic", "base_score": start[1]}
    if m == 3:
        params |= {"objective": "multi:softprob", "num_class": m, "base_score": np.log(start).tolist()}
    rows = xgboost.QuantileDMatrix(X, codes, weight=weight, enable_categorical=True)
    unweighted = xgboost.QuantileDMatrix(X, codes, enable_categorical=True)  # weights would move its bins
    own = xgboost.train(params, unweighted, 50, obj=weighted_log_loss(codes, weight, m))
    assert found["xgboost"].booster_.predict(rows) == pytest.approx(own.predict(rows), abs=1e-6)
    plain = FermiBoostingClassifier("xgboost", lam=0.0, n_estimators=50, booster_params=THREADS["xgboost"])
    plain.fit(X, y, sensitive_features=s)
    start = np.bincount(codes) / len(codes)
    params["base_score"] = start[1] if m == 2 else np.log(start).tolist()
    own = xgboost.train(params, unweighted, 50)
    assert plain.booster_.predict(rows) == pytest.approx(own.predict(rows), abs=1e-6)
    splits = ["Tree", "Node", "Feature", "Split", "Category"]
    assert plain.booster_.trees_to_dataframe()[splits].equals(own.trees_to_dataframe()[splits])


def weighted_log_loss(codes: Any, weight: Any, m: int) -> Any:
    def derivatives(scores: Any, data: Any) -> tuple[Any, Any]:
        logits = np.column_stack([0 * scores, scores]) if m == 2 else scores
        F = np.exp(logits - logits.max(axis=1, keepdims=True)).astype(float)
        F /= F.sum(axis=1, keepdims=True)
        g, h = weight[:, None] * (F - np.eye(m)[codes]), weight[:, None] * F * (1 - F)
        return (g[:, 1], h[:, 1]) if m == 2 else (g, 2 * h)

    return derivatives


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("booster", BOOSTERS)
def test_the_booster_is_a_plain_one(booster: str, m: int, tmp_path: Path) -> None:
    model = fitted(booster, m, lam=5.0)
    X, _, _ = table(m=m)
    X["word"] = X["word"].astype("category")
    file = str(tmp_path / "model.json")
    model.booster_.save_model(file)
    F = model.predict_proba(X)
    if booster == "lightgbm":
        plain = lightgbm.Booster(model_file=file)
        found, shap = plain.predict(X), plain.predict(X, pred_contrib=True)
    else:
        plain, rows = xgboost.Booster(model_file=file), xgboost.DMatrix(X, enable_categorical=True)
        found, shap = plain.predict(rows), plain.predict(rows, pred_contribs=True)
    assert found == pytest.approx(F[:, 1] if m == 2 else F, abs=1e-6)
    shap = shap.reshape(len(X), -1, 6).sum(axis=2)
    assert (shap[:, 0] if m == 2 else shap) == pytest.approx(model.decision_function(X), abs=1e-4)
    assert F.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(model.classes_[F.argmax(axis=1)], model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), F)


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("booster", BOOSTERS)
def test_explained_by_shap_and_served_by_onnx(booster: str, m: int) -> None:
    onnxruntime: Any = pytest.importorskip("onnxruntime")
    X, y, s = table(m=m)
    rows = X[list("abcd")].to_numpy(np.float32)
    model = FermiBoostingClassifier(booster, lam=5.0, n_estimators=40, booster_params=THREADS[booster])
    model.fit(rows, y, sensitive_features=s)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other releases of their own
        shap: Any = pytest.importorskip("shap")
        onnxmltools: Any = pytest.importorskip("onnxmltools")
        types: Any = import_module("onnxmltools.convert.common.data_types")
        explainer = shap.TreeExplainer(model.booster_)
        parts = np.asarray(explainer.shap_values(rows))
        convert: Any = getattr(onnxmltools, f"convert_{booster}")
        options = {"zipmap": False} if booster == "lightgbm" else {}
        served = convert(model.booster_, initial_types=[("X", types.FloatTensorType([None, 4]))], **options)
    assert parts.sum(axis=1) + explainer.expected_value == pytest.approx(model.decision_function(rows), abs=1e-5)
    session = onnxruntime.InferenceSession(served.SerializeToString())
    assert session.run(None, {"X": rows})[1] == pytest.approx(model.predict_proba(rows), abs=1e-6)


@pytest.mark.parametrize("booster", BOOSTERS)
def test_parameters_may_be_lists(booster: str) -> None:
    X, y, s = table()
    constraints = {"lightgbm": [1, 0], "xgboost": (1, 0)}[booster]
    model = FermiBoostingClassifier(booster, lam=0.0, n_estimators=20, learning_rate=0.3)
    model.set_params(booster_params={**THREADS[booster], "monotone_constraints": constraints})
    model.fit(X[["a", "b"]], y, sensitive_features=s)
    rising = pd.DataFrame({"a": np.linspace(-2, 2, 50), "b": 0.0})
    assert (np.diff(model.decision_function(rising)) >= 0).all()


@pytest.mark.parametrize("booster", BOOSTERS)
def test_parameters_reach_the_bins(booster: str) -> None:
    X, _, _ = table()
    found = [fitted(booster, booster_params={"max_bin": bins}).predict_proba(X) for bins in (3, 255)]
    assert np.abs(found[0] - found[1]).max() > 1e-3
    for method in ("exact", "approx") if booster == "xgboost" else ():
        model = FermiBoostingClassifier(booster, booster_params={"tree_method": method, "nthread": 1}, n_estimators=3)
        assert model.fit(X[["a"]], table()[1], sensitive_features=table()[2]).n_iter_ == 3


def test_when_no_split_is_left() -> None:
    model = FermiBoostingClassifier(lam=0.0, n_estimators=30, booster_params={"min_data_in_leaf": 500})
    X, y, s = table()
    model.fit(X, y, sensitive_features=s)
    assert len(model.history_) == model.n_iter_ + 1
    with pytest.raises(fermi.FermiError, match="`X` has no column that LightGBM could split"):
        model.fit(np.zeros((800, 2)), y, sensitive_features=s)


@pytest.mark.parametrize(
    ("booster", "params", "said"),
    [
        ("lightgbm", {"max_depth": "deep"}, 'says: Parameter max_depth should be of type int, got "deep"; expected'),
        ("lightgbm", {"num_leaves": -3}, r"says: Check failed: \(num_leaves\) > \(1\); expected values that it takes"),
        ("xgboost", {"tree_method": "zzz"}, "says: Invalid Input: 'zzz', valid values are: .*; expected"),
        ("xgboost", {"max_bin": 1e300}, "says: Invalid type for: `max_bin`, .* got: `Number`; expected"),
    ],
)
def test_a_value_that_a_library_refuses_is_one_sentence(booster: str, params: dict[str, Any], said: str) -> None:
    X, y, s = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2, np.arange(60) % 3
    model = FermiBoostingClassifier(booster, n_estimators=2, booster_params=params)
    with pytest.raises(fermi.FermiError, match=said) as caught:
        model.fit(X, y, sensitive_features=s)
    assert "\n" not in str(caught.value)
