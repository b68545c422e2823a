"""Trade-off curves: figures against direct counts, choices against brute force, the same whatever runs the fits."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fermi import ConditionalParity, ConstantPredictionWarning, FermiClassifier, FermiError, baselines
from fermi.datasets import synthetic
from fermi.tradeoff import TradeoffCurve, tradeoff_curve
from fermi.tradeoff._grid import Place, between, first_values, non_dominated
from fermi.tradeoff._knob import Knob

LAMS = [0.0, 1.0, 30.0]


def rows(n: int = 1200, seed: int = 0) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Three classes, and two sensitive columns with two and three values."""
    rng = np.random.default_rng(seed)
    s = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "age": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])})
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("pqrs"))
    X["p"] += (s["sex"] == "M") * 1.0
    X["q"] += (s["age"] == "c") * 1.5
    score = X["p"] + X["q"] + rng.normal(size=n)
    y = pd.Series(np.select([score > 1.5, score > 0.0], ["high", "mid"], "low"), name="y")
    return X, y, s


def curve(estimator: Any = None, **options: Any) -> TradeoffCurve:
    X, y, s = rows()
    given = {"lams": LAMS, "sensitive_features": s, "progress": False, **options}
    return tradeoff_curve(FermiClassifier() if estimator is None else estimator, X, y, **given)


def gap(predicted: Any, groups: Any) -> float:
    """The parity difference by pandas alone."""
    rates = pd.crosstab(pd.Series(np.asarray(groups)), pd.Series(np.asarray(predicted)), normalize="index")
    return float((rates.max() - rates.min()).max())


def same(a: TradeoffCurve, b: TradeoffCurve) -> None:
    pd.testing.assert_frame_equal(a.frame.drop(columns="seconds"), b.frame.drop(columns="seconds"))


class Toy(ClassifierMixin, BaseEstimator):
    """Labels by the sign of the first feature, constant from λ = 5 on; no probabilities."""

    def __init__(self, lam: float = 1.0, max_violation: Any = None, fail: Any = None) -> None:
        self.lam, self.max_violation, self.fail = lam, max_violation, fail

    def fit(self, X: Any, y: Any, *, sensitive_features: Any) -> Toy:
        self.classes_ = np.unique(y)
        warnings.warn(f"gradient {self.lam / 7:.3f}", ConvergenceWarning, stacklevel=2)
        warnings.warn("the same for all", UserWarning, stacklevel=2)
        warnings.warn("constant", ConstantPredictionWarning, stacklevel=2)
        if self.fail is not None and self.lam > 0:
            raise self.fail
        return self

    def predict(self, X: Any) -> Any:
        first = np.asarray(X)[:, 0]
        return np.where((first > 0) & (self.lam < 5), self.classes_[1], self.classes_[0])


def test_figures_are_those_of_the_models() -> None:
    X, y, s = rows()
    X2, y2, s2 = rows(500, seed=1)
    s2.loc[::5, "age"] = None
    found = curve(X_test=X2, y_test=y2, sensitive_test=s2)
    assert found.lams == LAMS
    assert found.frame["split"].tolist() == ["train", "validation", "test"] * 3
    train, judged = found._plan.parts[-1]
    assert sorted([*train, *judged]) == list(range(len(y)))
    known = s2["age"].notna()
    joint = (s2["sex"] + s2["age"])[known]
    for lam, model in zip(LAMS, found.models, strict=True):
        table = found.frame[found.frame["lam"] == lam].set_index("split")
        F = model.predict_proba(X2)
        assert table["error"]["test"] == pytest.approx(np.mean(model.predict(X2) != y2))
        place = np.searchsorted(model.classes_, y2)
        assert table["error_soft"]["test"] == pytest.approx(1 - F[np.arange(len(y2)), place].mean())
        assert table["violation"]["test"] == pytest.approx(gap(model.predict(X2)[known], joint))
        rates = pd.DataFrame(F)[known.to_numpy()].groupby(joint.to_numpy()).mean()
        assert table["violation_soft"]["test"] == pytest.approx((rates.max() - rates.min()).max())
        size = joint.value_counts().reindex(rates.index) / len(joint)
        overall = rates.mul(size, axis=0).sum()
        assert table["ermi"]["test"] == pytest.approx(float(((rates**2).mul(size, axis=0) / overall).sum().sum() - 1))
        assert table["linf_soft"]["test"] == pytest.approx((rates - overall).abs().max().max())
        for split, part in (("train", train), ("validation", judged)):
            labels = model.predict(X.iloc[part])
            assert table["error"][split] == pytest.approx(np.mean(labels != y.iloc[part]))
            assert table["violation"][split] == pytest.approx(gap(labels, (s["sex"] + s["age"]).iloc[part]))
            assert table["rows"][split] == len(part)


