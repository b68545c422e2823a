"""Audits of counts, of tables and of parts: the same figures as of the rows themselves."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fermi
from fermi import Audit, Contingency, FermiError, RunningAudit
from tests.auditing.samples import frame_of, rows

NOTIONS = ["demographic_parity", "equalized_odds", "equal_opportunity"]


def sample(n: int = 900) -> pd.DataFrame:
    """Labels of three classes, a group column with unknown entries and one of numbers."""
    made = rows(n)
    group = np.array(["north", "east", "south", "west"], dtype=object)[made["s"]]
    group[::50] = None
    return pd.DataFrame({"y": made["y"], "label": made["labels"], "group": group, "w": made["w"]})


def grouped(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    return frame.groupby(by, dropna=False).size().rename("n").reset_index()


def flat(record: Any) -> list[Any]:
    """All numbers and words of a record, in order, but for ranks, which parts of the rows do not have."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        names = [field.name for field in dataclasses.fields(record) if field.name not in ("auc", "roc")]
        return [x for name in names for x in flat(getattr(record, name))]
    if isinstance(record, dict):
        return [x for key, value in record.items() for x in (key, *flat(value))]
    return [x for value in record for x in flat(value)] if isinstance(record, tuple | list) else [record]


def assert_close(a: Audit, b: Audit, tolerance: float = 0.0) -> None:
    for ours, theirs in zip(flat(a.record), flat(b.record), strict=True):
        if isinstance(theirs, float):
            assert ours == pytest.approx(theirs, rel=tolerance, abs=tolerance, nan_ok=True)
        else:
            assert ours == theirs


@pytest.mark.parametrize("notion", NOTIONS)
def test_counts_stand_for_repeated_rows(notion: str) -> None:
    frame = sample()
    counts = grouped(frame, ["y", "label", "group"])
    whole = fermi.audit(frame.y, frame.label, sensitive_features=frame.group, notion=notion, n_boot=200)
    found = fermi.audit(
        counts.y, counts.label, sensitive_features=counts.group, counts=counts.n, notion=notion, n_boot=200
    )
    assert_close(found, whole)
    assert found.record.unknown == 18


def test_counts_of_probabilities_stand_for_repeated_rows() -> None:
    made, often = rows(150), np.random.default_rng(1).integers(0, 4, 150)
    again = np.repeat(np.arange(150), often)
    found = fermi.audit(made["y"], made["F"], sensitive_features=made["s"], counts=often, n_boot=200)
    whole = fermi.audit(made["y"][again], made["F"][again], sensitive_features=made["s"][again], n_boot=200)
    assert_close(found, whole, 1e-9)


def test_counts_are_whole_and_alone() -> None:
    with pytest.raises(FermiError, match="`counts` holds fractions; expected whole numbers"):
        fermi.audit(None, [0, 1], sensitive_features=["a", "b"], counts=[1, 2.5])
    with pytest.raises(FermiError, match="`counts` is given beside `sample_weight`"):
        fermi.audit(None, [0, 1], sensitive_features=["a", "b"], counts=[1, 2], sample_weight=[1, 1])


@pytest.mark.parametrize("notion", NOTIONS)
def test_the_audit_of_a_table_is_that_of_its_rows(notion: str) -> None:
    frame = sample().dropna()
    whole = fermi.audit(frame.y, frame.label, sensitive_features=frame.group, notion=notion, n_boot=200)
    odds = Contingency.from_counts(
        grouped(frame, ["y", "label", "group"]),
        prediction="label", group="group", weight="n", condition="y", notion="equalized_odds",
    )  # fmt: skip
    assert_close(Audit.from_contingency(odds, notion=notion, n_boot=200), whole)


def test_tables_of_days_add_up_to_their_audit() -> None:
    frame = sample(1200)
    days = [
        Contingency.from_counts(grouped(day, ["label", "group"]), prediction="label", group="group", weight="n")
        for day in (frame[:100], frame[100:700], frame[700:])
    ]
    found = Audit.from_contingency(sum(days[1:], days[0]), n_boot=200)
    whole = fermi.audit(None, frame.label, sensitive_features=frame.group, n_boot=200)
    assert found.measures.drop(columns="note").equals(whole.measures.drop(columns="note"))
    assert found.record.unknown == whole.record.unknown == 24
    assert "24 rows have no known group: they are not in the table, and so in no figure." in found.record.notes


def test_a_table_of_some_condition_has_measures_and_no_errors() -> None:
    frame = sample().dropna()
    frame["region"] = np.random.default_rng(0).integers(0, 3, len(frame))
    table = Contingency.from_counts(
        grouped(frame, ["region", "label", "group"]),
        prediction="label", group="group", weight="n", condition="region",
    )  # fmt: skip
    found = Audit.from_contingency(table, n_boot=200)
    notion = fermi.ConditionalParity(frame.region)
    whole = fermi.audit(None, frame.label, sensitive_features=frame.group, notion=notion, n_boot=200)
    assert_close(found, whole)
    with pytest.raises(FermiError, match="`notion` is 'equalized_odds', of which a table of 'conditional_parity'"):
        Audit.from_contingency(table, notion="equalized_odds")


