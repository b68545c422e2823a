"""Cells on tables: whose rows train, how many steps, how many seeds."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")


from fermi.baselines.common.several import fit_each
from fermi.experiments.figures import fig2
from fermi.experiments.runs import tabular
from fermi.measures import parity_difference
from fermi.measures.contingency import Contingency
from fermi.torch.models import logistic


def test_signed_gaps_are_those_of_the_violation() -> None:
    rng = np.random.default_rng(0)
    y, s, predicted = rng.integers(2, size=300), rng.integers(3, size=300), rng.integers(2, size=300)
    table = Contingency.from_predictions(predicted, s, y_true=y, notion="equalized_odds")
    gaps = tabular.signed_gaps(table)
    assert len(gaps) == 2 * 3 * 2
    assert np.abs(gaps).max() == pytest.approx(parity_difference(table))
    assert tabular.signed_gaps(Contingency([[[2.0, 2.0], [0.0, 0.0]]])) == [0.0, 0.0]


def test_equal_steps_are_those_of_whole_passes(adult_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERMI_DATA", str(adult_home))
    for quick in (True, False):
        (limit,) = {cell.get("rows") for cell in fig2.cells(quick)}
        (quarter,) = tabular.rows("adult", 0, True, limit).parts(0, None)
        n = int((~quarter).sum())
        steps = {size: fig2.steps_of(size, quick) for size in fig2.BATCHES}
        assert {
            cell["batch_size"]: cell["steps"] for cell in fig2.cells(quick) if cell["budget"] == "equal steps"
        } == steps
        passes = {size: count / -(-n // size) for size, count in steps.items()}
        assert all(value < 1 or value == int(value) for value in passes.values())
        assert passes[64] >= 2


def test_a_cell_on_a_table(adult_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERMI_DATA", str(adult_home))
    cells = list(tabular.cells(["none", "fermi", "agarwal"], rows=2000, strengths=(0.0, 1.0), blind=(True,)))
    # Strength 0 is trained once, and a method that draws its labels needs no seeds.
    assert [(c["method"], c["strength"]) for c in cells] == [("none", 0.0), ("fermi", 1.0), ("agarwal", 1.0)]
    split = tabular.rows("adult", 0, True, 2000)
    parts = split.parts(0, 2)
    assert np.sum(parts, axis=0).tolist() == [1] * 2000  # every training row chooses, once
    assert parts[0].mean() == pytest.approx(0.5, abs=0.01)
    assert split.parts(0, None)[0].mean() == pytest.approx(0.25, abs=0.01)
    seen: list[Any] = []

    def spy(method: Any, strengths: Any, X: Any, y: Any, *, sensitive_features: Any) -> Any:
        seen.append((X, y.index))
        return fit_each(method, strengths, X, y, sensitive_features=sensitive_features)

    monkeypatch.setattr(tabular, "fit_each", spy)
    plain, fair, drawn = (tabular.run(cell) for cell in cells)
    X, index = split.data.X_train, split.data.y_train.index
    for (fitted, labelled), held in zip(seen, [*parts, *parts, *parts], strict=True):
        assert np.array_equal(fitted, X[~held])
        assert labelled.equals(index[~held])
    assert fair["test_violation"] < 0.2 * plain["test_violation"]
    assert drawn["test_error"] == drawn["test_soft_error"]  # what it draws on average
    assert 0.002 < plain["test_standard_error"] < 0.02
    assert plain["test_constant_error"] == pytest.approx(0.236, abs=0.001)
    for part, kind in product(("train", "val", "test"), ("", "soft_")):  # all is said in the tables, one for each model
        tables = [fair["val_" + kind + "table"]] if part == "val" else fair[f"{part}_{kind}table"]
        violations = [parity_difference(Contingency(table)) for table in tables]
        assert np.mean(violations) == pytest.approx(fair[f"{part}_{kind}violation"], abs=1e-6)
    assert np.sum(fair["val_table"]) == 2000
    groups = split.s_train.astype(object)
    missing = tabular.corrupted(groups, {"seed": 0, "missing": 0.9})
    assert missing.isna().mean() == pytest.approx(0.9, abs=0.03)
    forced = tabular.corrupted(groups, {"seed": 0, "forced": 0.1})
    assert 0.05 < (forced != groups).mean() < 0.1
    hidden = tabular.run({**cells[1], "missing": 0.9})
    assert np.sum(hidden["val_table"]) == missing.notna().sum()  # the rows that choose have the groups training sees
    assert np.sum(hidden["test_table"][0]) == len(split.s_test)


def test_where_steps_are_counted_fermi_trains_as_the_others_do() -> None:
    cell = {"method": "fermi", "batch_size": 4, "steps": 100}
    assert tabular.training(cell, 1000)["module"] is logistic
    assert tabular.training({**cell, "steps": None}, 1000) == {"batch_size": 4}
    assert tabular.training({**cell, "batch_size": "all"}, 1000) == {}
    rival = tabular.training({"method": "mary", "batch_size": "all", "steps": 100}, 1000)
    assert rival == {"batch_size": 1000, "steps": 100, "lr": tabular.ADAM_LR}


def test_runs_whose_groups_are_drawn_have_several_seeds() -> None:
    cases: list[tuple[dict[str, Any], int]] = [({"missing": 0.9}, 3), ({"forced": 0.1}, 3), ({}, 1)]
    for method, seeds in (("zhang", 3), ("agarwal", 1), ("naive", 1)):
        assert len(list(tabular.cells([method], seeds=3, strengths=(1.0,), blind=(True,), batch_size="all"))) == seeds
    for more, seeds in cases:
        cells = tabular.cells(["zafar"], seeds=3, strengths=(1.0,), blind=(True,), **more)
        assert len(list(cells)) == seeds


@pytest.mark.parametrize("method", ["naive", "mary", "cooper"])
def test_strengths_run_together_have_the_records_of_each_by_itself(
    method: str, adult_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FERMI_DATA", str(adult_home))
    options: dict[str, Any] = {"rows": 1500, "blind": (True,), "batch_size": "all", "steps": 60, "missing": 0.5}
    cells = list(tabular.cells([method], strengths=(0.3, 0.7), notions=("equalized_odds",), **options))
    assert len({tabular.alike(cell) for cell in cells}) == 1
    assert tabular.alike(cells[0]) != tabular.alike({**cells[0], "seed": 1})
    together, single = tabular.run_together(cells), [tabular.run(cell) for cell in cells]
    for one, other in zip(together, single, strict=True):
        assert set(one) == set(other)
        for name in set(one) - {"seconds"}:
            np.testing.assert_allclose(np.asarray(one[name]), np.asarray(other[name]), 1e-5, 2e-6, err_msg=name)
    assert together[0]["val_soft_violation"] != pytest.approx(together[1]["val_soft_violation"], abs=1e-4)
