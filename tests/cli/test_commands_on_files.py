"""The commands on tables as a user runs them: real files, odd files, typos, Ctrl-C."""

from __future__ import annotations

import functools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fermi import FermiClassifier, datasets, parity_difference
from fermi.auditing import _reading
from fermi.cli.demo import applicants
from fermi.inputs import groups
from tests.cli.samples import answer, run, saved
from tests.tables.samples import people

TASK = ("--target", "hired", "--sensitive", "group")
OPPORTUNITY = (*TASK, "--notion", "equal_opportunity")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_adult_from_a_file_to_an_audit(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    suffix: str,
    monkeypatch: pytest.MonkeyPatch,
    adult_home: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    data = datasets.load("adult", data_home=adult_home)
    file = saved(pd.concat([data.X_train, data.y_train], axis=1), Path(f"adult{suffix}"))
    target = str(data.y_train.name)
    found = answer(
        capsys, "train", file, "--target", target, "--sensitive", "sex", "--max-violation", 0.02, "--drop-sensitive"
    )
    assert found["output"] == "adult-model"
    gap = found["chosen"]["test"]["hard"]["parity_difference"]
    assert gap["value"] <= 0.03
    assert gap["low"] <= gap["value"] <= gap["high"]
    assert found["without_fairness"]["test"]["hard"]["parity_difference"]["value"] > 0.15
    assert found["chosen"]["test"]["error"]["value"] < 0.19
    new = saved(pd.concat([data.X_test, data.y_test], axis=1), Path(f"new{suffix}"))
    assert answer(capsys, "predict", "adult-model", new, "--output", "predicted.csv")["rows"] == len(data.y_test)
    predicted = pd.read_csv("predicted.csv")
    audited = answer(
        capsys, "audit", "predicted.csv", "--target", target, "--prediction", "prediction", "--sensitive", "sex"
    )
    gap = parity_difference(predicted["prediction"], predicted["sex"])
    assert audited["hard"]["parity_difference"]["value"] == pytest.approx(gap)
    assert audited["error"]["value"] == pytest.approx((predicted["prediction"] != predicted[target]).mean())


def test_train_predict_audit_for_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(people(), tmp_path / "people.csv")
    code, out, err = run(capsys, "train", file, *TASK, "--lam", 5, "--output", tmp_path / "m")
    assert (code, err) == (0, "")
    for words in ("400 rows, 4 columns", "colour of hair", "3 categories", "They are dropped here", "Report: "):
        assert words in " ".join(out.split())
    assert "\x1b" not in out
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == [
        "README.md",
        "arrays.npz",
        "model.json",
        "report.html",
    ]
    code, out, err = run(capsys, "predict", tmp_path / "m", file)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "score,colour of hair,group,hired,prediction,probability=no,probability=yes"
    assert len(out.splitlines()) == 401
    (tmp_path / "p.csv").write_text(out)
    columns = ("--target", "hired", "--probability", "probability=yes", "--sensitive", "group")
    more = ("--notion", "equalized_odds", "--output", tmp_path / "audit.html")
    code, out, err = run(capsys, "audit", tmp_path / "p.csv", *columns, *more)
    assert (code, err) == (0, "")
    assert "group=a" in out
    assert "<html" in (tmp_path / "audit.html").read_text(encoding="utf-8")


def test_predictions_do_not_need_target_or_group_unless_it_is_a_feature(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = saved(people(), tmp_path / "people.csv")
    bare = saved(people().drop(columns=["hired", "group"]), tmp_path / "bare.csv")
    for option, code in (("--drop-sensitive", 0), ("--keep-sensitive", 2)):
        assert run(capsys, "train", file, *TASK, option, "--output", tmp_path / "m", "--force")[0] == 0
        assert run(capsys, "predict", tmp_path / "m", bare, "--json")[0] == code


def test_unseen_categories_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(people(), tmp_path / "people.csv")
    new = saved(people(30, seed=2).assign(**{"colour of hair": "blue"}), tmp_path / "new.csv")
    assert run(capsys, "train", file, *TASK, "--output", tmp_path / "m")[0] == 0
    assert answer(capsys, "predict", tmp_path / "m", new)["unseen"] == {"colour of hair": 30}
    code, _, err = run(capsys, "predict", tmp_path / "m", new, "--output", tmp_path / "out.parquet")
    assert code == 0
    assert err.endswith("count as none, or as the mean: 30 of 'colour of hair'.\n")
    assert len(pd.read_parquet(tmp_path / "out.parquet")) == 30


@pytest.mark.slow
def test_tradeoff_writes_a_curve_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(people(1000), tmp_path / "people.csv")
    found = answer(capsys, "tradeoff", file, *TASK, "--max-violation", 0.25, "--output", tmp_path / "t")
    curve = pd.read_csv(tmp_path / "t" / "curve.csv")
    assert {"train", "validation", "test"} == set(curve["split"])
    assert found["points"][0]["lam"] == 0
    assert found["chosen"] in curve["lam"].tolist()
    rows = curve[(curve["lam"] == found["chosen"]) & (curve["split"] == "validation")]
    assert rows["violation"].item() <= 0.25
    assert rows["rows"].item() == curve.loc[curve["split"] == "train", "rows"].max()  # all training rows, out of fold
    point = next(p for p in found["points"] if p["lam"] == found["chosen"])
    assert point["validation"]["hard"]["parity_difference"]["value"] == pytest.approx(rows["violation"].item())
    assert (tmp_path / "t" / "report.html").stat().st_size < 2_000_000


@pytest.mark.parametrize(("model", "package"), [("boosting", "lightgbm"), ("mlp", "torch")])
def test_other_models(tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str, package: str) -> None:
    pytest.importorskip(package, reason=f"the extra with {package} is not installed")
    file = saved(people(200), tmp_path / "people.csv")
    found = answer(capsys, "train", file, *TASK, "--model", model, "--output", tmp_path / "m")
    assert found["chosen"]["lam"] == 1
    assert answer(capsys, "predict", tmp_path / "m", file)["rows"] == 200


def test_several_columns_and_each_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people().assign(sex=np.tile(["f", "m"], 200))
    file = saved(frame, tmp_path / "people.csv")
    both = (*TASK, "--sensitive", "sex", "--output", tmp_path / "m", "--force")
    found = answer(capsys, "train", file, *both)
    assert set(found["chosen"]) == {"lam", "seconds", "train", "test"}
    found = answer(capsys, "train", file, *both, "--attributes", "each")
    assert {"test: group", "test: sex"} < set(found["chosen"])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("empty.csv", "", "is empty"),
        ("header.csv", "score,group,hired\n", "has no rows"),
        ("one.csv", "score,group,hired\n1,a,yes\n", "one class only, 'yes'"),
        ("class.csv", "score,group,hired\n" + "1,a,yes\n2,b,yes\n" * 9, "one class only, 'yes'"),
        ("group.csv", "score,group,hired\n" + "1,a,yes\n2,a,no\n" * 9, "one group only"),
        ("constant.csv", "score,group,hired\n" + "1,a,yes\n1,b,no\n" * 9, "No column can serve as a feature"),
        ("few.csv", "score,group,hired\n1,a,yes\n2,b,no\n", "too few"),
    ],
)
@pytest.mark.parametrize("command", ["train", "tradeoff"])
def test_files_that_cannot_be_learned_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, words: str, command: str
) -> None:
    (tmp_path / name).write_text(text)
    code, _, err = run(capsys, command, tmp_path / name, *TASK, "--output", tmp_path / "m")
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_odd_files_that_can(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people()
    frame["mixed"] = [str(j) if j % 3 else "n.a." for j in range(400)]
    frame["größe <b>"] = np.arange(400.0)
    frame.loc[:9, "hired"] = None
    frame.loc[20:29, "group"] = None
    frame.loc[30:50, "größe <b>"] = None
    file = saved(frame, tmp_path / "odd name ü.csv")
    found = answer(capsys, "train", file, *TASK, "--output", tmp_path / "m")
    assert found["notes"][0] == "10 rows have no 'hired' and were left out."
    assert found["columns"]["größe <b>"].startswith("number")
    assert "<b>" not in (tmp_path / "m" / "report.html").read_text(encoding="utf-8").split("</title>")[0]
    assert answer(capsys, "predict", tmp_path / "m", file)["rows"] == 400


@pytest.mark.slow
def test_a_thousand_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(300, 1000)).round(3), columns=[f"x{j}" for j in range(1000)])
    file = saved(pd.concat([people(300), wide], axis=1), tmp_path / "wide.csv")
    code, out, err = run(capsys, "train", file, *TASK, "--output", tmp_path / "m")
    assert (code, err) == (0, "")
    assert "and 962 more columns" in out
    assert (tmp_path / "m" / "report.html").stat().st_size < 2_000_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "FILE", "--target", "hierd", "--sensitive", "group"], "--target is 'hierd'"),
        (["train", "FILE", "--target", "hired", "--sensitive", "Group"], "did you mean 'group'?"),
        (["train", "FILE", *TASK, "--sensitive", "group"], "--sensitive names the same column twice"),
        (["train", "FILE", *TASK, "--ignore", "id"], "--ignore is 'id', but the file has no such column"),
        (["train", "FILE", *TASK, "--advantaged", "si"], "--favourable is 'si'; expected one of 'no', 'yes'."),
        (
            ["train", "FILE", *OPPORTUNITY, "--advantaged", "maybe"],
            "--favourable is 'maybe'; expected one of 'no', 'yes'.",
        ),
        (["train", "FILE", *TASK, "--require"], "--require is given without a bound"),
        (["audit", "FILE", *TASK, "--prediction", "hired", "--require"], "--require is given without a bound"),
        (["train", "FILE", *TASK, "--test-size", "0.0001"], "--test-size is 0.0001"),
        (["predict", "nowhere", "FILE", "--output", "x.pdf"], "--output is 'x.pdf'"),
        (["train", "FILE", "--target", "hired"], "Missing option '--sensitive'"),
        (["train", "nowhere.csv", *TASK], "There is no file 'nowhere.csv'."),
        (["train", "FILE", *TASK, "--lam", "1", "--max-violation", "0.1"], "exclude each other"),
        (["train", "FILE", *TASK, "--lam", "-1"], "--lam is -1.0"),
        (["train", "FILE", *TASK, "--model", "forest"], "--model is 'forest'"),
        (["train", "FILE", *TASK, "--notion", "parity"], "--notion is 'parity'"),
        (["train", "FILE", *TASK, "--attributes", "all"], "--attributes is 'all'"),
        (["train", "FILE", *TASK, "--test-size", "2"], "--test-size is 2.0"),
        (["train", "FILE", *TASK, "--max-violation", "5"], "--max-violation is 5.0"),
        (
            ["train", "FILE", *TASK, "--decision", "label"],
            "--decision is 'label'; expected one of 'auto', 'argmax', 'l",
        ),
        (["train", "FILE", *TASK, "--decision", "labels"], "--decision is labels without a bound"),
        (["train", "FILE", *TASK, "--decision", "argmax", "--min-ratio", "0.8"], "--decision is argmax: it keeps"),
        (["train", "FILE", *TASK, "--min-ratio", "80"], "--min-ratio is 80.0; expected a number from 0 to 1"),
        (["train", "FILE", *TASK, "--slack", "1"], "--slack is 1 without --max-violation, --min-ratio or --min-rate"),
        (["train", "FILE", *TASK, "--min-ration", "0.8"], "No such option"),
        (["train", "FILE", *TASK, "--seed", "-1"], "--seed is -1"),
        (["train", "FILE", *TASK, "--output", "FILE"], "is a file; expected a new or an empty folder"),
        (["train", "FILE", *TASK, "--output", "FILE/m"], "is no folder"),
        (["train", "FILE", *TASK, "--output", "."], "holds other things; expected a new or an empty folder"),
        (["tradeoff", "FILE", *TASK, "--jobs", "0"], "--jobs is 0"),
        (["predict", "nowhere", "FILE"], "There is no model in 'nowhere'"),
        (
            ["audit", "FILE", "--target", "hired", "--sensitive", "group"],
            "Give --prediction, a column of labels, or --probability, one",
        ),
        (["audit", "FILE", "--target", "hired", "--prediction", "x", "--sensitive", "group"], "--prediction is 'x'"),
        (["audit", "FILE", *TASK, "--probability", "x"], "--probability is 'x'"),
        (
            ["audit", "FILE", *TASK, "--prediction", "hired", "--notion", "parity"],
            "--notion is 'parity'; expected one of",
        ),
        (["audit", "FILE", *TASK, "--prediction", "hired", "--output", "x.pdf"], "ends in one of .html"),
        (["audit", "FILE", *TASK, "--probability", "score"], "`y_pred` has the row"),
        (["audit", "FILE", "--sensitive", "group", "--probability", "score"], "Probabilities need --target"),
        (["audit", "FILE", *TASK, "--prediction", "hired", "--confidence", "2"], "--confidence is 2.0"),
        (["audit", "FILE", *TASK, "--prediction", "group"], "both the prediction and a sensitive column"),
        (["audit", "FILE", *TASK, "--prediction", "hired", "--advantaged", "si"], "--favourable is 'si'"),
        (["audit", "FILE", "--prediction", "hired", "--sensitive", "score"], "put them into ranges"),
    ],
)
def test_mistakes_get_one_line_and_write_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    file = saved(people(), tmp_path / "people.csv")
    code, _, err = run(capsys, *(a.replace("FILE", str(file)) for a in arguments))
    assert code == 2
    assert words in err
    assert len(err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_column_that_looks_like_an_argument_keeps_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = saved(people().rename(columns={"hired": "`target`"}), tmp_path / "people.csv")
    _, _, err = run(capsys, "train", file, *TASK)
    assert err.startswith("fermi: --target is 'hired', but")
    assert err.endswith("'group', '`target`'.\n")


def test_the_question_is_asked_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = saved(people(), tmp_path / "people.csv")
    asked = []

    def confirm(question: str, default: bool) -> bool:
        asked.append((question, default))
        return True

    monkeypatch.setattr("fermi.cli.train.typer.confirm", confirm)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, _ = run(capsys, "train", file, *TASK, "--output", tmp_path / "m")
    assert code == 0
    assert asked == [("Keep the sensitive columns as features?", False)]
    assert "may be unlawful" in " ".join(out.split())
    assert json.loads((tmp_path / "m" / "model.json").read_text())["task"]["keep_sensitive"] is True


ENDINGS = [("tradeoff", "SIGINT"), ("train", "SIGTERM"), ("tradeoff", "SIGHUP")]


@pytest.mark.parametrize(
    ("command", "ended_by"),
    [("train", "SIGINT"), *(pytest.param(*case, marks=pytest.mark.long) for case in ENDINGS)],
)
def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path, command: str, ended_by: str) -> None:
    pytest.importorskip("lightgbm", reason="the extra `boosting` is not installed")
    saved(applicants(0), tmp_path / "a.csv")
    task = ["--target", "outcome", "--sensitive", "group", "--model", "boosting"]
    task += ["--max-violation", "0.0001"] if command == "train" else []
    # The handlers are set anew: a child of a background job inherits that Ctrl-C is ignored, one of `nohup` more.
    script = "import signal, sys; from fermi.cli import main\n"
    script += "signal.signal(signal.SIGINT, signal.default_int_handler); signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    script += "sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", script, command, "a.csv", *task],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "years_employed" in line:  # the columns are shown; training follows
            break
    time.sleep(2)
    process.send_signal(signal.Signals[ended_by])
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1
    assert err.splitlines()[-1] == "fermi: interrupted"
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


