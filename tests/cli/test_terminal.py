"""What reaches the terminal: words of a file are shown and never act on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fermi.cli import main
from tests.cli.samples import run
from tests.tables.samples import people


def test_what_a_file_says_is_shown_and_never_acts_on_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clear, turned = "\x1b[2J", "\u202e"
    frame = people(300).rename(columns={"group": f"group{clear}"})
    frame[f"group{clear}"] = frame[f"group{clear}"].astype(str) + clear + turned
    file, column = tmp_path / "people.csv", f"group{clear}"
    frame.to_csv(file, index=False)
    task = ("--target", "hired", "--sensitive", column)
    printed = [run(capsys, "train", file, *task, "--output", tmp_path / "m")]
    printed.append(run(capsys, "tradeoff", file, *task, "--output", tmp_path / "t"))
    assert main(["predict", str(tmp_path / "m"), str(file), "--output", str(tmp_path / "p.csv")]) == 0
    printed.append(run(capsys, "audit", tmp_path / "p.csv", *task, "--prediction", "prediction"))
    assert [code for code, _, _ in printed] == [0, 0, 0]
    printed.append(run(capsys, "train", file, "--target", clear, "--sensitive", column))
    assert printed[-1][0] == 2
    for _, out, err in printed:
        assert "group" in out + err
        assert "\x1b" not in out + err
        assert turned not in out + err


def test_four_labels_with_long_names_fit_into_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    frame = people(1200)
    names = np.array(["aufgeschoben", "ausgefallen", "zurückgefordert", "zurückgezahlt"])
    above = (frame["score"] > 0).to_numpy() + 2 * (frame["group"] == "a").to_numpy()
    frame.assign(hired=names[above]).to_csv(tmp_path / "p.csv", index=False)
    ask = ("train", tmp_path / "p.csv", "--target", "hired", "--sensitive", "group", "--output", tmp_path / "m")
    code, out, _ = run(capsys, *ask, "--lam", 1)
    assert code == 0
    lines = out.splitlines()
    (row,) = [line for line in lines if line.startswith(" group=a ")]
    assert row.count("%") == 4, "three rates and an error on one line"
    (label,) = [name for name in names if f"Behind the gap: “{name}”" in out]
    (left,) = [line for line in lines if line.startswith("The rates of ")]
    assert label not in left, "the label behind the gap is shown"
    assert "\n always " in out
    strengths = [line for line in lines if " test " in line and "[" in line]
    assert all(line.count("]") == 2 for line in strengths), "both intervals stand on the line of their model"
