"""Reproducing the paper: each cell is run once, what fails is named, the index lists the claims."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("matplotlib", reason="the extra `report` is not installed")


import fermi
from fermi import experiments
from fermi.cli import main
from fermi.experiments import Figure, runner
from fermi.experiments.figure import Together
from fermi.experiments.judging.claims import Claim, Verdict, untestable, verdicts
from fermi.experiments.judging.index import index
from fermi.experiments.recorded import RECORDS, keep, kept
from fermi.experiments.runs import tabular

CALLS: list[Any] = []


def squares(version: int = 1, run: Any = None) -> Figure:
    def record(cell: Any) -> Any:
        CALLS.append(cell["x"])
        return {"square": cell["x"] ** 2}

    def draw(records: pd.DataFrame, canvas: Any) -> None:
        canvas.subplots().plot(records["x"], records["square"])

    def cells(quick: bool) -> Any:
        return [{"x": x} for x in range(3 if quick else 5)]

    return Figure("Squares", cells, run or record, lambda r: f"sum {r['square'].sum()}", draw, version, way="squares")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells run in this process, so that they can be counted."""
    CALLS.clear()

    def run_all(name: str, cells: Any, journal: Any) -> list[str]:
        failed = []
        for key, cell in cells.items():
            _, found = runner._run_cell(name, key, cell)
            if isinstance(found, str):
                failed.append(found)
            else:
                journal.add(key, found)
        return failed

    monkeypatch.setattr(runner, "_run_all", run_all)


def figure_is(monkeypatch: pytest.MonkeyPatch, figure: Figure) -> None:
    monkeypatch.setattr(experiments, "find", lambda name: figure)
    monkeypatch.setattr(experiments, "names", lambda: ["squares"])


@pytest.mark.usefixtures("here")
def test_finished_cells_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure_is(monkeypatch, squares())
    (folder,) = experiments.reproduce("squares", output=tmp_path)
    assert CALLS == [0, 1, 2, 3, 4]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "summary.md").read_text()
    assert page.startswith("# Squares\n\nA full run. `fermi reproduce squares`, 20")
    assert "5 training runs of 0 s in all, 5 of them now" in page
    assert "sum 30" in page
    experiments.reproduce("squares", output=tmp_path)
    assert CALLS == [0, 1, 2, 3, 4]
    assert pd.read_csv(folder / "cells.csv")["square"].tolist() == [0, 1, 4, 9, 16]
    journal = tmp_path / "cells.jsonl"
    journal.write_text(journal.read_text()[:-20])  # the machine went down in the middle of a line
    for _ in range(2):
        experiments.reproduce("squares", output=tmp_path)
        assert CALLS[5:] == [4]
    (quick,) = experiments.reproduce("squares", quick=True, output=tmp_path)
    assert "A quick run" in (quick / "summary.md").read_text()
    assert "A full run" in (folder / "summary.md").read_text()
    CALLS.clear()
    figure_is(monkeypatch, squares(version=2))
    experiments.reproduce("squares", output=tmp_path)
    assert len(CALLS) == 5
    assert not list(folder.glob("*.part*"))


