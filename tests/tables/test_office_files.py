"""Files as offices have them: separators, encodings, packed files, workbooks; columns as they are said to be."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fermi.cli import main
from fermi.errors import DataError, FermiError
from fermi.tables.formats import read_raw, read_table, write_table
from fermi.tables.mending import Mending
from fermi.tables.model_folder import SavedModel
from tests.cli.office_files import bank, hospital

TEXT = "Straße;Größe;Menge\nSüd;1.748,89;3\nNord;2,5;4\n"
COLUMNS = ["Straße", "Größe", "Menge"]


def numbers(path: Path) -> list[float]:
    frame = read_table(path)
    assert list(frame.columns) == COLUMNS
    assert frame["Straße"].tolist() == ["Süd", "Nord"]
    return [float(word) for word in frame["Größe"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators_and_encodings_are_those_of_the_file(tmp_path: Path, encoding: str, separator: str) -> None:
    file = tmp_path / "f.csv"
    file.write_bytes(TEXT.replace(";", separator).encode(encoding))
    assert numbers(file) == [1748.89, 2.5]
    assert read_raw(file)["Größe"].tolist() == ["1.748,89", "2,5"], "as it stands there, to be written again"


def test_an_old_letter_far_behind_the_beginning(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_bytes(b"name,n\n" + b"plain,1\n" * 20_000 + "Müller,2\n".encode("cp1252"))
    assert read_table(file)["name"].iloc[-1] == "Müller"


def test_packed_files(tmp_path: Path) -> None:
    import bz2

    data = TEXT.encode()
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(data))
    with pa.output_stream(str(tmp_path / "a.csv.zst"), compression="zstd") as file:
        file.write(data)
    for name in ("a.csv.zip", "a.zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("a.csv", data)
    for name in ("a.csv.bz2", "a.csv.zst", "a.csv.zip", "a.zip"):
        assert numbers(tmp_path / name) == [1748.89, 2.5]
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", data)
        archive.writestr("b.csv", data)
    with pytest.raises(DataError, match="holds 2 files; expected one"):
        read_raw(tmp_path / "two.zip")
    for name in ("b.csv.bz2", "b.csv.zst", "b.csv.zip"):
        write_table(pd.DataFrame({"ä": ["1", "x,y"]}), tmp_path / name)
        assert read_raw(tmp_path / name)["ä"].tolist() == ["1", "x,y"]


def test_a_workbook(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl", reason="the extra excel is not installed")
    frame = pd.DataFrame({"name": ["a", None], "n": [1, 2], "x": [0.5, 2.25], "d": pd.to_datetime(["2021-03-14"] * 2)})
    write_table(frame, tmp_path / "f.xlsx")
    found = read_table(tmp_path / "f.xlsx")
    assert found["n"].tolist() == ["1", "2"]
    assert [float(word) for word in found["x"]] == [0.5, 2.25]
    assert found["d"][0].startswith("2021-03-14")
    assert found["name"].isna().tolist() == [False, True]


def test_a_title_above_the_header_is_no_header(tmp_path: Path) -> None:
    table = pd.DataFrame({"name": ["ä", "b, c"] * 9, "n": [1, 2] * 9, "x": [0.5, 2.25] * 9, "y": [None, "z"] * 9})
    for name, title in {"a.csv": "Report of 2022\r\n\r\n", "b.csv": "Report,,,\n,,,\n", "c.tsv": '"A\nB"\n'}.items():
        text = title + table.to_csv(index=False, sep="\t" if name.endswith("tsv") else ",")
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        found = read_table(tmp_path / name)
        assert list(found.columns) == ["name", "n", "x", "y"], name
        assert found["n"].astype(int).tolist() == table["n"].tolist()
    (tmp_path / "d.csv").write_text(",x,y\n" + "0,1,2\n" * 5)
    assert read_table(tmp_path / "d.csv").shape == (5, 3), "columns without a name are no title"
    (tmp_path / "e.csv").write_text('id,text,label\n1,"so, she\nsaid, a, b, c",2\n' * 1)
    assert read_table(tmp_path / "e.csv")["text"].tolist() == ["so, she\nsaid, a, b, c"]
    pytest.importorskip("openpyxl", reason="the extra excel is not installed")
    with pd.ExcelWriter(tmp_path / "f.xlsx", engine="openpyxl") as book:
        table.to_excel(book, index=False, startrow=2)
        book.sheets["Sheet1"]["A1"] = "Report of 2022"
    found = read_table(tmp_path / "f.xlsx")
    assert list(found.columns) == ["name", "n", "x", "y"]
    assert len(found) == 18


def test_the_files_of_a_folder_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exports = tmp_path / "exports"
    (exports / "year=2022").mkdir(parents=True)
    first, second = pd.DataFrame({"a": ["x", "ü"], "b": ["1,5", "2"]}), pd.DataFrame({"b": ["3,25"], "a": ["z"]})
    first.assign(year="2021").to_csv(exports / "one.tsv", sep="\t", index=False, encoding="utf-16")
    second.to_csv(exports / "year=2022" / "two.csv", sep=";", index=False, encoding="latin-1")
    (exports / "_SUCCESS").touch()
    (exports / "readme.pdf").write_text("no table")
    found = read_table(exports)
    assert found.to_dict("list") == {"a": ["x", "ü", "z"], "b": ["1.5", "2", "3.25"], "year": ["2021", "2021", "2022"]}
    assert len(read_table(f"{exports}/*.tsv")) == 2
    (exports / "notes.txt").write_text("hello\tworld\n1\t2\n")
    with pytest.raises(DataError, match=r"notes.txt' and .* have other columns, .*A pattern in quotation marks"):
        read_table(exports)
    monkeypatch.setattr("fermi.tables.together.MOST_BYTES", 10)
    with pytest.raises(DataError, match="too much for one table"):
        read_table(exports)
    with pytest.raises(DataError, match="There are no files in"):
        read_table(f"{exports}/*.xml")


def test_a_thousand_and_a_decimal_comma_are_not_mixed_up(tmp_path: Path) -> None:
    (tmp_path / "us.csv").write_text('pay,x\n"12,345",1\n"1,200",2\n')
    assert read_table(tmp_path / "us.csv")["pay"].tolist() == ["12,345", "1,200"]
    (tmp_path / "de.csv").write_text("pay;x\n12,345;1\n1,200;2\n")
    assert read_table(tmp_path / "de.csv")["pay"].tolist() == ["12.345", "1.200"]
    (tmp_path / "words.csv").write_text("place;x\nRome, Italy;1\nParis;2\n")
    assert read_table(tmp_path / "words.csv")["place"].tolist() == ["Rome, Italy", "Paris"]


def test_standard_input_and_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (TEXT.encode("latin-1"), b'{"a": 1}\n{"a": 2}\n'):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        assert len(read_raw("-")) == 2
    with pytest.raises(DataError, match="is an address in the web: download the file first"):
        read_raw("https://example.org/data.csv")


def test_columns_are_what_they_are_said_to_be() -> None:
    frame = pd.DataFrame(
        {
            "age": ["29", "30", "50", None],
            "sex": ["0", "1", "1", None],
            "pay": ["$12,345", "€ 7", None, "900"],
            "o2": ["95.5%", "90%", "x", None],
            "us": ["03/14/2021", "04/02/2021", None, "12/31/2020"],
            "de": ["14.03.2021", "02.04.2021", None, "31.12.2020"],
            "odd": ["01/02/2021", "02/03/2021", None, "03/03/2021"],
            "zip": ["02139", "10027", "02139", None],
        }
    )
    said = Mending(("age=30,50",), ("sex=0:men,1:women",), ("zip",), ("pay", "o2"), ("us", "de", "odd=%d/%m/%Y"))
    found = said(frame)
    assert found["age"].tolist()[:3] == ["below 30", "30 to below 50", "50 and above"]
    assert found["sex"].tolist()[:3] == ["men", "women", "women"]
    assert found["pay"].tolist()[:2] == [12345.0, 7.0]
    assert found["o2"].tolist()[:2] == [95.5, 90.0]
    assert found["us"][0] == found["de"][0] == pd.Timestamp("2021-03-14")
    assert found["odd"][0] == pd.Timestamp("2021-02-01")
    assert found["zip"].tolist()[:2] == ["02139", "10027"]
    assert Mending()(frame) is frame
    for bad, words in (
        ({"bins": ("age",)}, "`bins` is 'age'; expected a column and growing numbers"),
        ({"bins": ("age=50,30",)}, "`bins` is 'age=50,30'"),
        ({"labels": ("sex=0",)}, "`labels` is 'sex=0'"),
    ):
        with pytest.raises(FermiError, match=words):
            Mending(**bad)
    for late, words in (
        (Mending(date=("odd",)), "day and month cannot be told apart"),
        (Mending(as_number=("zip", "de")), "no entry can be read as a number"),
        (Mending(labels=("sex=7:x",)), "has none of these values"),
        (Mending(date=("us=%Y",)), "a format that no entry"),
    ):
        with pytest.raises(FermiError, match=words):
            late(frame)


@pytest.mark.slow
def test_a_bank_and_a_hospital_from_file_to_prediction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loans = tmp_path / "kredite.csv"
    bank(1500).to_csv(loans, index=False, sep=";", decimal=",", encoding="latin-1")
    task = ["--target", "Entscheidung", "--sensitive", "Geschlecht", "--ignore", "Abgelehnt", "--date", "Datum"]
    assert main(["train", str(loans), *task, "--lam", "1", "--output", str(tmp_path / "m"), "--json"]) == 0
    kinds = {column.name: column.kind for column in SavedModel.load(tmp_path / "m").encoder.columns}
    assert (kinds["Einkommen"], kinds["Datum"], kinds["Straße"]) == ("number", "date", "category")
    assert main(["predict", str(tmp_path / "m"), str(loans), "--output", str(tmp_path / "p.csv")]) == 0
    out = pd.read_csv(tmp_path / "p.csv")
    assert np.corrcoef(out["probability=approved"], out["Entscheidung"] == "approved")[0, 1] > 0.3
    patients = tmp_path / "readmissions.csv"
    hospital(1500).to_csv(patients, index=False)
    said = ["--bins", "Age=40,65", "--as-number", "O2 saturation", "--date", "Admitted", "--as-category", "ZIP"]
    ask = ["train", str(patients), "--target", "Readmitted", "--sensitive", "Age", *said, "--lam", "0"]
    capsys.readouterr()
    assert main([*ask, "--output", str(tmp_path / "h"), "--json"]) == 0
    kinds = {column.name: column.kind for column in SavedModel.load(tmp_path / "h").encoder.columns}
    assert (kinds["O2 saturation"], kinds["Admitted"], kinds["ZIP"]) == ("number", "date", "category")
    assert main(["predict", str(tmp_path / "h"), str(patients), "--output", str(tmp_path / "q.csv"), "--json"]) == 0
    assert '"unseen": {}' in capsys.readouterr().out
