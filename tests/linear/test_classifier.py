"""What FermiClassifier does: the objective it says, for any rows, groups, weights and notions."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import fermi
from fermi import FermiClassifier
from fermi.errors import ConstantPredictionWarning, SmallGroupWarning, UnfairTrainingWarning

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]


def data(classes: int = 2, n: int = 1500, groups: int = 3, seed: int = 0) -> tuple[pd.DataFrame, pd.Series, pd.Series]:
    rows = fermi.datasets.synthetic(n, classes, groups, bias=0.9, seed=seed, rated=False).numeric()
    return rows.X_train, rows.y_train, rows.s_train.iloc[:, 0]


def objective_of(
    model: FermiClassifier, X: Any, y: Any, s: Any, notion: Any = "demographic_parity", weight: Any = None,
    loss_weight: Any = None, l2: float = 1e-4,
) -> float:  # fmt: skip
    """Written out from the fitted model's own predictions, with the public measures alone."""
    F = model.predict_proba(X)
    own = F[np.arange(len(F)), np.searchsorted(model.classes_, np.asarray(y))]
    loss = -np.average(np.log(own), weights=weight if loss_weight is None else loss_weight)
    measured = fermi.ermi(F, s, y_true=y, notion=notion, sample_weight=weight, classes=model.classes_.tolist())
    return float(loss + model.lam_ * measured + 0.5 * l2 * (model.coef_**2).sum())


@pytest.mark.parametrize("classes", [2, 3])
def test_lambda_zero_is_logistic_regression(classes: int) -> None:
    X, y, s = data(classes)
    model = FermiClassifier(lam=0, l2=1e-3, tol=1e-7).fit(X, y, sensitive_features=s)
    plain = LogisticRegression(C=1 / (1e-3 * len(y)), tol=1e-10, max_iter=10_000).fit(X, y)
    assert model.predict_proba(X) == pytest.approx(plain.predict_proba(X), abs=1e-4)
    assert model.coef_.shape == plain.coef_.shape
    assert model.intercept_.shape == plain.intercept_.shape


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("classes", [2, 3])
def test_the_reported_objective_is_the_one_written_out_and_falls_along_lambda(classes: int, notion: str) -> None:
    X, y, s = data(classes)
    found = []
    for lam in (0.0, 1.0, 20.0):
        model = FermiClassifier(notion, lam).fit(X, y, sensitive_features=s)
        last = model.history_[-1]
        assert last["objective"] == pytest.approx(objective_of(model, X, y, s, notion), rel=1e-6)
        assert set(last) == {"step", "seconds", "loss", "ermi", "objective", "dual_gap", "grad_norm"}
        assert last["grad_norm"] <= 1e-5
        found.append(fermi.ermi(model.predict_proba(X), s, y_true=y, notion=notion, classes=model.classes_.tolist()))
    assert found == sorted(found, reverse=True)
    assert found[2] < 0.2 * found[0]


@pytest.mark.parametrize("notion", [*NOTIONS, fermi.EqualOpportunity({0, 2})])
def test_no_nearby_model_is_better(notion: Any) -> None:
    X, y, s = data(3)
    model = FermiClassifier(notion, 5.0, tol=1e-7).fit(X, y, sensitive_features=s)
    best = objective_of(model, X, y, s, notion)
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = clone(model)
        other.__dict__.update(model.__dict__)
        other.coef_ = model.coef_ + 0.01 * rng.standard_normal(model.coef_.shape)
        assert objective_of(other, X, y, s, notion) > best


def test_dual_is_the_closed_form_at_the_optimum() -> None:
    X, y, s = data(3)
    model = FermiClassifier("equalized_odds", 5.0).fit(X, y, sensitive_features=s)
    table = fermi.Contingency.from_predictions(model.predict_proba(X), s, y_true=y, notion="equalized_odds")
    assert model.groups_ == table.groups
    assert model.dual_ == pytest.approx(fermi.optimal_dual(table), rel=1e-6)


