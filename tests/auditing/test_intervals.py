"""Bias, coverage and width of what an audit estimates."""

from __future__ import annotations

import numpy as np
import pytest

import fermi
from fermi import Contingency, audit
from fermi.auditing._measured import value_of
from fermi.auditing._noise import Sums
from fermi.datasets import synthetic
from fermi.formulas.stacked import NAMES
from tests.auditing.samples import estimates, rows


@pytest.mark.parametrize("violation", [0.0, 0.4])
@pytest.mark.parametrize("soft", [False, True])
def test_the_bias_of_ermi_is_taken_off(violation: float, soft: bool) -> None:
    """The mean of the plug-in value less its bias is the truth, at independence and far from it."""
    rng = np.random.default_rng(3)
    sizes = np.array([40, 60, 200])
    rates = np.array([0.5, 0.3, 0.2]) + violation * np.array([[-0.5, 0, 0.5], [0, 0.1, -0.1], [0.4, -0.2, -0.2]])
    rates = np.maximum(rates, 0.02)
    rates /= rates.sum(axis=1, keepdims=True)
    truth = fermi.ermi(Contingency(sizes[:, None] * rates))
    plain, corrected = [], []
    for _ in range(1500):
        if soft:
            F = [rng.dirichlet(3.0 * r, n) for r, n in zip(rates, sizes, strict=True)]
            sums = Sums(np.array([[f.sum(0) for f in F]]), np.array([[f.T @ f for f in F]]), soft=True)
        else:
            counts = rng.multinomial(sizes, rates)[None].astype(float)
            sums = Sums(counts, counts, soft=False)
        plain.append(fermi.ermi(Contingency(sums.table)))
        corrected.append(plain[-1] - sums.ermi_bias())
    error = np.std(corrected) / np.sqrt(len(corrected))
    assert abs(np.mean(corrected) - truth) < 4 * error + 0.02 * truth
    assert np.mean(plain) - truth > 8 * error


def test_independence_has_the_textbook_bias() -> None:
    counts = np.full((1, 3, 4), 1000.0)
    assert Sums(counts, counts, soft=False).ermi_bias() == pytest.approx(2 * 3 / 12_000, rel=1e-3)


@pytest.mark.slow
def test_a_random_attribute_is_consistent_with_no_violation() -> None:
    """Intervals hold 0 (1 for the ratio) about as often as they should, with many small groups too."""
    rng = np.random.default_rng(11)
    held = np.zeros(len(NAMES))
    for _ in range(40):
        labels, s, y = rng.choice(3, 900, p=[0.6, 0.3, 0.1]), rng.integers(0, 8, 900), rng.integers(0, 2, 900)
        record = audit(y, labels, sensitive_features=s, notion="equalized_odds", n_boot=200).record
        truth = [float(name == "parity_ratio") for name in NAMES]
        held += [record.measure(n).low <= t <= record.measure(n).high for n, t in zip(NAMES, truth, strict=True)]
        assert record.corrected_ermi is not None
        assert record.corrected_ermi.value < record.measure("ermi").value
    assert (held >= 34).all(), dict(zip(NAMES, held, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("notion", [pytest.param("demographic_parity", marks=pytest.mark.long), "equalized_odds"])
def test_intervals_cover_on_the_synthetic_population(notion: str) -> None:
    """A small version of benchmarks/bench_coverage.py: 120 draws, so that nominal 95% may show as 89%."""
    population = synthetic(1, 3, 4, 0.8).population
    law = population.contingency("equalized_odds").table
    table = Contingency(law if notion == "equalized_odds" else law.sum(axis=0, keepdims=True))
    truth = {name: value_of(name, table) for name in NAMES}
    rng = np.random.default_rng(2)
    held, rates = dict.fromkeys(NAMES, 0), []
    for _ in range(120):
        y, s, v = np.unravel_index(rng.choice(law.size, 1500, p=law.ravel()), law.shape)
        found = audit(y, v, sensitive_features=s, notion=notion, n_boot=200, random_state=rng)
        for name in NAMES:
            estimate = found.record.measure(name)
            held[name] += estimate.low <= truth[name] <= estimate.high
        for group, true in zip(found.record.groups, population.unfair_rates, strict=True):
            rates += [e.low <= r <= e.high for e, r in zip(group.rates.values(), true, strict=True)]
    assert min(held.values()) >= 105, held
    assert 0.93 <= np.mean(rates) <= 0.97


def test_a_gap_that_is_there_is_found() -> None:
    """Intervals that cover everything would pass the tests above."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, 3000)
    labels = (rng.random(3000) < 0.3 + 0.1 * s).astype(int)
    found = audit(None, labels, sensitive_features=s).record
    gap = found.measure("parity_difference")
    assert gap.low > 0.1
    assert gap.high - gap.low < 0.12
    assert found.measure("ermi").low > 0.005
    assert found.measure("parity_ratio").high < 0.8
    assert found.p_value is not None
    assert found.p_value < 0.001


def test_seeds_and_draws() -> None:
    data = rows()
    one, same, other = (
        audit(data["y"], data["F"], sensitive_features=data["s"], random_state=r, n_boot=200) for r in (0, 0, 1)
    )
    assert estimates(one) == estimates(same)
    assert estimates(one) != estimates(other)
    wide = audit(data["y"], data["F"], sensitive_features=data["s"], confidence=0.99, n_boot=200)
    for name, (_, low, high) in estimates(one).items():
        assert estimates(wide)[name][1] <= low + 1e-9
        assert estimates(wide)[name][2] >= high - 1e-9


@pytest.mark.slow
def test_many_groups_are_drawn_less_often_but_still_measured() -> None:
    rng = np.random.default_rng(0)
    s, labels = rng.integers(0, 1000, 20_000), rng.integers(0, 2, 20_000)
    found = audit(None, labels, sensitive_features=s, n_boot=200).record
    ermi = found.measure("ermi")
    assert ermi.value > 0.04  # all of it noise: 999 / 20,000
    assert ermi.low == 0.0
    assert found.corrected_ermi is not None
    assert found.corrected_ermi.value < 0.005
    assert found.p_value is not None
    assert found.p_value > 0.01
