"""Files that cannot be used: one error that names the file, or left out and counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi.stream import BadFileError, fit_stream
from fermi.stream._shard import Shard
from tests.stream.samples import SENSITIVE, frame_of, write

BAD: dict[str, tuple[Callable[[Path, pd.DataFrame], Any], str]] = {
    "a missing column": (lambda path, part: part.drop(columns="city").to_parquet(path), "lacks the column 'city'"),
    "another type": (
        lambda path, part: part.assign(count="many").to_parquet(path),
        "has the column 'count' as .*string, where other files have number",
    ),
    "no rows": (lambda path, part: part[:0].to_parquet(path), "has no rows"),
    "no Parquet": (lambda path, part: path.write_bytes(b"PAR1 no more"), "cannot be read"),
    "cut short": (lambda path, part: path.write_bytes(path.read_bytes()[:-2000]), "cannot be read"),
}


def fit(folder: Path, **more: Any) -> fermi.FermiClassifier:
    return fit_stream(
        fermi.FermiClassifier(random_state=0, **more.pop("options", {})),
        folder,
        target="y",
        sensitive=SENSITIVE,
        **more,
    )


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_or_left_out_and_counted(tmp_path: Path, name: str) -> None:
    frame, (spoil, words) = frame_of(), BAD[name]
    folder = write(frame, tmp_path / "rows")
    bad = folder / "part-2.parquet"
    spoil(bad, frame[600:900].reset_index(drop=True))
    with pytest.raises(BadFileError, match=rf"The file '{bad}' .*{words}"):
        fit(folder)
    with pytest.warns(UserWarning, match="1 files were left out"):
        found = fit(folder, skip_bad_files=True)
    assert found.skipped_files_ == (str(bad),)
    bad.unlink()
    np.testing.assert_array_equal(found.coef_.round(6), fit(folder).coef_.round(6))


@pytest.mark.parametrize("solver", ["lbfgs", "sgda"])
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("city", "Rome", "holds 'Rome' in the column 'city'"),
        ("y", 7, "holds 7 in the column 'y'"),
        ("race", "z", "holds the group"),
        ("heavy", np.nan, "holds a missing entry in the column 'heavy'"),
    ],
)
def test_what_the_first_pass_did_not_see_is_the_fault_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solver: str, column: str, value: Any, words: str
) -> None:
    frame = frame_of()
    folder = write(frame, tmp_path / "rows")
    bad = folder / "part-1.parquet"
    learn, times = Shard.learn, [0]

    def changed(shard: Shard, *arguments: Any) -> None:
        times[0] += 1
        if times[0] == 1:
            frame[300:600].assign(**{column: value}).to_parquet(bad)
        learn(shard, *arguments)

    monkeypatch.setattr(Shard, "learn", changed)
    with pytest.raises(BadFileError, match=rf"The file '{bad}' {words}"):
        fit(folder, options={"solver": solver})
    times[0] = 0
    write(frame, folder)
    with pytest.warns(UserWarning, match="1 files were left out"):
        found = fit(folder, options={"solver": solver}, skip_bad_files=True)
    assert found.skipped_files_ == (str(bad),)


def test_files_of_several_formats_are_refused(tmp_path: Path) -> None:
    folder = write(frame_of(100), tmp_path / "rows")
    write(frame_of(100), folder, kind="csv")
    with pytest.raises(fermi.errors.FermiError, match="several formats"):
        fit(folder)
    assert fit(folder / "*.parquet").classes_.tolist() == [0, 1]