def test_integer_weights_equal_repeated_rows_and_zero_weights_absent_ones() -> None:
    X, y, s = data(3, n=600)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    options: dict[str, Any] = {"fairness": "equalized_odds", "lam": 5.0, "tol": 1e-8, "class_weight": "balanced"}
    weighted = FermiClassifier(**options).fit(X, y, sensitive_features=s, sample_weight=weight)
    repeated = FermiClassifier(**options).fit(X.iloc[rows], y.iloc[rows], sensitive_features=s.iloc[rows])
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=1e-4)
    assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X), abs=1e-5)


def test_class_weights_change_the_loss_and_not_the_group_statistics() -> None:
    X, y, s = data(2)
    heavy = FermiClassifier(lam=3.0, class_weight={0: 1.0, 1: 5.0}).fit(X, y, sensitive_features=s)
    expected = objective_of(heavy, X, y, s, loss_weight=np.where(y == 1, 5.0, 1.0))
    assert heavy.history_[-1]["objective"] == pytest.approx(expected, rel=1e-6)
    plain = FermiClassifier(lam=3.0).fit(X, y, sensitive_features=s)
    assert heavy.predict(X).mean() > plain.predict(X).mean() + 0.1


def test_unknown_groups_train_the_loss_alone() -> None:
    X, y, s = data(2)
    known = np.arange(len(y)) % 3 > 0
    model = FermiClassifier(lam=5.0).fit(X, y, sensitive_features=s.where(known))
    assert model.history_[-1]["objective"] == pytest.approx(objective_of(model, X, y, s.where(known)), rel=1e-6)
    assert len(model.groups_) == 3
    fewer = FermiClassifier(lam=5.0).fit(X[known], y[known], sensitive_features=s[known])
    assert np.abs(model.coef_ - fewer.coef_).max() > 0.01  # the other rows did train


def test_several_columns_are_their_combinations_or_one_term_each() -> None:
    X, y, s = data(2)
    age = pd.Series(np.where(X["age"] > 0, "old", "young"), index=X.index, name="age")
    both = pd.DataFrame({"region": s, "age": age})
    joint = FermiClassifier(lam=5.0).fit(X, y, sensitive_features=both)
    merged = FermiClassifier(lam=5.0).fit(X, y, sensitive_features=s.astype(str) + "/" + age.astype(str))
    assert joint.coef_ == pytest.approx(merged.coef_, abs=1e-6)
    each = FermiClassifier(lam=5.0, attributes="each", tol=1e-7).fit(X, y, sensitive_features=both)
    F = each.predict_proba(X)
    last = each.history_[-1]
    assert last["ermi"] == pytest.approx(fermi.ermi(F, s) + fermi.ermi(F, age), rel=1e-6)
    assert each.groups_[-2:] == ("age=old", "age=young")
    assert each.dual_.shape == (1, 5, 2)
    matrix = FermiClassifier(lam=5.0, attributes="each", tol=1e-7).fit(X, y, sensitive_features=both.to_numpy())
    assert matrix.groups_[-2:] == ("column 1=old", "column 1=young")
    assert matrix.coef_ == pytest.approx(each.coef_, abs=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_any_container_gives_the_same_model(classes: int) -> None:
    X, y, s = data(classes)
    model = FermiClassifier(lam=3.0).fit(X, y, sensitive_features=s)
    for matrix in (X.to_numpy(), np.asfortranarray(X.to_numpy()), pl.from_pandas(X), csr_matrix(X.to_numpy())):
        other = FermiClassifier(lam=3.0, tol=1e-6).fit(matrix, y.tolist(), sensitive_features={"region": s.tolist()})
        assert other.predict_proba(matrix) == pytest.approx(model.predict_proba(X), abs=2e-4)
    single = FermiClassifier(lam=3.0, tol=1e-3).fit(X.to_numpy().astype(np.float32), y, sensitive_features=s.to_numpy())
    assert single.predict_proba(X.to_numpy()) == pytest.approx(model.predict_proba(X), abs=2e-2)
    assert list(model.feature_names_in_) == list(X.columns)


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [3.0, 7.0], [-1, 1]])
def test_labels_of_any_type_come_back(labels: list[Any]) -> None:
    X, y, s = data(2)
    named = np.array(labels)[y.to_numpy()]
    model = FermiClassifier("equal_opportunity").fit(X, named, sensitive_features=s)
    assert model.classes_.tolist() == labels
    assert set(model.predict(X)) <= set(labels)
    assert model.predict(X).dtype == named.dtype
    assert model.score(X, named) > 0.6


