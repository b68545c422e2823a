"""Reproducing the paper: each cell is run once, knobs are chosen on validation rows, verdicts come from records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi import experiments
from fermi.cli import main
from fermi.experiments import Figure, _runner, _tabular
from fermi.experiments._curves import listed_cells, tables, worse_cells
from fermi.experiments._frontier import area, at_levels, interval, level_table

CALLS: list[Any] = []


def squares(version: int = 1, run: Any = None) -> Figure:
    def record(cell: Any) -> Any:
        CALLS.append(cell["x"])
        return {"square": cell["x"] ** 2}

    def draw(records: pd.DataFrame, canvas: Any) -> None:
        canvas.subplots().plot(records["x"], records["square"])

    def cells(quick: bool) -> Any:
        return [{"x": x} for x in range(3 if quick else 5)]

    return Figure("Squares", cells, run or record, lambda r: f"sum {r['square'].sum()}", draw, version)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells run in this process, so that they can be counted."""
    CALLS.clear()

    def run_all(name: str, cells: Any, journal: Any, workers: int) -> None:
        for key, cell in cells.items():
            journal.add(*_runner._run_cell(name, key, cell))

    monkeypatch.setattr(_runner, "_run_all", run_all)


def figure_is(monkeypatch: pytest.MonkeyPatch, figure: Figure) -> None:
    monkeypatch.setattr(experiments, "find", lambda name: figure)
    monkeypatch.setattr(experiments, "names", lambda: ["squares"])


@pytest.mark.usefixtures("here")
def test_finished_cells_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure_is(monkeypatch, squares())
    (folder,) = experiments.reproduce("squares", quick=True, output=tmp_path)
    assert CALLS == [0, 1, 2]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "summary.md").read_text()
    assert page.startswith("# Squares\n\nA quick run")
    assert "sum 5" in page
    experiments.reproduce("squares", output=tmp_path)
    assert CALLS == [0, 1, 2, 3, 4]
    table = pd.read_csv(folder / "cells.csv")
    assert table["square"].tolist() == [0, 1, 4, 9, 16]
    journal = folder / "cells.jsonl"
    journal.write_text(journal.read_text()[:-20])  # the machine went down in the middle of a line
    experiments.reproduce("squares", output=tmp_path)
    assert CALLS[5:] == [4]
    figure_is(monkeypatch, squares(version=2))
    experiments.reproduce("squares", output=tmp_path)
    assert len(CALLS) == 11
    assert not list(folder.glob("*.part*"))


@pytest.mark.usefixtures("here")
def test_an_interruption_loses_nothing_and_a_failure_names_its_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(cell: Any) -> Any:
        if cell["x"] == 2:
            raise KeyboardInterrupt
        if cell["x"] == 3:
            raise ValueError("odd")
        return {"square": 0}

    figure_is(monkeypatch, squares(run=stops))
    with pytest.raises(KeyboardInterrupt):
        experiments.reproduce("squares", output=tmp_path)
    assert len((tmp_path / "squares" / "cells.jsonl").read_text().splitlines()) == 2
    with pytest.raises(fermi.FermiError, match=r"The cell {'x': 3} failed \(ValueError: odd\)"):
        _runner._run_cell("squares", "key", {"x": 3})


def test_in_processes_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "table1", "--output", str(tmp_path), "--workers", "2", "--json"]) == 0
    (folder,) = json.loads(capsys.readouterr().out)
    assert "| fermi | yes | yes | yes | yes | yes | yes |  |" in (Path(folder) / "summary.md").read_text()
    assert main(["reproduce", "fig99"]) == 2
    assert "`name` is 'fig99'; expected one of" in capsys.readouterr().err
    assert main(["reproduce", "table1", "--output", str(tmp_path), "--workers", "0"]) == 2


def test_every_figure_declares_its_cells() -> None:
    assert experiments.names()[0] == "fig1"
    assert experiments.names()[-1] == "table1"
    for name in experiments.names():
        figure = experiments.find(name)
        quick, full = ([figure.key(cell) for cell in figure.cells(short)] for short in (True, False))
        assert 0 < len(quick) <= len(full)
        assert len(set(full)) == len(full)
        json.dumps(list(figure.cells(True)))