def test_the_quarter_held_out_has_its_share_of_every_label_and_group() -> None:
    _, y, s = rows()
    found = curve(FermiClassifier(random_state=3))
    strata = y + s["sex"] + s["age"]
    share = strata.iloc[found._plan.parts[0].judged].value_counts() / strata.value_counts()
    assert share.between(0.1, 0.4).all()
    assert len(found._plan.parts[0].judged) == len(y) // 4
    parts = [curve(FermiClassifier(random_state=seed), lams=[0])._plan.parts[0].judged.tolist() for seed in (0, 3)]
    assert parts[1] == found._plan.parts[0].judged.tolist()
    assert parts[0] != parts[1]
    assert parts[0] == curve(lams=[0])._plan.parts[0].judged.tolist()


def test_test_rows_influence_nothing() -> None:
    X2, y2, s2 = rows(300, seed=1)
    plain, tested = curve(lams=None), curve(lams=None, X_test=X2, y_test=y2, sensitive_test=s2)
    seen = tested.frame[tested.frame["split"] != "test"].reset_index(drop=True)
    pd.testing.assert_frame_equal(plain.frame.drop(columns="seconds"), seen.drop(columns="seconds"))
    assert tested.pick(0.2).lam == plain.pick(0.2).lam


@pytest.mark.parametrize("cv", [None, 3])
def test_warm_starts_end_where_cold_fits_do(cv: Any) -> None:
    X, y, s = rows()
    found = curve(lams=[0, 0.3, 3, 30, 300], cv=cv)
    train = found._plan.parts[-1].train
    for lam, model in zip(found.lams, found.models, strict=True):
        cold = FermiClassifier(lam=lam).fit(X.iloc[train], y.iloc[train], sensitive_features=s.iloc[train])
        assert model.history_[-1]["objective"] == pytest.approx(cold.history_[-1]["objective"], rel=1e-5)
        np.testing.assert_allclose(model.predict_proba(X), cold.predict_proba(X), atol=1e-3)
        assert model.get_params() == cold.get_params()


def test_folds_are_judged_together_and_the_models_are_those_of_all_rows() -> None:
    X, y, s = rows()
    y, s = (y == "high").astype(int), s[["sex"]]
    pairs = list(StratifiedKFold(3).split(X, y))
    method = baselines.make("reweighing", random_state=0)
    found = tradeoff_curve(method, X, y, sensitive_features=s, cv=iter(pairs), lams=[0, 1.0], progress=False)
    for lam, model in zip(found.lams, found.models, strict=True):
        labels = pd.Series(-1, index=y.index)
        for train, judged in pairs:
            fold = clone(method).set_params(strength=lam)
            fold.fit(X.iloc[train], y.iloc[train], sensitive_features=s.iloc[train])
            labels.iloc[judged] = fold.predict(X.iloc[judged])
        table = found.frame[found.frame["lam"] == lam].set_index("split")
        assert table["error"]["validation"] == pytest.approx(np.mean(labels != y))
        assert table["violation"]["validation"] == pytest.approx(gap(labels, s["sex"]))
        everything = clone(method).set_params(strength=lam).fit(X, y, sensitive_features=s)
        np.testing.assert_array_equal(model.predict_proba(X), everything.predict_proba(X))
        assert table["error"]["train"] == pytest.approx(np.mean(everything.predict(X) != y))
    with_splitter = tradeoff_curve(method, X, y, sensitive_features=s, cv=StratifiedKFold(3), lams=[0, 1.0])
    same(found, with_splitter)


@pytest.mark.parametrize("cv", [None, 2])
def test_the_result_does_not_depend_on_what_runs_the_fits(cv: Any) -> None:
    for estimator in (FermiClassifier(), baselines.make("fermi")):
        alone = curve(estimator, cv=cv, lams=None if cv is None else [0, 0.5, 1])
        for backend in ("loky", "threading"):
            with joblib.parallel_config(backend=backend):
                same(alone, curve(estimator, cv=cv, n_jobs=2, lams=None if cv is None else [0, 0.5, 1]))


