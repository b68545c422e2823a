"""What must not matter: names and orders of classes, groups and rows, the library and the precision of numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit

import fermi
from fermi import FairLabels, FermiClassifier

# A group model that is trained to the end. The default stops early, and of a few hundred rows the choice of labels
# turns on digits of it that depend on whether rows are kept densely, and on the folds.
TOLD = LogisticRegression(tol=1e-8, max_iter=1000)
NOTIONS = ("demographic_parity", "equalized_odds")
N = 500


@cache
def rows(n: int = N) -> tuple[Any, Any, Any]:
    """Three classes, three groups of different size, features that tell something of both."""
    rng = np.random.default_rng(0)
    s = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(n, 3)).round(3)
    X[:, 0] += 0.7 * s
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n), [0.0, 1.0])
    return X, y, s


def linear(**options: Any) -> Any:
    return FermiClassifier(**{"lam": 3.0, "tol": 1e-12, "max_iter": 500, **options})


def steps(**options: Any) -> Any:
    return FermiClassifier(**{"lam": 3.0, "batch_size": 10, "max_iter": 5, "random_state": 0, **options})


def _boosted(booster: str, options: dict[str, Any]) -> Any:
    pytest.importorskip(booster, reason="the extra `boosting` is not installed")
    from fermi.boosting import FermiBoostingClassifier

    own = {"min_data_in_leaf": 5} if booster == "lightgbm" else {"max_depth": 3}
    return FermiBoostingClassifier(
        **{"booster": booster, "n_estimators": 15, "lam": 1.0, "booster_params": own, "random_state": 0, **options}
    )


def lightgbm(**options: Any) -> Any:
    return _boosted("lightgbm", options)


def xgboost(**options: Any) -> Any:
    return _boosted("xgboost", options)


def network(**options: Any) -> Any:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    from fermi.torch import FermiNet, models

    given = {"max_epochs": 3, "lr": 0.02, "random_state": 0, "device": "cpu", **options}
    return FermiNet(models.logistic, **given)


def labels(**options: Any) -> Any:
    options.pop("lam", None)
    given = {"estimator": LogisticRegression(), "max_violation": 0.05, "random_state": 0, **options}
    return FairLabels(**given)


ALL: dict[str, Callable[..., Any]] = {
    "linear": linear, "steps": steps, "lightgbm": lightgbm, "xgboost": xgboost, "network": network, "labels": labels,
}  # fmt: skip
TRAINED = [name for name in ALL if name != "labels"]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of bounds that few rows cannot keep


def said(name: str, X: Any, y: Any, s: Any, at: Any = None, weight: Any = None, **options: Any) -> tuple[Any, Any]:
    """The probabilities and the labels' places that a model gives rows."""
    more = {} if weight is None else {"sample_weight": weight}
    model = ALL[name](**options).fit(X, y, sensitive_features=s, **more)
    at = X if at is None else at
    found = model.predict(at)
    return model.predict_proba(at), np.searchsorted(model.classes_, found)


def same_folds(name: str, order: Any = slice(None)) -> dict[str, Any]:
    """Options by which labels learn from the same rows: folds are drawn group by group else, in the groups' order."""
    return {"cv": PredefinedSplit((np.arange(N) % 3)[order])} if name == "labels" else {}


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("name", ALL)
def test_names_in_the_same_order_change_nothing(name: str, notion: str) -> None:
    X, y, s = rows()
    before = said(name, X, y, s, fairness=notion)
    after = said(name, X, np.array(["ash", "birch", "cedar"])[y], np.array(["u", "v", "w"])[s], fairness=notion)
    assert np.array_equal(before[0], after[0])
    assert np.array_equal(before[1], after[1])


