"""What `FairLabels` says and does at the edge: bounds out of reach, tiny groups, odd probabilities, seen rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.tree import DecisionTreeClassifier

from fermi.errors import ConstantPredictionWarning, FermiError, SmallGroupWarning
from tests.labels.samples import Rows, fair, fitted, gap, rows


def alike(n: int = 300) -> Rows:
    """Rows that no features tell apart."""
    some = rows(n)
    return Rows(np.ones((n, 2)), some.y, some.s)


def test_a_rate_out_of_reach_is_said_with_what_was_reached() -> None:
    with pytest.warns(
        ConvergenceWarning, match=r"^No labels kept selection_rate=\(0.4, 0.6\) \(the nearest is [01].0000\) on"
    ) as caught:
        model = fitted(alike(), DummyClassifier(strategy="most_frequent"), selection_rate=(0.4, 0.6))
    assert not model.reached_
    assert caught[0].filename == fitted.__code__.co_filename  # where `fit` was called
    assert not model.frontier_["reached"].all()
    with pytest.warns(ConvergenceWarning, match="No labels kept"):
        assert not model.at(0.5).reached_


def test_only_what_is_missed_is_named_and_that_one_label_for_all_would_keep_it() -> None:
    some = rows(400)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        missed = fitted(some, max_violation=0.5, min_ratio=1.0, selection_rate=(0.2, 0.45), min_rate=0.2)
        apart = fitted(some, max_violation=0.0)
    first, second = (str(entry.message) for entry in said if issubclass(entry.category, ConvergenceWarning))
    assert first.startswith(f"No labels kept min_ratio=1.0 (the nearest is {missed.figures_.ratio:.4f}) on held-out")
    assert f"max_violation=0.0 (the nearest is {apart.violation_:.4f}) on held-out rows, one label for all" in second


def test_no_difference_at_all_is_out_of_reach_in_most_rows_and_said_so() -> None:
    some = rows(500)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = fitted(some, max_violation=0.0)
    assert model.reached_ == (model.violation_ == 0.0)
    assert model.reached_ != any(issubclass(entry.category, ConvergenceWarning) for entry in said)
    assert model.violation_ < 0.03


def test_probabilities_that_do_not_vary_are_labelled_as_they_were() -> None:
    some = rows(300)
    model = fitted(some, DummyClassifier(strategy="prior"), max_violation=0.0)
    assert not model.multipliers_.any()
    assert np.array_equal(model.predict(some.X), model.estimator_.predict(some.X))


def test_hard_probabilities_keep_the_bound_on_held_out_rows() -> None:
    some = rows(2000)
    model = fitted(some, DecisionTreeClassifier(random_state=0), max_violation=0.05)
    assert set(np.unique(model.predict_proba(some.X))) == {0.0, 1.0}
    assert model.reached_
    assert model.violation_ <= 0.05


def test_one_group_is_compared_with_nobody() -> None:
    some = rows(300)
    model = fair(max_violation=0.0).fit(some.X, some.y, sensitive_features=["all"] * 300)
    assert model.reached_
    assert model.violation_ == 0.0
    assert np.array_equal(model.predict(some.X), model.estimator_.predict(some.X))


def test_one_group_has_a_least_rate_all_the_same() -> None:
    some = rows(300)
    model = fair(max_violation=None, min_rate=0.8).fit(some.X, some.y, sensitive_features=["all"] * 300)
    assert model.figures_.rate >= 0.8 - 1e-12
    assert np.mean(model.predict(some.X)) > 0.7


def test_a_least_rate_among_the_truly_advantaged_may_be_above_the_largest_rate_of_all() -> None:
    some = rows(1500)
    y = (some.X[:, 0] + some.X[:, 1] > 1.5).astype(int)  # one row in five
    model = fair(fairness="equal_opportunity", max_violation=None, min_rate=0.9, selection_rate=(0.0, 0.4))
    model.fit(some.X, y, sensitive_features=some.s)
    assert model.reached_
    assert model.figures_.rate <= 0.4
    predicted = model.predict(some.X)
    assert min(np.mean(predicted[(some.s == group) & (y == 1)]) for group in model.groups_) > 0.85


def test_folds_that_hold_one_group_each_are_no_obstacle() -> None:
    some = rows(900)
    order = np.argsort(some.s, kind="stable")
    ordered = Rows(some.X[order], some.y[order], some.s[order])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fitted(ordered, cv=KFold(3), max_violation=0.1)
    assert np.isfinite(model.multipliers_).all()
    assert model.violation_ <= fitted(ordered, cv=KFold(3), max_violation=1.0).violation_


@pytest.mark.parametrize("cv", [TimeSeriesSplit(3), ShuffleSplit(2, random_state=0), KFold(4)])
def test_a_splitter_may_hold_out_any_rows(cv: object) -> None:
    model = fitted(rows(), cv=cv)
    assert model.reached_
    assert model.violation_ <= 0.05


def test_groups_of_single_rows_are_named_and_answered() -> None:
    some = rows(400)
    s = some.s.astype(object)
    s[:2] = ["lone", "sole"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.warns(SmallGroupWarning, match=r"2 of 5 groups .*'lone', 'sole'.*`slack=1`"):
            model = fair().fit(some.X, some.y, sensitive_features=s)
    assert model.reached_ == (model.violation_ <= 0.05)
    assert model.figures_.error <= 0.52
    slack = fair(slack=1.0).fit(some.X, some.y, sensitive_features=s)  # says nothing of small groups
    assert slack.figures_.error < model.figures_.error
    assert slack.reached_


@pytest.mark.parametrize("seed", range(3))
def test_a_group_of_thirty_in_a_thousand_rows_costs_no_more_than_one_label_for_all(seed: int) -> None:
    some = rows(1000, seed=seed)
    s = np.where(np.arange(1000) < 30, "few", np.where(some.s == "cedar", "birch", some.s))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, plain = (fair(max_violation=bound).fit(some.X, some.y, sensitive_features=s) for bound in (0.05, 1.0))
    assert model.violation_ <= plain.violation_
    assert model.figures_.error <= 0.5
    assert model.reached_ == (model.violation_ <= 0.05)


def test_labels_that_have_all_become_the_same_are_pointed_out() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 600)
    X = np.column_stack([s, s]).astype(float)  # features that tell the group, and nothing else
    y = (rng.random(600) < np.array([0.3, 0.5, 0.7])[s]).astype(int)
    with pytest.warns(ConstantPredictionWarning, match=r"Every held-out row gets the label [01]: .*predicts nothing"):
        model = fair(max_violation=0.02).fit(X, y, sensitive_features=s)
    assert len(np.unique(model.predict(X))) == 1
    assert model.reached_
    assert model.figures_.error <= 0.55


def test_a_classifier_that_learnt_these_rows_by_heart_is_recognised() -> None:
    some, new = rows(800), rows(800, seed=4)
    forest = RandomForestClassifier(20, random_state=0).fit(some.X, some.y)
    with pytest.warns(UserWarning, match="seems to have been trained on these rows") as caught:
        fitted(some, forest, prefit=True)
    assert caught[0].filename == fitted.__code__.co_filename
    for seed in range(3):  # any warning would fail
        assert fitted(new, forest, prefit=True, random_state=seed).reached_


class Frozen(LogisticRegression):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier that was trained once and for all."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if hasattr(self, "coef_") or X.shape[0] < 800:
            raise RuntimeError("this was trained elsewhere")
        return super().fit(X, y, sample_weight)


def test_a_classifier_that_cannot_be_trained_again_is_said_not_to_be_checked() -> None:
    some = rows(800)
    model = Frozen().fit(some.X, some.y)
    with pytest.warns(UserWarning, match="trained on these rows was not checked, since no copy of it") as caught:
        assert fitted(some, model, prefit=True).reached_
    assert caught[0].filename == fitted.__code__.co_filename


@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324, 1.7e308])
@pytest.mark.parametrize("where", ["everywhere", "in one row", "in one group"])
def test_weights_at_the_edge_of_numbers_give_a_finite_model_or_one_sentence(size: float, where: str) -> None:
    some = rows(300)
    there = {"everywhere": some.y == some.y, "in one row": np.arange(300) == 7, "in one group": some.s == some.s[0]}
    weight = np.where(there[where], size, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmallGroupWarning)
        try:
            model = fair(max_violation=0.05).fit(some.X, some.y, sensitive_features=some.s, sample_weight=weight)
        except FermiError as error:
            assert "`sample_weight` has" in str(error)  # noqa: PT017
            assert size > 1.0 or where == "everywhere"
        else:
            assert size < 1.0
            assert np.isfinite(model.multipliers_).all()
            assert np.isfinite([model.figures_.error, model.violation_, model.figures_.standard_error]).all()


def test_a_classifier_trained_on_more_rows_than_these_is_not_taken_for_one_that_has_seen_them() -> None:
    alarms, right = 0, 0
    for seed in range(6):
        few, many = rows(300, seed=100 + seed), rows(1200, seed=200 + seed)
        tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(many.X, many.y)
        alarms += seems_trained_on_these(few, tree)
        right += seems_trained_on_these(few, DecisionTreeClassifier(max_depth=4, random_state=0).fit(few.X, few.y))
    assert alarms == 0
    assert right >= 5


def seems_trained_on_these(some: Rows, classifier: DecisionTreeClassifier) -> bool:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted(some, classifier, prefit=True, max_violation=1.0)
    return any("seems to have been trained on these rows" in str(entry.message) for entry in said)


def test_a_classifier_that_learns_nothing_by_heart_may_have_seen_the_rows() -> None:
    some = rows(800)
    own = LogisticRegression().fit(some.X, some.y)
    assert fitted(some, own, prefit=True).reached_


def test_groups_of_one_condition_may_be_missing_in_another() -> None:
    some = rows(1200, 3)
    s = np.where((some.s == "cedar") & (some.y == 1), "birch", some.s)
    model = fair(fairness="equalized_odds", max_violation=0.12).fit(some.X, some.y, sensitive_features=s)
    assert model.multipliers_.shape == (3, 3, 3)
    assert model.reached_
    assert not model.multipliers_[1, 2].any()


def test_predictions_need_no_attribute_and_keep_the_bound_on_new_rows() -> None:
    some, new = rows(4000), rows(4000, seed=8)
    model = fitted(some, max_violation=0.02)
    predicted = model.predict(new.X)
    assert gap(predicted, new.s) < 0.08
    assert gap(model.estimator_.predict(new.X), new.s) > 0.15


@pytest.mark.parametrize(("notion", "n_classes", "seed"), [("equal_opportunity", 4, 46), ("equal_opportunity", 3, 36)])
def test_small_cells_whose_rates_jump_are_brought_within_a_bound_that_can_be_kept(
    notion: str, n_classes: int, seed: int
) -> None:
    # The smallest cells have 33 and 50 rows, where no correction of rates reproduces itself; such labels exist.
    model = fitted(rows(3000, n_classes, seed=seed, groups=6), fairness=notion, max_violation=0.05)
    assert model.reached_
    assert model.violation_ <= 0.05
    assert model.figures_.error < model.at(1.0).figures_.error + 0.05