def test_cells_that_run_together_have_a_record_and_a_share_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[int]] = []

    def both(cells: Any) -> Any:
        calls.append([cell["x"] for cell in cells])
        if 4 in calls[-1]:
            raise ValueError("not these")
        return [{"square": cell["x"] ** 2} for cell in cells]

    alone = squares()
    figure_is(monkeypatch, replace(alone, together=Together(lambda cell: cell["x"] // 2, both)))
    cells = {alone.key(cell): cell for cell in alone.cells(False)}
    groups = runner._groups("squares", cells)
    assert [[cell["x"] for cell in group.values()] for group in groups] == [[0, 1], [2, 3], [4]]
    first = runner._run_group("squares", groups[0])
    assert [key for key, _ in first] == list(groups[0])  # a cell keeps its key, whoever runs with it
    assert [records[0]["square"] for _, records in first if not isinstance(records, str)] == [0, 1]
    seconds = {records[0]["cell_seconds"] for _, records in first if not isinstance(records, str)}
    assert len(seconds) == 1
    CALLS.clear()
    rest: dict[str, Any] = {alone.key(cell): cell for cell in ({"x": 3}, {"x": 4})}
    singly = runner._run_group("squares", rest)  # where they fail together, each is run by itself
    assert CALLS == [3, 4]
    assert [records[0]["square"] for _, records in singly if not isinstance(records, str)] == [9, 16]


def without_date(page: Path) -> list[str]:
    """The lines of a page without the one that says when and how it was made."""
    return [line for line in page.read_text().splitlines() if not line.startswith("A full run.")]


@pytest.mark.usefixtures("here")
def test_a_page_is_made_again_from_its_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure_is(monkeypatch, squares())
    (folder,) = experiments.reproduce("squares", output=tmp_path)
    before = without_date(folder / "summary.md")
    for name in ("summary.md", "figure.png", "cells.csv"):
        (folder / name).unlink()
    (tmp_path / "cells.jsonl").unlink()
    CALLS.clear()
    command = ["reproduce", "squares", "--output", str(tmp_path), "--from-records"]
    assert main(command) == 0
    assert CALLS == []
    assert without_date(folder / "summary.md") == before
    assert (folder / "figure.png").exists()
    record = kept(folder)[squares().key({"x": 3})][0]
    assert {"x": 3, "square": 9}.items() <= record.items()
    assert {"commit", "machine", "numpy version", "cell_seconds"} < set(record)


@pytest.mark.usefixtures("here")
def test_records_that_lack_runs_or_are_damaged_are_no_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure_is(monkeypatch, squares())
    with pytest.raises(fermi.FermiError, match=r"No such file or directory\): no records to judge from"):
        experiments.reproduce("squares", output=tmp_path, from_records=True)
    (folder,) = experiments.reproduce("squares", output=tmp_path)
    keep(folder, dict(list(kept(folder).items())[:3]))
    experiments.reproduce("squares", output=tmp_path, from_records=True)
    page = (folder / "summary.md").read_text()
    assert "**2 of 5 training runs are not in the records and are missing below.**" in page
    assert "sum 5" in page
    figure_is(monkeypatch, squares(version=2))
    with pytest.raises(fermi.FermiError, match="has no training run of squares as it is defined now"):
        experiments.reproduce("squares", output=tmp_path, from_records=True)
    file = folder / RECORDS
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(fermi.FermiError, match="is damaged or no file of records"):
        experiments.reproduce("squares", output=tmp_path, from_records=True)


PAGES = Path(__file__).parents[2] / "docs" / "results"


def test_committed_pages_say_what_their_records_say() -> None:
    for folder in (path.parent for path in sorted(PAGES.glob("*/" + RECORDS))):
        figure, runs = experiments.find(folder.name), kept(folder)
        assert set(runs) == {figure.key(cell) for cell in figure.cells(False)}
        page = (folder / "summary.md").read_text()
        assert page.endswith("\n\n" + figure.summarise(runner.table_of(runs)) + "\n")


@pytest.mark.usefixtures("here")
def test_an_interruption_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(cell: Any) -> Any:
        if cell["x"] == 2:
            raise KeyboardInterrupt
        return {"square": 0}

    figure_is(monkeypatch, squares(run=stops))
    with pytest.raises(KeyboardInterrupt):
        experiments.reproduce("squares", output=tmp_path)
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == 2


@pytest.mark.usefixtures("here")
def test_a_failing_cell_is_named_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(cell: Any) -> Any:
        if cell["x"] == 1:
            raise ValueError("odd\nnumber")
        return {"square": cell["x"] ** 2}

    figure_is(monkeypatch, squares(run=fails))
    monkeypatch.setenv("PATH", "")  # without git as well
    runner._commit.cache_clear()
    words = r"squares: 1 of 5 training runs failed, the first: {'x': 1}: ValueError: odd number"
    with pytest.raises(fermi.FermiError, match=words):
        experiments.reproduce("squares", output=tmp_path)
    assert (tmp_path / "index.md").exists()
    page = (tmp_path / "squares" / "summary.md").read_text()
    assert "sum 29" in page
    assert "{'x': 1}: ValueError" in page
    assert "trained at commit unknown, judged at unknown" in page
    runner._commit.cache_clear()


def test_the_index_lists_the_claims_of_all_pages(tmp_path: Path) -> None:
    claims = [
        Claim("Water is wet", "section 1", lambda records: Verdict("held", "3 of 3", 0.012)),
        Claim("No", "E", untestable("x")),
    ]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    page = (
        "# Figure 1: water\n\n" + verdicts(claims, pd.DataFrame()) + "\n\n| method | a | b | c |\n|---|---|---|---|\n"
    )
    (tmp_path / "one" / "summary.md").write_text(page)
    (tmp_path / "two" / "summary.md").write_text("# Table 1: what is\n\n| a | b | c | d |\n")
    former = "# Figure 3: ice\n\n| claim | where | verdict | figures |\n|---|---|---|---|\n"
    former += "| Ice is hot | B | did not hold | 0 |\n"
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "summary.md").write_text(former)
    text = index(tmp_path, ["one", "two", "three", "old"])
    assert "| [one](one/summary.md) | Water is wet | section 1 | held | ± 0.012 | 3 of 3 |\n" in text
    assert "| [one](one/summary.md) | No | E | could not be tested here |  | x |\n\n## Pages of the former" in text
    assert "| [old](old/summary.md) | Ice is hot | B | did not hold |\n\n## The pages" in text
    assert text.endswith("(two/summary.md): what is\n- [old](old/summary.md): ice\n")


def test_in_processes_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "table1", "--output", str(tmp_path), "--workers", "2", "--json"]) == 0
    (folder,) = json.loads(capsys.readouterr().out)
    assert (
        "| fermi | yes | yes | yes | yes | yes | yes |  | yes | yes (on batches: yes) | yes |"
        in (Path(folder) / "summary.md").read_text()
    )
    assert main(["reproduce", "fig99"]) == 2
    assert "`name` is 'fig99'; expected one of" in capsys.readouterr().err
    assert main(["reproduce", "table1", "--output", str(tmp_path), "--workers", "0"]) == 2


