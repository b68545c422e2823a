"""The loaders and the files behind them. Downloads come from a server of the test's own."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import fermi
from fermi import FermiError, datasets
from fermi.datasets import Dataset
from fermi.datasets.common import downloads
from fermi.datasets.common.downloads import RemoteFile, home
from fermi.errors import DataError

Publish = Callable[[str, Mapping[str, bytes]], Path]
CONTENT = b"some rows\n" * 50_000


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "rows.csv").write_bytes(CONTENT)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def remote(url: str, content: bytes = CONTENT) -> RemoteFile:
    return RemoteFile("toy/rows.csv", f"{url}/rows.csv", hashlib.sha256(content).hexdigest())


def test_a_missing_file_is_downloaded_once_and_whole(
    publisher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = remote(publisher).locate(tmp_path / "home")
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["rows.csv"]
    assert capsys.readouterr() == ("", "")  # no progress outside a terminal
    assert path.stat().st_mode & 0o777 == 0o644

    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("the file is here: nothing to download")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    assert remote(publisher).locate(tmp_path / "home") == path


@pytest.mark.parametrize("reason", ["another file", "not found", "no server"])
def test_a_failed_download_says_which_file_to_put_where(publisher: str, tmp_path: Path, reason: str) -> None:
    target = tmp_path / "home"
    file = remote(publisher, b"what the publisher should have sent" if reason == "another file" else CONTENT)
    if reason == "not found":
        file = RemoteFile(file.path, f"{publisher}/nothing", file.sha256)
    if reason == "no server":
        file = RemoteFile(file.path, "http://127.0.0.1:9/rows.csv", file.sha256)
    with pytest.raises(DataError) as caught:
        file.locate(target)
    message = str(caught.value)
    assert f"put the file at {target / 'toy' / 'rows.csv'}, or set FERMI_DATA to a folder" in message
    assert file.url in message
    assert "\n" not in message
    assert list((target / "toy").iterdir()) == []  # nothing half-written


def test_a_folder_that_cannot_be_used(publisher: str, tmp_path: Path) -> None:
    a_file = tmp_path / "file"
    a_file.write_text("not a folder")
    with pytest.raises(DataError, match=r"The data folder .*file is not a folder: set FERMI_DATA or `data_home`"):
        remote(publisher).locate(a_file)
    for nonsense in ("~nobody-of-that-name/data", "bad\0name", 5):
        with pytest.raises(DataError, match=r"The data folder .* cannot be used|Could not read .*null byte"):
            remote(publisher).locate(nonsense)  # type: ignore[arg-type]
    (tmp_path / "home" / "toy" / "rows.csv").mkdir(parents=True)
    assert not remote(publisher).is_present(tmp_path / "home")
    with pytest.raises(DataError, match=r"Could not read .*rows.csv \(Is a directory\)"):
        remote(publisher).locate(tmp_path / "home")


def test_an_interrupted_download_leaves_nothing(
    publisher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(response: Any, out: Any, name: str) -> None:
        out.write(response.read(10))
        raise KeyboardInterrupt

    monkeypatch.setattr(downloads, "_copy", interrupt)
    with pytest.raises(KeyboardInterrupt):
        remote(publisher).locate(tmp_path)
    assert list((tmp_path / "toy").iterdir()) == []


def test_a_file_appears_whole_or_not_at_all(publisher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> None:
        assert self.read_bytes() == CONTENT  # whole and verified before it is moved
        assert self.parent == target.parent
        raise OSError("the machine stopped here")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(DataError, match="the machine stopped here"):
        remote(publisher).locate(tmp_path)
    assert list((tmp_path / "toy").iterdir()) == []


def test_progress_is_shown_on_a_terminal(
    publisher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes this for a terminal
    remote(publisher).locate(tmp_path)
    assert "rows.csv" in capsys.readouterr().err


def test_a_damaged_file_is_noticed_and_kept(publisher: str, tmp_path: Path) -> None:
    file = remote(publisher)
    path = file.locate(tmp_path)
    path.write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"rows\.csv is not the file that .* ships .*move it away"):
        file.locate(tmp_path)
    assert path.read_bytes() == b"damaged"


def test_a_packed_file_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    file = RemoteFile("toy/rows.gz", "http://127.0.0.1:9/rows.gz", hashlib.sha256(CONTENT).hexdigest())
    path = tmp_path / "toy" / "rows.gz"
    path.parent.mkdir()
    for level in (1, 9):  # two programs, two files, one content
        path.write_bytes(gzip.compress(CONTENT, level))
        assert file.locate(tmp_path) == path
    whole = path.read_bytes()
    for damaged in (gzip.compress(b"other rows"), b"not packed", whole[:-200], whole[:50] + b"x" + whole[51:], b""):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"rows\.gz is not the file that .* ships .*move it away"):
            file.locate(tmp_path)


def test_a_file_without_a_known_checksum_is_downloaded_whole_and_kept(
    publisher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = RemoteFile("toy/rows.csv", f"{publisher}/rows.csv", None)
    path = file.locate(tmp_path)
    assert path.read_bytes() == CONTENT
    path.write_bytes(b"a newer version")
    assert file.locate(tmp_path).read_bytes() == b"a newer version"
    path.unlink()

    def half(handler: SimpleHTTPRequestHandler, source: Any, output: Any) -> None:
        output.write(CONTENT[: len(CONTENT) // 2])

    monkeypatch.setattr(QuietHandler, "copyfile", half)
    with pytest.raises(DataError, match=r"Could not download .*IncompleteRead.*put the file at"):
        file.locate(tmp_path)
    assert list(path.parent.iterdir()) == []


def test_the_folder_is_the_argument_then_the_variable_then_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FERMI_DATA", "/somewhere")
    assert home("/given") == Path("/given")
    assert home() == Path("/somewhere")
    monkeypatch.delenv("FERMI_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    monkeypatch.setattr("sys.platform", "linux")
    assert home() == Path("/cache/fermi")


def test_names_are_the_files_of_the_folder() -> None:
    assert {"adult", "synthetic"} <= set(datasets.names())
    for name in datasets.names():
        module = datasets.find(name)
        assert (module.__doc__ or "").splitlines()[0].endswith(".")
        assert "ensitive columns are" in re.sub(r"\s+", " ", module.__doc__ or "")  # every note says whether S is in X
    with pytest.raises(FermiError, match="`name` is 'adlut'; expected one of 'adult', "):
        datasets.load("adlut")
    with pytest.raises(TypeError, match="tyop"):
        datasets.load("synthetic", tyop=1)


ADULT_TRAIN = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Peru, <=50K
50, ?, 83311, Bachelors, 13, Married-civ-spouse, ?, Husband, Black, Female, 0, 0, 13, Cuba, >50K

"""
ADULT_TEST = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, Cuba, <=50K.

