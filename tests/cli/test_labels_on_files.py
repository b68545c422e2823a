"""Labels within a bound as a user asks for them: `fermi train` with labels, and `fermi adjust`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fermi import parity_difference
from tests.cli.samples import answer, run
from tests.tables.samples import scored

TASK = ("--target", "hired", "--sensitive", "group")
SCORED = (*TASK, "--probability", "p")


@pytest.fixture(name="scored")
def scored_file(tmp_path: Path) -> Path:
    scored().assign(code="007").to_csv(tmp_path / "scored.csv", index=False)
    return tmp_path / "scored.csv"


def test_a_model_with_labels_is_trained_saved_and_predicts_within_its_bound(
    tmp_path: Path, scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ("train", scored, *TASK, "--ignore", "p", "--decision", "labels", "--max-violation", 0.05)
    found = answer(capsys, *ask, "--output", tmp_path / "m")
    assert found["decision"] == "labels"
    assert found["held_out"]["violation"] <= 0.05
    assert [charge["group"] for charge in found["rule"]] == ["group=a", "group=b", "group=c", "the average row"]
    answer(capsys, "predict", tmp_path / "m", scored, "--output", tmp_path / "out.csv")
    predicted = pd.read_csv(tmp_path / "out.csv")
    gaps = [found["chosen"][split]["hard"]["parity_difference"]["value"] for split in ("train", "test")]
    gap = parity_difference(predicted["prediction"], predicted["group"])
    assert min(gaps) - 0.02 <= gap <= max(gaps) + 0.02, "predictions are those that were audited"
    own = np.where(predicted["probability=yes"] > 0.5, "yes", "no")
    assert parity_difference(own, predicted["group"]) > gap + 0.1
    code, out, _ = run(capsys, *ask, "--output", tmp_path / "m", "--force")
    assert code == 0
    words = " ".join(out.split())
    assert "1, labels test" in words
    assert "Labels are the most probable class after a charge for the groups" in words


def test_the_four_fifths_rule_and_a_cap(tmp_path: Path, scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--min-ratio", 0.8, "--max-rate", 0.3, "--slack", 0.5)
    found = answer(capsys, "train", scored, *TASK, *more, "--output", tmp_path / "m")
    assert found["lam"] == 0
    assert found["held_out"]["rate"] <= 0.3
    assert "at least 0.8" in found["reason"]
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    assert "How labels are given" in page
    assert answer(capsys, "predict", tmp_path / "m", scored)["rows"] == 1500


def test_labels_are_added_to_the_rows_as_they_were(
    tmp_path: Path, scored: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "adjust", scored, *SCORED, "--max-violation", 0.05)
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    for part in ("most probable 0.", "group=a", "They keep a gap between groups of at most 0.05.", "→", "±"):
        assert part in words
    assert words.endswith("Labels: scored-labels.csv")
    written = pd.read_csv("scored-labels.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(written.iloc[:, :-1], pd.read_csv(scored, dtype=str, keep_default_na=False))
    assert written.columns[-1] == "label"
    found = answer(capsys, "adjust", scored, *SCORED, "--max-violation", 0.05, "--output", "out.jsonl")
    assert found["labels"] == written["label"].value_counts().to_dict()
    assert found["kept"] is True
    assert found["before"]["violation"] > 0.2 > 0.12 > found["after"]["violation"]
    assert [group["group"] for group in found["after"]["held out"]["groups"]] == ["group=a", "group=b", "group=c"]
    assert found["features"] == ["score", "colour of hair", "hint"]
    assert pd.read_json("out.jsonl", lines=True)["label"].tolist() == written["label"].tolist()


def test_what_fermi_predicts_can_be_adjusted_without_naming_columns(
    tmp_path: Path, scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(capsys, "train", scored, *TASK, "--ignore", "p", "--lam", 0, "--output", tmp_path / "m")
    answer(capsys, "predict", tmp_path / "m", scored, "--output", tmp_path / "predicted.csv")
    ask = ("adjust", tmp_path / "predicted.csv", *TASK, "--ignore", "p", "--output", tmp_path / "out.csv")
    found = answer(capsys, *ask, "--notion", "equalized_odds", "--max-violation", 0.1)
    assert found["features"] == ["score", "colour of hair", "hint"]
    assert "at most 0.1" in found["reason"]
    code, out, _ = run(capsys, *ask, "--notion", "equal_opportunity", "--advantaged", "no", "--max-violation", 0.1)
    assert code == 0
    assert "TPR of no" in out, "the label that was named"
    assert "at most 0.02" in answer(capsys, *ask)["reason"], "the bound that is kept when none is asked for"


def test_probabilities_of_another_class_than_the_last_are_pointed_out(
    tmp_path: Path, scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.read_csv(scored).assign(p=lambda frame: 1.0 - frame["p"]).to_csv(tmp_path / "other.csv", index=False)
    turned = answer(capsys, "adjust", tmp_path / "other.csv", *SCORED, "--output", tmp_path / "out.csv")["notes"]
    assert any("in their order, 'no', 'yes'" in note for note in turned)
    right = answer(capsys, "adjust", scored, *SCORED, "--output", tmp_path / "out.csv")["notes"]
    assert not any("in their order" in note for note in right)


def test_rows_without_probabilities_get_no_label(
    tmp_path: Path, scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(scored)
    frame["hired"] = (frame["hired"] == "yes").astype(int)
    frame.loc[3:5, "p"] = None
    for name in ("gaps.csv", "gaps.parquet"):
        frame.to_parquet(tmp_path / name) if name.endswith("parquet") else frame.to_csv(tmp_path / name, index=False)
        found = answer(capsys, "adjust", tmp_path / name, *SCORED, "--output", tmp_path / f"out-{name}")
        assert sum(found["labels"].values()) == 1497
    text = pd.read_csv(tmp_path / "out-gaps.csv", dtype=str, keep_default_na=False)["label"]
    assert text[3:6].tolist() == [""] * 3
    assert set(text) == {"", "0", "1"}, "whole numbers stay whole"
    assert pd.read_parquet(tmp_path / "out-gaps.parquet")["label"].isna().sum() == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["FILE", *TASK, "--probability", "q"], "--probability is 'q', but the file has no such column"),
        (["FILE", *TASK], "--probability names no column"),
        (["FILE", *TASK, "--probability", "score"], "'score' holds"),
        (["FILE", "--sensitive", "group", "--probability", "p"], "Missing option '--target'"),
        (["FILE", "--target", "hierd", "--sensitive", "group", "--probability", "p"], "--target is 'hierd'"),
        (["FILE", "--target", "code", "--sensitive", "group", "--probability", "p"], "one class only, '007'"),
        (["FILE", "--target", "hired", "--sensitive", "code", "--probability", "p"], "one group only"),
        (["FILE", *SCORED, "--max-violation", "2"], "--max-violation is 2.0; expected a number from 0 to 1"),
        (["FILE", *SCORED, "--min-ratio", "80"], "--min-ratio is 80.0"),
        (
            ["FILE", *SCORED, "--min-rate", "0.5", "--max-rate", "0.4"],
            "--min-rate is 0.5 with --max-rate of at most 0.4; expected at most 0.4 then",
        ),
        (["FILE", *SCORED, "--max-rate", "0.4", "--slack", "1"], "--slack is 1 without"),
        (["FILE", *SCORED, "--confidence", "2"], "--confidence is 2.0"),
        (["FILE", *SCORED, "--notion", "parity"], "--notion is 'parity'"),
        (["FILE", *SCORED, "--advantaged", "si"], "--favourable is 'si'"),
        (["FILE", *SCORED, "--attributes", "all"], "--attributes is 'all'"),
        (["FILE", *SCORED, "--max-violations", "0.1"], "No such option"),
        (["FILE", *SCORED, "--output", "x.pdf"], "--output is 'x.pdf'"),
        (["nowhere.csv", *SCORED], "There is no file 'nowhere.csv'."),
    ],
)
def test_mistakes_get_one_line_and_write_nothing(
    scored: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(scored.parent)
    code, out, err = run(capsys, "adjust", *(a.replace("FILE", str(scored)) for a in arguments))
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1
    assert [path.name for path in scored.parent.iterdir()] == ["scored.csv"]


def test_a_column_of_labels_is_not_overwritten(
    tmp_path: Path, scored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pd.read_csv(scored).assign(label=1).to_csv(tmp_path / "had.csv", index=False)
    code, _, err = run(capsys, "adjust", tmp_path / "had.csv", *SCORED)
    assert code == 2
    assert "has a column 'label' already" in err
