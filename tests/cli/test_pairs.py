"""Two files of predictions compared, and decisions followed over days, as an auditor asks for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fermi import compare, parity_difference
from tests.cli.samples import answer, run, saved

ASK = ("--sensitive", "sex", "--prediction", "guess")
TRUE = ("--target", "right", *ASK)


def decisions(n: int = 1200, seed: int = 0) -> pd.DataFrame:
    """What one model says of people, 1 or 0, with an identifier."""
    rng = np.random.default_rng(seed)
    sex, x = rng.choice(["f", "m"], n), rng.normal(size=n)
    right = (x + 0.5 * (sex == "m") + rng.normal(size=n) > 0).astype(int)
    guess = (x + 0.5 * (sex == "m") > 0).astype(int)
    return pd.DataFrame(
        {"id": [f"p{i}" for i in rng.permutation(n)], "sex": sex, "x": x, "right": right, "guess": guess}
    )


def test_two_files_are_compared_person_by_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = decisions()
    fairer = frame.assign(guess=(frame["x"] > 0.25).astype(int))
    first, second = saved(frame, tmp_path / "a.csv"), tmp_path / "b.csv"
    saved(fairer.sample(frac=1.0, random_state=1).iloc[:1100], second)  # in another order, and not all of them
    code, _, err = run(capsys, "compare", first, second, *TRUE)
    assert (code, err.count("\n")) == (2, 1)
    assert "--key names a column" in err
    found = answer(capsys, "compare", first, second, *TRUE, "--key", "id", "--csv", tmp_path / "c.csv")
    assert found["rows"] == 1100
    assert found["notes"] == ["100 rows are in one of the files alone and were left out."]
    kept = frame[frame["id"].isin(pd.read_csv(second)["id"])]
    a, b = kept["guess"], fairer.loc[kept.index, "guess"]
    peer = compare(kept["right"], a, b, sensitive_features=kept[["sex"]])
    for line in found["figures"]:
        same = peer.of(line["figure"], line["group"])
        assert line["difference"]["low"] == pytest.approx(same.change.low)
        assert line["beyond_noise"] is same.beyond_noise
    gap = found["figures"][0]
    assert (gap["figure"], gap["beyond_noise"]) == ("parity_difference", True)
    assert gap["second"] == pytest.approx(parity_difference(b, kept["sex"]))
    assert len(pd.read_csv(tmp_path / "c.csv")) == len(found["figures"])
    code, out, _ = run(capsys, "compare", first, second, *TRUE, "--key", "id")
    words = " ".join(out.split())
    assert f"The gap between groups falls from {gap['first']:.3f} to {gap['second']:.3f}." in words
    assert "are of “1”." in words
    code, _, err = run(capsys, "compare", first, second, *TRUE, "--key", "sex")
    assert (code, "--key is 'sex'; expected a column that is filled" in err) == (2, True)


def test_rows_in_one_order_need_no_key_and_bad_people_come_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {0: "approved", 1: "denied"}
    frame = decisions().assign(guess=lambda t: t["guess"].map(names), right=lambda t: t["right"].map(names))
    other = frame.assign(guess=frame["right"])
    files = [saved(each, tmp_path / name) for each, name in ((frame, "a.csv"), (other, "b.parquet"))]
    found = answer(capsys, "compare", *files, *TRUE, "--notion", "equal_opportunity")
    rates = [line for line in found["figures"] if line["figure"] == "rate_approved"]
    assert rates[0]["first"] == pytest.approx((frame["guess"] == "approved").mean())
    errors = next(line for line in found["figures"] if line["figure"] == "error")
    assert errors["second"] == 0.0


def days(moved: bool) -> pd.DataFrame:
    """Twenty days of decisions; on the last, women get fewer."""
    frame = decisions(8000)
    day = pd.Timestamp("2026-10-25") + pd.to_timedelta(np.arange(8000) // 400, unit="D")
    lost = (day == day.max()) & (frame["sex"] == "f").to_numpy() & moved
    return frame.assign(day=day.strftime("%d.%m.%Y"), guess=np.where(lost, 0, frame["guess"]))


def test_the_day_on_which_the_gap_moved_is_named_and_ends_with_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = saved(days(True), tmp_path / "d.csv")
    found = answer(capsys, "follow", file, *ASK, "--by", "day")
    assert [period["period"] for period in found["periods"]][:2] == ["2026-10-25", "2026-10-26"], "days in their order"
    assert [period["period"] for period in found["periods"] if period["moves"]] == ["2026-11-13"]
    code, out, err = run(capsys, "follow", file, *ASK, "--by", "day", "--require", "--csv", tmp_path / "f.csv")
    assert code == 3
    assert err.startswith("fermi: 2026-11-13: the gap moved by +")
    assert out.startswith("2026-11-13: the gap moved by +")
    assert len(pd.read_csv(tmp_path / "f.csv")) == 20
    quiet = saved(days(False), tmp_path / "q.csv")
    code, out, _ = run(capsys, "follow", quiet, *ASK, "--by", "day", "--require")
    assert (code, out.startswith("In none of 20 periods did")) == (0, True)
    months = answer(capsys, "follow", file, *ASK, "--by", "day", "--every", "month")["periods"]
    assert [(month["period"], month["rows"]) for month in months] == [("2026-10", 2800), ("2026-11", 5200)]


def test_a_folder_with_a_file_for_each_day_and_a_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = days(True)
    (tmp_path / "days").mkdir()
    for day, rows in frame.groupby("day"):
        saved(rows.drop(columns="day"), tmp_path / "days" / f"{'-'.join(reversed(str(day).split('.')))}.csv")
    found = answer(capsys, "follow", tmp_path / "days", *TRUE)
    assert [period["period"] for period in found["periods"] if period["moves"]] == ["2026-11-13"]
    assert found["periods"][0]["error"]["value"] < 0.4
    wrong = saved(frame.assign(guess=1 - frame["guess"]), tmp_path / "reference.csv")
    against = answer(capsys, "follow", tmp_path / "days", *ASK, "--reference", wrong)["periods"]
    assert all(period["moves"] for period in against), "every day is compared with the reference"
    for arguments, words in (
        ((tmp_path / "reference.csv", *ASK), "--by is missing"),
        ((wrong, *ASK, "--by", "dya"), "--by is 'dya'"),
        ((wrong, *ASK, "--by", "id", "--every", "week"), "--every is 'week'; expected a --by of dates"),
        ((wrong, *ASK, "--by", "day", "--every", "year"), "--every is 'year'"),
    ):
        code, _, err = run(capsys, "follow", *arguments)
        assert (code, err.count("\n")) == (2, 1)
        assert words in err