def records() -> pd.DataFrame:
    """Two methods on three splits; the best on validation rows is not the best on test rows."""
    rows = []
    for split in range(3):
        for method, shift in (("fermi", 0.0), ("mary", 0.02), ("hardt", -0.1)):
            for strength, violation in ((0.0, 0.2), (0.5, 0.04), (1.0, 0.005)):
                error = 0.3 - violation / 2 + shift + 0.001 * split
                rows.append(
                    {
                        "dataset": "d", "split": split, "seed": 0, "blind": True, "notion": "demographic_parity",
                        "method": method, "strength": strength, "seconds": 1.0,
                        "val_error": error, "val_violation": violation, "test_error": error + 0.01,
                        "test_violation": violation + 0.002, "test_standard_error": 0.01,
                        "val_soft_error": error, "val_soft_violation": violation, "test_soft_error": error,
                        "test_soft_violation": violation,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def test_knobs_are_chosen_on_validation_rows() -> None:
    found = at_levels(records(), (0.05, 0.001))
    assert set(found["level"]) == {0.05}  # nothing is within 0.001
    fermi_runs = found[found["method"] == "fermi"]
    assert fermi_runs["strength"].tolist() == [0.5] * 3  # strength 1 is within as well, with a larger error
    assert fermi_runs["error"].tolist() == pytest.approx([0.29, 0.291, 0.292])
    assert "| fermi | 0.2910 ± 0.0025 (at 0.042) | not reached |" in level_table(found, (0.05, 0.001))
    mean, width = interval([1.0, 2.0, 3.0])
    assert (mean, width) == pytest.approx((2.0, 4.302653 / np.sqrt(3)))


def test_the_area_is_that_of_the_lowest_error_within_each_violation() -> None:
    curve = pd.DataFrame({"test_error": [0.1, 0.2, 0.5], "test_violation": [0.1, 0.0, 0.05]})
    assert area(curve) == pytest.approx((49 * 0.2 + 51 * 0.1) / 100, abs=0.002)


def test_rivals_below_fermi_are_listed_unless_they_need_the_attribute() -> None:
    assert worse_cells(records(), ("notion", "blind")).empty
    better = records()
    better.loc[better["method"] == "mary", "test_error"] -= 0.1
    worse = worse_cells(better, ("notion", "blind"))
    assert set(worse["method"]) == {"mary"}
    assert "| demographic_parity | True | 0.1000 | mary |" in listed_cells(worse)
    page = tables(records(), ("notion", "blind"))
    assert "## demographic parity, attribute not among the features" in page
    assert "| hardt | " in page


def test_a_cell_on_a_table(adult_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERMI_DATA", str(adult_home))
    cells = list(_tabular.cells(["fermi", "none"], rows=2000, strengths=(0.0, 1.0), blind=(True,)))
    assert [(cell["method"], cell["strength"]) for cell in cells] == [("fermi", 0.0), ("fermi", 1.0), ("none", 0.0)]
    plain, fair, none = (_tabular.run(cell) for cell in cells)
    assert plain["test_error"] == pytest.approx(none["test_error"], abs=0.002)
    assert fair["test_violation"] < 0.2 * plain["test_violation"]
    assert 0.002 < plain["test_standard_error"] < 0.02
    data = _tabular.rows("adult", 0, True, 2000)
    groups = data.s_train.iloc[:, 0].astype(object)
    missing = _tabular.corrupted(groups, {"seed": 0, "missing": 0.9})
    assert missing.isna().mean() == pytest.approx(0.9, abs=0.03)
    forced = _tabular.corrupted(groups, {"seed": 0, "forced": 0.1})
    assert 0.05 < (forced != groups).mean() < 0.1
    assert _tabular.chosen_rows(data, 0).mean() == pytest.approx(0.25, abs=0.01)
