"""Every rival behind one interface: what holds for each of them, whatever it does inside."""

from __future__ import annotations

import functools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `baselines` is not installed")
pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")

import sklearn
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import fermi
from fermi import baselines
from fermi.baselines import Baseline, Capabilities
from fermi.baselines.__main__ import updated
from fermi.baselines.common.protocol import Rows
from fermi.datasets import Dataset, synthetic

pytestmark = pytest.mark.slow  # rivals take their time

METHODS = baselines.available()
STEPS = 150  # enough for a linear model on so few rows
FEW = 20  # enough to see that a method runs


def counts_steps(method: Any) -> bool:
    return "steps" in (baselines.find(method) if isinstance(method, str) else method)._get_param_names()


CASES = [
    pytest.param(name, notion, marks=[pytest.mark.long] if place and not name.startswith("fermi") else [])
    for name in METHODS
    for place, notion in enumerate(baselines.find(name).capabilities.notions)
]


@functools.cache
def data(n_classes: int = 2, n_groups: int = 2) -> Dataset:
    """4,000 training rows, and others to test."""
    return synthetic(4000, n_classes, n_groups, bias=0.9, rated=False).numeric()


def fitted(method: Any, strength: Any, notion: Any, rows: Dataset | None = None, steps: int = STEPS) -> Baseline:
    rows = data() if rows is None else rows
    kind = baselines.find(method) if isinstance(method, str) else method
    model: Baseline = kind(strength, notion, 0, **({"steps": steps} if counts_steps(kind) else {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fermi.ConstantPredictionWarning)  # as fair as it can be
        return model.fit(rows.X_train, rows.y_train, sensitive_features=rows.s_train)


def predicted(model: Baseline, rows: Dataset | None = None) -> Any:
    rows = data() if rows is None else rows
    return model.predict(rows.X_test, rows.s_test if model.capabilities.needs_attribute else None)


def violation(model: Baseline, notion: str) -> float:
    """The hard gap on new rows."""
    return fermi.parity_difference(predicted(model), data().s_test, y_true=data().y_test, notion=notion)


def check_conformance(method: Any, notion: str) -> None:
    """What the interface promises, for one method and one notion it claims to know."""
    plain, fair = (fitted(method, strength, notion) for strength in (0.0, 1.0))
    gaps = [violation(model, notion) for model in (plain, fair)]
    if type(plain) is baselines.find("none"):
        assert gaps[1] == gaps[0]
    else:
        assert gaps[1] < 0.5 * gaps[0]
    assert gaps[0] > 0.1  # there was something to mitigate
    again = clone(fair).fit(data().X_train, data().y_train, sensitive_features=data().s_train)
    assert np.array_equal(predicted(again), predicted(fair))
    F = fair.predict_proba(data().X_test, data().s_test)
    assert F.shape == (len(data().X_test), 2)
    assert F.sum(axis=1) == pytest.approx(1.0)
    assert (F >= 0).all()


def check_capabilities(method: Any, notion: str) -> None:
    """A method takes what it says, and refuses the rest in a sentence."""
    can = (baselines.find(method) if isinstance(method, str) else method).capabilities
    for able, rows, words in (
        (can.nonbinary_target, data(3, 2), "`y` holds 3 classes; expected two"),
        (can.nonbinary_attribute, data(2, 3), "`sensitive_features` holds 3 groups; expected two"),
    ):
        if able:
            model = fitted(method, 0.5, notion, rows, FEW)
            assert set(predicted(model, rows)) <= set(rows.y_train)
        else:
            with pytest.raises(fermi.FermiError, match=words):
                fitted(method, 0.5, notion, rows)
    if can.needs_attribute:
        with pytest.raises(fermi.FermiError, match="`sensitive_features` is None; expected the groups of the new rows"):
            fitted(method, 0.5, notion).predict(data().X_test)


@pytest.mark.parametrize(("name", "notion"), CASES)
def test_conformance(name: str, notion: str) -> None:
    check_conformance(name, notion)


@pytest.mark.parametrize("name", METHODS)
def test_capabilities(name: str) -> None:
    check_capabilities(name, baselines.find(name).capabilities.notions[0])


class Broken(Baseline):
    """Claims to mitigate and does not."""

    capabilities = Capabilities(nonbinary_target=True, nonbinary_attribute=True)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        self.model_ = baselines.make("none").fit(rows.X, rows.y, sensitive_features=rows.s)

    def _proba(self, X: Any, s: Any) -> Any:
        return self.model_.predict_proba(X)


class Unsteady(Broken):
    """Mitigates, and gives another answer each time."""

    def _proba(self, X: Any, s: Any) -> Any:
        F = np.tile([[0.3, 0.7]], (len(X), 1)) if self.strength == 1.0 else super()._proba(X, s)
        flip = np.random.default_rng().random(len(X)) < 0.1
        return np.where(flip[:, None], F[:, ::-1], F)


class Boastful(Broken):
    """Claims more groups than it takes."""

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        if rows.n_groups > 2:
            raise ValueError("only two")
        super()._fit(rows, strength, rng)


def test_a_broken_method_does_not_pass() -> None:
    with pytest.raises(AssertionError):
        check_conformance(Broken, "demographic_parity")
    with pytest.raises(AssertionError):
        check_conformance(Unsteady, "demographic_parity")
    with pytest.raises(ValueError, match="only two"):
        check_capabilities(Boastful, "demographic_parity")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_is(name: str) -> None:
    method = baselines.find(name)
    assert method.__doc__
    assert isinstance(method.capabilities, Capabilities)
    assert set(method.capabilities.notions) <= {"demographic_parity", "equalized_odds", "equal_opportunity"}
    for strength in (-0.1, 1.1, "much"):
        with pytest.raises(fermi.FermiError, match=r"`strength` is .*; expected a number from 0 to 1"):
            fitted(name, strength, method.capabilities.notions[0])


def test_rows_with_an_unknown_group_are_left_out_where_a_method_cannot_use_them() -> None:
    rows = data()
    known = np.arange(len(rows.X_train)) % 2 == 0
    groups: Any = rows.s_train.iloc[:, 0].astype(object).where(known, None)
    some = baselines.make("reweighing").fit(
        rows.X_train[known], rows.y_train[known], sensitive_features=rows.s_train[known]
    )
    all_of_them = baselines.make("reweighing").fit(rows.X_train, rows.y_train, sensitive_features=groups)
    assert np.array_equal(some.predict_proba(rows.X_test), all_of_them.predict_proba(rows.X_test))
    groups = groups.where(rows.y_train != rows.y_train.iloc[0], None)
    with pytest.raises(fermi.FermiError, match="`sensitive_features` is unknown in all rows of a class"):
        baselines.make("reweighing").fit(rows.X_train, rows.y_train, sensitive_features=groups)


def test_the_page_says_what_the_methods_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "baselines.md"
    text = page.read_text(encoding="utf-8")
    assert text == updated(text), "run: python -m fermi.baselines docs/baselines.md"
    assert "| `mary` | Fairness-aware learning for continuous attributes and treatments (Mary, Calauz" in text
    assert all(f"| `{name}` |" in text for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_new_rows_may_be_of_another_precision(name: str) -> None:
    rows = data()
    model = fitted(name, 1.0, baselines.find(name).capabilities.notions[0])
    again = clone(model).fit(rows.X_train.astype("float32"), rows.y_train, sensitive_features=rows.s_train)
    assert np.mean(again.predict(rows.X_test.astype("float32"), rows.s_test) == predicted(model)) > 0.95


@pytest.mark.parametrize("name", ["hardt", "reweighing"])
def test_searched_over_by_scikit_learn(name: str) -> None:
    rows = data()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(baselines.make(name, random_state=0), {"strength": [0.0, 1.0]}, cv=2, error_score="raise")
        search.fit(rows.X_train, rows.y_train, sensitive_features=rows.s_train)
    assert search.best_params_ == {"strength": 0.0}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_groups_of_new_rows_are_matched_with_them() -> None:
    model, rows = fitted("hardt", 1.0, "demographic_parity"), data()
    with pytest.raises(fermi.FermiError, match="`sensitive_features` has another index than `X`"):
        model.predict(rows.X_test, rows.s_test.iloc[::-1])
    with pytest.raises(fermi.FermiError, match="holds a group never seen in `fit`; expected one of"):
        model.predict(rows.X_test, rows.s_test.astype(str) + "!")


def test_groups_unknown_wherever_the_notion_looks() -> None:
    rows = data()
    last = sorted(set(rows.y_train))[-1]
    groups = rows.s_train.iloc[:, 0].astype(object).mask(rows.y_train == last, None)
    for name in ("jiang", "kamishima", "mary", "fermi"):
        few = {"steps": FEW} if counts_steps(name) else {}
        with pytest.raises(
            fermi.FermiError, match="`sensitive_features` is unknown in every row that the notion compares"
        ):
            baselines.make(name, notion="equal_opportunity").fit(rows.X_train, rows.y_train, sensitive_features=groups)
        baselines.make(name, notion="equalized_odds", **few).fit(rows.X_train, rows.y_train, sensitive_features=groups)


def test_the_fairest_weights_do_not_turn_the_gap_round() -> None:
    for bias in (0.9, 0.3):
        rows = synthetic(4000, 2, 2, bias=bias, rated=False).numeric()
        model = fitted("reweighing", 1.0, "demographic_parity", rows)
        gaps = [
            fermi.parity_difference(m.predict(rows.X_train), rows.s_train)
            for m in (fitted("none", 0.0, "demographic_parity", rows), model)
        ]
        assert gaps[1] < 0.6 * gaps[0]


def test_options_of_the_plain_model_and_of_fermi() -> None:
    forest = RandomForestClassifier(5, max_depth=3)
    one, same, other = (baselines.make("none", random_state=seed, estimator=forest) for seed in (0, 0, 1))
    F = [m.fit(data().X_train, data().y_train, sensitive_features=data().s_train) for m in (one, same, other)]
    found = [m.predict_proba(data().X_test) for m in F]
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("none", {"estimator": LinearSVC()}, "`estimator` is .*; expected a classifier with `predict_proba`"),
        ("fermi", {"options": {"lam": 3}}, "`options` holds 'lam'; expected arguments that are not set here already"),
        ("fermi", {"options": 5}, "`options` is 5; expected a dict of arguments, or None"),
        ("fermi", {"steps": -4, "batch_size": 32}, "`steps` is -4; expected a whole number of at least 1"),
        ("fairgbm", {"booster_params": {"eta": 0.9}}, "`booster_params` holds 'eta'; expected the argument"),
        ("fairgbm", {"booster_params": {"nonsense": 1}}, "`booster_params` holds 'nonsense'; expected names"),
    ]
    for name, options, words in cases:
        notion = baselines.find(name).capabilities.notions[0]
        with pytest.raises(fermi.FermiError, match=words):
            baselines.make(name, notion=notion, **options).fit(
                data().X_train, data().y_train, sensitive_features=data().s_train
            )


def test_unknown_names_and_options() -> None:
    with pytest.raises(fermi.FermiError, match="`name` is 'zaphar'; expected one of"):
        baselines.make("zaphar")
    with pytest.raises(fermi.FermiError, match="`options` holds 'batch'; expected an argument of"):
        baselines.make("mary", batch=3)
    with pytest.raises(fermi.FermiError, match="`notion` is 'equalized_odds', which reweighing does not know"):
        fitted("reweighing", 0.5, "equalized_odds")
    with pytest.raises(fermi.FermiError, match="`sensitive_features` is None; expected the groups"):
        baselines.make("none").fit(data().X_train, data().y_train, sensitive_features=None)


@pytest.mark.parametrize(
    ("batch_size", "steps", "rows", "passes"),
    [(1, 500, 500, 1), (4, 500, 2000, 1), (4, 2200, 4000, 2), (50, 200, 4000, 2), (1, 1, 4000, 1)],
)
def test_fermi_takes_no_more_steps_than_asked(
    monkeypatch: pytest.MonkeyPatch, batch_size: int, steps: int, rows: int, passes: int
) -> None:
    seen: list[tuple[int, Any]] = []
    fit = fermi.FermiClassifier.fit

    def spy(self: Any, X: Any, y: Any, **more: Any) -> Any:
        seen.append((len(y), self.max_iter))
        return fit(self, X, y, **more)

    monkeypatch.setattr(fermi.FermiClassifier, "fit", spy)
    method = baselines.make("fermi", 0.2, random_state=0, batch_size=batch_size, steps=steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.fit(data().X_train, data().y_train, sensitive_features=data().s_train)
    assert seen == [(rows, passes)]  # one row cannot show two classes: then a pass over all


def test_thresholds_of_inferred_groups_need_no_attribute() -> None:
    method = baselines.find("oxonfair")
    assert method.capabilities.needs_attribute
    gaps = []
    for strength in (0.0, 1.0):
        model = baselines.make("oxonfair", strength, random_state=0, groups="inferred")
        assert not clone(model).capabilities.needs_attribute
        model.fit(data().X_train, data().y_train, sensitive_features=data().s_train)
        gaps.append(violation(model, "demographic_parity"))
    assert gaps[1] < 0.5 * gaps[0]
    assert clone(model).set_params(groups="true").capabilities.needs_attribute
    with pytest.raises(fermi.FermiError, match="`groups` is 'guessed'; expected one of 'true', 'inferred'"):
        model.set_params(groups="guessed").fit(data().X_train, data().y_train, sensitive_features=data().s_train)


def test_thresholds_of_many_groups_are_found_in_little_memory() -> None:
    rows = data(2, 6)
    model = fitted("oxonfair", 1.0, "demographic_parity", rows)
    plain = fitted("oxonfair", 0.0, "demographic_parity", rows)
    gaps = [fermi.parity_difference(predicted(m, rows), rows.s_test) for m in (plain, model)]
    assert gaps[1] < 0.5 * gaps[0]


def test_fair_trees_take_tables_as_they_are() -> None:
    table = synthetic(1000, bias=0.9, rated=False)
    assert "category" in table.X_train.dtypes.astype(str).tolist()
    unknown = table.s_train.copy()
    unknown.iloc[:100] = None
    for booster in ("lightgbm", "xgboost"):
        model = baselines.make("fermi_boosting", 0.5, random_state=0, booster=booster, n_estimators=20)
        model.fit(table.X_train, table.y_train, sensitive_features=unknown)
        assert model.predict(table.X_test).shape == (500,)


@pytest.mark.parametrize(("advantaged", "words"), [(0, "FPR"), (1, "FNR"), ([0, 1], "FPR,FNR")])
def test_fairgbm_compares_groups_within_the_advantaged_class(advantaged: Any, words: str) -> None:
    notion = fermi.EqualOpportunity(advantaged)
    model: Any = fitted("fairgbm", 0.5, notion)
    assert model.model_.params["constraint_type"] == words
    with pytest.raises(fermi.FermiError, match="`booster_params` holds 'constraint_type'; expected names of"):
        clone(model).set_params(booster_params={"constraint_type": "FPR"}).fit(
            data().X_train, data().y_train, sensitive_features=data().s_train
        )


@pytest.mark.parametrize("name", ["linear_post", "fermi_labels"])
def test_labels_within_a_bound_begin_with_those_of_the_plain_model(name: str) -> None:
    rows = data()
    words = np.where(rows.y_train == rows.y_train.max(), "granted", "refused")
    notion = fermi.EqualOpportunity("granted")
    groups: Any = rows.s_train.iloc[:, 0].astype(object).where(np.arange(len(words)) % 10 > 0, None)
    models: list[Any] = [
        baselines.make(name, strength, notion, 0).fit(rows.X_train, words, sensitive_features=groups)
        for strength in (0.0, 0.5, 1.0)
    ]
    plain = baselines.make("none").fit(rows.X_train, words, sensitive_features=groups)
    first, *others = (model.predict(rows.X_test) for model in models)
    assert np.mean(first == plain.predict(rows.X_test)) > 0.999
    assert np.array_equal(first, models[0].classes_[models[0].predict_proba(rows.X_test).argmax(axis=1)])
    for model, bound in zip(models[1:], (0.5, 0.0), strict=True):
        assert model.model_.violation_ <= bound * models[0].model_.violation_ + 0.01
    own = models[2].classes_[models[2].predict_proba(rows.X_test).argmax(axis=1)]
    assert models[2].capabilities.adjusts_labels
    assert (own != others[1]).any()
    with pytest.raises(fermi.FermiError, match="`slack` is -1; expected a finite number of at least 0"):
        baselines.make(name, slack=-1).fit(rows.X_train, words, sensitive_features=groups)
