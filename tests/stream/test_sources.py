"""Folders as people have them: columns in the names of folders, types that differ from file to file, one odd file."""

from __future__ import annotations

import decimal
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import fermi
from fermi.errors import FermiError
from fermi.stream import BadFileError, _profile, fit_stream
from tests.stream.samples import SENSITIVE, frame_of, write


def streamed(source: Any, **more: Any) -> fermi.FermiClassifier:
    model = fermi.FermiClassifier(random_state=0, solver="lbfgs", tol=1e-8)
    return fit_stream(model, source, target="y", sensitive=SENSITIVE, **more)


def same(ours: fermi.FermiClassifier, theirs: fermi.FermiClassifier) -> None:
    assert ours.groups_ == theirs.groups_
    own, other = (sorted(model.encoder_.features) for model in (ours, theirs))
    assert own == other
    assert ours.history_[-1]["objective"] == pytest.approx(theirs.history_[-1]["objective"], rel=1e-6)


@pytest.mark.parametrize("keys", [["race", "sex"], ["city"], ["y"]])
@pytest.mark.parametrize("pattern", ["", "**/*.parquet"])
def test_columns_may_be_in_the_names_of_folders(tmp_path: Path, keys: list[str], pattern: str) -> None:
    frame = frame_of().assign(city=lambda rows: rows["city"].str.replace("Bath", "Bad Ischl/Au"))
    whole = streamed(write(frame, tmp_path / "rows"))
    pq.write_to_dataset(pa.Table.from_pandas(frame), tmp_path / "parted", partition_cols=keys)
    same(streamed(tmp_path / "parted" / pattern if pattern else tmp_path / "parted"), whole)


def test_what_a_job_has_not_finished_is_left_out(tmp_path: Path) -> None:
    folder = write(frame_of(), tmp_path / "rows")
    whole = streamed(folder)
    (folder / "_temporary" / "0").mkdir(parents=True)
    (folder / "_temporary" / "0" / "part.parquet").write_bytes(b"not yet")
    same(streamed(folder), whole)


def with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def dates(table: pa.Table, k: int) -> pa.Table:
    kinds = [pa.timestamp("s"), pa.timestamp("ms", "Europe/Paris"), pa.date32(), pa.date64()]
    return with_column(table, "since", table["since"].cast(kinds[k]))


def words(table: pa.Table, k: int) -> pa.Table:
    for name in ("city", "sex", "race"):
        column = table[name].cast([pa.string(), pa.large_string(), pa.string_view(), pa.string()][k])
        table = with_column(table, name, column.dictionary_encode() if k == 3 else column)
    return table


def numbers(table: pa.Table, k: int) -> pa.Table:
    values = table["count"].to_pylist()
    own = [pa.int8(), pa.float32(), pa.decimal128(9, 2), pa.uint64()][k]
    whole = [decimal.Decimal(value) for value in values] if k == 2 else values
    return with_column(table, "count", pa.array(whole, own))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize("change", [dates, words, numbers])
def test_types_of_one_kind_go_together(tmp_path: Path, change: Any, kind: str) -> None:
    frame = frame_of()
    whole = streamed(write(frame, tmp_path / "rows", kind=kind))
    (tmp_path / "mixed").mkdir()
    for k in range(4):
        table = change(pa.Table.from_pandas(frame[300 * k : 300 * k + 300], preserve_index=False), k)
        save = pq.write_table if kind == "parquet" else pyarrow.feather.write_feather
        save(table, tmp_path / "mixed" / f"{k}.{kind}")
    same(streamed(tmp_path / "mixed"), whole)


@pytest.mark.parametrize("odd", [0, 2])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda part: part.drop(columns="city"), "lacks the column 'city'"),
        (lambda part: part.drop(columns="y"), "lacks the column 'y'"),
        (lambda part: part.assign(count="many"), "has the column 'count' as .*string, where other files have number"),
        (lambda part: part.assign(y=part["y"] == 1), "has the column 'y' as bool, where other files have number"),
    ],
)
def test_the_odd_file_is_at_fault_even_if_it_is_the_first(tmp_path: Path, odd: int, change: Any, words: str) -> None:
    frame = frame_of()
    folder = write(frame, tmp_path / "rows")
    bad = folder / f"part-{odd}.parquet"
    change(frame[300 * odd : 300 * odd + 300]).to_parquet(bad)
    with pytest.raises(BadFileError, match=rf"The file '{bad}' {words}"):
        streamed(folder)
    with pytest.warns(UserWarning, match="1 files were left out"):
        assert streamed(folder, skip_bad_files=True).skipped_files_ == (str(bad),)


def test_a_column_of_few_files_is_told_and_left(tmp_path: Path) -> None:
    frame = frame_of()
    folder = write(frame, tmp_path / "rows")
    whole = streamed(folder)
    frame[:300].assign(more=1.0, still=2.0).to_parquet(folder / "part-0.parquet")
    with pytest.warns(UserWarning, match="'more', 'still' are in few of the files and are left out"):
        found = streamed(folder)
    same(found, whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(streamed(folder, ignore=["more", "still"]), whole)  # what is named needs no telling


def test_more_groups_than_memory_holds_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(frame_of(), tmp_path / "rows")
    monkeypatch.setattr(_profile, "MOST_GROUPS", 1000)  # more than one file has
    with pytest.raises(FermiError, match=r"more than 1,000 combinations of values and labels; expected groups"):
        fit_stream(fermi.FermiClassifier(), folder, target="y", sensitive="heavy")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: ds.dataset(folder).filter(ds.field("x") > 0), "`source` is a dataset with a filter"),
        (lambda folder: write(frame_of().assign(y=None), folder), "No row of the files has a label"),
    ],
)
def test_what_cannot_be_trained_on_is_one_sentence(tmp_path: Path, spoil: Any, words: str) -> None:
    with pytest.raises(FermiError, match=words):
        streamed(spoil(write(frame_of(), tmp_path / "rows")))


def test_a_missing_key_is_a_missing_word(tmp_path: Path) -> None:
    pq.write_to_dataset(pa.Table.from_pandas(frame_of()), tmp_path / "parted", partition_cols=["race"])
    names = {path.name for path in (tmp_path / "parted").iterdir()}
    assert "race=__HIVE_DEFAULT_PARTITION__" in names
    found = streamed(tmp_path / "parted")
    assert not any("HIVE" in group for group in found.groups_)
    assert len(found.groups_) == 6
