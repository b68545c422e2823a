"""What each rival computes, against something independent: closed forms, brute force, optimisers, other libraries."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, check_grad, linprog, minimize
from scipy.special import expit
from scipy.stats import wasserstein_distance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score

import fermi
from fermi import baselines
from fermi.baselines._linear import L2, Penalty
from fermi.baselines._protocol import Rows
from fermi.baselines.feldman import learn_repair
from fermi.baselines.jiang import transport, wasserstein
from fermi.baselines.kamiran import relabelled
from fermi.baselines.kamishima import mutual_information
from fermi.baselines.rezaei import saddle_point, tilts, truncated
from fermi.baselines.zafar import covariances

Floats = NDArray[np.float64]
NOTIONS = ("demographic_parity", "equalized_odds", "equal_opportunity")


def draw(n: int = 400, k: int = 3, m: int = 2, d: int = 4, seed: int = 0) -> tuple[Floats, Any, Any]:
    """Features that tell the group, classes and groups."""
    rng = np.random.default_rng(seed)
    s = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    X = rng.normal(size=(n, d)) + 0.8 * s[:, None] * np.linspace(1.0, -0.3, d)
    y = np.digitize(X @ np.linspace(1.0, 0.2, d) + rng.logistic(size=n), np.linspace(0.5, 3.0, m - 1))
    return X, y, s


def coded(notion: str = "demographic_parity", **options: Any) -> Rows:
    """The same as a method's `_fit` sees it."""
    X, y, s = draw(**options)
    return baselines.make("none", notion=notion)._read(X, y, s)


def fit(name: str, strength: float, notion: str = "demographic_parity", **options: Any) -> tuple[Any, Any, Any, Any]:
    X, y, s = draw(**options)
    return baselines.make(name, strength, notion, 0).fit(X, y, sensitive_features=s), X, y, s


def conditions(notion: str, y: Any) -> list[Any]:
    """The rows of each condition."""
    return {
        "demographic_parity": [y >= 0],
        "equalized_odds": [y == label for label in np.unique(y)],
        "equal_opportunity": [y == y.max()],
    }[notion]


def scores_of(model: Any, X: Any) -> Floats:
    return np.asarray(model.model_.logits(X)[:, 1])


def gradient_error(penalty: Penalty, logits: Floats, step: float) -> float:
    """How far the gradient of a penalty is from finite differences."""

    def value(flat: Floats) -> float:
        return penalty(flat.reshape(logits.shape))[0]

    def gradient(flat: Floats) -> Floats:
        return penalty(flat.reshape(logits.shape))[1].ravel()

    return float(check_grad(value, gradient, logits.ravel(), epsilon=step))


# naive


def test_naive_is_a_mixture_with_the_majority() -> None:
    model, X, y, _ = fit("naive", 0.3, m=3)
    plain = np.eye(3)[LogisticRegression(C=1.0 / (L2 * len(y)), max_iter=2000).fit(X, y).predict(X)]
    expected = 0.7 * plain + 0.3 * np.eye(3)[np.bincount(y).argmax()]
    assert model.predict_proba(X) == pytest.approx(expected)
    # Labels are drawn from it: each class as often as it says, within four standard deviations.
    X = np.repeat(X, 50, axis=0)
    drawn = np.eye(3)[model.predict(X)].mean(axis=0)
    assert drawn == pytest.approx(expected.mean(axis=0), abs=4 * 0.5 / np.sqrt(len(X)))


# zafar and donini


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


# kamishima


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


# jiang


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


# feldman


def test_feldman_equalises_the_quantiles() -> None:
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=50), rng.exponential(size=50), 3.0 + rng.normal(size=50)]
    repaired = [x + np.interp(x, *repair) for x, repair in zip(groups, learn_repair(groups, 1.0), strict=True)]
    median = np.median(np.sort(groups, axis=1), axis=0)
    for x, before in zip(repaired, groups, strict=True):
        assert np.sort(x) == pytest.approx(median)
        assert (np.argsort(x) == np.argsort(before)).all()
    half = [x + np.interp(x, *repair) for x, repair in zip(groups, learn_repair(groups, 0.5), strict=True)]
    assert np.array(half) == pytest.approx(0.5 * (np.array(groups) + np.array(repaired)))