def test_probabilities_labels_and_logits_agree() -> None:
    for classes in (2, 4):
        X, y, s = data(classes)
        model = FermiClassifier(lam=2.0).fit(X, y, sensitive_features=s)
        F = model.predict_proba(X)
        assert F.sum(axis=1) == pytest.approx(np.ones(len(F)))
        assert np.array_equal(model.classes_[F.argmax(axis=1)], model.predict(X))
        plain = model.to_sklearn()
        assert type(plain) is LogisticRegression
        assert plain.predict_proba(X) == pytest.approx(F, abs=1e-12)
        assert np.array_equal(plain.predict(X), model.predict(X))
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_warm_start_goes_on_from_the_last_fit() -> None:
    X, y, s = data(3)
    model = FermiClassifier(lam=2.0, warm_start=True).fit(X, y, sensitive_features=s)
    cold = model.n_iter_
    model.set_params(lam=2.1).fit(X, y, sensitive_features=s)
    assert model.n_iter_ < cold
    fresh = FermiClassifier(lam=2.1).fit(X, y, sensitive_features=s)
    assert model.predict_proba(X) == pytest.approx(fresh.predict_proba(X), abs=1e-3)
    with pytest.raises(fermi.FermiError, match="`warm_start` is True, but the last fit had other features"):
        model.fit(X.iloc[:, :3], y, sensitive_features=s)


def test_without_intercept() -> None:
    X, y, s = data(3)
    model = FermiClassifier(fit_intercept=False).fit(X, y, sensitive_features=s)
    assert not model.intercept_.any()


def test_warnings_say_what_happened() -> None:
    X, y, s = data(2)
    with pytest.warns(UnfairTrainingWarning, match="No `sensitive_features`: this trains a plain model"):
        FermiClassifier().fit(X, y)
    rare = np.where(np.arange(len(y)) < 500, y, 0)
    with pytest.warns(ConstantPredictionWarning, match="Every training row is predicted as 0: .* λ = 1e\\+05"):
        FermiClassifier(lam=1e5).fit(X[["age"]], rare, sensitive_features=X["age"] > 0)
    with pytest.warns(
        ConvergenceWarning, match="lbfgs stopped after 2 iterations .* above tol=1e-05: raise `max_iter`"
    ):
        FermiClassifier(max_iter=2).fit(X, y, sensitive_features=s)
    lonely = s.copy()
    lonely.iloc[5] = "Z"
    with pytest.warns(SmallGroupWarning, match="1 of the 4 groups have a single row \\('group=Z'\\)"):
        FermiClassifier().fit(X, y, sensitive_features=lonely)


@pytest.mark.parametrize("solver", ["lbfgs", "sgda", "sreda"])
def test_columns_of_any_scale_train(solver: str) -> None:
    X, y, s = data(2)
    exact = FermiClassifier(lam=0.0).fit(X, y, sensitive_features=s)
    tiny = FermiClassifier(lam=0.0, solver=solver, random_state=0).fit(X * 1e-9, y, sensitive_features=s)
    assert tiny.history_[-1]["objective"] == pytest.approx(
        np.log(2), rel=0.02
    )  # the penalty leaves the intercept alone
    mixed = X.to_numpy() * np.r_[1e-9, 1e9, np.ones(X.shape[1] - 2)]
    model = FermiClassifier(lam=0.0, solver=solver, random_state=0).fit(mixed, y, sensitive_features=s)
    assert np.isfinite(model.coef_).all()
    assert exact.history_[-1]["objective"] - 0.01 < model.history_[-1]["objective"] < 0.69