class Counts:
    """How often groups are made of sensitive columns, within fits and elsewhere, while a command runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fits = self.elsewhere = 0
        self.fitting = False
        plain, fit = groups.group_codes, FermiClassifier.fit

        def counted(columns: Any) -> Any:
            self.elsewhere += not self.fitting
            return plain(columns)

        @functools.wraps(fit)
        def watched(model: FermiClassifier, *given: Any, **named: Any) -> FermiClassifier:
            self.fits, self.fitting = self.fits + 1, True
            try:
                return fit(model, *given, **named)
            finally:
                self.fitting = False

        for module in (groups, _reading):
            monkeypatch.setattr(module, "group_codes", counted)
        monkeypatch.setattr(FermiClassifier, "fit", watched)


@pytest.mark.parametrize(
    ("arguments", "codings"),
    [
        (["train"], 2),  # one is of `fermi check`, which looks at the file before it is prepared
        (["train", "--sensitive", "sex"], 2),
        (["train", "--sensitive", "sex", "--attributes", "each"], 4),  # of both together, to check them, and of each
        pytest.param(["tradeoff"], 6, marks=pytest.mark.slow),  # and of both parts for the figures and the audits
    ],
)
def test_the_groups_are_coded_once_whatever_is_audited(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    codings: int,
) -> None:
    file = saved(people().assign(sex=np.tile(["f", "m"], 200)), tmp_path / "people.csv")
    counts = Counts(monkeypatch)
    answer(capsys, arguments[0], file, *TASK, *arguments[1:], "--output", tmp_path / "m")
    assert counts.elsewhere == codings
    assert counts.fits > 1


def test_prediction_keeps_what_it_does_not_know(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(people(), tmp_path / "people.csv")
    assert run(capsys, "train", file, *TASK, "--output", tmp_path / "m")[0] == 0
    (tmp_path / "new.csv").write_text("id,score,colour of hair\n007,?,brün\n008,1.50,true\n")
    for name in ("out.csv", "out.csv.gz"):
        assert run(capsys, "predict", tmp_path / "m", tmp_path / "new.csv", "--output", tmp_path / name)[0] == 0
        written = pd.read_csv(tmp_path / name, dtype=str, keep_default_na=False)
        assert written.iloc[:, :3].to_numpy().tolist() == [["007", "?", "brün"], ["008", "1.50", "true"]]
    unseen = answer(capsys, "predict", tmp_path / "m", tmp_path / "new.csv")["unseen"]
    assert unseen == {"score": 1, "colour of hair": 1}


def test_groups_that_cannot_be_compared_are_no_parity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people().assign(guess=lambda t: np.where(t["score"] > 0, "yes", "no"))
    frame.loc[frame["hired"] == "yes", "group"] = "a"  # no other group has the advantaged label
    file = saved(frame, tmp_path / "people.csv")
    ask = ("audit", file, *TASK, "--prediction", "guess", "--notion", "equal_opportunity")
    found = answer(capsys, *ask)["hard"]["parity_difference"]
    assert (found["value"], found["note"]) == (None, "no two groups with rows: nothing to compare")
    found = answer(capsys, *ask, "--advantaged", "no")["hard"]["parity_difference"]
    assert found["value"] > 0


def test_probabilities_find_their_class_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people().assign(p=lambda t: (1 + np.tanh(t["score"])) / 2)
    frame["probability=no"], frame["probability=yes"] = 1 - frame["p"], frame["p"]
    file = saved(frame, tmp_path / "people.csv")
    columns = [["p"], ["probability=yes"], ["probability=no"], ["probability=yes", "probability=no"]]
    asked = [[word for name in names for word in ("--probability", name)] for names in columns] + [
        ["--prediction", "p"]
    ]
    answers = [answer(capsys, "audit", file, *TASK, *words) for words in asked]
    errors = [found["error"]["value"] for found in answers]
    assert errors == [errors[0]] * len(asked)
    assert answers[2]["notes"][0] == "'probability=no': taken as the probabilities of 'no', in this order."


def test_the_audit_writes_what_the_suffix_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people().assign(guess=lambda t: np.where(t["score"] > 0, "yes", "no"))
    frame.loc[:4, "guess"] = None
    file = saved(frame, tmp_path / "people.csv")
    ask = ("audit", file, *TASK, "--prediction", "guess")
    for name in ("a.json", "a.csv", "a.html"):
        code, out, err = run(capsys, *ask, "--output", tmp_path / name)
        assert (code, err) == (0, "")
        assert "5 rows have no 'guess' and were left out." in out
    assert run(capsys, *ask, "--output", tmp_path / "small.json", "--min-group-size", 100)[0] == 0
    withheld = json.loads((tmp_path / "small.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert withheld["groups"][-1]["rows"] is None
    document = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert [group["group"] for group in document["groups"]] == ["group=a", "group=b", "group=c"]
    table = pd.read_csv(tmp_path / "a.csv")
    assert len(table) == 3
    kept = frame.dropna()
    rate = (kept.loc[kept["group"] == "a", "guess"] == "yes").mean()
    assert document["groups"][0]["rates"]["yes"]["value"] == pytest.approx(rate)
