"""The fair objective: a Hessian that keeps every step down, and its use in the libraries' own classifiers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fermi
from fermi.boosting import FermiBoostingClassifier, objective
from tests.boosting.samples import BOOSTERS, THREADS, differences, drawn, table

lightgbm: Any = pytest.importorskip("lightgbm")
xgboost: Any = pytest.importorskip("xgboost")


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize(("m", "k"), [(2, 2), (2, 5), (3, 4), (4, 2)])
def test_the_hessian_is_above_half_the_learning_rate_times_the_true_one(m: int, k: int, notion: str) -> None:
    largest = []
    for seed, lam in enumerate((0.5, 5.0, 100.0)):
        fair, scores = drawn(m, k, notion, 24, seed, lam=lam, learning_rate=1.0)
        true = differences(lambda x, f=fair: f.lightgbm(x)[0].ravel(), scores, 1e-5)
        for H in (fair.lightgbm(scores)[1], fair.xgboost(scores)[1]):
            scaled = 0.5 * (true + true.T) / np.sqrt(np.outer(H.ravel(), H.ravel()))
            largest.append(np.linalg.eigvalsh(0.5 * scaled)[-1])
    assert max(largest) <= 1.0 + 1e-6
    assert max(largest) > 0.3  # no larger than it needs to be


@pytest.mark.parametrize("m", [2, 4])
def test_rows_are_looked_at_where_they_matter(m: int) -> None:
    untouched = []
    for lam in np.geomspace(0.1, 100.0, 100):
        fair, scores = drawn(m, 3, lam=lam, learning_rate=0.05)
        assert fair._bound is not None
        own, found = objective([0, 1] * 20, fair.target, lam=0.0), fair.lightgbm(scores)[1]
        F = fair._predict(scores)
        found_charges = [rows.charges(F, rows.laws(F)) for rows in fair._terms]
        forced = np.zeros((1 if m == 2 else m, len(scores)))
        fair._bound.raise_hessian(forced, F, found_charges, 0.025, -1.0)
        plain = (own.lightgbm(scores)[1].T * fair._weight).reshape(forced.shape).T
        larger = np.maximum(plain, forced.T)
        assert found.reshape(plain.shape) == pytest.approx(larger, rel=1e-12)
        untouched.append(np.allclose(found.reshape(plain.shape), plain))
    assert untouched[0]
    assert not untouched[-1]


@pytest.mark.parametrize("lam", [1.0, 20.0, 100.0, 1000.0])
@pytest.mark.parametrize("booster", BOOSTERS)
def test_the_objective_falls_in_every_round(booster: str, lam: float) -> None:
    for m, rate in ((2, 0.1), (3, 0.1), (2, 0.02)):
        X, y, s = table(m=m)
        model = FermiBoostingClassifier(booster, lam=lam, n_estimators=60, learning_rate=rate)
        model.set_params(booster_params=THREADS[booster])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fermi.ConstantPredictionWarning)
            model.fit(X, y, sensitive_features=s)
        values = [entry["objective"] for entry in model.history_]
        assert len(values) == 61
        assert (np.diff(values) < 1e-9).all()
        assert values[-1] < values[0]


@pytest.mark.parametrize("m", [2, 3])
def test_the_bare_objective_in_the_libraries_own_classifiers(m: int) -> None:
    X, y, s = table(m=m)
    numbers, fair = X[list("abcd")].to_numpy(), objective(s, y, lam=5.0, learning_rate=0.1)
    own = lightgbm.LGBMClassifier(objective=fair.lightgbm, n_estimators=20, learning_rate=0.1, verbosity=-1, n_jobs=1)
    own.fit(numbers, y)
    data = lightgbm.Dataset(numbers, fair.target)
    params: dict[str, Any] = {"objective": fair.lightgbm, "verbosity": -1, "num_threads": 1, "learning_rate": 0.1}
    plain = lightgbm.train(params | ({"num_class": m} if m > 2 else {}), data, 20)
    assert own.predict(numbers, raw_score=True) == pytest.approx(plain.predict(numbers))
    other = xgboost.XGBClassifier(objective=fair.xgboost, n_estimators=20, learning_rate=0.1, n_jobs=1, base_score=0.5)
    other.fit(numbers, fair.target)
    rows = xgboost.DMatrix(numbers, fair.target)
    params = {"eta": 0.1, "nthread": 1, "base_score": 0.5 if m > 2 else 0.0} | ({"num_class": m} if m > 2 else {})
    grown = xgboost.train(params, rows, 20, obj=fair.xgboost)
    found = other.get_booster().predict(rows, output_margin=True)
    assert found == pytest.approx(grown.predict(rows, output_margin=True), abs=1e-5)


def test_the_bare_objective_knows_its_rows() -> None:
    _, y, s = table(m=2)
    fair, scores = objective(s, y), np.zeros(len(y))
    for words, label, weight in (
        ("`data` has other labels than `target` of the objective; expected its own rows", fair.target[::-1], None),
        ("`data` has weights of its own; expected none", fair.target, np.arange(len(y)) + 1.0),
    ):
        for data, function in (
            (lightgbm.Dataset(np.zeros((len(y), 1)), label, weight=weight).construct(), fair.lightgbm),
            (lightgbm.Dataset(np.zeros((len(y), 1)), label, weight=weight).construct(), fair.lightgbm_metric),
            (xgboost.DMatrix(np.zeros((len(y), 1)), label, weight=weight), fair.xgboost),
            (xgboost.DMatrix(np.zeros((len(y), 1)), label, weight=weight), fair.xgboost_metric),
        ):
            with pytest.raises(fermi.FermiError, match=words):
                function(scores, data)


def test_the_bare_objective_in_both_libraries() -> None:
    for m in (2, 3):
        X, y, s = table(m=m)
        numbers = X[list("abcd")].to_numpy()
        judges = table(m=m, seed=1)
        fair = objective(s, y, lam=5.0, learning_rate=0.1)
        held_out = objective(judges[2], judges[1], lam=5.0, classes=fair.classes)
        start = fair.start[0] if m == 2 else fair.start
        first = np.full(len(y), start) if m == 2 else np.tile(start, (len(y), 1))
        data = lightgbm.Dataset(numbers, fair.target, init_score=first)
        rows = data.create_valid(judges[0][list("abcd")].to_numpy(), held_out.target, init_score=first)
        seen: dict[str, Any] = {}
        params = {"objective": fair.lightgbm, "verbosity": -1, "num_threads": 1, "num_class": 1 if m == 2 else m}
        booster = lightgbm.train(
            params, data, 20, [rows], feval=held_out.lightgbm_metric, callbacks=[lightgbm.record_evaluation(seen)]
        )
        model = FermiBoostingClassifier(lam=5.0, n_estimators=20, learning_rate=0.1, booster_params={"num_threads": 1})
        model.fit(numbers, y, sensitive_features=s, eval_set=(judges[0][list("abcd")].to_numpy(), *judges[1:]))
        assert booster.predict(numbers) + start == pytest.approx(model.decision_function(numbers))
        values = [entry["held_out_objective"] for entry in model.history_[1:]]
        assert seen["valid_0"]["fair_objective"] == pytest.approx(values)
        matrix, seen = xgboost.DMatrix(numbers, fair.target), {}
        grown = xgboost.train(
            {"eta": 0.1, "nthread": 1, "disable_default_eval_metric": True, **({"num_class": m} if m > 2 else {})},
            matrix, 20, obj=fair.xgboost, custom_metric=fair.xgboost_metric, evals=[(matrix, "rows")],
            evals_result=seen, verbose_eval=False,
        )  # fmt: skip
        values = seen["rows"]["fair_objective"]
        assert (np.diff(values) < 0).all()
        assert fair.evaluate(grown.predict(matrix, output_margin=True)).objective == pytest.approx(values[-1])


def test_bad_arguments_of_the_objective() -> None:
    y = [0, 1, 2, 1]
    cases: list[tuple[Any, dict[str, Any], str]] = [
        (None, {}, "`sensitive` is None; expected the groups"),
        ([0, 1, 1], {}, "`sensitive` has 3 rows; expected 4, as many as `target`"),
        ([0, 1, 1, 0], {"lam": "large"}, "`lam` is 'large'"),
        ([0, 1, 1, 0], {"notion": "parity"}, "`notion` is 'parity'; expected one of"),
        ([0, 1, 1, 0], {"learning_rate": 0}, "`learning_rate` is 0; expected a positive number"),
        ([0, 1, 1, 0], {"classes": [1]}, "`classes` holds one class only"),
        ([0, 1, 1, 0], {"classes": [0, 1]}, "`target` holds 2; expected one of the classes 0, 1"),
        ([0, 1, 1, 0], {"attributes": 1}, "`attributes` is 1; expected one of"),
    ]
    for sensitive, options, words in cases:
        with pytest.raises(fermi.FermiError, match=words):
            objective(sensitive, y, **options)
    fair = objective([0, 1, 1, 0], y)
    with pytest.raises(
        fermi.FermiError, match="`scores` has the shape \\(4,\\); expected \\(4, 3\\): 4 rows of 3 classes"
    ):
        fair.lightgbm(np.zeros(4))
