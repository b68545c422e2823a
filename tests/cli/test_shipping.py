"""The model that is shipped: on which rows it is trained and tested, and what is not written over."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fermi.tables.asked import Asked
from fermi.tables.model_folder import SavedModel
from fermi.tables.task import Task, prepare
from fermi.tables.training import train
from tests.cli.samples import answer, run
from tests.tables.samples import people

TASK = ("--target", "hired", "--sensitive", "group")


@pytest.fixture(name="file")
def people_file(tmp_path: Path) -> Path:
    frame = people(400)
    frame.loc[5, "hired"] = None
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_the_saved_model_is_trained_on_all_rows_and_the_figures_are_of_the_other(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(file).dropna()
    whole = answer(capsys, "train", file, *TASK, "--lam", 1, "--output", tmp_path / "whole")
    part = answer(capsys, "train", file, *TASK, "--lam", 1, "--no-refit", "--output", tmp_path / "part")
    assert whole["rows"] == {"train": 299, "test": 100, "saved_model": 399}
    assert part["rows"]["saved_model"] == 299
    assert whole["chosen"]["test"]["error"] == part["chosen"]["test"]["error"]
    means = [SavedModel.load(tmp_path / name).encoder.columns[0].mean for name in ("whole", "part")]
    assert means[0] == pytest.approx(frame["score"].mean())
    assert means[1] != pytest.approx(frame["score"].mean())
    page = (tmp_path / "whole" / "report.html").read_text(encoding="utf-8")
    assert "trained again on all 399 rows" in page
    assert "--model linear --attributes intersection --seed 0 --test-size 0.25" in page
    assert "trained again" not in (tmp_path / "part" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("decision", ["argmax", "labels"])
def test_what_was_chosen_is_what_is_trained_again(decision: str) -> None:
    rows, said = prepare(people(1500), Task("hired", ("group",))), list[str]()
    asked = Asked(max_violation=0.2)
    found = train(rows, "linear", decision=decision, asked=asked, source="x", refit=True, say=said.append)
    judged = train(rows, "linear", decision=decision, asked=asked, source="x")
    assert found.saved.lam == judged.saved.lam
    assert found.saved.model.decision_ == judged.saved.model.decision_ == decision
    assert not np.allclose(found.saved.model.coef_, judged.saved.model.coef_)
    assert found.record.points[1].splits["test"].error == judged.record.points[1].splits["test"].error
    assert said == [
        "training a model without fairness",
        "training and looking for what keeps the bound",
        "measuring",
        "training again on all rows",
    ]


def test_the_test_rows_may_come_from_another_file(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = people(150, seed=9)
    other.to_csv(tmp_path / "test.csv", index=False)
    ask = ("train", file, *TASK, "--lam", 0, "--test", tmp_path / "test.csv", "--output", tmp_path / "m")
    found = answer(capsys, *ask)
    assert found["rows"] == {"train": 399, "test": 150, "saved_model": 399}
    answer(capsys, "predict", tmp_path / "m", tmp_path / "test.csv", "--output", tmp_path / "p.csv")
    error = (pd.read_csv(tmp_path / "p.csv")["prediction"] != other["hired"]).mean()
    assert found["chosen"]["test"]["error"]["value"] == pytest.approx(error), "on these rows, by this very model"
    other.drop(columns="score").to_csv(tmp_path / "test.csv", index=False)
    code, _, err = run(capsys, *ask, "--force")
    assert (code, err) == (2, "fermi: The file of --test lacks the columns 'score'.\n")
    code, _, err = run(capsys, *ask[:8], "--test", file, "--force")
    assert (code, "the file that is read" in err) == (2, True)


def test_the_split_can_be_kept(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split = tmp_path / "split.csv"
    ask = ("train", file, *TASK, "--lam", 0, "--no-refit", "--save-split", split, "--output", tmp_path / "m")
    found = answer(capsys, *ask)
    written = pd.read_csv(split)
    assert written["split"].value_counts().to_dict() == {"train": 299, "test": 100, "left out": 1}
    assert written["split"][5] == "left out"
    pd.testing.assert_frame_equal(written.drop(columns="split"), pd.read_csv(file))
    answer(capsys, "predict", tmp_path / "m", file, "--output", tmp_path / "p.csv")
    tested = pd.read_csv(tmp_path / "p.csv")[written["split"] == "test"]
    error = found["chosen"]["test"]["error"]["value"]
    assert (tested["prediction"] != tested["hired"]).mean() == pytest.approx(error)
    for more, words in (
        (("--save-split", file), "the file that is read"),
        (("--save-split", tmp_path / "x.csv", "--test", split), "--save-split is given with --test"),
    ):
        code, _, err = run(capsys, "train", file, *TASK, *more, "--output", tmp_path / "other")
        assert (code, words in err) == (2, True)


def test_what_is_there_is_not_written_over(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("train", file, *TASK, "--lam", 0, "--output", tmp_path / "m")
    answer(capsys, *ask)
    before = (tmp_path / "m" / "model.json").stat().st_mtime_ns
    code, _, err = run(capsys, *ask)
    assert code == 2
    assert err.endswith("m' is there already: --force replaces it, --output takes another.\n")
    assert (tmp_path / "m" / "model.json").stat().st_mtime_ns == before
    answer(capsys, *ask, "--force")
    assert (tmp_path / "m" / "model.json").stat().st_mtime_ns > before
    text = file.read_text()
    for command in (("predict", tmp_path / "m", file), ("audit", file, *TASK, "--prediction", "hired")):
        code, _, err = run(capsys, *command, "--output", file)
        assert (code, "the file that is read: give it another name" in err) == (2, True)
    assert file.read_text() == text


def test_a_folder_of_exports_is_checked_trained_on_and_predicted_like_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = people(400)
    frame.to_csv("all.csv", index=False)
    Path("exports").mkdir()
    for k in range(3):
        frame.iloc[k * 150 : (k + 1) * 150].to_csv(f"exports/{k}.tsv", sep="\t", index=False, encoding="utf-16")
    bound = ("--max-violation", 0.2)
    one = answer(capsys, "train", "all.csv", *TASK, *bound)
    several = answer(capsys, "train", "exports", *TASK, *bound)
    pattern = answer(capsys, "train", "exports/*.tsv", *TASK, *bound, "--force")
    for found in (several, pattern):
        assert found["output"] == "exports-model"
        assert found["chosen"]["test"] == one["chosen"]["test"]
    assert answer(capsys, "check", "exports", *TASK)["rows"] == 400
    assert answer(capsys, "predict", "exports-model", "exports", "--output", "p.csv")["rows"] == 400
    monkeypatch.setattr("fermi.tables.together.MOST_BYTES", 100)
    code, _, err = run(capsys, "train", "exports", *TASK, *bound, "--force")
    assert (code, err) == (2, "fermi: Bounds are kept on rows in memory: expected --lam for files that are streamed.\n")