def test_weights_that_are_no_counts_have_no_intervals() -> None:
    table = Contingency([[30.5, 10.0], [40.0, 40.0], [7.0, 9.25]], groups=["a", "b", "c"])
    found = Audit.from_contingency(table)
    assert frame_of(found).loc["b", "rate_1"] == 0.5
    assert math.isnan(frame_of(found).loc["b", "rate_1_low"])
    assert frame_of(found)["rows"].tolist() == [40.5, 80.0, 16.25]
    assert found.measures[["low", "high"]].isna().all(axis=None)
    assert found.measures["value"].notna().all()
    assert "No intervals: the table holds weights that are no counts of rows" in " ".join(str(found).split())
    assert found.record.notes == ("The sizes of groups are sums of weights, not numbers of rows.",)
    with pytest.raises(FermiError, match="`min_group_size` is 5, and the table holds weights"):
        Audit.from_contingency(table, min_group_size=5)


def test_tables_that_cannot_be_audited() -> None:
    soft = Contingency.from_predictions([[0.2, 0.8], [0.5, 0.5]], ["a", "b"])
    with pytest.raises(FermiError, match="`contingency` holds sums of probabilities"):
        Audit.from_contingency(soft)
    with pytest.raises(FermiError, match="`contingency` holds no row"):
        Audit.from_contingency(Contingency(np.zeros((2, 2))))
    with pytest.raises(FermiError, match=r"`contingency` holds a weight above 1e\+15"):
        Audit.from_contingency(Contingency([[1e300, 1.0]]))
    with pytest.raises(FermiError, match="`contingency` is a DataFrame; expected a Contingency"):
        Audit.from_contingency(pd.DataFrame())  # type: ignore[arg-type]


@pytest.mark.parametrize("notion", [*NOTIONS, fermi.EqualOpportunity(2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_add_up_to_the_audit_of_all_rows(notion: Any, weighted: bool) -> None:
    frame = sample().sort_values(["group", "y"])  # so that a part shows few groups and labels, the last no known one
    running = [RunningAudit(notion), RunningAudit(notion)]
    for i, part in enumerate(np.array_split(np.arange(len(frame)), 9)):
        rows = frame.iloc[part]
        weight = rows.w if weighted else None
        running[i % 2].add(rows.y, rows.label, sensitive_features=rows.group, sample_weight=weight)
    weight = frame.w if weighted else None
    whole = fermi.audit(
        frame.y, frame.label, sensitive_features=frame.group, notion=notion, sample_weight=weight, n_boot=200
    )
    assert_close(sum(running, RunningAudit(notion)).audit(n_boot=200), whole, 1e-12 if weighted else 0.0)


@pytest.mark.parametrize("m", [2, 3])
def test_parts_of_probabilities_add_up(m: int) -> None:
    made = rows(500, m=m)
    order = np.argsort(made["s"], kind="stable")
    running = RunningAudit("equalized_odds", classes=range(m))
    for part in np.array_split(order, 4):
        running.add(made["y"][part], made["F"][part], sensitive_features=made["s"][part])
    whole = fermi.audit(
        made["y"], made["F"], sensitive_features=made["s"], classes=range(m), notion="equalized_odds", n_boot=200
    )
    assert_close(running.audit(n_boot=200), whole, 1e-9)


def test_second_moments_that_would_be_too_many_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    made = rows(400)
    running = RunningAudit(classes=range(3))
    for part in np.array_split(np.argsort(made["s"], kind="stable"), 3):
        running.add(made["y"][part], made["F"][part], sensitive_features=made["s"][part])
    monkeypatch.setattr("fermi.auditing._merging.MOST_PRODUCTS", 10)
    monkeypatch.setattr("fermi.auditing._counting.MOST_PRODUCTS", 10)
    added = (running + RunningAudit(classes=range(3)).add([0], [[1.0, 0, 0]], sensitive_features=[0])).audit(n_boot=200)
    every = {key: np.concatenate([made[key], [[1.0, 0, 0]] if key == "F" else [0]]) for key in ("y", "F", "s")}
    whole = fermi.audit(every["y"], every["F"], sensitive_features=every["s"], classes=range(3), n_boot=200)
    assert_close(added, whole, 1e-9)


def test_parts_that_do_not_fit_together() -> None:
    running = RunningAudit()
    with pytest.raises(FermiError, match="No rows have been added"):
        running.audit()
    running.add(None, [0, 1], sensitive_features={"sex": [None, None]})
    with pytest.raises(FermiError, match="`sensitive_features` is unknown in every row"):
        running.audit()
    with pytest.raises(FermiError, match="all parts must have the same sensitive columns"):
        running.add(None, [0, 1], sensitive_features={"race": ["a", "b"]})
    with pytest.raises(FermiError, match="all parts must have true labels or none"):
        running.add([0, 1], [0, 1], sensitive_features={"sex": ["a", "b"]})
    with pytest.raises(FermiError, match="their types differ"):
        running.add(None, ["0", "1"], sensitive_features={"sex": ["a", "b"]})
    with pytest.raises(FermiError, match="`notion` holds a column of certain rows"):
        RunningAudit(fermi.ConditionalParity([1, 2]))
    with pytest.raises(FermiError, match="`y_true` is missing"):
        RunningAudit("equalized_odds").add(None, [0, 1], sensitive_features=["a", "b"])