"""


def small_adult(publish: Publish, **options: Any) -> Dataset:
    """Adult from rows written for this test, in the publisher's format."""
    home = publish("adult", {"adult.data": ADULT_TRAIN.encode(), "adult.test": ADULT_TEST.encode()})
    return datasets.load("adult", data_home=home, **options)


def test_adult_reads_the_publisher_s_format(publish: Publish) -> None:
    data = small_adult(publish)
    assert (len(data.X_train), len(data.X_test)) == (2, 1)
    assert data.y_train.tolist() == ["<=50K", ">50K"]
    assert data.y_test.tolist() == ["<=50K"]
    assert data.s_train["sex"].tolist() == ["Male", "Female"]
    assert data.X_train["workclass"].isna().tolist() == [False, True]
    assert "income" not in data.X_train
    assert data.X_test["workclass"].isna().all()  # Private was never seen in training
    assert data.X_train.dtypes.equals(data.X_test.dtypes)


def test_adult_s_sensitive_columns(publish: Publish) -> None:
    both = small_adult(publish, sensitive=["sex", "race"], include_sensitive=False)
    assert list(both.s_train.columns) == ["sex", "race"]
    assert not {"sex", "race"} & set(both.X_train.columns)
    race = small_adult(publish, sensitive="race")
    assert {"sex", "race"} <= set(race.X_train.columns)
    with pytest.raises(FermiError, match="`sensitive` is 'age'; expected one or both of 'sex', 'race'"):
        small_adult(publish, sensitive="age")


def test_adult_itself(adult_home: Path) -> None:
    data = datasets.load("adult", data_home=adult_home)
    assert (len(data.X_train), len(data.X_test), data.X_train.shape[1]) == (32_561, 16_281, 14)
    assert data.s_train["sex"].value_counts().to_dict() == {"Male": 21_790, "Female": 10_771}
    rates = (data.y_train == ">50K").groupby(data.s_train["sex"], observed=True).mean()
    assert rates.to_dict() == pytest.approx({"Female": 0.1095, "Male": 0.3057}, abs=1e-4)
    numeric = data.numeric()
    model = LogisticRegression(max_iter=1000).fit(numeric.X_train, data.y_train)
    gap = fermi.parity_difference(model.predict(numeric.X_test), data.s_test)
    assert 0.17 <= gap <= 0.19


def test_numeric_features_are_fitted_on_the_training_rows() -> None:
    train = pd.DataFrame({"a": [0.0, 2.0, np.nan], "c": [7, 7, 7], "b": ["x", "y", None]})
    test = pd.DataFrame({"a": [4.0], "c": [9], "b": ["z"]})
    label, group = pd.Series([0, 1, 0]), pd.DataFrame({"s": [0, 1, 0]})
    data = Dataset("toy", train, label, group, test, label[:1], group[:1]).numeric()
    assert data.X_train.columns.tolist() == ["a", "c", "b=x", "b=y"]
    assert data.X_train.to_numpy().tolist() == [[-1, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]]
    assert data.X_test.to_numpy().tolist() == [[3, 2, 0, 0]]
    assert set(data.X_train.dtypes) == {np.dtype(float)}
