"""Audits of folders that are read batch by batch: the figures of one file with all rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fermi
from fermi.cli import main
from fermi.errors import DataError, FermiError
from fermi.tables.folders import Folder
from tests.tables.samples import scored


def predicted(n: int = 600) -> pd.DataFrame:
    frame = scored(n)
    frame["label"] = np.where(frame["p"] > 0.5, "yes", "no")
    frame["age"] = np.random.default_rng(2).choice([30.0, 40.0, np.nan], n)
    frame.loc[::40, "group"] = None
    frame.loc[3:20, "label"] = None
    frame.loc[15:25, "hired"] = None
    return frame.sort_values("group", ignore_index=True)  # so that files differ in what they show


def write(folder: Path, frame: pd.DataFrame, suffix: str = ".parquet", parts: int = 5) -> Path:
    folder.mkdir()
    for j, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        part, path = frame.iloc[rows], folder / f"part-{j}{suffix}"
        if suffix == ".parquet":
            part.to_parquet(path, row_group_size=50)
        elif suffix == ".feather":
            part.reset_index(drop=True).to_feather(path)
        else:
            part.to_csv(path, index=False, sep="," if ".csv" in suffix else "\t")
    (folder / "_SUCCESS").touch()
    return folder


def command(capsys: pytest.CaptureFixture[str], source: Path | str, *arguments: str) -> dict[str, Any]:
    assert main(["audit", str(source), "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def flat(document: Any) -> list[Any]:
    if isinstance(document, dict):
        kept = {key: value for key, value in document.items() if key not in ("auc", "roc")}  # ranks do not add up
        return [x for key, value in kept.items() for x in (key, *flat(value))]
    return [x for value in document for x in flat(value)] if isinstance(document, list) else [document]


ASKED = [
    ["--prediction", "label"],
    ["--prediction", "label", "--sensitive", "age", "--notion", "equal_opportunity", "--advantaged", "no"],
    ["--probability", "p", "--notion", "equalized_odds"],
    ["--prediction", "p"],
]


@pytest.mark.parametrize(
    ("asked", "suffix"), [*((asked, ".parquet") for asked in ASKED), *zip(ASKED, [".feather", ".csv"] * 2, strict=True)]
)
def test_the_audit_of_a_folder_is_that_of_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: list[str], suffix: str
) -> None:
    frame = predicted()
    folder = write(tmp_path / "rows", frame, suffix)
    one = write(tmp_path / "one", frame, suffix, parts=1) / f"part-0{suffix}"
    columns = ["--target", "hired", "--sensitive", "group", *asked]
    whole = command(capsys, one, *columns)
    whole["use"].pop("auc")  # which needs all rows at once
    for source in (folder, f"{folder}/part-*{suffix}"):
        found = command(capsys, source, *columns)
        found["use"].pop("auc")
        for ours, theirs in zip(flat(found), flat(whole), strict=True):
            exact = "label" in asked or not isinstance(theirs, float)
            assert ours == (theirs if exact else pytest.approx(theirs, rel=1e-9))
    assert any("were left out" in note for note in whole["notes"])


def test_the_function_tells_what_was_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "rows", predicted())
    found = fermi.audit_files(folder, prediction="label", target="hired", sensitive="group", min_group_size=100)
    assert found.record.notes[:2] == (
        "11 rows have no 'hired' and were left out.",
        "12 rows have no 'label' and were left out.",
    )
    soft = fermi.audit_files(folder, probability="p", target="hired", sensitive=["group"])
    assert "'p': taken as the probabilities of 'yes', in this order." in soft.record.notes


def test_columns_may_be_in_the_names_of_folders(tmp_path: Path) -> None:
    frame = predicted()
    for group, part in frame.groupby("group"):
        (tmp_path / f"group={group}").mkdir()
        part.drop(columns="group").to_parquet(tmp_path / f"group={group}" / "a.parquet")
    found = fermi.audit_files(tmp_path, prediction="label", sensitive="group")
    known = frame.dropna(subset=["group", "label"])
    whole = fermi.audit(None, known["label"].to_numpy(), sensitive_features=known["group"])
    assert found.measures.equals(whole.measures)


def test_what_a_job_has_not_finished_is_left_out(tmp_path: Path) -> None:
    frame = predicted()
    whole = fermi.audit_files(write(tmp_path / "rows", frame), prediction="label", sensitive="group")
    (tmp_path / "rows" / "_temporary" / "0").mkdir(parents=True)
    (tmp_path / "rows" / "_temporary" / "0" / "a.parquet").write_bytes(b"not yet")
    again = fermi.audit_files(tmp_path / "rows", prediction="label", sensitive="group")
    assert again.measures.equals(whole.measures)


def test_memory_follows_the_combinations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fermi.tables.folders._OFTEN", 3)  # counted together again and again
    frame = predicted()
    folder = Folder(write(tmp_path / "rows", frame))
    found, counts = folder.counts(["group", "label"])
    assert counts.sum() == len(frame)
    assert len(found) == len(frame[["group", "label"]].drop_duplicates())
    monkeypatch.setattr("fermi.tables.folders._MOST_COMBINATIONS", 100)
    with pytest.raises(FermiError, match="more than 100 combinations of values; expected labels and groups"):
        folder.counts(["score"])


def test_numbers_and_dictionaries_of_several_types_go_together(tmp_path: Path) -> None:
    words = pa.array(["a", "b"]).dictionary_encode()
    pq.write_table(pa.table({"s": words, "p": pa.array([1, 0], pa.int8())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"s": ["a", "b"], "p": [None, 1.0]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"p": [0, 1], "s": pa.nulls(2)}), tmp_path / "c.parquet")
    pq.write_table(pa.table({"p": pa.array([], pa.int64()), "s": pa.array([], pa.string())}), tmp_path / "d.parquet")
    found = fermi.audit_files(tmp_path, prediction="p", sensitive="s")
    assert found.frame["rows"].tolist() == [1, 2]
    assert found.record.unknown == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"s": ["a"]}, r"The file '.*b.parquet' has no column 'p'; its columns are 's'\."),
        ({"s": ["a"], "p": ["1"]}, r"The file '.*b.parquet' has 'p' as string, and '.*a.parquet' has it as int64"),
        (None, r"The file '.*b.parquet' cannot be read: "),
    ],
)
def test_a_file_that_does_not_fit_is_named(tmp_path: Path, change: Any, message: str) -> None:
    pq.write_table(pa.table({"s": ["a", "b"], "p": [1, 0]}), tmp_path / "a.parquet")
    if change is None:
        (tmp_path / "b.parquet").write_bytes(b"PAR1 no file")
    else:
        pq.write_table(pa.table(change), tmp_path / "b.parquet")
    with pytest.raises(FermiError, match=message):
        fermi.audit_files(tmp_path, prediction="p", sensitive="s")


def test_folders_without_rows_or_of_several_kinds(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There are no files in"):
        fermi.audit_files(tmp_path, prediction="p", sensitive="s")
    pq.write_table(pa.table({"p": pa.array([], pa.int64()), "s": pa.array([], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="have no rows"):
        fermi.audit_files(tmp_path, prediction="p", sensitive="s")
    (tmp_path / "b.csv").write_text("p,s\n1,a\n")
    with pytest.raises(DataError, match="are of several formats, 'csv', 'parquet'"):
        fermi.audit_files(tmp_path, prediction="p", sensitive="s")
    with pytest.raises(DataError, match="There are no files in"):
        fermi.audit_files(tmp_path / "*.feather", prediction="p", sensitive="s")
