"""What is likely wrong with a file: each kind is found, named with what mends it, and gone once that is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fermi.cli import main
from fermi.tables.checking import check_table
from fermi.tables.task import Task
from tests.cli.office_files import bank, hospital, school
from tests.tables.samples import people


def kinds(frame: pd.DataFrame, target: str, sensitive: str, **options: Any) -> dict[str, set[str]]:
    task = Task(target, (sensitive,), **options)
    found: dict[str, set[str]] = {}
    for finding in check_table(task.mending(frame), task):
        found.setdefault(finding.kind, set()).add(finding.column)
    return found


def test_a_hospital() -> None:
    frame = hospital()
    found = kinds(frame, "Readmitted", "Race")
    assert found == {
        "date": {"Admitted"},
        "number": {"O2 saturation", "Total charges"},
        "code": {"ZIP"},
        "spelling": {"Race"},
        "small": {"Race"},
        "lost": {"Readmitted"},
    }
    spelled = ",".join(f"{name.lower()}:{name}" for name in ("White", "Black", "Hispanic", "Asian", "Amerindian"))
    mended = kinds(
        frame,
        "Readmitted",
        "Race",
        date=("Admitted",),
        as_number=("O2 saturation", "Total charges"),
        as_category=("ZIP",),
        labels=(f"Race={spelled}",),
    )
    assert mended == {"small": {"Race"}, "lost": {"Readmitted"}}
    assert kinds(frame, "Readmitted", "Age")["amount"] == {"Age"}
    assert "amount" not in kinds(frame, "Readmitted", "Age", bins=("Age=40,65",))


def test_a_bank() -> None:
    found = kinds(bank(1000), "Entscheidung", "Geschlecht")
    assert found == {"leak": {"Abgelehnt"}, "identifier": {"Antrag"}, "date": {"Datum"}}
    mended = {"ignore": ("Abgelehnt", "Antrag"), "date": ("Datum",)}
    assert kinds(bank(1000), "Entscheidung", "Geschlecht", **mended) == {}


def test_a_school() -> None:
    frame = school()
    task = Task("PF_1", ("group",))
    found = {finding.kind: finding for finding in check_table(frame, task)}
    assert set(found) == {"leak", "proxy", "small"}
    assert found["leak"].words.endswith("if so, `ignore` 'PF_0'.")
    assert "'race_asian', 'race_black', 'race_other', 'race_white' give the group away" in found["proxy"].words
    assert "group=other (" in found["small"].words


def test_a_threshold_is_a_leak_and_a_good_column_is_none() -> None:
    frame = people(1000)
    hired = (frame["hired"] == "yes").to_numpy()
    rng = np.random.default_rng(0)
    frame["reject"] = np.where(hired, rng.uniform(0, 1, 1000), rng.uniform(1.001, 2, 1000))
    frame["good"] = hired + 0.5 * rng.normal(size=1000)
    assert kinds(frame, "hired", "group") == {"leak": {"reject"}}
    rare = people(1000).assign(hired=np.where(np.arange(1000) < 3, "yes", "no"))
    assert "leak" not in kinds(rare, "hired", "group"), "almost all of one class is told by anything"


def test_what_is_written_down_afterwards_tells_nearly_all() -> None:
    rng = np.random.default_rng(0)
    back = rng.random(430) < 0.27
    frame = pd.DataFrame(
        {"race": rng.choice(["a", "b"], 430), "age": rng.integers(18, 60, 430), "back": back.astype(int)}
    )
    frame["week"] = np.where(back, rng.integers(1, 40, 430), 52)  # seen for a year, or until they were back
    frame.loc[frame.index[back][:4], "week"] = 52  # in the last week: 99% of the rows, and not all
    (found,) = [f for f in check_table(frame, Task("back", ("race",))) if f.kind == "leak"]
    assert (found.column, "tells 'back' in 99.1% of the rows, as" in found.words) == ("week", True)
    rare = frame.assign(back=(np.arange(430) < 12).astype(int), week=(np.arange(430) < 8).astype(int))
    assert "leak" not in kinds(rare, "back", "race"), "a third of the few is left"


def test_one_hot_columns_of_the_other_groups_give_the_group_away() -> None:
    rng = np.random.default_rng(1)
    group = rng.choice(["A", "B", "C", "D"], 2000, p=[0.6, 0.25, 0.1, 0.05])
    hot = pd.get_dummies(pd.Series(group), prefix="eth", dtype=int)
    frame = hot.assign(x=rng.normal(size=2000), old=rng.integers(2, size=2000), y=rng.integers(2, size=2000))
    (found,) = [f for f in check_table(frame, Task("y", ("eth_B",))) if f.kind == "proxy"]
    assert "The columns 'eth_A', 'eth_C', 'eth_D' give the group away" in found.words
    assert "proxy" not in kinds(frame.drop(columns="eth_C"), "y", "eth_B"), "without one of them B is not told"
    assert "proxy" not in kinds(frame, "y", "eth_B", ignore=("eth_A",))


def test_dates_of_which_nobody_knows_the_month_ask_for_the_format() -> None:
    frame = people(300).assign(day=np.tile(["01/02/2021", "03/04/2021", "05/06/2021"], 100))
    words = [finding.words for finding in check_table(frame, Task("hired", ("group",))) if finding.kind == "date"]
    assert words[0].endswith("`date` 'day=%d/%m/%Y', or whatever its format is.")


def test_the_command_and_training_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "students.csv"
    school().to_csv(file, index=False)
    task = [str(file), "--target", "PF_1", "--sensitive", "group"]
    assert main(["check", *task, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["clean"]) == (1600, False)
    assert found["findings"][0]["words"].endswith("if so, --ignore 'PF_0'.")
    assert main(["check", *task]) == 0
    assert "--ignore 'PF_0'" in " ".join(capsys.readouterr().out.split())
    assert main(["train", *task, "--lam", "0", "--no-refit", "--output", str(tmp_path / "m"), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("--ignore 'PF_0'" in note for note in notes)
    assert main(["check", str(file), "--target", "nope", "--sensitive", "group"]) == 2
    people(400).assign(group=lambda t: t["group"].replace("c", "b")).to_csv(file, index=False)
    capsys.readouterr()
    assert main(["check", str(file), "--target", "hired", "--sensitive", "group"]) == 0
    assert capsys.readouterr().out.endswith("Nothing odd was found.\n")