@pytest.mark.parametrize("name", ALL)
def test_names_of_groups_in_another_order_change_next_to_nothing(name: str) -> None:
    X, y, s = rows()
    before, after = (said(name, X, y, names[s], **same_folds(name)) for names in (np.arange(3), np.array([2, 0, 1])))
    np.testing.assert_allclose(before[0], after[0], atol=1e-5 if name != "xgboost" else 2e-3)
    assert (before[1] == after[1]).mean() > 0.99


@pytest.mark.parametrize("name", ["linear", "lightgbm", "xgboost", "labels"])
def test_names_of_classes_in_another_order_give_the_same_model(name: str) -> None:
    X, y, s = rows()
    place = np.array([1, 2, 0])
    before, after = (said(name, X, labels, s, **same_folds(name)) for labels in (y, place[y]))
    np.testing.assert_allclose(before[0], after[0][:, place], atol=2e-4)
    assert (place[before[1]] == after[1]).mean() > 0.99


@pytest.mark.parametrize("name", ["linear", "lightgbm", "xgboost", "labels"])
def test_the_order_of_rows_does_not_matter(name: str) -> None:
    X, y, s = rows()
    order = np.random.default_rng(1).permutation(N)
    before = said(name, X, y, s, **same_folds(name))
    after = said(name, X[order], y[order], s[order], at=X, **same_folds(name, order))
    np.testing.assert_allclose(before[0], after[0], atol=2e-4)
    assert (before[1] == after[1]).mean() > 0.99


@pytest.mark.parametrize("name", ["linear", "lightgbm", "labels"])
def test_whole_weights_are_repeated_rows(name: str) -> None:
    """LightGBM's bins and leaves are about rows, not weights: it is asked for none with fewer than one."""
    X, y, s = rows()
    weight = np.random.default_rng(2).integers(0, 4, N)
    many = np.repeat(np.arange(N), weight)
    options: dict[str, Any] = {}
    if name == "lightgbm":
        own = {"min_data_in_leaf": 1, "min_data_in_bin": 1, "num_leaves": 4, "max_bin": 2000}
        options = {"booster_params": own, "n_estimators": 5}
    if name == "labels":  # whose own group model is scaled by the rows, whatever they weigh
        options = {"estimator": clone(TOLD), "group_estimator": TOLD}
    repeated = said(name, X[many], y[many], s[many], at=X, **options, **same_folds(name, many))
    kept = weight > 0  # a row of weight zero would still have a share in LightGBM's bins
    options |= same_folds(name, kept)
    weighed = said(name, X[kept], y[kept], s[kept], at=X, weight=weight[kept].astype(float), **options)
    np.testing.assert_allclose(weighed[0], repeated[0], atol=1e-5)
    assert (weighed[1] == repeated[1]).mean() > 0.99


@pytest.mark.parametrize("name", ALL)
def test_several_columns_are_their_combinations(name: str) -> None:
    X, y, s = rows()
    other = (X[:, 2] > 0).astype(int)
    several = said(name, X, y, {"one": s, "two": other})
    merged = said(name, X, y, np.char.add(s.astype(str), other.astype(str)))
    assert np.array_equal(several[0], merged[0])
    assert np.array_equal(several[1], merged[1])


@pytest.mark.parametrize("name", TRAINED)
def test_without_lambda_there_is_no_fairness(name: str) -> None:
    X, y, s = rows()
    assert np.array_equal(said(name, X, y, s, lam=0.0)[0], said(name, X, y, None, lam=0.0)[0])
    if name != "network":  # whose few passes cannot be told apart so
        assert not np.array_equal(said(name, X, y, s, lam=0.0)[0], said(name, X, y, s)[0])


@pytest.mark.parametrize("name", ALL)
def test_one_group_is_a_plain_model(name: str) -> None:
    X, y, s = rows()
    if name == "labels":
        plain = LogisticRegression().fit(X, y)
        assert np.array_equal(said(name, X, y, 0 * s)[1], plain.predict(X))
    else:
        assert np.array_equal(said(name, X, y, 0 * s, lam=30.0)[0], said(name, X, y, 0 * s, lam=0.0)[0])


