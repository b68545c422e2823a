"""Which values are tried, which are on the frontier, and which is picked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from fermi import FermiClassifier, FermiError, baselines
from fermi.datasets import synthetic
from fermi.tradeoff import tradeoff_curve
from fermi.tradeoff._grid import Place, between, first_values, non_dominated
from fermi.tradeoff._knob import Knob
from tests.tradeoff.samples import curve


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
