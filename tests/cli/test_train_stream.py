"""`fermi train` on a folder or a glob that is streamed, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.samples import run
from tests.stream.samples import frame_of, write

TASK = ["--target", "y", "--sensitive", "sex", "--drop-sensitive", "--lam", "2", "--solver", "lbfgs"]


def test_a_folder_becomes_a_model_that_predicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, model = write(frame_of(), tmp_path / "rows"), tmp_path / "model"
    code, out, err = run(capsys, "train", folder, *TASK, "--output", model, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["rows"]["train"] + told["rows"]["test"] == 1200
    assert 200 < told["rows"]["test"] < 400
    assert told["chosen"]["test"]["error"]["value"] < 0.4
    assert {path.name for path in model.iterdir()} == {"README.md", "model.json", "arrays.npz", "report.html"}
    code, _, _ = run(capsys, "predict", model, folder / "part-0.parquet", "--output", tmp_path / "found.csv")
    assert code == 0
    assert len(pd.read_csv(tmp_path / "found.csv")) == 300
    glob = run(capsys, "train", tmp_path / "rows" / "part-*.parquet", *TASK, "--output", tmp_path / "other", "--json")
    assert json.loads(glob[1])["objective"] == pytest.approx(told["objective"])
    text = run(capsys, "train", folder, *TASK, "--output", tmp_path / "third", "--solver", "sgda", "--passes", "2")
    assert text[0] == 0
    assert "Model:" in text[1]
    chosen = ["--notion", "equal_opportunity", "--advantaged", "1"]
    assert run(capsys, "train", folder, *TASK, *chosen, "--output", tmp_path / "fourth")[0] == 0


def test_a_bad_file_is_one_line_or_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(frame_of(), tmp_path / "rows")
    (folder / "part-1.parquet").write_bytes(b"nothing")
    code, out, err = run(capsys, "train", folder, *TASK, "--output", tmp_path / "model")
    assert (code, out.count("Model:")) == (2, 0)
    assert err.count("\n") == 1
    assert "part-1.parquet' cannot be read" in err
    code, out, _ = run(capsys, "train", folder, *TASK, "--skip-bad-files", "--output", tmp_path / "model", "--json")
    assert code == 0
    assert [Path(path).name for path in json.loads(out)["skipped_files"]] == ["part-1.parquet"]


@pytest.mark.parametrize(
    ("column", "words"),
    [("heavy", "different numbers; expected groups: put"), ("one", "'one' holds one group only")],
)
def test_columns_that_are_no_groups_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, words: str
) -> None:
    folder = write(frame_of().assign(one="all"), tmp_path / "rows")
    asked = ["--target", "y", "--sensitive", column, "--lam", "1", "--drop-sensitive", "--output", tmp_path / "model"]
    code, _, err = run(capsys, "train", folder, *asked)
    assert code == 2
    assert words in err


def test_rows_for_the_test_are_joined_from_files_of_several_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = frame_of()
    folder = write(frame, tmp_path / "rows")
    for k, name in enumerate(["since", "city"]):
        part = frame[300 * k : 300 * k + 300]
        other = part[name].dt.date if name == "since" else part[name].astype("category")
        part.assign(**{name: other}).to_parquet(folder / f"part-{k}.parquet")
    code, out, err = run(capsys, "train", folder, *TASK, "--output", tmp_path / "model", "--json")
    assert (code, err) == (0, "")
    assert sum(json.loads(out)["rows"].values()) == 1200


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "boosting"], "only linear models"),
        (["--max-violation", "0.02"], "exclude each other"),
        (["--min-ratio", "0.8"], "Bounds are kept on rows in memory"),
        (["--engine", "spark"], "--engine is 'spark'"),
        (["--memory", "much"], "--memory is 'much'"),
        (["--passes", "0"], "--passes is 0"),
        (["--solver", "newton"], "--solver is 'newton'"),
        (["--advantaged", "9", "--notion", "equal_opportunity"], "holds 9, which does not occur"),
        (["--weights", "9=2", "--notion", "equalized_odds"], "--weights names 9; expected one of the conditions"),
        (["--weights", "often", "--notion", "equalized_odds"], "--weights is 'often'; expected 'balanced', or LABEL="),
        (["--notion", "equal_opportunity"], "needs to know which label people want: name it with --favourable"),
        (["--require"], "--require is for a file that is read into memory"),
        (["--save-split", "s.csv"], "--save-split is for a file that is read into memory"),
        (["--bins", "x=1,2"], "--bins is for a file that is read into memory"),
        (["--no-refit"], "--no-refit is for a file that is read into memory"),
    ],
)
def test_what_a_stream_cannot_do_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    folder = write(frame_of(200), tmp_path / "rows")
    code, _, err = run(capsys, "train", folder, *TASK, *options, "--output", tmp_path / "model")
    assert (code, err.count("\n")) == (2, 1)
    assert words in err
