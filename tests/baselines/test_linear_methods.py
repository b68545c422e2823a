"""Rivals that train linear models by a penalty or constraint of their own, each against something independent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, check_grad, linprog, minimize
from scipy.special import expit
from scipy.stats import wasserstein_distance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score

from fermi import FermiClassifier, baselines
from fermi.baselines import rezaei
from fermi.baselines.common.linear_models import L2, Penalty
from fermi.baselines.common.protocol import geometric
from fermi.baselines.fermi import LAM
from fermi.baselines.jiang import transport, wasserstein
from fermi.baselines.kamishima import mutual_information
from fermi.baselines.rezaei import saddle_point, tilts, truncated
from fermi.baselines.zafar import covariances
from tests.baselines.samples import NOTIONS, Floats, coded, conditions, draw, fit


def scores_of(model: Any, X: Any) -> Floats:
    return np.asarray(model.model_.logits(X)[:, 1])


def gradient_error(penalty: Penalty, logits: Floats, step: float) -> float:
    """How far the gradient of a penalty is from finite differences."""

    def value(flat: Floats) -> float:
        return penalty(flat.reshape(logits.shape))[0]

    def gradient(flat: Floats) -> Floats:
        return penalty(flat.reshape(logits.shape))[1].ravel()

    return float(check_grad(value, gradient, logits.ravel(), epsilon=step))


@pytest.mark.parametrize("notion", NOTIONS)
def test_fermi_is_its_classifier_on_rows_that_are_coded_already(notion: str) -> None:
    X, y, s = draw(m=3)
    names = np.array(["a", "b", "c"], dtype=object)[s]
    names[::5] = None
    model: Any = baselines.make("fermi", 0.5, notion, 0).fit(X, y, sensitive_features=names)
    assert isinstance(model.model_.fairness.values, np.ndarray), "a list would be a Python object per row"
    assert model.model_.fairness.values.dtype == np.int64
    alone = FermiClassifier(notion, geometric(0.5, *LAM), random_state=0).fit(X, y, sensitive_features=names)
    assert model.predict_proba(X) == pytest.approx(alone.predict_proba(X), abs=1e-12)


def test_naive_is_a_mixture_with_the_majority() -> None:
    model, X, y, _ = fit("naive", 0.3, m=3)
    plain = np.eye(3)[LogisticRegression(C=1.0 / (L2 * len(y)), max_iter=2000).fit(X, y).predict(X)]
    expected = 0.7 * plain + 0.3 * np.eye(3)[np.bincount(y).argmax()]
    assert model.predict_proba(X) == pytest.approx(expected)
    # Labels are drawn from it: each class as often as it says, within four standard deviations.
    X = np.repeat(X, 50, axis=0)
    drawn = np.eye(3)[model.predict(X)].mean(axis=0)
    assert drawn == pytest.approx(expected.mean(axis=0), abs=4 * 0.5 / np.sqrt(len(X)))


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("name", ["zafar", "donini"])
def test_mean_scores_coincide_at_full_strength(name: str, notion: str) -> None:
    model, X, y, s = fit(name, 1.0, notion)
    plain = scores_of(fit(name, 0.0, notion)[0], X)
    for rows in conditions(notion, y):
        means, before = ([f[rows & (s == group)].mean() for group in range(3)] for f in (scores_of(model, X), plain))
        assert np.ptp(means) < 1e-6
        assert np.ptp(before) > 0.5


@pytest.mark.parametrize("notion", NOTIONS)
def test_zafar_is_the_constrained_optimum(notion: str) -> None:
    X, y, s = draw(k=2)
    n, d = X.shape
    C = []
    for rows in conditions(notion, y):
        cov = np.cov(np.column_stack([s, X])[rows].T, bias=True)[0, 1:]
        C.append(cov)
    plain = LogisticRegression(C=1.0 / (L2 * n), max_iter=2000).fit(X, y)
    bound = 0.4 * np.abs(C @ plain.coef_[0])

    def objective(v: Floats) -> float:
        f = X @ v[:-1] + v[-1]
        return float(np.mean(np.logaddexp(0.0, f) - y * f) + 0.5 * L2 * v[:-1] @ v[:-1])

    within = LinearConstraint(np.column_stack([C, np.zeros(len(C))]), -bound, bound)
    best = minimize(objective, np.zeros(d + 1), method="SLSQP", constraints=within, options={"ftol": 1e-12})
    model, *_ = fit("zafar", 0.6, notion, k=2)
    theta = np.append(model.model_.coef[:, 1], model.model_.intercept[1])
    assert (np.abs(C @ theta[:-1]) <= bound + 1e-9).all()
    assert objective(theta) == pytest.approx(best.fun, abs=1e-6)
    assert objective(theta) > objective(np.append(plain.coef_[0], plain.intercept_)) + 1e-4  # the bound binds
    assert theta == pytest.approx(best.x, abs=2e-3)


def test_zafar_without_mitigation_is_logistic_regression() -> None:
    model, X, y, _ = fit("zafar", 0.0, "equalized_odds")
    plain = LogisticRegression(C=1.0 / (L2 * len(y)), max_iter=5000, tol=1e-9).fit(X, y)
    assert scores_of(model, X) == pytest.approx(plain.decision_function(X), abs=1e-2)


def test_covariances_are_those_of_numpy() -> None:
    rows = coded("equalized_odds")
    expected = [
        np.cov(np.column_stack([rows.s == group, rows.X])[rows.z == z].T, bias=True)[0, 1:]
        for z in range(2)
        for group in range(3)
    ]
    assert covariances(rows) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("notion", NOTIONS)
def test_donini_removes_its_share_and_ends_where_zafar_does(notion: str) -> None:
    plain, half, full = (fit("donini", strength, notion)[0] for strength in (0.0, 0.5, 1.0))
    X, y, s = draw()
    for rows in conditions(notion, y):
        gaps = [
            scores_of(model, X)[rows & (s == 2)].mean() - scores_of(model, X)[rows & (s == 0)].mean()
            for model in (plain, half)
        ]
        assert gaps[1] == pytest.approx(0.5 * gaps[0])
    other, *_ = fit("zafar", 1.0, notion)
    assert scores_of(full, X) == pytest.approx(scores_of(other, X), abs=5e-3)


@pytest.mark.parametrize("m", [2, 3])
def test_kamishima_without_mitigation_is_logistic_regression(m: int) -> None:
    model, X, y, _ = fit("kamishima", 0.0, m=m)
    plain = LogisticRegression(C=1.0 / (L2 * len(y)), max_iter=5000, tol=1e-9).fit(X, y)
    assert model.predict_proba(X) == pytest.approx(plain.predict_proba(X), abs=5e-5)  # half the ridge is 2e-4 away


@pytest.mark.parametrize("notion", NOTIONS)
def test_kamishima_penalises_mutual_information(notion: str) -> None:
    rows = coded(notion, m=3)
    labels = np.random.default_rng(1).integers(0, 3, len(rows.y)) * (rows.s > 0)
    value, _ = mutual_information(rows, 2.0)(60.0 * np.eye(3)[labels])  # as good as certain
    parts = conditions(notion, rows.y)
    expected = sum(part.sum() * mutual_info_score(labels[part], rows.s[part]) for part in parts) / np.sum(parts)
    assert value == pytest.approx(2.0 * expected)
    assert value > 0.1


@pytest.mark.parametrize("notion", NOTIONS)
def test_kamishima_gradient(notion: str) -> None:
    rows = coded(notion, n=60, m=3)
    penalty = mutual_information(rows, 3.0)
    flat = np.random.default_rng(2).normal(size=60 * 3)
    error = gradient_error(penalty, flat.reshape(60, 3), 1e-6)
    assert error < 1e-6 < 1e-3 < np.linalg.norm(penalty(flat.reshape(60, 3))[1])


def test_jiang_distance_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    s = rng.choice(3, 150, p=[0.5, 0.3, 0.2])
    f = rng.beta(1.0 + s, 2.0)
    expected = sum(np.mean(s == group) * wasserstein_distance(f[s == group], f) for group in range(3))
    assert wasserstein(f, s, 3)[0] == pytest.approx(expected)
    tied = f.round(1)
    expected = sum(np.mean(s == group) * wasserstein_distance(tied[s == group], tied) for group in range(3))
    assert wasserstein(tied, s, 3)[0] == pytest.approx(expected)


@pytest.mark.parametrize("notion", NOTIONS)
def test_jiang_penalty_and_gradient(notion: str) -> None:
    rows = coded(notion, n=80)
    penalty = transport(rows, 1.7)
    flat = np.random.default_rng(3).normal(size=80 * 2)
    logits = flat.reshape(80, 2)
    f, expected, parts = expit(logits[:, 1] - logits[:, 0]), 0.0, conditions(notion, rows.y)
    for part in parts:
        for group in range(3):
            own = part & (rows.s == group)
            expected += 1.7 * own.sum() / np.sum(parts) * wasserstein_distance(f[own], f[part])
    assert penalty(logits)[0] == pytest.approx(expected)
    error = gradient_error(penalty, flat.reshape(80, 2), 1e-7)
    assert error < 1e-6 < 1e-3 < np.linalg.norm(penalty(logits)[1])


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("notion", NOTIONS)
def test_rezaei_is_a_saddle_point(notion: str, mirrored: bool) -> None:
    """Neither player gains: over the laws allowed to it, no linear step from where it is improves its side.

    The features' moments may be missed at a price, 1 / (2 L2) of the squared distance: the ridge penalty of θ.
    """
    X, y, s = draw(n=120, k=2, d=2)
    rows = baselines.make("none", notion=notion)._read(X, 1 - y if mirrored else y, s)
    n = len(rows.y)
    plain = LogisticRegression(C=1.0 / (L2 * n), max_iter=2000).fit(rows.X, rows.y)
    model, multipliers = saddle_point(rows, plain)
    counted = rows.z >= 0
    t = np.where(counted, (multipliers * tilts(rows))[rows.z, rows.s], 0.0)
    f = model.logits(rows.X)[:, 1]
    p = truncated(f, t)
    q = p * (1.0 + t * (1.0 - p))
    # Something is truncated: the smaller group, from below or, where it is the favoured one, from above.
    assert ((p < expit(f) - 0.01) if mirrored else (p > expit(f) + 0.01)).any()
    assert (q > -1e-9).all()
    assert (q < 1 + 1e-9).all()
    fair = []
    for part in conditions(notion, rows.y):
        own = [part & (rows.s == group) for group in (0, 1)]
        assert p[own[0]].mean() == pytest.approx(p[own[1]].mean(), abs=1e-6)
        fair.append(own[1] / own[1].sum() - own[0] / own[0].sum())
    # The predictor: cross-entropy of p under q, over all fair laws.
    slope = (-q / p + (1.0 - q) / (1.0 - p)) / n
    best: Any = linprog(
        slope, A_eq=np.array(fair), b_eq=np.zeros(len(fair)), bounds=(p.min() / 2, 1.0 - (1 - p.max()) / 2)
    )
    assert slope @ p - best.fun < 1e-4
    # The adversary: cross-entropy less the price, over all laws with the right mean.
    missed = (q - rows.y) @ rows.X / n
    gain = (np.log1p(-p) - np.log(p)) / n - rows.X @ missed / (L2 * n)
    best = linprog(-gain, A_eq=np.ones((1, n)), b_eq=[rows.y.sum()], bounds=(0.0, 1.0))
    assert -best.fun - gain @ q < 5e-3
    assert missed == pytest.approx(-L2 * model.coef[:, 1], abs=1e-5)


def test_rezaei_predicts_by_its_own_labels() -> None:
    """For equalized odds the fair probability solves p = p P(1|y=1) + (1 − p) P(1|y=0)."""
    model, X, _, s = fit("rezaei", 1.0, "equalized_odds", k=2)
    f = model.model_.logits(X)[:, 1]
    given = [truncated(f, model.tilts_[label, s]) for label in (0, 1)]
    p = np.full(len(f), 0.5)
    for _ in range(5000):  # to the fixed point by repetition
        p = p * given[1] + (1.0 - p) * given[0]
    clear = np.abs(p - 0.5) > 1e-6
    assert (model.predict(X, s) == (p > 0.5))[clear].all()
    assert clear.mean() > 0.9


def test_rezaei_sums_truncated_probabilities_from_one_sort() -> None:
    scores = np.random.default_rng(0).normal(0.0, 3.0, 500)
    sums = rezaei.Clipped(scores)
    for t in (-50.0, -3.0, -1.0, -0.3, 0.0, 0.5, 1.0, 2.0, 1e15):
        assert sums.total(t) == pytest.approx(truncated(scores, np.full(500, t)).sum(), rel=1e-12)
