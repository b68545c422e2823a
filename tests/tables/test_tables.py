"""Files to matrices and models to folders: nothing lost, nothing half-written, nothing executable."""

from __future__ import annotations

import ast
import builtins
import datetime
import io
import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fermi import tables
from fermi._files import whole_file, whole_folder
from fermi.errors import FermiError
from fermi.inputs.natural import natural
from fermi.inputs.table_encoder import TableEncoder
from fermi.linear.classifier import FermiClassifier
from fermi.tables import kinds
from fermi.tables.formats import read_raw, read_table, write_table
from fermi.tables.model_folder import ARRAYS, MARK, SavedModel
from fermi.tables.task import Task, prepare
from tests.tables.samples import people


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet", ".feather", ".jsonl"])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    if suffix.endswith(".gz"):
        people().to_csv(tmp_path / f"t{suffix}", index=False)
    else:
        write_table(people(), tmp_path / f"t{suffix}")
    found = read_table(tmp_path / f"t{suffix}")
    found["score"] = found["score"].astype(float)  # a text file holds text
    pd.testing.assert_frame_equal(found, people(), check_dtype=False)
    assert [path.name for path in tmp_path.iterdir()] == [f"t{suffix}"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "a,b\n", "has no rows"),
        ("t.csv", "a,b, a\n1,2,3\n", "several columns called 'a'"),
        ("t.csv", 'a,b\n"1,2\n3,4', "cannot be read as CSV"),
        ("t.jsonl", "{", "cannot be read as JSON lines"),
        ("t.parquet", "no parquet", "cannot be read as Parquet"),
        ("t.xlsx", "x", "cannot be read as an Excel workbook: File is not a zip file"),
        ("t.doc", "x", "ends in one of .csv"),
    ],
)
def test_files_that_are_no_tables(tmp_path: Path, name: str, content: str, words: str) -> None:
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl", reason="the extra `excel` is not installed")
    (tmp_path / name).write_text(content)
    with pytest.raises(FermiError, match=words):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.CSV.GZ"])
