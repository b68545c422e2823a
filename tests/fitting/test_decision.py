"""How a fit keeps a bound: by λ, by labels, or by whichever errs less."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import fermi
from fermi import FermiClassifier, FermiError
from fermi.cli import _broken_into
from fermi.datasets import Dataset
from fermi.decisions.figures import Figures
from fermi.decisions.requirements import Requirements
from fermi.decisions.stage import Choice
from fermi.fitting.decision import Decision, _keeps_lam, errs_more
from fermi.fitting.lam_search import CHEAP, DEAR, Violation, smallest
from fermi.fitting.problem import Problem

BOUND = 0.03


def applicants(n: int = 3000, **options: Any) -> Dataset:
    return fermi.datasets.synthetic(n=n, bias=0.9, rated=False, **options).numeric()


def fitted(data: Dataset, **options: Any) -> FermiClassifier:
    model = FermiClassifier(**{"max_violation": BOUND, "random_state": 0, **options})
    return model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)


@pytest.mark.parametrize("fairness", ["demographic_parity", "equalized_odds", "equal_opportunity"])
def test_labels_keep_the_bound_on_held_out_rows_with_lambda_as_given(fairness: str) -> None:
    data = applicants(groups=3)
    model = fitted(data, fairness=fairness, decision="labels", lam=0.01)
    assert model.decision_ == "labels"
    assert model.lam_ == 0.01
    assert model.lam_path_ == []
    assert model.held_out_.violation <= BOUND
    plain = FermiClassifier(fairness, lam=0.01).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict_proba(data.X_test), plain.predict_proba(data.X_test))
    gaps = [
        fermi.parity_difference(m.predict(data.X_test), data.s_test, y_true=data.y_test, notion=fairness)
        for m in (model, plain)
    ]
    # With equalized odds 0.63 to 0.79, by the last digits of the model: few test rows are of a class and a group.
    assert gaps[0] < 0.85 * gaps[1]


def test_three_classes_and_each_of_two_columns() -> None:
    data = applicants(n_classes=3, groups={"sex": 2, "region": 3})
    model = fitted(data, decision="labels", attributes="each")
    assert model.held_out_.violation <= BOUND
    assert set(model.predict(data.X_test)) <= set(model.classes_)


def test_auto_is_one_of_the_two_and_never_the_one_that_errs_more() -> None:
    data = applicants()
    model, by_lam, labels = (fitted(data, decision=d, max_violation=0.1) for d in ("auto", "argmax", "labels"))
    chosen = by_lam if model.decision_ == "argmax" else labels
    # Fits of the search start from the nearest λ, of which there is one more here: all end within the tolerance.
    assert model.lam_ == pytest.approx(chosen.lam_, rel=1e-3)
    assert np.mean(model.predict(data.X_test) != chosen.predict(data.X_test)) < 0.002
    if model.decision_ == "labels":
        assert labels.held_out_.error < by_lam.held_out_.error


@pytest.mark.parametrize(("worse", "better", "more"), [(12, 10, False), (30, 10, True), (10, 30, False), (9, 0, True)])
def test_labels_are_preferred_only_if_they_err_less_by_more_than_one_standard_error(
    worse: int, better: int, more: bool
) -> None:
    # Of 1,000 rows some are wrong by one labelling alone: the difference is (worse − better) ± √(worse + better).
    n = 1000
    target = np.zeros(n, dtype=np.int64)
    first, second = target.copy(), target.copy()
    first[:worse] = 1
    second[n - better :] = 1
    rows = Problem(None, target, np.ones(n), target, np.ones(2), ("all",), ())
    assert errs_more(rows, first, second) is more


def test_auto_takes_labels_where_no_lambda_keeps_the_bound() -> None:
    # Rows whose class is all but certain: λ changes probabilities and hardly any label.
    data = fermi.datasets.synthetic(n=3000, bias=0.9).numeric()
    with pytest.warns(ConvergenceWarning, match="No λ"):
        by_lam = fitted(data, decision="argmax")
    model = fitted(data)
    assert by_lam.held_out_.violation > BOUND
    assert model.decision_ == "labels"
    assert model.held_out_.violation <= BOUND


def test_labels_are_chosen_on_an_eval_set_where_there_is_one() -> None:
    data = applicants()
    model = FermiClassifier(max_violation=BOUND, decision="labels", lam=0.0)
    rows = (data.X_test, data.y_test, data.s_test)
    model.fit(data.X_train, data.y_train, sensitive_features=data.s_train, eval_set=rows)
    assert fermi.parity_difference(model.predict(data.X_test), data.s_test) <= BOUND
    assert model.held_out_.violation == pytest.approx(
        fermi.parity_difference(model.predict(data.X_test), data.s_test), abs=1e-12
    )


def test_a_bound_that_the_plain_model_keeps_changes_no_label() -> None:
    data = applicants()
    plain = FermiClassifier(lam=1.0).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    model = FermiClassifier(max_violation=1.0, decision="labels", random_state=0)
    model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    np.testing.assert_array_equal(model.predict(data.X_test), plain.predict(data.X_test))


def test_what_cannot_carry_labels_says_so_in_one_sentence() -> None:
    data = applicants(n=1000)
    model = fitted(data, decision="labels")
    with pytest.raises(FermiError, match="cannot carry this model's labels"):
        model.to_sklearn()
    fitted(data, decision="argmax", max_violation=0.2).to_sklearn()


def test_labels_without_a_bound_and_strange_decisions_are_refused() -> None:
    data = applicants(n=400)
    rows = {"X": data.X_train, "y": data.y_train, "sensitive_features": data.s_train}
    with pytest.raises(FermiError, match="`decision` is 'labels' without `max_violation`"):
        FermiClassifier(decision="labels").fit(**rows)
    with pytest.raises(FermiError, match="`decision` is 'argmin'; expected one of 'auto', 'argmax', 'labels'"):
        FermiClassifier(decision="argmin").fit(**rows)


def test_a_fit_with_labels_survives_pickle_and_clone_and_the_next_fit_forgets_it() -> None:
    data = applicants(n=1000)
    model = fitted(data, decision="labels")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.X_test), model.predict(data.X_test))
    assert clone(model).decision == "labels"
    model.set_params(max_violation=None, decision="auto")
    model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    assert model.decision_ == "argmax"
    np.testing.assert_array_equal(model.predict(data.X_test), model.to_sklearn().predict(data.X_test))


def test_a_dear_search_makes_about_half_the_fits() -> None:
    def trials(**options: Any) -> int:
        choice = smallest(lambda lam: Violation(0.2 / (1.0 + lam), 0.01), 0.002, 0.05, **options)
        assert choice.reached
        assert choice.trial.violation.gap <= 0.002
        return len(choice.trials)

    assert trials(pace=DEAR) < 0.7 * trials(pace=CHEAP)


def test_a_search_ends_when_what_else_there_is_errs_less() -> None:
    tried = []

    def measure(lam: float) -> Violation:
        tried.append(lam)
        return Violation(0.2 / (1.0 + lam), 0.01)

    choice = smallest(measure, 0.001, 0.1, give_up=lambda lam: lam > 1.0)
    assert not choice.reached
    assert sum(lam > 1.0 for lam in tried) == 1


def test_an_interruption_inside_of_a_compiler_is_known_by_what_it_left() -> None:
    def left_half_done() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("no compiled object yet")

    with pytest.raises(RuntimeError) as found:
        left_half_done()
    assert _broken_into(found.value)
    assert not _broken_into(RuntimeError("something else"))


@pytest.mark.parametrize(
    ("beyond", "errors", "keeps_lam"),
    [
        ((0.0001, 0.0002), (0.5, 0.2), False),  # nearer by nothing, and wrong in every second row
        ((0.0001, 0.0002), (0.2, 0.2), True),
        ((0.2, 0.01), (0.2, 0.3), False),  # beyond noise, what is nearer counts
        ((-0.001, 0.0002), (0.5, 0.2), True),  # one keeps the bound, and the other does not
        ((0.0002, 0.0), (0.2, 0.5), False),
    ],
)
def test_where_the_bound_is_missed_by_next_to_nothing_the_error_decides(
    beyond: tuple[float, float], errors: tuple[float, float], keeps_lam: bool
) -> None:
    by_lam, by_labels = (Figures(e, 0.01, BOUND + b, 0.03, 0.0, 0.9, 0.5) for b, e in zip(beyond, errors, strict=True))
    nothing: Any = None
    choice = Choice(Requirements(BOUND), nothing, nothing, by_labels, beyond[1], nothing, None)
    assert _keeps_lam(Decision(1.0, [], None, by_lam, beyond[0] <= 0.0), nothing, BOUND, choice) is keeps_lam
