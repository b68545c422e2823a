"""The benchmark of what λ alone can do, in small: what it counts is what it says, and it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi.cli.bench import load

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")
    made = load(FOLDER / "bench_lam.py")
    monkeypatch.setattr(made, "LAMBDAS", (0.0, 2.0))
    return made


def rows_of(bench: Any, n: int) -> Any:
    rng = np.random.default_rng(n)
    s, x = rng.integers(0, 2, n), rng.standard_normal((n, 3))
    x[:, 0] += s
    y = (x[:, 0] + x[:, 1] + rng.standard_normal(n) > 1.0).astype(int)
    return bench.Rows(x, x, pd.DataFrame(x, columns=list("abc")), y, s)


def test_with_equal_gaps_a_squared_gap_costs_the_same_in_both_conditions(bench: Any) -> None:
    rows = rows_of(bench, 2000)
    labels = (rows.numbers[:, 0] > 0.5).astype(int)
    weights, signed = bench.equal_gaps(rows, labels), bench.gaps(labels, rows)
    for z, one in enumerate(signed):
        inside = rows.y == z
        cost = weights[z] * inside.mean() * fermi.ermi(labels[inside], rows.s[inside])
        assert cost == pytest.approx(one**2)
    assert bench.gap(labels, rows) == pytest.approx(
        fermi.parity_difference(labels, rows.s, y_true=rows.y, notion="equalized_odds")
    )


def test_the_choice_is_the_least_error_within_the_bound(bench: Any) -> None:
    rows = rows_of(bench, 400)
    none, all_of_them = np.zeros(400, int), np.ones(400, int)
    settings = [
        bench.Judged(held_out, name) for name, held_out in {"true": rows.s, "0": none, "1": all_of_them}.items()
    ]
    assert bench.chosen(settings, rows, 0.01).test == ("0" if rows.y.mean() < 0.5 else "1")
    assert bench.chosen(settings[:1], rows, 0.5) is None


def test_every_variant_runs(bench: Any) -> None:
    rows, test = rows_of(bench, 300), rows_of(bench, 200)
    cases = bench.variant("λ", "linear", bench.linear(bench.equal_gaps), rows, test, 1)
    cases += bench.variant("W of labels", "trees", bench.trees([], 3, None, bench.AveragedLabelTerm), rows, test, 1)
    cases += bench.one_quarter(rows, test, 1)
    kinds = [(case["case"], case["method"]) for case in cases]
    paths, choices = ([method for kind, method in kinds if kind == chosen] for chosen in ("path", "choice"))
    assert paths == ["λ"] * 2 + ["W of labels"] * 2
    assert choices == [name for name in ("λ", "λ and one cut", "W of labels", "λ, one quarter") for _ in bench.BOUNDS]
    bench.show(cases)
