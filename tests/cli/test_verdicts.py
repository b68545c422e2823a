"""A verdict everywhere, models of no use, and the label that people want, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fermi import parity_ratio
from tests.cli.samples import answer, run
from tests.tables.samples import people, scored

TASK = ("--target", "hired", "--sensitive", "group")


def page_of(folder: Path) -> dict[str, Any]:
    text = (folder / "report.html").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    return found


@pytest.fixture(name="file")
def people_file(tmp_path: Path) -> Path:
    people(2000).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_the_verdict_is_first_on_the_terminal_on_the_page_and_in_json(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ("train", file, *TASK, "--drop-sensitive", "--decision", "argmax")
    met = answer(capsys, *ask, "--max-violation", 0.9, "--output", tmp_path / "met")
    assert (met["verdict"]["outcome"], met["verdict"]["met"], met["verdict"]["missed"]) == ("met", True, False)
    assert met["verdict"]["nothing_had_to_be_done"] is True
    assert met["verdict"]["sentence"].count("nothing had to be done") == 1
    page = page_of(tmp_path / "met")
    assert page["title"] == "A fair model of hired"
    assert page["verdict"]["sentence"] == met["verdict"]["sentence"]
    code, out, err = run(capsys, *ask, "--max-violation", 0.2, "--output", tmp_path / "close")
    assert (code, err) == (0, "")
    words = " ".join(out.split())
    assert words.index("a gap between groups of at most 0.2 was asked for") < words.index("bal. AUC")
    assert "“yes” is given to" in words
    page = page_of(tmp_path / "close")
    assert page["verdict"]["outcome"] == "undecided"
    assert "fair model" not in page["title"]


def test_a_missed_bound_ends_with_code_3_and_without_a_folder(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = people(2000)
    frame["given"] = np.where(frame["group"] == "a", "yes", "no")
    frame.to_csv(file, index=False)
    ask = ("audit", file, *TASK, "--prediction", "given", "--max-violation", 0.1)
    code, _, err = run(capsys, *ask, "--require", "--output", tmp_path / "audit.html")
    assert code == 3
    assert err.startswith("fermi: Missed: a gap between groups of at most 0.1 was asked for; it is 1.000 [")
    assert len(err.splitlines()) == 1
    assert answer(capsys, *ask)["verdict"]["missed"] is True
    # The label follows from the group, which is a feature, so that no model of use keeps the bound on every row.
    more = ("--min-ratio", 0.99, "--min-rate", 0.99, "--max-rate", 0.99)
    code, _, err = run(
        capsys, "train", file, *TASK, "--ignore", "given", *more, "--require", "--output", tmp_path / "m"
    )
    assert (code, sorted(path.name for path in tmp_path.iterdir())) == (3, ["people.csv"])
    assert "Missed: " in err


def test_notes_name_the_options_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people(600)
    frame.loc[:1, "group"] = ["rare", "odd"]
    frame.to_csv(tmp_path / "p.csv", index=False)
    notes = answer(capsys, "train", tmp_path / "p.csv", *TASK, "--output", tmp_path / "m")["notes"]
    assert "Taken as the label that people want: 'yes'. If it is not, --favourable names another." in notes
    assert any("use --attributes each" in note for note in notes)
    assert not any("`" in note or "attributes=" in note for note in notes)


def test_a_model_that_answers_alike_is_said_to_be_of_no_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 1500)
    x = rng.normal(size=1500)
    passed = np.where(rng.random(1500) < 1 / (1 + np.exp(-2.2 - 0.4 * x)), "pass", "fail")
    file = tmp_path / "bar.csv"
    pd.DataFrame({"x": x, "group": group, "bar": passed}).to_csv(file, index=False)
    ask = ("train", file, "--target", "bar", "--sensitive", "group", "--lam", 1, "--output", tmp_path / "m")
    found = answer(capsys, *ask)
    assert found["useful"] is False
    use = found["chosen"]["test"]["use"]
    assert use["alike"] > 0.98
    assert use["constant_error"] == pytest.approx((passed == "fail").mean(), abs=0.02)
    assert found["warnings"][0].startswith("No better than a constant: these labels err in ")
    assert "always answering “pass” errs in" in found["warnings"][0]
    assert page_of(tmp_path / "m")["title"] == "A model of bar that is no better than one answer for all"
    code, out, _ = run(capsys, *ask[:-1], tmp_path / "n")
    assert code == 0
    assert "always pass" in out, "the constant stands beside every model"
    code, out, _ = run(capsys, *ask[:-4], "--max-violation", 0.2, "--output", tmp_path / "o")
    assert code == 0
    assert 0 < out.index("Met: a gap") < out.index("No better than a constant"), "the verdict is first"


def test_the_good_label_is_not_the_last_in_the_alphabet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = scored(1500).assign(hired=lambda t: t["hired"].map({"yes": "approved", "no": "denied"}))
    file = tmp_path / "loans.csv"
    frame.to_csv(file, index=False)
    ask = ("train", file, *TASK, "--ignore", "p", "--min-ratio", 0.8)
    found = answer(capsys, *ask, "--output", tmp_path / "m")
    assert found["verdict"]["bounds"][0]["option"] == "min_ratio"
    assert "“approved”" in found["verdict"]["sentence"]
    answer(capsys, "predict", tmp_path / "m", file, "--output", tmp_path / "out.csv")
    out = pd.read_csv(tmp_path / "out.csv")
    assert list(out.columns[-3:]) == ["prediction", "probability=denied", "probability=approved"]
    assert np.corrcoef(out["probability=approved"], out["hired"] == "approved")[0, 1] > 0.3
    assert parity_ratio(out["prediction"], out["group"], outcome="approved") > 0.72
    opportunity = (*TASK, "--prediction", "prediction", "--notion", "equal_opportunity")
    known = answer(capsys, "audit", tmp_path / "out.csv", *opportunity)["judged"]
    assert known["behind"]["condition"] == known["behind"]["label"] == "approved"
    fifths = answer(capsys, "audit", tmp_path / "out.csv", *TASK, "--prediction", "prediction")
    assert fifths["judged"]["four_fifths"]["label"] == "approved"
    ratio = parity_ratio(out["prediction"], out["group"], outcome="approved")
    assert fifths["judged"]["four_fifths"]["value"] == pytest.approx(ratio)
    assert fifths["hard"]["parity_ratio"]["value"] == pytest.approx(parity_ratio(out["prediction"], out["group"]))


def test_adjusted_labels_keep_the_ratio_of_the_label_that_people_want(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = scored(1500).assign(hired=lambda t: t["hired"].map({"yes": "approved", "no": "denied"}))
    frame["p"] = 1 - frame["p"]  # of the last in sorted order, as the help says
    frame.to_csv(tmp_path / "s.csv", index=False)
    ask = ("adjust", tmp_path / "s.csv", *TASK, "--probability", "p", "--min-ratio", 0.8)
    found = answer(capsys, *ask, "--output", tmp_path / "out.csv")
    assert found["notes"][0] == "'p' is taken as the probability of 'denied'."
    out = pd.read_csv(tmp_path / "out.csv")
    assert parity_ratio(out["label"], out["group"], outcome="approved") > 0.75
    assert found["chosen_on"]["rate"] == pytest.approx((out["label"] == "approved").mean(), abs=0.03)
    assert (out["label"] == out["hired"]).mean() > 0.6
    assert found["verdict"]["bounds"][0]["asked"] == 0.8
    assert found["price"]["label"] == "approved"


@pytest.mark.parametrize("more", [("--min-ratio", 0.8), ("--notion", "equal_opportunity"), ("--max-rate", 0.5)])
@pytest.mark.parametrize("command", ["train", "adjust"])
def test_a_label_that_cannot_be_known_is_asked_for_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, more: tuple[Any, ...]
) -> None:
    frame = scored(300).assign(hired=lambda t: t["hired"].map({"yes": "blue", "no": "green"}))
    frame.to_csv(tmp_path / "s.csv", index=False)
    own = ("--probability", "p") if command == "adjust" else ()
    code, _, err = run(capsys, command, tmp_path / "s.csv", *TASK, *own, *more, "--output", tmp_path / "m.csv")
    assert code == 2
    assert "needs to know which label people want: name the favourable one by --favourable 'blue' or --favo" in err
    assert len(err.splitlines()) == 1