def test_feldman_on_groups_of_other_sizes_and_on_indicators() -> None:
    model, X, y, s = fit("feldman", 1.0)
    repaired = model._repaired(X, s)
    levels = np.linspace(0.05, 0.95, 10)
    for column, before in zip(repaired.T, X.T, strict=True):
        quantiles, old = (
            np.array([np.quantile(x[s == group], levels) for group in range(3)]) for x in (column, before)
        )
        assert np.ptp(quantiles, axis=0).max() < 0.1
        assert np.ptp(old, axis=0).max() > 0.3
    indicator = np.random.default_rng(1).random(len(s)) < 0.2 + 0.2 * s
    model = baselines.make("feldman", 1.0).fit(indicator[:, None].astype(float), y, sensitive_features=s)
    values = model._repaired(indicator[:, None], s)[:, 0]
    assert np.ptp([values[s == group].mean() for group in range(3)]) < 1e-12
    assert values.std() > 0.2


def test_feldman_leaves_rows_of_unknown_groups_alone() -> None:
    model, X, _, _ = fit("feldman", 1.0)
    unknown = np.full(len(X), np.nan)
    assert model.predict_proba(X, unknown) == pytest.approx(model.model_.predict_proba(X))


# kamiran


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.7, 1.0])
def test_kamiran_keeps_its_promise(strength: float) -> None:
    plain, *_ = fit("kamiran", 0.0, n=2000, k=2)
    model, X, y, s = fit("kamiran", strength, n=2000, k=2)
    gaps = [m.predict(X)[s == 1].mean() - m.predict(X)[s == 0].mean() for m in (plain, model)]
    assert gaps[0] > 0.2
    assert gaps[1] <= (1.0 - strength) * gaps[0] + 1e-12
    assert gaps[1] >= (1.0 - strength) * gaps[0] - 0.1  # and no leaf more than it takes
    assert np.mean(model.predict(X) == y) <= np.mean(plain.predict(X) == y)


def discrimination(counts: Floats, labels: Any) -> float:
    rates = (counts.sum(axis=1) * labels[:, None]).sum(axis=0) / counts.sum(axis=(0, 1))
    return float(rates[1] - rates[0])


def errors(counts: Floats, labels: Any) -> float:
    return float(counts.sum(axis=2)[np.arange(len(labels)), 1 - labels].sum())


def test_kamiran_against_all_subsets_of_leaves() -> None:
    rng = np.random.default_rng(0)
    matched = 0
    for _ in range(40):
        counts = rng.integers(1, 30, (7, 2, 2)).astype(float)
        labels = counts.sum(axis=2).argmax(axis=1)
        start = discrimination(counts, labels)
        turned = relabelled(counts, labels, 0.6)
        chosen = np.where(turned, 1 - labels, labels)
        left = abs(discrimination(counts, chosen))
        assert left <= abs(start)
        if np.sign(start) * discrimination(counts, chosen) > 0.4 * abs(start) + 1e-9:
            # Every leaf that is left would turn the discrimination round and make it larger.
            for leaf in np.flatnonzero(~turned):
                other = np.where(np.arange(7) == leaf, 1 - chosen, chosen)
                assert abs(discrimination(counts, other)) >= left - 1e-12
            continue
        subsets = (np.where(np.array(subset), 1 - labels, labels) for subset in product([False, True], repeat=7))
        fair = [
            errors(counts, subset)
            for subset in subsets
            if np.sign(start) * discrimination(counts, subset) <= 0.4 * abs(start) + 1e-9
        ]
        # Filling a knapsack by price per weight is off by the last item at most.
        prices = np.abs(counts.sum(axis=2) @ [1.0, -1.0])[turned]
        assert errors(counts, chosen) <= min(fair) + prices.max(initial=0.0)
        matched += errors(counts, chosen) == min(fair)
    assert matched >= 15