def test_mistakes_get_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert main(["reproduce", "table1", "--output", str(tmp_path / "file" / "below")]) == 2
    assert "(Not a directory); expected a folder that can be made." in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["reproduce", "fig6", "--output", str(tmp_path / "out")]) == 2
    assert 'This needs `torch`: pip install "fermi-fair[baselines,report]".' in capsys.readouterr().err


def test_every_figure_declares_its_cells() -> None:
    assert experiments.names()[0] == "fig1"
    assert experiments.names()[-2:] == ["table1", "theory"]
    for name in experiments.names():
        figure = experiments.find(name)
        quick, full = ([figure.key(cell) for cell in figure.cells(short)] for short in (True, False))
        assert 0 < len(quick) <= len(full)
        assert len(set(full)) == len(full)
        json.dumps(list(figure.cells(True)))


def test_figures_share_cells() -> None:
    first, second = (experiments.find(name) for name in ("fig1", "fig10"))
    shared = {first.key(cell) for cell in first.cells(False)} & {second.key(cell) for cell in second.cells(False)}
    assert len(shared) > 150  # Adult, demographic parity
    other = experiments.find("table1")
    assert other.key({"x": 1}) != first.key({"x": 1})


def test_a_cell_is_known_on_disk_wherever_the_code_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = experiments.find("fig1")
    figure = replace(figure, version=2)
    before = figure.key({"x": 1})
    monkeypatch.setattr(tabular.run, "__module__", "fermi.elsewhere")
    monkeypatch.setattr(tabular.run, "__qualname__", "train_one")
    assert figure.key({"x": 1}) == before == "92711a3a31ff53a4"  # as in journals written before the code was moved
    assert replace(figure, way="another").key({"x": 1}) != before
    assert replace(figure, version=99).key({"x": 1}) != before


def test_figures_run_in_the_same_way_where_they_say_so() -> None:
    figures = [experiments.find(name) for name in experiments.names()]
    assert len({figure.way for figure in figures}) == len({figure.run for figure in figures})
    assert len({(figure.way, figure.run, figure.version) for figure in figures}) == len({f.way for f in figures})
