"""What reaches the terminal: words of a file are shown and never act on it."""

from __future__ import annotations

from pathlib import Path

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
