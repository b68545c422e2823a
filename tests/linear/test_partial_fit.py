"""One pass over rows in chunks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import fermi
from fermi import FermiClassifier
from fermi.linear.design import Design
from fermi.linear.moments import Moments


def rows(classes: int = 2, n: int = 3000) -> tuple[Any, Any, Any]:
    data = fermi.datasets.synthetic(n, classes, 3, bias=0.9, rated=False).numeric()
    return (
        data.X_train.to_numpy() * 10.0 + 5.0,
        data.y_train.to_numpy(),
        data.s_train["group"].to_numpy().astype(object),
    )


def stream(model: FermiClassifier, X: Any, y: Any, s: Any, cuts: Any, **first: Any) -> FermiClassifier:
    for part in np.split(np.arange(len(y)), cuts):
        model.partial_fit(X[part], y[part], sensitive_features=s[part], **first)
        first = {}
    return model


def ermi(model: FermiClassifier, X: Any, y: Any, s: Any, notion: str = "demographic_parity") -> float:
    return fermi.ermi(model.predict_proba(X), s, y_true=y, notion=notion, classes=model.classes_.tolist())


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("classes", [2, 3])
def test_any_chunking_gives_the_same_model(classes: int, notion: str) -> None:
    X, y, s = rows(classes, 600)
    s[::7] = None
    models = [
        stream(FermiClassifier(notion, 3.0), X, y, s, cuts, classes=range(classes))
        for cuts in ([], [1, 2, 5, 100], np.arange(13, 600, 13))
    ]
    for other in models[1:]:
        assert other.coef_ == pytest.approx(models[0].coef_, rel=1e-7, abs=1e-10)
        assert other.dual_ == pytest.approx(models[0].dual_, rel=1e-7, abs=1e-10)
        assert other.groups_ == models[0].groups_
    assert len(models[2].history_) == len(np.arange(13, 600, 13)) + 1


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize("classes", [2, 3])
def test_one_pass_learns_a_fair_and_useful_model(classes: int, notion: str) -> None:
    X, y, s = rows(classes, 10_000)
    plain = stream(FermiClassifier(notion, 0.0), X, y, s, [4000], classes=range(classes))
    fair = stream(FermiClassifier(notion, 10.0), X, y, s, [4000], classes=range(classes))
    exact = FermiClassifier(notion, 0.0).fit(X, y, sensitive_features=s)
    assert plain.score(X, y) > exact.score(X, y) - 0.04
    assert ermi(fair, X, y, s, notion) < 0.35 * ermi(plain, X, y, s, notion)
    assert fair.score(X, y) > 1.3 * np.bincount(y).max() / len(y)


def test_classes_and_groups_met_on_the_way_take_their_sorted_place() -> None:
    X, y, s = rows(3)
    order = np.argsort(-y, kind="stable")[: len(y) - np.count_nonzero(y == 0)]
    late = np.flatnonzero(y == 0)
    model = FermiClassifier("equalized_odds", 2.0)
    s = np.where(s == "G1", "G3", s).astype(object)
    model.partial_fit(X[order], y[order], sensitive_features=s[order])
    assert model.classes_.tolist() == [1, 2]
    assert model.coef_.shape[0] == 1
    before = model.predict(X[order])
    s[late[:50]] = "G1"
    model.partial_fit(X[late], y[late], sensitive_features=s[late])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.groups_ == ("G1", "G2", "G3")
    assert model.dual_.shape == (3, 3, 3)
    assert np.isfinite(model.coef_).all()
    assert (before == y[order]).mean() > 0.5  # sorted by class: the hardest order


def test_declared_groups_and_their_prior() -> None:
    X, y, s = rows()
    shares = {group: float((s == group).mean()) for group in ("G3", "G1", "G2")}
    given = stream(FermiClassifier(lam=5.0), X, y, s, [1500], classes=[0, 1], groups=shares)
    counted = stream(FermiClassifier(lam=5.0), X, y, s, [1500], classes=[0, 1])
    assert given.groups_ == counted.groups_ == ("G1", "G2", "G3")
    assert ermi(given, X, y, s) == pytest.approx(ermi(counted, X, y, s), abs=0.01)
    assert not np.array_equal(given.coef_, counted.coef_)
    skewed = stream(FermiClassifier(lam=5.0), X, y, s, [], classes=[0, 1], groups={"G1": 0.98, "G2": 0.01, "G3": 0.01})
    assert np.abs(skewed.coef_ - given.coef_).max() > 1e-3
    named = FermiClassifier().partial_fit(X, y, sensitive_features={"sex": s}, groups=["G1", "sex=G2", "G3", "G4"])
    assert named.groups_ == ("sex=G1", "sex=G2", "sex=G3", "sex=G4")
    with pytest.raises(fermi.FermiError, match="holds the group 'sex=G5'; expected one of those declared in `groups`"):
        named.partial_fit(X[:2], y[:2], sensitive_features={"sex": ["G1", "G5"]})


def test_it_goes_on_from_a_fit_and_from_a_copy() -> None:
    X, y, s = rows()
    model = FermiClassifier(lam=5.0).fit(X, y, sensitive_features=s)
    coef = model.coef_.copy()
    twin = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[:100], y[:100], sensitive_features=s[:100])
    assert 0.0 < np.abs(model.coef_ - coef).max() < 0.5 * np.abs(coef).max()
    twin.partial_fit(X[:100], y[:100], sensitive_features=s[:100])
    assert np.array_equal(twin.coef_, model.coef_)
    model.fit(X, y, sensitive_features=s)
    assert model.coef_ == pytest.approx(coef)


def test_sparse_rows_and_batches() -> None:
    X, y, s = rows()
    X = np.where(np.median(X, axis=0) < X, X, 0.0)
    dense = stream(FermiClassifier(lam=2.0, batch_size=16), X, y, s, [1600], classes=[0, 1])
    sparse = FermiClassifier(lam=2.0, batch_size=16)
    for part in (slice(0, 1600), slice(1600, None)):
        sparse.partial_fit(csr_matrix(X[part]), y[part], sensitive_features=s[part], classes=[0, 1])
    assert sparse.score(X, y) == pytest.approx(dense.score(X, y), abs=0.05)


@pytest.mark.filterwarnings("ignore::fermi.UnfairTrainingWarning")
def test_a_bad_chunk_leaves_the_model_as_it_was() -> None:
    X, y, s = rows()
    model = FermiClassifier(lam=5.0).partial_fit(X, y, sensitive_features=s)
    coef, steps = model.coef_.copy(), len(model.history_)
    for wrong, words in {
        "y": "`y` holds 7",
        "classes": "`classes` is 0, 1, 2; expected the same as before, 0, 1",
        "columns": "`sensitive_features` has other columns than before",
        "X": "`X` holds NaN or inf",
    }.items():
        matrix, target, groups, options = X[:9].copy(), y[:9].copy(), s[:9], {}
        if wrong == "X":
            matrix[3, 2] = np.nan
        if wrong == "classes":
            options = {"classes": [0, 1, 2]}
        if wrong == "y":
            target[0] = 7
            options = {"classes": [0, 1]}
        if wrong == "columns":
            groups = None
        with pytest.raises(fermi.FermiError, match=words):
            model.partial_fit(matrix, target, sensitive_features=groups, **options)
    assert np.array_equal(model.coef_, coef)
    assert len(model.history_) == steps
    twin = pickle.loads(pickle.dumps(model))
    with pytest.raises(fermi.FermiError, match="The steps diverged"):
        model.set_params(eta_theta=1e200).partial_fit(X, y, sensitive_features=s)
    for other in (model.set_params(eta_theta="auto"), twin):
        other.partial_fit(X[:50], y[:50], sensitive_features=s[:50])
    assert np.array_equal(model.coef_, twin.coef_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "lbfgs"}, "`solver` is 'lbfgs'; expected 'auto' or 'sgda': partial_fit sees each row once"),
        ({"max_iter": 5}, "`max_iter` is 5; expected None: partial_fit does not do that"),
        ({"max_violation": 0.1}, "`max_violation` is 0.1; expected None: partial_fit does not do that, use fit"),
        ({"output": "average", "batch_size": 4}, "`output` is 'average'; expected 'last'"),
        ({"eta_w": "theory", "batch_size": 1}, "`eta_w` is 'theory', which needs all rows"),
        ({"class_weight": "balanced"}, "`class_weight` is 'balanced', which needs all rows"),
        ({"fairness": "equal_opportunity"}, "`classes` is missing; expected all labels"),
        ({"eta_theta": 1e200, "batch_size": 1}, "The steps diverged: choose a smaller `eta_theta`"),
    ],
)
def test_what_a_stream_cannot_do_is_said(options: dict[str, Any], words: str) -> None:
    X, y, s = rows()
    with pytest.raises(fermi.FermiError, match=words):
        FermiClassifier(**options).partial_fit(X, y, sensitive_features=s)


def test_labels_keep_their_text_and_type() -> None:
    X, y, s = rows(n=400)
    words = np.array(["no", "maybe"])[y]
    model = FermiClassifier().fit(X, words, sensitive_features=s)
    alone = words == "no"
    model.partial_fit(X[alone], words[alone].astype("U2"), sensitive_features=s[alone])
    assert model.classes_.tolist() == ["maybe", "no"]
    assert set(model.predict(X)) <= {"maybe", "no"}
    small = FermiClassifier().partial_fit(X, y.astype(np.int8), sensitive_features=s, classes=[0, 1, 1000])
    assert small.classes_.tolist() == [0, 1, 1000]
    with pytest.raises(fermi.FermiError, match="`y` holds 0, 1; expected labels of the same type as 'maybe', 'no'"):
        model.partial_fit(X, y, sensitive_features=s)
    with pytest.raises(fermi.FermiError, match="`classes` is '0', '1'; expected labels of the same type as `y`, 0, 1"):
        FermiClassifier().partial_fit(X, y, sensitive_features=s, classes=["0", "1"])
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        FermiClassifier().partial_fit(X, X[:, 0], sensitive_features=s)
    with pytest.raises(fermi.FermiError, match="`classes` is \\[0\\]; expected a sequence of at least two labels"):
        FermiClassifier().partial_fit(X, y, sensitive_features=s, classes=[0])


@pytest.mark.parametrize("attributes", ["intersection", "each"])
def test_columns_are_matched_by_name(attributes: str) -> None:
    X, y, s = rows(n=400)
    other = np.where(X[:, 3] > 5.0, "old", "young")
    model = FermiClassifier(attributes=attributes).partial_fit(X, y, sensitive_features={"a": s, "b": other})
    groups = model.groups_
    model.partial_fit(X, y, sensitive_features={"b": other, "a": s})
    assert model.groups_ == groups
    with pytest.raises(fermi.FermiError, match="has the columns 'a', 'c'; expected the columns 'a', 'b'"):
        model.partial_fit(X, y, sensitive_features={"a": s, "c": other})
    with pytest.raises(fermi.FermiError, match=r"`fairness` is now EqualizedOdds.* expected the same as before"):
        model.set_params(fairness="equalized_odds").partial_fit(X, y, sensitive_features={"a": s, "b": other})


def test_the_history_measures_the_chunk_whatever_was_unknown_before() -> None:
    X, y, s = rows(n=600)
    model = FermiClassifier().partial_fit(X[:120], y[:120], sensitive_features=[None] * 120, classes=[0, 1])
    model.partial_fit(X[120:], y[120:], sensitive_features=s[120:])
    assert model.history_[-1]["ermi"] == pytest.approx(ermi(model, X[120:], y[120:], s[120:]), rel=1e-9)
    assert model.score(X, y) > 0.65


def test_known_groups_without_weight_are_no_groups() -> None:
    X, y, s = rows(n=400)
    model = FermiClassifier().partial_fit(X, y, sensitive_features=s)
    few = np.where(np.arange(100) < 5, s[:100], None)
    model.partial_fit(X[:100], y[:100], sensitive_features=few, sample_weight=(np.arange(100) >= 5).astype(float))
    assert model.history_[-1]["ermi"] == 0.0


def test_one_class_must_be_declared() -> None:
    X, y, s = rows()
    alone = y == 1
    with pytest.raises(fermi.FermiError, match="`y` holds one class only so far, 1; expected two, or `classes`"):
        FermiClassifier().partial_fit(X[alone], y[alone], sensitive_features=s[alone])
    model = FermiClassifier().partial_fit(X[alone], y[alone], sensitive_features=s[alone], classes=[0, 1])
    assert model.predict(X).mean() > 0.99


@pytest.mark.parametrize("matrix", [np.asarray, csr_matrix])
def test_moments_of_parts_are_those_of_the_whole(matrix: Any) -> None:
    X, _, _ = rows(n=500)
    X = np.where(X > 5.0, X, 0.0)
    weight = np.random.default_rng(0).random(500)
    moments = Moments.empty(X.shape[1])
    for part in np.split(np.arange(500), [1, 7, 300]):
        moments.add(matrix(X[part]), weight[part], centred=True)
    found = moments.design(intercept=True, n_classes=2)
    whole = Design.of(matrix(X), weight / weight.sum(), intercept=True, n_classes=2)
    assert found.centre == pytest.approx(whole.centre)
    assert found.scale == pytest.approx(whole.scale)
    assert found.mean_square == pytest.approx(whole.mean_square)