def test_the_default_grid_is_refined_within_its_budget() -> None:
    found = curve(lams=None)
    first = first_values(found._plan.knob)
    assert first[0] == 0.0
    assert first[-1] == 1000.0
    assert set(first) < set(found.lams)
    assert len(found.lams) <= len(first) + 9
    assert found.lams == sorted(found.lams)
    strengths = curve(baselines.make("fermi"), lams=None)
    assert strengths.knob == "strength"
    assert strengths.lams[0] == 0.0
    assert strengths.lams[-1] == 1.0


def test_new_values_gather_where_the_frontier_bends() -> None:
    knob = Knob.find(FermiClassifier())

    def place(lam: float) -> Place:  # all happens around λ = 5
        share = 1 / (1 + (lam / 5) ** 4)
        return Place(lam, 0.2 * share, 0.1 + 0.05 * (1 - share), 0.002, 0.002)

    values = first_values(knob)
    for _ in range(3):
        new = between([place(value) for value in values], knob)
        assert not set(new) & set(values)
        values = sorted([*values, *new])
    assert sum(1 < value < 25 for value in values) >= 8
    flat = [Place(value, 0.2 + 1e-4 * value**0.1, 0.1, 0.01, 0.01) for value in first_values(knob)]
    assert between(flat, knob) == []
    assert between([Place(0, 0.2, 0.1, 0.001, 0.001), Place(1, 0.1, 0.2, 0.001, 0.001)], knob) == [1 / 10**0.5]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_the_frontier_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    kept = non_dominated([v for v, _ in points], [e for _, e in points])
    beaten = [any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points) for p in points]
    assert {points[i] for i in kept} == {p for p, is_beaten in zip(points, beaten, strict=True) if not is_beaten}
    assert len({points[i] for i in kept}) == len(kept)
    assert [points[i] for i in kept] == sorted(points[i] for i in kept)


def test_pick_is_the_most_accurate_within_the_bound() -> None:
    data = synthetic(n=4000, bias=0.9, rated=False).numeric()
    found = tradeoff_curve(FermiClassifier(), data.X_train, data.y_train, sensitive_features=data.s_train)
    table = found.frame[found.frame["split"] == "validation"]
    for bound in (0.1, 0.2, 1.0):
        model = found.pick(max_violation=bound)
        own = table[table["lam"] == model.lam].iloc[0]
        assert own["violation"] <= bound
        assert own["error"] == table[table["violation"] <= bound]["error"].min()
    best = table["violation"].min()
    with pytest.warns(ConvergenceWarning, match=r"^No λ brought the validation violation down to max_violation=0; the"):
        model = found.pick(0)
    own = table[table["lam"] == model.lam].iloc[0]
    assert own["violation"] <= best + 0.25 * own["standard_error"] + 1e-3
    front = found.pareto()
    assert front["violation"].is_monotonic_increasing
    assert front["error"].is_monotonic_decreasing
    assert front["violation"].iloc[0] == best
    with pytest.raises(FermiError, match="`max_violation` is 2; expected a number from 0 to 1"):
        found.pick(2)


def test_warnings_come_once_and_a_constant_model_is_named_when_it_is_picked() -> None:
    X, y, s = rows()
    y = (y == "high").astype(int)
    for n_jobs, backend in ((1, "loky"), (2, "loky"), (2, "threading")):
        with joblib.parallel_config(backend=backend), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = tradeoff_curve(
                Toy(), X, y, sensitive_features=s, lams=[0, 2, 7], cv=2, n_jobs=n_jobs, progress=False
            )
        texts = sorted(str(entry.message) for entry in caught if entry.category in (ConvergenceWarning, UserWarning))
        start = "gradient 0.000" if backend == "threading" else "At λ = 0 to 7 (9 fits), the first: gradient 0.000"
        assert texts == [start, "the same for all"]
        assert not [entry for entry in caught if issubclass(entry.category, ConstantPredictionWarning)]
        assert all(entry.filename == __file__ for entry in caught)
    assert found.frame["constant"].tolist() == [False] * 4 + [True] * 2
    assert found.frame["ermi"].isna().all()
    assert found.frame["ermi_hard"].notna().all()
    with pytest.warns(ConstantPredictionWarning, match="at λ = 7, predicts 0 for every validation row"):
        assert found.pick(0.0).lam == 7