KINDS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
    "CSR": csr_matrix,
    "columns first": np.asfortranarray,
    "lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ALL)
def test_the_library_of_the_rows_does_not_matter(name: str, kind: str) -> None:
    if kind == "CSR" and name in ("network", "steps"):
        return  # networks are for dense rows, and steps on sparse rows go in other coordinates: they end elsewhere
    X, y, s = rows()
    options = {"group_estimator": TOLD} if name == "labels" else {}
    before, after = said(name, X, y, s, **options), said(name, KINDS[kind](X), y, s, **options)
    np.testing.assert_allclose(before[0], after[0], atol=1e-4 if name in ("network", "labels") else 1e-6)
    assert (before[1] == after[1]).mean() > 0.99


@pytest.mark.parametrize("kind", KINDS)
def test_labels_keep_their_bound_whatever_the_library_of_the_rows(kind: str) -> None:
    X, y, s = rows()
    model = labels().fit(KINDS[kind](X), y, sensitive_features=s)
    assert model.reached_
    assert model.violation_ <= 0.05


@pytest.mark.parametrize("name", ALL)
def test_single_precision_is_close(name: str) -> None:
    X, y, s = rows()
    before, after = said(name, X, y, s), said(name, X.astype(np.float32), y, s)
    # A value beside the edge of a bin may fall to its other side, and trees then split elsewhere.
    assert np.abs(before[0] - after[0]).mean() < (1e-2 if name == "lightgbm" else 1e-4)
    assert (before[1] == after[1]).mean() > 0.95


def test_the_regularizer_knows_no_order_and_no_names() -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    from fermi.torch import FermiRegularizer

    X, y, s = (torch.as_tensor(part) for part in rows())
    logits = X.double()
    made = FermiRegularizer.from_labels(s, y, n_classes=3, notion="equalized_odds").double()
    with torch.no_grad():
        made.W.add_(torch.randn(made.W.shape, generator=torch.Generator().manual_seed(0)).double())
    value = made(logits, s, y)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(made(logits[order], s[order], y[order]), value)
    place = torch.tensor([2, 0, 1])
    renamed = FermiRegularizer.from_labels(place[s], y, n_classes=3, notion="equalized_odds").double()
    with torch.no_grad():
        renamed.W[:, place] = made.W
    torch.testing.assert_close(renamed(logits, place[s], y), value)
    alone = FermiRegularizer.from_labels(0 * s, y, n_classes=3)
    assert float(alone(logits.float(), 0 * s, y).detach()) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("soft", [False, True])
def test_an_audit_does_not_depend_on_the_names_of_groups(soft: bool) -> None:
    """Neither the figures nor their intervals, draws of the bootstrap included."""
    _, y, s = rows()
    rng = np.random.default_rng(3)
    predicted = rng.dirichlet(np.ones(3), N) if soft else rng.permutation(y)
    options: dict[str, Any] = {"notion": "equalized_odds", "n_boot": 200, "random_state": 0}
    found = [
        fermi.audit(y, predicted, sensitive_features=names[s], **options)
        for names in (np.array(["a", "b", "c"]), np.array(["z", "m", "b"]), np.array(["10", "9", "8"]))
    ]
    for other in found[1:]:  # Pearson's correlation is about the order of the groups, by its definition
        one, two = (a.measures[a.measures["measure"] != "pearson_correlation"] for a in (found[0], other))
        assert len(one) == len(found[0].measures) - (2 if soft else 1)
        pd.testing.assert_frame_equal(one, two, rtol=1e-9)
    for other, names in zip(found[1:], (["z", "m", "b"], ["10", "9", "8"]), strict=True):
        mine = found[0].frame.select_dtypes("number").to_numpy()
        theirs = other.frame.set_axis([str(k) for k in other.frame.index]).loc[names].select_dtypes("number").to_numpy()
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
