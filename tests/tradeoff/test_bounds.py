"""Trade-off curves along the bound of `FairLabels`: one training, any number of bounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fermi import ConditionalParity, FairLabels, FermiClassifier, FermiError, audit, parity_difference
from fermi.datasets import synthetic
from fermi.report._json import by_strength
from fermi.tradeoff import TradeoffCurve, tradeoff_curve
from tests.tradeoff.samples import same

BOUNDS = [0.0, 0.02, 0.05, 0.1, 1.0]
DATA = synthetic(3000, bias=0.9, rated=False).numeric()


class Counted(LogisticRegression):
    """Logistic regression that counts its fits."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


def along(estimator: Any, **options: Any) -> TradeoffCurve:
    given = {"lams": BOUNDS, "progress": False, "sensitive_features": DATA.s_train, **options}
    return tradeoff_curve(estimator, DATA.X_train, DATA.y_train, **given)


def plain() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression())


def test_one_training_serves_all_bounds() -> None:
    Counted.fits = 0
    test = {"X_test": DATA.X_test, "y_test": DATA.y_test, "sensitive_test": DATA.s_test}
    labels = FairLabels(Counted(max_iter=3000), cv=2, random_state=0)
    found = along(labels, **test)
    assert Counted.fits == 3  # two folds and all rows
    assert found.knob == "max_violation"
    assert found.lams == BOUNDS
    assert found.frame["bound"].tolist() == found.frame["lam"].tolist()
    assert not hasattr(labels, "classes_")
    assert len({id(model._trained) for model in found.models}) == 1
    for bound, model in zip(BOUNDS, found.models, strict=True):
        row = found.frame[(found.frame["lam"] == bound) & (found.frame["split"] == "test")].iloc[0]
        predicted = model.predict(DATA.X_test)
        assert model.max_violation == bound
        assert row["error"] == pytest.approx(np.mean(predicted != DATA.y_test))
        assert row["violation"] == pytest.approx(parity_difference(predicted, DATA.s_test))
    train = found.frame[found.frame["split"] == "train"]
    assert train["violation"].iloc[0] < 0.3 * train["violation"].iloc[-1]
    own = found.models[-1]
    assert np.array_equal(own.predict(DATA.X_test), own.estimator_.predict(DATA.X_test))
    assert found.pick(max_violation=0.1) is found.models[found.lams.index(found.pick(max_violation=0.1).max_violation)]


def test_each_fold_is_trained_once_and_bounds_are_added_where_the_curve_bends() -> None:
    Counted.fits = 0
    found = along(FairLabels(Counted(max_iter=3000), cv=2, random_state=0), lams=None, cv=3)
    assert Counted.fits == 3 * 4  # three folds of the curve and all rows
    assert 12 < len(found.lams) <= 21
    assert found.lams[0] == 0.0
    assert found.lams[-1] == 1.0
    seconds = found.frame[found.frame["split"] == "train"]["seconds"]
    assert seconds.iloc[0] > 0.0


@pytest.mark.slow
def test_the_same_on_several_processes() -> None:
    labels = FairLabels(plain(), cv=2, random_state=0)
    same(along(labels, lams=None, cv=2), along(labels, lams=None, cv=2, n_jobs=2))


def test_inside_a_pipeline_and_inside_a_search() -> None:
    alone = along(make_pipeline(StandardScaler(), FairLabels(LogisticRegression(), cv=2, random_state=0)))
    assert len({id(model[-1]._trained) for model in alone.models}) == 1
    assert len({id(model[0]) for model in alone.models}) == 1
    assert [model[-1].max_violation for model in alone.models] == BOUNDS
    labels = FairLabels(plain(), cv=2, random_state=0)
    search = GridSearchCV(labels, {"slack": [0.0]}, cv=2)
    searched = along(search, lams=[0.05, 1.0])
    assert [model.best_estimator_.max_violation for model in searched.models] == [0.05, 1.0]


def test_a_fair_model_underneath_a_column_as_condition_and_a_model_trained_before() -> None:
    inner = along(FairLabels(FermiClassifier(lam=1.0), cv=2, random_state=0), lams=[0.02, 0.1])
    assert inner.knob == "max_violation"  # the nearest knob, not the λ of what is inside
    assert all(model.estimator_.lam == 1.0 for model in inner.models)
    column = ConditionalParity(np.asarray(DATA.X_train)[:, 0] > np.median(np.asarray(DATA.X_train)[:, 0]))
    within = along(FairLabels(plain(), column, cv=2, random_state=0), lams=[0.02, 0.1])
    assert all(model.fairness is column for model in within.models)
    half = np.arange(len(DATA.y_train)) % 2 == 0
    forest = RandomForestClassifier(20, min_samples_leaf=20, random_state=0).fit(DATA.X_train[half], DATA.y_train[half])
    kept = tradeoff_curve(
        FairLabels(forest, prefit=True, random_state=0),
        DATA.X_train[~half],
        DATA.y_train[~half],
        sensitive_features=DATA.s_train[~half],
        lams=[0.05, 1.0],
        progress=False,
    )
    assert np.array_equal(kept.models[-1].predict(DATA.X_test), forest.predict(DATA.X_test))


def test_the_page_speaks_of_bounds_and_begins_with_the_labels_as_they_were(tmp_path: Path) -> None:
    found = along(FairLabels(plain(), cv=2, random_state=0))
    record = by_strength(found.report(max_violation=0.1))
    assert record.strength == "bound"
    assert [point.lam for point in record.points] == BOUNDS[::-1]
    assert record.facts["Model"] == "FairLabels around Pipeline"
    assert "bound = " in record.reason
    text = found.to_html(tmp_path / "page.html", max_violation=0.1).read_text(encoding="utf-8")
    assert json.dumps(record.reason)[1:-1].split("\\u")[0] in text
    at = found.lams.index(0.02)
    judged = found._plan.folds[-1].judged
    labels = found.models[at].predict(DATA.X_train.iloc[judged])
    direct = audit(DATA.y_train.iloc[judged], labels, sensitive_features=DATA.s_train.iloc[judged])
    shown = next(point for point in record.points if point.lam == 0.02).splits["validation"]
    assert shown.measure("parity_difference").value == pytest.approx(direct.record.measure("parity_difference").value)
    assert "bound from 0 to 1" in repr(found)
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    ax = found.plot()
    assert any(text.get_text().startswith("bound = ") for text in ax.texts)


def test_what_is_no_bound() -> None:
    with pytest.raises(FermiError, match=r"`lams` is 1\.5; expected numbers of at least 0 and at most 1"):
        along(FairLabels(plain()), lams=[0.1, 1.5])
    with pytest.raises(FermiError, match=r"without `lam` or `strength`; expected one such .* or FairLabels"):
        along(plain())