def test_kamiran_is_optimal_where_leaves_weigh_the_same() -> None:
    margins = np.array([9.0, 2.0, 7.0, 4.0, 1.0, 6.0])
    counts = np.zeros((7, 2, 2))  # six positive leaves of 10 more rows of group 1, one of group 0 alone
    counts[:6, 1] = np.stack([20.0 + margins / 2, 30.0 + margins / 2], axis=1)
    counts[:6, 0] = np.stack([20.0 - margins / 2, 30.0 - margins / 2], axis=1)
    counts[6, 0, 0] = 60.0
    labels = np.array([1, 1, 1, 1, 1, 1, 0])
    assert np.flatnonzero(relabelled(counts, labels, 0.5)).tolist() == [1, 3, 4]  # the three cheapest


# hardt and agarwal


@pytest.mark.parametrize(
    ("notion", "theirs"),
    [
        ("demographic_parity", "demographic_parity"),
        ("equalized_odds", "equalized_odds"),
        ("equal_opportunity", "true_positive_rate_parity"),
        (fermi.EqualOpportunity(0), "false_positive_rate_parity"),
    ],
)
def test_hardt_is_fairlearns(notion: Any, theirs: str) -> None:
    pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
    from fairlearn.postprocessing import ThresholdOptimizer

    X, y, s = draw(n=1500)
    base = LogisticRegression(C=1.0 / (L2 * len(y)), max_iter=2000)
    direct = ThresholdOptimizer(estimator=base, constraints=theirs, predict_method="predict_proba")
    direct.fit(X, y, sensitive_features=s)
    rate = np.mean([direct.predict(X, sensitive_features=s, random_state=seed) for seed in range(200)], axis=0)
    model = baselines.make("hardt", 1.0, notion).fit(X, y, sensitive_features=s)
    assert model.predict_proba(X, s)[:, 1] == pytest.approx(rate, abs=5 * 0.5 / np.sqrt(200))
    half = baselines.make("hardt", 0.5, notion).fit(X, y, sensitive_features=s)
    plain = base.fit(X, y).predict(X)
    assert half.predict_proba(X, s)[:, 1] == pytest.approx(0.5 * plain + 0.5 * model.predict_proba(X, s)[:, 1])
    assert np.abs(rate - plain).mean() > 0.01


def test_hardt_refuses_a_group_of_one_class_and_knows_unknown_groups() -> None:
    pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
    X, y, s = draw()
    with pytest.raises(
        fermi.FermiError, match="`sensitive_features` holds the group '1' with one class only; expected"
    ):
        baselines.make("hardt").fit(X, np.where(s == 1, 1, y), sensitive_features=s)
    model = baselines.make("hardt", 1.0, random_state=0).fit(X, y, sensitive_features=s)
    plain = model.model_.predict(X)
    assert (model.predict(X, np.full(len(X), np.nan)) == plain).all()
    assert (model.predict(X, s) != plain).any()


@pytest.mark.parametrize("notion", NOTIONS)
def test_agarwal_is_fairlearns(notion: str) -> None:
    pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
    from fairlearn.metrics import MetricFrame, selection_rate
    from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient, TruePositiveRateParity

    X, y, s = draw(n=600)
    base = LogisticRegression(C=1.0 / (L2 * len(y)), max_iter=2000)
    plain = base.fit(X, y).predict(X)
    distances = []
    for rows in conditions(notion, y):
        frame = MetricFrame(metrics=selection_rate, y_true=y[rows], y_pred=plain[rows], sensitive_features=s[rows])
        distances.append(np.abs(frame.by_group - frame.overall).max())
    moment = dict(zip(NOTIONS, (DemographicParity, EqualizedOdds, TruePositiveRateParity), strict=True))[notion]
    direct = ExponentiatedGradient(base, moment(difference_bound=0.3 * max(distances)), max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        direct.fit(X, y, sensitive_features=s)
    rate = np.mean([direct.predict(X, random_state=seed) for seed in range(200)], axis=0)
    model = baselines.make("agarwal", 0.7, notion).fit(X, y, sensitive_features=s)
    assert model.predict_proba(X)[:, 1] == pytest.approx(rate, abs=5 * 0.5 / np.sqrt(200))
    assert np.abs(rate - plain).mean() > 0.01


# rezaei


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