def test_an_interruption_ends_it_and_the_estimator_is_never_changed() -> None:
    X, y, s = rows()
    toy = Toy(fail=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        tradeoff_curve(toy, X, y, sensitive_features=s, lams=[0, 1])
    assert vars(toy) == vars(Toy(fail=toy.fail))
    model = FermiClassifier(lam=7.0, verbose=1)
    before = vars(model).copy()
    found = curve(model)
    assert vars(model) == before
    assert [own.lam for own in found.models] == LAMS
    assert found.models[1].verbose == 1
    assert not found.models[1].warm_start


class Breaks(FermiClassifier):
    """Fails where λ is in a range."""

    low, high = 0.5, 2.0

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, **options: Any) -> Breaks:
        if self.low <= self.lam <= self.high:
            warnings.warn("before the end", UserWarning, stacklevel=2)
            raise ZeroDivisionError(f"λ is {self.lam}\nand more")
        super().fit(X, y, sensitive_features=sensitive_features, **options)
        return self


class BreaksLate(Breaks):
    low, high = 5.0, np.inf


@pytest.mark.parametrize("cv", [None, 3])
def test_a_fit_that_fails_is_left_out_and_costs_no_other(cv: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = curve(Breaks(), cv=cv, lams=[0.0, 0.6, 1.0, 30.0])
    fits = 2 if cv is None else 8
    assert [(entry.category, str(entry.message)) for entry in caught] == [
        (UserWarning, "before the end"),
        (
            FitFailedWarning,
            f"At λ = 0.6, 1 ({fits} fits), the first: training or predicting failed, so that the curve goes on without "
            "(ZeroDivisionError: λ is 0.6)",
        ),
    ]
    assert found.lams == [0.0, 30.0]
    same(found, curve(FermiClassifier(), cv=cv, lams=[0.0, 30.0]))
    for lams in ([1.0, 30.0], [0.6]):  # the first of all
        with pytest.raises(ZeroDivisionError):
            curve(Breaks(), cv=cv, lams=lams)
    with pytest.raises(FermiError, match=r"at every λ but 0 training or predicting failed.*ZeroDivisionError: λ is 10"):
        curve(BreaksLate(), cv=cv, lams=[0.0, 10.0, 30.0])


def test_refining_goes_on_around_what_failed() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = curve(Breaks(), lams=None)
    (told,) = (str(entry.message) for entry in caught if entry.category is FitFailedWarning)
    assert told.startswith("At λ = 1: ")  # not again at the middle of its neighbours, 0.99991
    kept = {value for value in first_values(Knob.find(FermiClassifier())) if value != 1.0}
    assert kept < set(found.lams)

    knob = Knob.find(FermiClassifier())
    places = [Place(lam, 0.3 - 0.02 * i, 0.1 + 0.01 * i, 0.001, 0.001) for i, lam in enumerate((1.0, 4.0, 16.0))]
    assert between(places, knob) == [2.0, 8.0]
    assert between(places, knob, {2.01}) == [8.0]


def test_rows_of_any_library_give_the_same_curve() -> None:
    X, y, s = rows()
    s.loc[::9, "sex"] = None
    reference = tradeoff_curve(FermiClassifier(), X, y, sensitive_features=s, lams=LAMS)
    for other in (
        (pl.from_pandas(X), pl.from_pandas(y), pl.from_pandas(s)),
        (X.to_numpy(), y.tolist(), {name: s[name].tolist() for name in s}),
        (X, y, pl.from_pandas(s).to_arrow()),
    ):
        same(reference, tradeoff_curve(FermiClassifier(), *other[:2], sensitive_features=other[2], lams=LAMS))
    sparse = tradeoff_curve(FermiClassifier(), scipy.sparse.coo_array(X), y, sensitive_features=s, lams=LAMS)
    np.testing.assert_allclose(sparse.frame["error"], reference.frame["error"], atol=0.01)


def test_a_knob_inside_another_estimator() -> None:
    plain = curve(FermiClassifier("equalized_odds"))
    for wrapped in (
        make_pipeline("passthrough", FermiClassifier("equalized_odds")),
        make_pipeline("passthrough", make_pipeline("passthrough", FermiClassifier("equalized_odds"))),
    ):
        found = curve(wrapped)
        same(plain, found)
        assert found.pick(1.0).predict(rows()[0]).shape == (1200,)
        with sklearn.config_context(enable_metadata_routing=True):
            same(plain, curve(wrapped))
    search = curve(GridSearchCV(FermiClassifier("equalized_odds"), {"l2": [1e-4]}, cv=2))
    np.testing.assert_allclose(search.frame["error"], plain.frame["error"], atol=0.01)


def test_a_method_that_needs_the_groups_gets_them() -> None:
    pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
    X, y, s = rows()
    y, groups = (y == "high").astype(int), s["sex"]
    method = baselines.make("hardt", random_state=0)
    found = tradeoff_curve(make_pipeline(StandardScaler(), method), X, y, sensitive_features=groups, lams=[0, 1.0])
    violation = found.frame[found.frame["split"] == "train"]["violation"].tolist()
    assert violation[1] < 0.5 * violation[0]
    with pytest.raises(FermiError, match="`estimator` is a GridSearchCV, whose `predict` hands on no groups"):
        tradeoff_curve(GridSearchCV(method, {"random_state": [0]}), X, y, sensitive_features=groups)


def test_each_attribute_is_looked_at_by_itself() -> None:
    X, _, s = rows()
    found = curve(FermiClassifier(attributes="each"))
    judged = found._plan.parts[-1].judged
    labels = found.models[0].predict(X.iloc[judged])
    worst = max(gap(labels, s[name].iloc[judged]) for name in s)
    assert found.frame["violation"].iloc[1] == pytest.approx(worst)
    assert worst < curve().frame["violation"].iloc[1]


def test_a_column_of_the_notion_goes_with_the_rows() -> None:
    X, y, s = rows()
    z = pd.Series(np.random.default_rng(0).choice(["n", "s"], len(y)))
    notion = ConditionalParity(z)
    found = curve(FermiClassifier(notion), cv=2)
    bare = ConditionalParity(z.to_numpy())
    numpy = tradeoff_curve(FermiClassifier(bare), X.to_numpy(), y, sensitive_features=s, lams=LAMS, cv=2)
    same(found, numpy)
    assert found.models[0].fairness is notion
    assert found.frame["violation"].iloc[0] == pytest.approx(
        max(gap(found.models[0].predict(X)[z == value], (s["sex"] + s["age"])[z == value]) for value in "ns")
    )
    X2, y2, s2 = (part.set_axis(range(2000, 2300)) for part in rows(300, seed=1))
    longer = ConditionalParity(pd.concat([z, pd.Series("n", index=X2.index)]))
    tested = curve(FermiClassifier(longer), X_test=X2, y_test=y2, sensitive_test=s2)
    direct = gap(tested.models[0].predict(X2), s2["sex"] + s2["age"])
    assert tested.frame["violation"].iloc[2] == pytest.approx(direct)
    with pytest.raises(FermiError, match="`X_test` has index labels of training rows"):
        curve(FermiClassifier(notion), X_test=X, y_test=y, sensitive_test=s)


def test_networks_and_trees() -> None:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")
    from fermi import boosting, torch

    data = synthetic(n=3000, bias=0.9, rated=False).numeric()
    net = torch.FermiNet(torch.models.logistic, lr=0.05, max_epochs=6, random_state=0)
    trees = boosting.FermiBoostingClassifier(n_estimators=60, random_state=0)
    for model in (net, trees):
        found = tradeoff_curve(
            model, data.X_train, data.y_train, sensitive_features=data.s_train, lams=[0, 20], progress=False
        )
        table = found.frame.set_index(["split", "lam"])["violation"]
        assert table["validation", 20.0] < 0.6 * table["validation", 0.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"estimator": LogisticRegression()}, "`estimator` is a LogisticRegression, without `lam` or `strength`; exp"),
        ({"estimator": FermiClassifier}, "`estimator` is the class FermiClassifier, without `lam`"),
        ({"estimator": FermiClassifier(max_violation=0.1)}, "`max_violation` is 0.1, which chooses λ itself; expected"),
        ({"estimator": FermiClassifier(checkpoint="x")}, "`checkpoint` is 'x', which is one file for many fits"),
        ({"estimator": make_pipeline(FermiClassifier(), FermiClassifier())}, "`estimator` has 'fermiclassifier-1__lam"),
        ({"lams": [-1]}, "`lams` is -1; expected numbers of at least 0, at least one of them."),
        ({"lams": []}, "`lams` is empty"),
        ({"lams": 3}, "`lams` is 3"),
        ({"lams": [2], "estimator": baselines.make("naive")}, "expected numbers of at least 0 and at most 1"),
        ({"sensitive_features": None}, "`sensitive_features` is None"),
        ({"cv": 1}, "`cv` is 1; expected a whole number of at least 2"),
        ({"cv": "x"}, "`cv` is 'x'; expected"),
        ({"X_test": 1}, "`y_test` is None; expected test rows with all of"),
        ({"X_test": [[0.0] * 4], "y_test": ["none"], "sensitive_test": ["F"]}, "`y_test` holds 'none'; expected one"),
        ({"X_test": [[0.0] * 4], "y_test": ["low"], "sensitive_test": ["F", "M"]}, "`sensitive_test` has 2 rows; exp"),
        ({"sensitive_features": rows(7)[2]}, "has 7 rows; expected 1200"),
        ({"sensitive_features": [None] * 1200}, "`sensitive_features` is unknown in every row"),
        ({"sensitive_features": ["a", *[None] * 1199]}, r"`X` has too few rows to hold some out \(1200\)"),
    ],
)
def test_mistakes_get_one_sentence(change: dict[str, Any], words: str) -> None:
    with pytest.raises(FermiError, match=words) as caught:
        curve(**change)
    assert "\n" not in str(caught.value)