def test_a_text_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Another process may put another file in its place between two openings."""
    people().to_csv(tmp_path / name, sep="\t" if name == "t.tsv" else ",", index=False, compression="infer")
    opened: list[str] = []

    def watched(file: Any, *given: Any, **named: Any) -> Any:
        opened.append(Path(file).name)
        return plain(file, *given, **named)

    plain = builtins.open
    for module in (builtins, io):
        monkeypatch.setattr(module, "open", watched)
    found = read_table(tmp_path / name)
    assert opened == [name]
    assert len(found) == 400


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FermiError, match="There is no file"):
        read_table(tmp_path / "x.csv")


def test_question_marks_and_blanks_in_text_are_missing_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a, b\n1, ?\n2, x\n?, x\n")
    frame = read_table(tmp_path / "t.csv")
    assert list(frame.columns) == ["a", "b"]
    assert frame["a"].isna().tolist() == [False, False, True]
    assert frame["b"].tolist()[1:] == ["x", "x"]


def test_a_file_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "t.txt"
    target.write_text("old")

    def interrupted() -> None:
        with whole_file(target) as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]
    assert target.read_text() == "old"


def test_a_folder_replaces_its_own_kind_only(tmp_path: Path) -> None:
    names = ("mark", "more")

    def write(text: str) -> None:
        with whole_folder(tmp_path / "m", names) as partial:
            for name in names:
                (partial / name).write_text(text)

    write("one")
    write("two")
    assert (tmp_path / "m" / "mark").read_text() == "two"
    (tmp_path / "m" / "thesis.tex").write_text("years of work")
    with pytest.raises(FermiError, match="holds other things"):
        write("three")
    (tmp_path / "m" / "thesis.tex").unlink()
    (tmp_path / "m" / "more").unlink()  # a file of the same name alone may be somebody's
    with pytest.raises(FermiError, match="holds other things"):
        write("four")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_folder_that_fails_leaves_the_old_one_and_no_parents(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        with whole_folder(path, ("mark",)) as partial:
            (partial / "mark").write_text("new")
            raise KeyboardInterrupt

    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "mark").write_text("old")
    for path in (tmp_path / "m", tmp_path / "deep" / "er" / "m"):
        with pytest.raises(KeyboardInterrupt):
            write(path)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (tmp_path / "m" / "mark").read_text() == "old"


def test_the_types_of_a_text_file_do_not_hang_on_its_rows(tmp_path: Path) -> None:
    text = "flag,code,x\n" + "true,01,1\nfalse,02,2\nunknown,A,3\n" * 20
    (tmp_path / "all.csv").write_text(text)
    (tmp_path / "some.csv").write_text("flag,code,x\ntrue,01,1\nfalse,02,2\n")
    encoder = TableEncoder.learn(read_table(tmp_path / "all.csv"))
    everything, _ = encoder.transform(read_table(tmp_path / "all.csv"))
    some, unseen = encoder.transform(read_table(tmp_path / "some.csv"))
    np.testing.assert_array_equal(some, everything[:2])
    assert unseen == {}
    assert read_raw(tmp_path / "some.csv")["code"].tolist() == ["01", "02"]


def test_dates_count_days(tmp_path: Path) -> None:
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=j) for j in range(40)]
    pd.DataFrame({"day": days}).to_parquet(tmp_path / "t.parquet")
    encoder = TableEncoder.learn(read_table(tmp_path / "t.parquet"))
    assert encoder.columns[0].kind == "date"
    matrix, _ = encoder.transform(read_table(tmp_path / "t.parquet"))
    np.testing.assert_allclose(np.diff(matrix[:, 0]), 1 / np.std(np.arange(40)))
    pd.DataFrame({"day": days}).to_csv(tmp_path / "t.csv", index=False)
    assert TableEncoder.learn(read_table(tmp_path / "t.csv")).columns == encoder.columns
    np.testing.assert_array_equal(encoder.transform(read_table(tmp_path / "t.csv"))[0], matrix)
    broken = pd.DataFrame({"day": ["2020-01-01", "no day", None]})
    assert encoder.transform(broken)[1] == {"day": 2}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["1", "0", "1"], [1, 0, 1]),
        (["1.0", "0.0", "1.0"], [1, 0, 1]),
        ([1.0, 0.0, 1.0], [1, 0, 1]),
        ([True, False, True], [True, False, True]),
        (["01", "02", "01"], ["01", "02", "01"]),
        (["1", "x", "1"], ["1", "x", "1"]),
        (["None", "Some ", "None"], ["None", "Some", "None"]),
        ([2**53, 2**53 + 1, 2**53], [2**53, 2**53 + 1, 2**53]),
    ],
)
def test_labels_in_their_own_type(given: list[Any], expected: list[Any]) -> None:
    found = natural(pd.Series(given), "y").tolist()
    assert found == expected
    assert [type(label) for label in found] == [type(label) for label in expected]


@pytest.mark.parametrize("given", [[0.5, 1.5], [np.inf, 1.0]])
def test_fractions_are_no_labels(given: list[float]) -> None:
    with pytest.raises(FermiError, match="expected words or whole numbers"):
        natural(pd.Series(given), "The target 'y'")


def test_a_copy_of_the_group_among_the_features_is_said() -> None:
    frame = people().assign(copy=lambda t: t["group"].map({"a": 1, "b": 2, "c": 2}))
    assert prepare(frame, Task("hired", ("group",))).notes == []
    frame["copy"] = frame["group"].map({"a": 1, "b": 2, "c": 3})
    assert "The column 'copy' tells the group" in prepare(frame, Task("hired", ("group",))).notes[0]


def encoded(frame: pd.DataFrame, new: pd.DataFrame | None = None) -> tuple[pd.DataFrame, dict[str, int], TableEncoder]:
    encoder = TableEncoder.learn(frame)
    matrix, unseen = encoder.transform(frame if new is None else new)
    return pd.DataFrame(matrix, columns=encoder.features), unseen, encoder


def test_numbers_are_standardised_and_missing_ones_marked() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan]})
    matrix, unseen, _ = encoded(frame)
    z = np.sqrt(1.5)
    np.testing.assert_allclose(matrix["x"], [-z, 0, z, 0])
    assert matrix["x: missing"].tolist() == [0, 0, 0, 1]
    assert unseen == {}
    new, unseen, _ = encoded(frame, pd.DataFrame({"x": ["2.5", "many", None, np.inf]}))
    np.testing.assert_allclose(new["x"], [z / 2, 0, 0, 0])
    assert new["x: missing"].tolist() == [0, 1, 1, 1]
    assert unseen == {"x": 2}  # the word and the infinity: training had missing ones too
    assert encoded(frame[:3], pd.DataFrame({"x": [None, 1.0]}))[1] == {"x": 1}


def test_categories_become_columns_and_new_ones_are_counted() -> None:
    frame = pd.DataFrame({"c": ["u", "v", " u ", None]})
    matrix, unseen, _ = encoded(frame)
    assert matrix.to_numpy().tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert list(matrix.columns) == ["c=u", "c=v", "c: missing"]
    new, unseen, _ = encoded(frame, pd.DataFrame({"c": ["w", "w", "v", None]}))
    assert new.to_numpy().tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert unseen == {"c": 2}


def test_rare_categories_share_a_column_and_are_not_unseen() -> None:
    words = [f"w{j:03d}" for j in range(150) for _ in range(2 + (j < 100))]
    frame = pd.DataFrame({"c": words})
    matrix, unseen, encoder = encoded(frame)
    assert matrix.shape[1] == 101
    assert matrix["c: other"].sum() == 100
    assert (matrix.sum(axis=1) == 1).all()
    assert unseen == {}
    assert encoder.transform(pd.DataFrame({"c": ["w149", "new"]}))[1] == {"c": 1}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 1, 1, 1] * 10, "ignored"),
        ([None] * 40, "ignored"),
        ([f"id-{j}" for j in range(40)], "ignored"),
        ([True, False] * 20, "category"),
        ([1, 2] * 20, "number"),
        ([1e308, -1e308] * 20, "ignored"),
        ([*(str(j / 7) for j in range(38)), "unknown", "unknown"], "number"),
        (["0", "1"] * 20, "number"),
        ([*("1", "2") * 19, "a", "b"], "category"),
        ([[1, 2], [3]] * 20, "category"),
        (pd.date_range("2020-01-01", periods=40).tolist(), "date"),
        (pd.date_range("2020-01-01", periods=40).astype(str).tolist(), "date"),
        (["2020-01-01 12:30", "2020-02-01T08:00:00Z", "2020-03-01 08:00:00+01:00", None] * 10, "date"),
        ([*pd.date_range("2020-01-01", periods=38).astype(str), "never", "2020-13-45"], "date"),
        (["2020-01-01", "never"] * 20, "category"),
        (["03/04/2020", "04/03/2020"] * 20, "category"),
        (["2020", "2021"] * 20, "number"),
        ([5, None] * 20, "number"),
    ],
)
def test_what_a_column_is_taken_for(values: list[Any], kind: str) -> None:
    frame = pd.DataFrame({"x": pd.Series(values), "y": range(40)})
    column = TableEncoder.learn(frame).columns[0]
    assert column.kind == kind
    assert (column.why != "") == (kind == "ignored")


def test_an_encoder_goes_through_json_and_names_what_is_lacking() -> None:
    encoder = TableEncoder.learn(people()[["score", "colour of hair"]])
    again = TableEncoder.from_json(json.loads(json.dumps(encoder.to_json())))
    new = people(50, seed=1)
    np.testing.assert_array_equal(encoder.transform(new)[0], again.transform(new)[0])
    with pytest.raises(FermiError, match="lacks the columns 'score'"):
        again.transform(new.drop(columns="score"))


def test_the_split_is_stratified_seeded_and_the_test_rows_teach_nothing() -> None:
    frame = people(4000)
    rows = prepare(frame, Task("hired", ("group",)))
    assert (len(rows.train.y), len(rows.test.y)) == (3000, 1000)
    shares = frame.groupby(["hired", "group"]).size() / 4000
    test = pd.DataFrame({"hired": rows.test.y, "group": rows.test.s["group"].to_numpy()})
    assert (test.groupby(["hired", "group"]).size() / 1000 - shares).abs().max() < 0.002
    np.testing.assert_allclose(rows.train.X[:, 0].mean(), 0, atol=1e-12)
    assert abs(rows.test.X[:, 0].mean()) > 1e-6
    other = prepare(frame, Task("hired", ("group",), seed=1))
    assert not np.array_equal(rows.test.X, other.test.X)
    assert "group=a" not in rows.encoder.features
    assert "group=a" in prepare(frame, Task("hired", ("group",), keep_sensitive=True)).encoder.features


@pytest.mark.parametrize(
    ("change", "task", "words"),
    [
        ({}, Task("Hired", ("group",)), "did you mean 'hired'"),
        ({}, Task("job", ("group",)), "the columns are 'score', "),
        ({}, Task("job", ("group",)), "`target` is 'job', but the file has no such column"),
        ({}, Task("hired", ("hired",)), "both the target and a sensitive column"),
        ({}, Task("hired", ("group", "group")), "names the same column twice"),
        ({}, Task("hired", ("group",), ignore=("id",)), "`ignore` is 'id', but the file has no such column"),
        ({}, Task("hired", ("group",), ignore=("hired",)), "to be ignored, and to be used"),
        ({}, Task("score", ("group",)), "different values; expected a few classes"),
        ({}, Task("hired", ("score",)), "put them into ranges first"),
        ({"hired": "yes"}, Task("hired", ("group",)), "one class only, 'yes'"),
        ({"hired": None}, Task("hired", ("group",)), "missing in every row"),
        ({"group": "a"}, Task("hired", ("group",)), "one group only"),
        ({"group": None}, Task("hired", ("group",)), "is missing in every row"),
        ({}, Task("hired", ("group",), ignore=("score", "colour of hair")), "No column is left as a feature"),
        ({}, Task("hired", ("group",), test_size=0.0), "`test_size` is 0.0"),
        ({}, Task("hired", ("group",), notion="parity"), "`notion` is 'parity'"),
        ({}, Task("hired", ("group",), weights=("balanced",)), "`weights` is given with 'demographic_parity'"),
        (
            {},
            Task("hired", ("group",), "equalized_odds", weights=("maybe=2",)),
            "`weights` is 'maybe=2'; expected",
        ),
        ({}, Task("hired", ("group",), "equalized_odds", weights=("yes",)), "LABEL=NUMBER with one of 'no', 'yes'"),
        ({}, Task("hired", ("group",), "equalized_odds", weights=("yes=two",)), "expected a number after the last '='"),
        ({}, Task("hired", ("group",), advantaged=("si",)), "`advantaged` is 'si'; expected one of 'no', 'yes'"),
        ({}, Task("hired", ("group",), "equal_opportunity", ("maybe",)), "`advantaged` is 'maybe'; expected one of"),
    ],
)
def test_tasks_that_cannot_be_done(change: dict[str, Any], task: Task, words: str) -> None:
    with pytest.raises(FermiError, match=words):
        prepare(people().assign(**change), task)


@pytest.mark.parametrize("path", sorted(Path(tables.__file__).parent.glob("*.py")), ids=lambda path: path.name)
def test_tables_know_no_command_line(path: Path) -> None:
    texts = [n.value for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Constant)]
    assert [text for text in texts if isinstance(text, str) and re.search(r"--\w|\bFILE\b", text)] == []


def test_rows_without_a_target_are_left_out_and_said() -> None:
    frame = people()
    frame.loc[:6, "hired"] = None
    frame.loc[10:12, "group"] = None
    rows = prepare(frame, Task("hired", ("group",)))
    assert len(rows.train.y) + len(rows.test.y) == 393
    assert rows.notes[0] == "7 rows have no 'hired' and were left out."
    assert rows.notes[1].startswith("3 rows have an unknown group")


def test_whole_numbers_stay_whole_when_one_is_missing() -> None:
    frame = people().assign(hired=lambda t: (t["hired"] == "yes").astype(float))
    frame.loc[0, "hired"] = np.nan
    assert prepare(frame, Task("hired", ("group",))).classes == [0, 1]


@pytest.mark.parametrize("kind", kinds.KINDS)
@pytest.mark.parametrize("three", [False, True])
def test_a_model_folder_predicts_the_same_and_holds_no_code(tmp_path: Path, kind: str, three: bool) -> None:
    packages = {"boosting": "lightgbm", "mlp": "torch"}  # what a kind of model needs beyond the core
    if kind in packages:
        pytest.importorskip(packages[kind], reason=f"the extra with {packages[kind]} is not installed")
    frame = people(600)
    if three:
        frame["hired"] = frame["hired"].where(frame["score"] < 1.2, "at once")
    task = Task("hired", ("group",), "equal_opportunity", ("yes",))
    rows = prepare(frame, task)
    model = kinds.make(kind, rows.fairness, attributes="intersection", seed=0)
    if kind == "mlp":
        model.set_params(max_epochs=2)
    model.fit(rows.train.X, rows.train.y, sensitive_features=rows.train.s)
    SavedModel(kind, model, rows.encoder, rows.classes, task, 1.0, {}).save(tmp_path)
    again = SavedModel.load(tmp_path)
    new = people(50, seed=3)
    found, _ = again.predict(new)
    X, _ = rows.encoder.transform(new)
    np.testing.assert_allclose(found.iloc[:, 1:].to_numpy(), model.predict_proba(X), atol=1e-12)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    assert again.task == task
    assert sorted(path.name for path in tmp_path.iterdir()) == [ARRAYS, MARK]
    for path in tmp_path.iterdir():
        assert b"\x80\x04" not in path.read_bytes()[:4]  # no pickle


def test_a_pickle_in_the_place_of_arrays_is_not_opened(tmp_path: Path) -> None:
    rows = prepare(people(), Task("hired", ("group",)))
    model = FermiClassifier().fit(rows.train.X, rows.train.y, sensitive_features=rows.train.s)
    SavedModel("linear", model, rows.encoder, rows.classes, rows.task, 1.0, {}).save(tmp_path)
    (tmp_path / ARRAYS).write_bytes(pickle.dumps({"coef": 1}))
    with pytest.raises(FermiError, match="is damaged"):
        SavedModel.load(tmp_path)
    (tmp_path / ARRAYS).unlink()
    with pytest.raises(FermiError, match="is damaged"):
        SavedModel.load(tmp_path)
    SavedModel("linear", model, rows.encoder, rows.classes, rows.task, 1.0, {}).save(tmp_path)
    document = json.loads((tmp_path / MARK).read_text())
    changed = {"classes": ["no", "yes", "maybe"], "columns": document["columns"][:1], "kind": "forest"}
    for name, value in [*changed.items(), ("columns", [{**c, "scale": 0} for c in document["columns"]])]:
        (tmp_path / MARK).write_text(json.dumps({**document, name: value}))
        with pytest.raises(FermiError):
            SavedModel.load(tmp_path)
    with pytest.raises(FermiError, match="There is no model"):
        SavedModel.load(tmp_path / "elsewhere")


def test_weights_of_a_task_are_those_of_its_notion_with_labels_in_their_own_type() -> None:
    odds = Task("hired", ("group",), "equalized_odds")
    assert odds.fairness([0, 1]).weights is None
    assert replace(odds, weights=("balanced",)).fairness([0, 1]).weights == "balanced"
    assert replace(odds, weights=("1=2.5", "0=1")).fairness([0, 1]).weights == {1: 2.5, 0: 1.0}
    rows = prepare(people(), replace(odds, weights=("yes=3",)))
    assert rows.fairness.weights == {"yes": 3.0}
