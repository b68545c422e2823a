"""The benchmarks of `FairLabels`, in small: what they count is what they say, and they run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi.cli.bench import load

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def labels() -> Any:
    pytest.importorskip("fairlearn", reason="the extra `baselines` is not installed")
    pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")
    return load(FOLDER / "bench_labels.py")


def rows_of_three_groups(bench: Any) -> tuple[Any, Any]:
    """Rates of 0.5 and 0.25 in groups of 200, and 1 in a group of two; every label is right."""
    s = np.repeat(["a", "b", "c"], [200, 200, 2])
    given = np.concatenate([np.arange(200) < 100, np.arange(200) < 50, [True, True]]).astype(int)
    rows = bench.Rows(pd.DataFrame({"x": given}), given[:, None].astype(float), given, s)
    return bench.Data("toy", "group", "logistic", 1, rows, rows, []), given


def test_a_small_group_counts_in_the_gap_and_not_in_that_of_large_groups(labels: Any) -> None:
    data, given = rows_of_three_groups(labels)
    found = labels.judged(given, data, labels.Asked("demographic_parity", 0.02))
    assert (found["error"], found["gap"], found["gap_of_large"]) == (0.0, 0.75, 0.25)
    assert (found["beyond"], found["n_groups"]) == (2, 3)  # two rows say next to nothing: 1.7 standard errors


def test_of_each_attribute_the_largest_gap_counts(labels: Any) -> None:
    data, given = rows_of_three_groups(labels)
    s = pd.DataFrame({"first": data.test.s, "second": np.where(given == 1, "u", "v")})
    each = labels.replace(data, test=data.test._replace(s=s), attributes="each")
    found = labels.judged(given, each, labels.Asked("demographic_parity", 0.02))
    assert (found["gap"], found["n_groups"]) == (1.0, 5)


def test_labels_are_compared_on_made_up_rows_and_a_method_that_fails_says_why(
    labels: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scale = labels.Scale(600, 5, 2)
    data = labels.prepared(fermi.datasets.synthetic(n=600, rated=False), "logistic", scale, "2 groups")

    def broken(data: Any, asked: Any, seeds: Any) -> Any:
        raise RuntimeError("no such luck\nand more")

    tried = [("broken", broken), ("ThresholdOptimizer*", labels.thresholds)]
    monkeypatch.setattr(labels, "others", lambda data, notion: iter(tried))
    asked = labels.Asked("demographic_parity", 0.05)
    runs = labels.Runs([(data, 0), (data, 1)], [(data, range(2))], [(data, range(1))])
    kept = labels.Kept("test")
    kept.path = tmp_path / "kept.jsonl"
    cases = list(labels.compared("Adult", runs, [asked], [asked], kept))
    assert [case["method"] for case in cases] == ["plain", "FairLabels", *(name for name, _ in tried)]
    assert [case.get("runs") for case in cases] == [1, 2, None, 2]
    assert cases[1]["error"] <= cases[1]["worst_error"]
    assert cases[3]["error"] < cases[3]["worst_error"]  # two seeds, two results
    lines = kept.path.read_text(encoding="utf-8").splitlines()
    again = labels.Kept("test")
    again.found = {name: found for line in lines for name, found in json.loads(line).items()}
    monkeypatch.setattr(labels, "runs_of", lambda *args: iter(()))  # nothing is made again
    monkeypatch.setattr(labels, "runs_of_ours", lambda *args: iter(()))
    assert list(labels.compared("Adult", runs, [asked], [asked], again)) == cases
    labels.show(cases)
    assert "RuntimeError: no such luck\n" in capsys.readouterr().out


def test_the_benchmark_of_little_data_draws_thirty_rows_of_the_third_group(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = load(FOLDER / "bench_small_data.py")
    assert (bench.drawn(0, 1000).s_train["group"] == "G3").sum() == 30
    monkeypatch.setattr(bench, "TEST_ROWS", 2000)
    monkeypatch.setattr(bench, "QUICK_SEEDS", 2)
    cases = bench.measure(quick=True)
    assert [case["method"] for case in cases] == [
        "plain",
        "FermiClassifier, 0.02, argmax",
        "FermiClassifier, 0.02, auto",
        "FairLabels, 0.02, slack 0",
        "FairLabels, 0.02, slack 1",
        "FairLabels, 0.05, slack 0",
    ]
    bench.show(cases)
    assert "FairLabels, 0.02, slack 1" in capsys.readouterr().out


def test_the_benchmark_of_the_guarantee_counts_every_draw(capsys: pytest.CaptureFixture[str]) -> None:
    bench = load(FOLDER / "bench_guarantee.py")
    case = bench.cover(bench.Population("demographic_parity", 0.5, 600), draws=2, fresh=2000)
    assert case["claimed"] + case["unsupported"] == case["draws"] == 2
    assert case["failed"] <= case["claimed"]
    bench.show([case])
    assert "2 draws" in capsys.readouterr().out