def test_the_picture_shows_the_frontier_and_no_bar_goes_into_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    mpl: Any = pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    from matplotlib.figure import Figure

    mpl.use("Agg")
    X2, y2, s2 = rows(500, seed=1)
    found = curve(lams=None, X_test=X2, y_test=y2, sensitive_test=s2, progress=True)
    assert capfd.readouterr() == ("", "")
    figure = Figure()
    own = figure.subplots()
    assert found.plot(own) is own
    drawn = own.lines[0].get_xydata()
    np.testing.assert_allclose(drawn, found.pareto()[["violation", "error"]])
    assert "λ = 1000" in [text.get_text() for text in own.texts] or 1000.0 not in set(found.pareto()["lam"])
    legend = own.get_legend()
    assert legend is not None
    assert [text.get_text().split(":")[0] for text in legend.get_texts()].count("test") == 1
    new = found.plot()
    assert new.get_xlabel() == "violation (labels, demographic parity)"
    import matplotlib.pyplot as plt

    plt.close(new.figure)


def test_the_report_holds_the_audits_of_every_split(tmp_path: Path) -> None:
    X2, y2, s2 = rows(500, seed=1)
    found = curve(X_test=X2, y_test=y2, sensitive_test=s2, lams=[0, 30.0])
    record = found.report(max_violation=1.0)
    assert [point.lam for point in record.points] == [0.0, 30.0]
    assert record.points[record.chosen].lam == found.pick(1.0).lam
    for point in record.points:
        table = found.frame[found.frame["lam"] == point.lam].set_index("split")
        assert list(point.splits) == ["train", "validation", "test"]
        for name, audit in point.splits.items():
            assert audit.measure("parity_difference").value == pytest.approx(table["violation"][name])
            assert audit.measure("ermi", soft=True).value == pytest.approx(table["ermi"][name], abs=1e-6)
            assert audit.error is not None
            assert audit.error.value == pytest.approx(table["error"][name])
        assert point.history
    table = found.frame[found.frame["split"] == "validation"].reset_index(drop=True)
    assert found.record.chosen == table["error"].idxmin()
    apart = curve(FermiClassifier(attributes="each"), lams=[0])
    each = apart.points[0].splits
    assert list(each) == ["train: sex", "train: age", "validation: sex", "validation: age"]
    worst = max(each[f"validation: {name}"].measure("parity_difference").value for name in ("sex", "age"))
    assert worst == pytest.approx(apart.frame["violation"].iloc[1])
    page = found.to_html(tmp_path / "curve.html", max_violation=0.2)
    assert page.stat().st_size < 2_000_000
