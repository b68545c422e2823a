"""Trade-off curves: figures against direct counts, the same whatever runs the fits and whatever holds the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fermi import ConditionalParity, FermiClassifier, FermiError, baselines
from fermi.datasets import synthetic
from fermi.tradeoff import tradeoff_curve
from tests.tradeoff.samples import LAMS, curve, gap, rows, same


def test_figures_are_those_of_the_models() -> None:
    X, y, s = rows()
    X2, y2, s2 = rows(500, seed=1)
    s2.loc[::5, "age"] = None
    found = curve(X_test=X2, y_test=y2, sensitive_test=s2)
    assert found.lams == LAMS
    assert found.frame["split"].tolist() == ["train", "validation", "test"] * 3
    train, judged = found._plan.folds[-1]
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
    share = strata.iloc[found._plan.folds[0].judged].value_counts() / strata.value_counts()
    assert share.between(0.1, 0.4).all()
    assert len(found._plan.folds[0].judged) == len(y) // 4
    parts = [curve(FermiClassifier(random_state=seed), lams=[0])._plan.folds[0].judged.tolist() for seed in (0, 3)]
    assert parts[1] == found._plan.folds[0].judged.tolist()
    assert parts[0] != parts[1]
    assert parts[0] == curve(lams=[0])._plan.folds[0].judged.tolist()


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
    train = found._plan.folds[-1].train
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
    # Within the usual tolerance they may differ: what is handed rows of its own factorises the Hessian in every fit.
    model = FermiClassifier("equalized_odds", tol=1e-8)
    plain = curve(model)
    for wrapped in (
        make_pipeline("passthrough", model),
        make_pipeline("passthrough", make_pipeline("passthrough", model)),
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
    judged = found._plan.folds[-1].judged
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


@pytest.mark.slow
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


@pytest.mark.slow
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