def test_a_failed_fit_leaves_the_model_as_it_was() -> None:
    X, y, s = data(2)
    model = FermiClassifier().fit(X, y, sensitive_features=s)
    before = model.predict(X)
    with pytest.raises(fermi.FermiError, match="one class only"):
        model.fit(X.iloc[:, :2], y * 0, sensitive_features=s)
    assert np.array_equal(model.predict(X), before)


def test_a_bound_works_with_batches_and_says_when_too_few_groups_are_known() -> None:
    X, y, s = data(2, n=600)
    model = FermiClassifier(max_violation=0.2, batch_size=600, random_state=0).fit(X, y, sensitive_features=s)
    assert model.lam_ >= 0
    few = s.where(np.arange(len(s)) == 3)
    with (
        pytest.warns(SmallGroupWarning),
        pytest.raises(fermi.FermiError, match="`max_violation` has too few rows with a known group to hold some out"),
    ):
        FermiClassifier(max_violation=0.1).fit(X, y, sensitive_features=few)


@pytest.mark.parametrize("solver", ["lbfgs", "sgda"])
def test_single_precision_is_never_copied_to_double(solver: str) -> None:
    X = np.random.default_rng(0).standard_normal((100_000, 200), dtype=np.float32)
    y, s = (X[:, 0] > 0).astype(int), (X[:, 1] > 0).astype(int)
    model = FermiClassifier(solver=solver, max_iter=2, tol=1e-9, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:1000], y[:1000], sensitive_features=s[:1000])  # what is compiled for the first time takes memory
        tracemalloc.start()
        try:
            model.fit(X, y, sensitive_features=s)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 0.5 * X.nbytes


def test_many_classes_give_no_warning() -> None:
    X, y, s = data(2)
    FermiClassifier(lam=0.1, max_iter=2000, l2=1e-2).fit(X, np.arange(len(y)) % 60, sensitive_features=s)


def test_parameters_are_stored_as_given_and_never_changed() -> None:
    notion = fermi.EqualOpportunity({1})
    model = FermiClassifier(notion, lam=2, random_state=3)
    X, y, s = data(2)
    before = dict(model.get_params())
    model.fit(X, y, sensitive_features=s)
    assert model.get_params() == before
    assert clone(model).fairness == notion
    assert "lam=2" in repr(model)


def test_a_violation_bound_is_kept_on_new_rows() -> None:
    X, y, s = data(2, n=6000)
    Xt, yt, st = data(2, n=6000, seed=1)
    plain = FermiClassifier(lam=0).fit(X, y, sensitive_features=s)
    assert fermi.parity_difference(plain.predict(Xt), st) > 0.15
    for eval_set in (None, (Xt, yt, st)):
        model = FermiClassifier(max_violation=0.08, decision="argmax", random_state=0)
        model.fit(X, y, sensitive_features=s, eval_set=eval_set)
        assert fermi.parity_difference(model.predict(Xt), st) < (0.08 if eval_set else 0.11)
        assert model.lam_ > 0
        tried = {entry["lam"]: entry["violation"] for entry in model.lam_path_}
        assert tried[model.lam_] <= 0.08
        assert all(gap > 0.08 for lam, gap in tried.items() if lam < model.lam_)
    again = FermiClassifier(max_violation=0.08, decision="argmax", random_state=0).fit(X, y, sensitive_features=s)
    other = FermiClassifier(max_violation=0.08, decision="argmax", random_state=1).fit(X, y, sensitive_features=s)
    assert again.lam_path_ != other.lam_path_


def test_a_bound_that_no_lambda_reaches_is_a_warning_with_the_best() -> None:
    X, y, s = data(2, n=3000)
    with pytest.warns(
        ConvergenceWarning, match="No λ brought the held-out violation down to max_violation=0; the best"
    ):
        model = FermiClassifier(max_violation=0.0, decision="argmax", random_state=0).fit(X, y, sensitive_features=s)
    assert np.isfinite(model.coef_).all()
