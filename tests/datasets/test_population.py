"""The synthetic population: its law in closed form, and estimates that converge to it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chisquare
from sklearn.linear_model import LogisticRegression

import fermi
from fermi import Contingency, FermiError
from fermi.datasets import synthetic
from fermi.datasets.synthetic import Population

SHAPES = [(2, 2, 0.5), (3, 4, 1.0), (5, 3, 0.7), (4, 6, 0.3)]


@pytest.mark.parametrize(("classes", "groups", "bias"), SHAPES)
def test_the_best_fair_error_is_that_of_a_linear_program(classes: int, groups: int, bias: float) -> None:
    """Maximise accuracy over all randomised classifiers h(ŷ|s, v) whose rates are the same in every group."""
    population = synthetic(1, classes, groups, bias).population
    q, K, p = population.unfair_rates, population.outcome_given_standing, population.p_group
    shape = (groups, classes, classes)  # h[s, v, ŷ]
    gain = p[:, None, None] * q[:, :, None] * K[None]
    equal, right = [], []
    for s, v in np.ndindex(groups, classes):
        row = np.zeros(shape)
        row[s, v] = 1.0
        equal.append(row)
        right.append(1.0)
    for s, y in np.ndindex(groups - 1, classes):
        row = np.zeros(shape)
        row[s, :, y], row[s + 1, :, y] = q[s], -q[s + 1]
        equal.append(row)
        right.append(0.0)
    best = linprog(-gain.ravel(), A_eq=np.array(equal).reshape(len(equal), -1), b_eq=right, bounds=(0, 1))
    assert best.fun is not None
    assert population.fair_error == pytest.approx(1.0 + best.fun, abs=1e-9)
    assert population.unfair_error == pytest.approx(1 - gain.max(axis=2).sum(), abs=1e-12)
    assert population.fair_error >= population.unfair_error


@pytest.mark.parametrize(("classes", "groups", "bias"), SHAPES)
def test_the_laws_are_laws(classes: int, groups: int, bias: float) -> None:
    population = synthetic(1, classes, groups, bias).population
    assert population.joint.sum() == pytest.approx(1.0)
    assert (population.joint > 0).all()
    assert population.fair_rates.sum() == pytest.approx(1.0)
    table = population.contingency("equalized_odds").table
    assert population.joint == pytest.approx(table.sum(axis=2).T)
    assert population.contingency().rates()[0] == pytest.approx(population.unfair_rates)


def test_no_bias_means_independence_and_no_price_of_fairness() -> None:
    population = synthetic(1, 3, 4, bias=0.0).population
    assert fermi.ermi(population.contingency()) == pytest.approx(0.0, abs=1e-30)
    assert population.fair_error == pytest.approx(population.unfair_error)


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds", "equal_opportunity"])
@pytest.mark.parametrize(
    "measure",
    [fermi.ermi, fermi.mutual_information, fermi.renyi_correlation, fermi.linf_violation, fermi.parity_difference],
)
def test_estimates_converge_at_the_root_n_rate(measure: Callable[..., float], notion: str) -> None:
    """Tables of n rows drawn from the exact law.

    The plug-in ERMI is biased by about (k − 1)(m − 1)/n per condition. Given the label there is little dependence left
    here, so n must be large before that bias is small beside the sampling error.
    """
    exact = synthetic(1, 3, 4, bias=0.9).population.contingency(notion)
    truth, law = measure(exact), exact.table.ravel() / exact.total
    rng = np.random.default_rng(0)
    sizes = [30_000, 120_000, 480_000, 1_920_000, 7_680_000]
    errors = []
    for n in sizes:
        draws = [Contingency(t.reshape(exact.table.shape)) for t in rng.multinomial(n, law, size=200)]
        errors.append(np.sqrt(np.mean([(measure(c) - truth) ** 2 for c in draws])))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.06)
    assert errors[-1] < 0.02 * truth


def test_drawn_rows_follow_the_law() -> None:
    """The (group, standing, outcome) counts of drawn rows against the exact law, by a chi-squared test."""
    data = synthetic(200_000, 3, 4, bias=0.9, seed=5)
    standing = data.X_train["rating"].cat.codes.to_numpy()
    drawn = Contingency.from_predictions(standing, data.s_train, y_true=data.y_train, notion="equalized_odds")
    exact = data.population.contingency("equalized_odds")
    assert drawn.groups == exact.groups
    assert chisquare(drawn.table.ravel(), exact.table.ravel() * drawn.total).pvalue > 0.01


def test_ermi_of_drawn_rows_converges_to_the_truth() -> None:
    truth = fermi.ermi(synthetic(1, 3, 4, bias=0.9).population.contingency())
    sizes = [1_000, 4_000, 16_000]
    errors = []
    for n in sizes:
        samples = [synthetic(n, 3, 4, bias=0.9, seed=seed) for seed in range(40)]
        estimates = [fermi.ermi(d.X_train["rating"], d.s_train) for d in samples]
        errors.append(np.sqrt(np.mean((np.array(estimates) - truth) ** 2)))
    assert np.polyfit(np.log(sizes), np.log(errors), 1)[0] == pytest.approx(-0.5, abs=0.13)


def test_the_outcome_s_own_joint_law_converges_too() -> None:
    truth = synthetic(1, 3, 4, bias=0.9).population.joint
    errors = []
    for n in (1_000, 100_000):
        data = synthetic(n, 3, 4, bias=0.9, seed=3)
        table = Contingency.from_predictions(data.y_train, data.s_train).table[0] / n
        errors.append(np.abs(table - truth).max())
    assert errors[1] < 0.005
    assert errors[1] < errors[0] / 3


def test_a_logistic_regression_reaches_the_bayes_error() -> None:
    data = synthetic(20_000, 3, 3, bias=0.8).numeric()
    model = LogisticRegression(max_iter=1000).fit(data.X_train, data.y_train)
    error = 1 - model.score(data.X_test, data.y_test)
    population: Population = data.population
    assert error == pytest.approx(population.unfair_error, abs=4 * np.sqrt(0.09 / 10_000))


def test_seeds_and_shapes() -> None:
    a, b, again = synthetic(200, seed=1), synthetic(200, seed=2), synthetic(200, seed=1)
    assert a.X_train.equals(again.X_train)
    assert a.y_train.equals(again.y_train)
    assert not a.y_train.equals(b.y_train)
    assert len(a.X_test) == 100
    assert not a.y_train[:100].equals(a.y_test)
    several = synthetic(500, groups={"sex": ["F", "M"], "region": 3})
    assert list(several.s_train.columns) == ["sex", "region"]
    assert fermi.GroupEncoder().fit(several.s_train).groups_[0] == "sex=F, region=R1"
    assert fermi.GroupEncoder().fit(synthetic(5000, groups=12).s_train).groups_[-1] == "group=G12"
    assert synthetic(1).X_test.shape == (1, 7)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": 0}, "`n` is 0; expected a whole number of at least 1"),
        ({"n": 2.5}, "`n` is 2.5; expected a whole number"),
        ({"n": True}, "`n` is True; expected a whole number"),
        ({"seed": -1}, "`seed` is -1; expected a whole number of at least 0"),
        ({"groups": ["F", "M"]}, "`groups` is ['F', 'M']; expected a whole number, or a dict"),
        ({"bias": "x"}, "`bias` is 'x'; expected a number from 0 to 1"),
        ({"n_classes": 1}, "`n_classes` is 1; expected a whole number of at least 2"),
        ({"bias": 1.5}, "`bias` is 1.5; expected a number from 0 to 1"),
        ({"groups": 0}, "`groups` gives 'group' the values"),
        ({"groups": {"sex": ["F", "F"]}}, "none of them twice"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(FermiError, match=re.escape(words)):
        synthetic(**arguments)  # type: ignore[arg-type]
