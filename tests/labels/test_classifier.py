"""`FairLabels`: what it promises of labels, probabilities and what it says of itself."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fermi
from fermi.labels import FairLabels
from tests.labels.samples import AtThreshold, Rows, fair, fitted, gap, plain, rows, table

OWN = {
    "regression": plain(),
    "trees": HistGradientBoostingClassifier(max_iter=8),
    "pipeline": make_pipeline(StandardScaler(), GaussianNB()),
    "ours": fermi.FermiClassifier(lam=0.1),
    "threshold": AtThreshold(),
}


@pytest.mark.heart
@pytest.mark.parametrize("name", OWN)
def test_at_a_bound_of_one_labels_are_the_classifiers_own_bit_for_bit(name: str) -> None:
    some = rows(600)
    model = fitted(some, OWN[name], max_violation=1.0)
    assert np.array_equal(model.predict(some.X), model.estimator_.predict(some.X))
    assert model.multipliers_.shape == (1, 3, 2)
    assert not model.multipliers_.any()
    assert not model.offset_.any()
    assert model.reached_


def test_so_are_they_wherever_the_classifier_keeps_what_is_asked() -> None:
    some = rows(600, 3)
    loose = fitted(some, max_violation=1.0)
    own = fitted(some, max_violation=loose.violation_)
    assert not own.multipliers_.any()
    assert np.array_equal(own.predict(some.X), loose.predict(some.X))
    tight = fitted(some, max_violation=0.9 * loose.violation_)
    assert tight.multipliers_.any()


@pytest.mark.parametrize("threshold", [0.3, 0.6])
def test_a_classifier_with_a_threshold_of_its_own_is_judged_by_its_labels(threshold: float) -> None:
    some = rows(3000)
    order = np.argsort(some.X[:, 0])  # so that the first rows are all sure
    ordered = Rows(some.X[order], some.y[order], some.s[order])
    model = fitted(ordered, AtThreshold(threshold), max_violation=1.0)
    assert model.figures_.rate == pytest.approx(np.mean(model.predict(ordered.X)), abs=0.01)
    assert model.violation_ == pytest.approx(gap(model.predict(ordered.X), ordered.s), abs=0.03)


@pytest.mark.heart
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
def test_the_bound_is_kept_on_held_out_rows_and_nearly_on_new_ones(notion: str, n_classes: int) -> None:
    some, new = rows(4000, n_classes), rows(4000, n_classes, seed=1)
    model = fair(fairness=notion, max_violation=0.08).fit(some.X, some.y, sensitive_features=some.s)
    assert model.reached_
    assert model.violation_ <= 0.08
    assert model.figures_.violation == model.violation_
    predicted = model.predict(new.X)
    truth: Any = {} if notion == "demographic_parity" else {"y_true": new.y}
    found = fermi.parity_difference(predicted, sensitive_features=new.s, notion=notion, **truth)
    before = fermi.parity_difference(model.estimator_.predict(new.X), sensitive_features=new.s, notion=notion, **truth)
    assert found < 0.15
    assert found < before
    assert model.figures_.error == pytest.approx(np.mean(predicted != new.y), abs=0.03)


def test_probabilities_are_the_classifiers_own() -> None:
    some = rows()
    model = fitted(some)
    assert np.array_equal(model.predict_proba(some.X), model.estimator_.predict_proba(some.X))
    assert np.array_equal(model.estimator_.coef_, LogisticRegression().fit(some.X, some.y).coef_)
    assert model.score(some.X, some.y) == np.mean(model.predict(some.X) == some.y)


@pytest.mark.heart
def test_two_rows_with_the_same_features_get_the_same_label_and_no_row_depends_on_another() -> None:
    some = rows()
    model = fitted(some)
    whole = model.predict(some.X)
    assert np.array_equal(model.predict(np.vstack([some.X, some.X[::-1]])), np.concatenate([whole, whole[::-1]]))
    assert [model.predict(row[None])[0] for row in some.X[:30]] == whole[:30].tolist()


def test_the_same_seed_gives_the_same_model_and_another_one_other_folds() -> None:
    some = rows()
    one, again, other = (fitted(some, random_state=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.multipliers_, again.multipliers_)
    assert one.figures_ == again.figures_
    assert not np.array_equal(one.multipliers_, other.multipliers_)
    states: list[Any] = [np.random.default_rng(1), np.random.RandomState(1), None]
    for state in states:
        assert fitted(some, random_state=state).reached_


def test_folds_fitted_at_once_are_those_fitted_one_by_one() -> None:
    some = rows(400)
    with parallel_config(backend="threading"):  # processes take seconds to start
        at_once = fitted(some, n_jobs=2)
    assert np.array_equal(at_once.multipliers_, fitted(some).multipliers_)


def test_a_fitted_model_survives_a_pickle() -> None:
    some = rows()
    model = fitted(some, fairness="equalized_odds", max_violation=0.1)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(some.X), model.predict(some.X))
    assert np.array_equal(again.at(0.2).predict(some.X), model.at(0.2).predict(some.X))


def test_what_is_fitted_has_the_shapes_that_are_promised() -> None:
    some = rows(1500, 3)
    model = fitted(some, fairness="equalized_odds", max_violation=0.15)
    assert model.multipliers_.shape == (3, 3, 3)
    assert model.offset_.shape == (3,)
    assert model.groups_ == ("ash", "birch", "cedar")
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.conditions_ == (0, 1, 2)
    assert model.n_features_in_ == 4
    assert hasattr(model.group_estimator_, "predict_proba")
    assert not hasattr(model, "upper_limit_")


def test_the_group_model_may_be_the_users_own_and_is_not_changed() -> None:
    some = rows()
    own = GaussianNB()
    model = fitted(some, group_estimator=own)
    assert isinstance(model.group_estimator_, GaussianNB)
    assert not hasattr(own, "classes_")
    assert model.reached_


def test_the_wrapped_classifier_is_cloned_unless_it_is_fitted_already() -> None:
    some, new = rows(), rows(seed=1)
    own = LogisticRegression()
    assert fitted(some, own).estimator_ is not own
    assert not hasattr(own, "classes_")
    own.fit(some.X, some.y)
    before = own.coef_.copy()
    model = fitted(new, own, prefit=True)
    assert model.estimator_ is own
    assert np.array_equal(own.coef_, before)
    assert model.reached_


def test_ours_is_trained_with_the_groups_that_it_needs() -> None:
    some = rows()
    fairer = fitted(some, fermi.FermiClassifier(lam=30.0), max_violation=1.0)
    assert fairer.violation_ < 0.5 * fitted(some, fermi.FermiClassifier(lam=0.0), max_violation=1.0).violation_
    inside = fitted(some, make_pipeline(StandardScaler(), fermi.FermiClassifier(lam=30.0)), max_violation=1.0)
    assert inside.violation_ < 0.5 * fitted(some, max_violation=1.0).violation_


def test_stock_trees_on_a_table_with_categories() -> None:
    some = rows(1500)
    X = table(some).assign(word=lambda frame: frame["word"].astype("category"))
    lightgbm = pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")
    model = fair(lightgbm.LGBMClassifier(n_estimators=15, verbose=-1)).fit(X, some.y, sensitive_features=some.s)
    assert model.reached_
    assert gap(model.predict(X), some.s) < gap(model.estimator_.predict(X), some.s)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_can_be_asked_at_once(n_classes: int) -> None:
    some = rows(2500, n_classes)
    model = fitted(some, max_violation=0.1, min_ratio=0.8, selection_rate=(0.2, 0.35), min_rate=0.15)
    assert model.reached_
    assert model.violation_ <= 0.1
    assert model.figures_.ratio >= 0.8
    assert 0.2 <= model.figures_.rate <= 0.35
    by_group = [np.mean(model.predict(some.X)[some.s == group] == n_classes - 1) for group in model.groups_]
    assert min(by_group) > 0.1
    assert np.mean(model.predict(some.X) == n_classes - 1) == pytest.approx(model.figures_.rate, abs=0.03)


def test_costs_are_in_the_order_of_the_sorted_classes() -> None:
    some = rows()
    y = np.array(["never", "always"])[some.y]  # sorted, "always" is first
    costs = [[0.0, 1.0], [8.0, 0.0]]  # to say "always" where "never" is true costs eight
    model = fair(costs=costs, max_violation=1.0).fit(some.X, y, sensitive_features=some.s)
    p = model.predict_proba(some.X)[:, 0]
    assert np.array_equal(model.predict(some.X), np.where(p > 8.0 / 9.0, "always", "never"))
    lost = np.where(model.predict(some.X) == y, 0.0, np.where(y == "never", 8.0, 1.0)).mean()
    assert model.figures_.error == pytest.approx(lost, abs=0.05)
    assert fair(costs=costs, max_violation=None).fit(some.X, y, sensitive_features=some.s).reached_


def test_a_refit_leaves_nothing_of_the_fit_before_it() -> None:
    some = rows()
    model = fair(confidence=0.8, max_violation=0.4)
    model.fit(pd.DataFrame(some.X, columns=list("abcd")), some.y, sensitive_features=some.s)
    assert model.upper_limit_ <= 0.4
    assert model.feature_names_in_.tolist() == list("abcd")
    model.set_params(confidence=None).fit(some.X, some.y, sensitive_features=some.s)
    assert not hasattr(model, "upper_limit_")
    assert not hasattr(model, "feature_names_in_")


def test_progress_is_shown_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    fitted(rows(300), verbose=1, max_violation=1.0)
    assert capsys.readouterr().out == ""


def test_a_forest_by_its_out_of_fold_rows_keeps_the_bound_on_new_ones() -> None:
    some, new = rows(2500), rows(2500, seed=5)
    model: FairLabels = fitted(some, RandomForestClassifier(25, min_samples_leaf=3, random_state=0), max_violation=0.03)
    assert gap(model.predict(new.X), new.s) < 0.1


@pytest.mark.parametrize("seed", [4, 48])
def test_little_data_whose_groups_show_only_where_labels_do_is_no_disaster(seed: int) -> None:
    # Groups differ in the one feature that decides: on many rows the best blind labels within 0.05 err by 0.275.
    some = rows(seed=seed)
    X = some.X.copy()
    X[:, 2] = np.random.default_rng(seed).normal(size=len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fair(random_state=seed).fit(X, some.y, sensitive_features=some.s)
    assert model.figures_.error < 0.45
    assert model.violation_ < 0.1
