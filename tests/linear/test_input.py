"""Bad input to FermiClassifier: one clear sentence each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi import ConditionalParity, EqualOpportunity, FermiClassifier


def data() -> tuple[Any, Any, Any]:
    rows = fermi.datasets.synthetic(200, groups={"sex": ["F", "M"]}, rated=False).numeric()
    return rows.X_train, rows.y_train, rows.s_train


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fairness": "demografic_parity"}, "`fairness` is 'demografic_parity'; expected one of 'demographic_parity'"),
        ({"fairness": None}, "`fairness` is None; expected one of"),
        ({"fairness": EqualOpportunity({5})}, "`advantaged` holds 5, which does not occur in `y_true`"),
        ({"fairness": ConditionalParity([1, 2])}, "`fairness` has 2 rows; expected 200, as many as `X`"),
        ({"lam": -1}, "`lam` is -1; expected a finite number of at least 0"),
        ({"lam": float("nan")}, "`lam` is nan; expected a finite number of at least 0"),
        ({"lam": float("inf")}, "`lam` is inf"),
        ({"lam": "5"}, "`lam` is '5'"),
        ({"lam": True}, "`lam` is True"),
        ({"attributes": "all"}, "`attributes` is 'all'; expected one of 'intersection', 'each'"),
        ({"max_violation": -0.1}, "`max_violation` is -0.1; expected a number from 0 to 1, or None"),
        ({"max_violation": 2}, "`max_violation` is 2"),
        ({"solver": "adam"}, "`solver` is 'adam'; expected one of 'auto', 'lbfgs', 'newton', 'sgda', 'sreda'"),
        ({"batch_size": 0}, "`batch_size` is 0; expected a whole number of at least 1"),
        ({"batch_size": 2.5}, "`batch_size` is 2.5"),
        ({"batch_size": 201}, "`batch_size` is 201; expected at most the number of rows, 200"),
        ({"batch_size": 8, "solver": "lbfgs"}, "`batch_size` is 8, which solver='lbfgs' does not use"),
        ({"max_iter": 0}, "`max_iter` is 0; expected a whole number of at least 1"),
        ({"tol": -1e-3}, "`tol` is -0.001"),
        ({"eta_theta": 0, "batch_size": 1}, "`eta_theta` is 0; expected a positive number, a function of the step"),
        ({"eta_theta": 0.1}, "`eta_theta` is 0.1, which solver='lbfgs' does not use"),
        ({"eta_w": "fast", "batch_size": 1}, "`eta_w` is 'fast'"),
        ({"eta_w": lambda step: -1.0, "batch_size": 1}, "`eta_w` is -1.0 at step 1; expected a positive number"),
        ({"eta_w": lambda step: 1.0, "solver": "sreda"}, "`eta_w` is a function, which solver='sreda' does not take"),
        ({"eta_theta": 1e200, "batch_size": 1}, "The steps diverged: choose a smaller `eta_theta`"),
        ({"eta_theta": "theory", "batch_size": 1, "lam": 0}, "`eta_theta` is 'theory' without a fairness term"),
        ({"radius": 0, "batch_size": 1}, "`radius` is 0; expected a positive number, 'theory' or None"),
        ({"output": "best", "batch_size": 1}, "`output` is 'best'; expected one of 'last', 'random', 'average'"),
        ({"output": "average"}, "`output` is 'average', which solver='lbfgs' does not use"),
        ({"l2": -1}, "`l2` is -1"),
        ({"class_weight": "even"}, "`class_weight` is 'even'; expected a dict of class and weight"),
        ({"class_weight": {7: 1.0}}, "`class_weight` names 7; expected one of the classes 0, 1"),
        ({"class_weight": {1: -1.0}}, "`class_weight` is -1.0; expected numbers from 0 to 1e100, not all 0"),
        ({"class_weight": {0: 0, 1: 0}}, "`class_weight` leaves no row any weight"),
        ({"fit_intercept": "no"}, "`fit_intercept` is 'no'; expected True or False"),
        ({"warm_start": "no"}, "`warm_start` is 'no'; expected True or False"),
        ({"verbose": "a"}, "`verbose` is 'a'; expected 0 or 1"),
        ({"eta_w": lambda step: "a", "batch_size": 1}, "`eta_w` is 'a' at step 1; expected a positive number"),
        ({"eta_w": lambda: 1.0, "batch_size": 1}, "`eta_w` cannot be called with the number of a step"),
        ({"random_state": "zero"}, "`random_state` is 'zero'; expected None, a whole number or a generator"),
        ({"checkpoint": 5}, "`checkpoint` is 5; expected a path or None"),
    ],
)
def test_options(options: dict[str, Any], words: str) -> None:
    X, y, s = data()
    with pytest.raises(fermi.FermiError, match=words.replace("(", "\\(")):
        FermiClassifier(**options).fit(X, y, sensitive_features=s)


def with_nan(X: pd.DataFrame, value: float) -> pd.DataFrame:
    X = X.copy()
    X.iloc[3, 2] = value
    return X


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y, s: {"X": with_nan(X, np.nan)}, "`X` holds NaN or inf, first in column 'years_employed'"),
        (lambda X, y, s: {"X": with_nan(X, np.inf)}, "`X` holds NaN or inf, first in column 'years_employed'"),
        (lambda X, y, s: {"X": with_nan(X, np.nan).to_numpy()}, "`X` holds NaN or inf, first in column 2"),
        (
            lambda X, y, s: {"X": X.assign(job=["cook"] * len(X))},
            "`X` has the columns 'job', which are not numbers; expected numbers \\(scikit-learn's OneHotEncoder",
        ),
        (lambda X, y, s: {"X": X[:0], "y": y[:0], "sensitive_features": s[:0]}, "0 sample"),
        (lambda X, y, s: {"y": y * 0}, "`y` holds one class only, 0; expected at least two classes"),
        (lambda X, y, s: {"y": y[:-1]}, "inconsistent numbers of samples"),
        (lambda X, y, s: {"y": y + 0.5}, "Unknown label type: continuous"),
        (lambda X, y, s: {"y": y.where(y > 0)}, "Input y contains NaN"),
        (lambda X, y, s: {"y": y.astype(object).where(y > 0, None)}, "missing|NaN"),
        (lambda X, y, s: {"sensitive_features": s[:-1]}, "`sensitive_features\\['sex'\\]` has 199 rows; expected 200"),
        (
            lambda X, y, s: {"sensitive_features": [None] * len(y)},
            "`sensitive_features` is unknown in every row; expected a known group in at least one",
        ),
        (lambda X, y, s: {"sensitive_features": "sex"}, "`sensitive_features` is 'sex'; expected one value per row"),
        (lambda X, y, s: {"sample_weight": -np.ones(len(y))}, "`sample_weight` holds negative"),
        (lambda X, y, s: {"sample_weight": np.zeros(len(y))}, "`sample_weight` is zero in every row"),
        (lambda X, y, s: {"sample_weight": np.ones(3)}, "`sample_weight` has 3 rows; expected 200"),
        (lambda X, y, s: {"eval_set": (X, y, None)}, "`eval_set` has no sensitive features"),
    ],
)
def test_rows(change: Any, words: str) -> None:
    X, y, s = data()
    arguments = {"X": X, "y": y, "sensitive_features": s, **change(X, y, s)}
    with pytest.raises(ValueError, match=words) as caught:
        FermiClassifier().fit(arguments.pop("X"), arguments.pop("y"), **arguments)
    assert len(str(caught.value).splitlines()) == 1


def test_prediction() -> None:
    X, y, s = data()
    model = FermiClassifier().fit(X, y, sensitive_features=s)
    with pytest.raises(fermi.FermiError, match="`X` holds NaN or inf"):
        model.predict(with_nan(X, np.nan))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])
    bare = FermiClassifier().fit(X.to_numpy(), y, sensitive_features=s)
    with pytest.raises(ValueError, match="3 features"):
        bare.predict(X.to_numpy()[:, :3])


def test_max_violation_needs_groups() -> None:
    X, y, _ = data()
    with (
        pytest.warns(fermi.UnfairTrainingWarning),
        pytest.raises(fermi.FermiError, match=r"`max_violation` is 0\.1 without `sensitive_features`"),
    ):
        FermiClassifier(max_violation=0.1).fit(X, y)


def test_rows_held_out_must_be_about_the_same_columns() -> None:
    rng = np.random.default_rng(0)
    X, y, s = rng.standard_normal((80, 2)), rng.integers(0, 2, 80), rng.integers(0, 2, 80)
    model = FermiClassifier(max_violation=0.1)
    with pytest.raises(fermi.FermiError, match="`eval_set` has the sensitive columns 'other'; expected those of"):
        model.fit(X, y, sensitive_features={"sex": s}, eval_set=(X, y, {"other": s}))
    with pytest.raises(fermi.FermiError, match="expected those of the fit, 'sex', 'race'"):
        model.fit(X, y, sensitive_features={"sex": s, "race": s}, eval_set=(X, y, {"sex": s}))
    with pytest.raises(fermi.FermiError, match="`eval_set` comes with a notion whose column is about other rows"):
        FermiClassifier(fermi.ConditionalParity(s)).fit(X, y, sensitive_features=s, eval_set=(X, y, s))


def test_a_column_of_the_notion_is_not_looked_up_by_labels_that_two_rows_share() -> None:
    rng = np.random.default_rng(0)
    X, s = pd.DataFrame(rng.standard_normal((80, 2))), rng.integers(0, 2, 80)
    y = (X[0] > 0).astype(int)
    notion = fermi.ConditionalParity(pd.Series(np.tile(["u", "v"], 60)))  # of 120 rows, 80 to train on
    held_out = X[:40], y[:40], s[:40]
    with pytest.raises(fermi.FermiError, match="`eval_set` has index labels of training rows"):
        FermiClassifier(notion).fit(X, y, sensitive_features=s, eval_set=held_out)
    others = pd.RangeIndex(80, 120)
    FermiClassifier(notion, lam=0.1).fit(
        X, y, sensitive_features=s, eval_set=(X[:40].set_axis(others), y[:40].set_axis(others), s[:40])
    )
