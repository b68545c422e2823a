"""Labels for somebody else's probabilities: which columns are read as what, what is judged, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from fermi import parity_difference
from fermi.errors import FermiError
from fermi.tables.adjusting import adjust
from fermi.tables.asked import Asked
from fermi.tables.given import given_rows
from fermi.tables.task import Task
from tests.tables.samples import people, scored

TASK = Task("hired", ("group",))


def test_labels_keep_a_bound_that_the_most_probable_class_does_not() -> None:
    frame = scored()
    rows = given_rows(frame, TASK, ("p",))
    assert rows.features == ["score", "colour of hair", "hint"]
    np.testing.assert_allclose(rows.X[:, 1], frame["p"])
    found = adjust(rows, TASK, Asked(max_violation=0.05))
    assert found.kept
    assert found.chosen_on.violation <= 0.05
    plain = np.where(frame["p"] > 0.5, "yes", "no")
    before, audits = found.before
    assert before.violation == pytest.approx(parity_difference(plain, frame["group"]))
    assert before.violation > 0.2
    assert before.error == pytest.approx((plain != frame["hired"]).mean())
    assert audits["held out"].measure("parity_difference").value == pytest.approx(before.violation)
    after, audits = found.after
    assert after.violation < before.violation - 0.1
    assert audits["held out"].measure("parity_difference").value == pytest.approx(after.violation)
    assert audits["held out"].measure("parity_difference", soft=True).value > 0.1, "probabilities stay as they are"
    assert len(found.labels) == 1500
    assert f"the gap is {found.chosen_on.violation:.4f}" in found.reason
    assert f"the gap is {after.violation:.4f} (standard error {after.standard_error:.4f})" in found.reason


def test_the_same_seed_gives_the_same_labels_and_the_group_is_not_asked() -> None:
    frame, asked = scored(), Asked(min_ratio=0.8)
    one, two = (adjust(given_rows(frame, TASK, ("p",)), TASK, asked) for _ in range(2))
    assert one.labels.tolist() == two.labels.tolist()
    assert one.after[0] == two.after[0]
    twins = pd.concat([frame, frame[:1].assign(group="b"), frame[:1].assign(group="c")], ignore_index=True)
    labels = adjust(given_rows(twins, TASK, ("p",)), TASK, asked).labels
    assert len({*labels[[0, 1500, 1501]]}) == 1, "the same features get the same label, whatever the group"


def test_rows_without_a_target_are_labelled_and_not_judged() -> None:
    frame = scored()
    frame.loc[:19, "hired"] = None
    frame.loc[30:34, "p"] = None
    frame.loc[40:43, "group"] = None
    found = adjust(given_rows(frame, TASK, ("p",)), TASK, Asked(max_violation=0.1))
    assert found.labels.index.tolist() == [*range(30), *range(35, 1500)]
    assert found.after[1]["held out"].rows == 1475
    for words in (
        "5 rows have no 'p' and get no label.",
        "20 rows have no 'hired': they get a label and are not judged.",
        "4 rows have an unknown group: they count in the error and are not compared.",
    ):
        assert words in found.notes


def three() -> pd.DataFrame:
    frame = people(1500)
    frame["hired"] = frame["hired"].where(frame["score"] < 1.2, "at once")
    scores = np.column_stack([frame["score"] - 0.4, 0.3 - frame["score"], 0.1 * frame["score"]])
    F = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    names = [f"probability={label}" for label in ("at once", "no", "yes")]
    return frame.assign(**dict(zip(names, F.T, strict=True)), prediction="no")


def test_columns_named_after_their_classes_are_found_in_any_order() -> None:
    frame = three()
    named = ("probability=yes", "probability=at once", "probability=no")
    rows = given_rows(frame, TASK, ())
    np.testing.assert_array_equal(rows.X, given_rows(frame.drop(columns="prediction"), TASK, named).X)
    np.testing.assert_allclose(rows.X[:, :3], frame[[f"probability={label}" for label in rows.classes]])
    assert rows.features == ["score", "colour of hair"], "a prediction tells no group"
    renamed = frame.rename(columns={f"probability={c}": f"p{j}" for j, c in enumerate(rows.classes)})
    by_order = given_rows(renamed, TASK, ("p0", "p1", "p2"))
    np.testing.assert_array_equal(by_order.X[:, :3], rows.X[:, :3])
    found = adjust(rows, TASK, Asked(max_violation=0.1))
    assert set(found.labels) <= {"at once", "no", "yes"}
    assert found.chosen_on.violation <= 0.1


def test_a_single_named_column_may_be_of_the_first_class() -> None:
    frame = scored().assign(**{"probability=no": lambda t: 1 - t["p"]})
    one, other = (given_rows(frame, TASK, (name,)).X[:, :2] for name in ("p", "probability=no"))
    np.testing.assert_allclose(one, other, atol=1e-15)


def test_without_other_columns_the_probabilities_tell_the_group() -> None:
    rows = given_rows(scored()[["group", "hired", "p"]].assign(constant=1), TASK, ("p",))
    assert (rows.features, rows.X.shape[1]) == ([], 3)
    assert rows.notes[0] == "'p' is taken as the probability of 'yes'."
    assert rows.notes[1:] == ["No other column tells anything: groups are told from the probabilities alone."]
    assert adjust(rows, TASK, Asked(max_violation=0.1)).kept


def test_each_column_is_compared_by_itself() -> None:
    frame = scored().assign(sex=np.tile(["f", "m"], 750))
    task = Task("hired", ("group", "sex"), attributes="each")
    found = adjust(given_rows(frame, task, ("p",)), task, Asked(max_violation=0.1))
    assert set(found.after[1]) == {"held out: group", "held out: sex"}


def test_a_certificate_says_its_limit() -> None:
    found = adjust(given_rows(scored(), TASK, ("p",)), TASK, Asked(max_violation=0.3, confidence=0.9))
    assert found.upper_limit is not None
    assert found.kept == (found.upper_limit <= 0.3)
    assert f"The upper limit of the gap on rows of its own is {found.upper_limit:.4f}." in found.reason
    assert ", with confidence 0.9" in found.reason


@pytest.mark.parametrize(
    ("change", "task", "probability", "words"),
    [
        ({}, TASK, ("q",), "`probability` is 'q', but the file has no such column"),
        ({}, TASK, (), "`probability` names no column, and the file has none called"),
        ({}, TASK, ("p", "p"), "`probability` names the same column twice"),
        ({}, TASK, ("p", "score"), "'score' holds .*; expected probabilities from 0 to 1"),
        ({}, TASK, ("group",), "both a probability and the target"),
        ({}, TASK, ("colour of hair",), "hold values that are not probabilities"),
        ({"p": 1.3}, TASK, ("p",), "The column 'p' holds 1.3; expected probabilities from 0 to 1"),
        ({"p": -0.1}, TASK, ("p",), "The column 'p' holds -0.1"),
        ({"p": None}, TASK, ("p",), "No row has both a target and a value in 'p'"),
        ({"q": 0.5}, TASK, ("p", "q"), "'p', 'q' sum to .* in a row; expected 1"),
        ({"hired": "yes"}, TASK, ("p",), "one class only, 'yes'"),
        ({"hired": None}, TASK, ("p",), "is missing in every row"),
        ({"group": "a"}, TASK, ("p",), "one group only"),
        ({}, Task("hired", ("Group",)), ("p",), "did you mean 'group'"),
    ],
)
def test_files_that_cannot_be_adjusted(
    change: dict[str, Any], task: Task, probability: tuple[str, ...], words: str
) -> None:
    with pytest.raises(FermiError, match=words):
        given_rows(scored(300).assign(**change), task, probability)


def test_the_classes_must_match_the_columns_and_have_rows() -> None:
    frame = three()
    with pytest.raises(FermiError, match="There are 1 columns of probabilities for the 3 classes"):
        given_rows(frame, TASK, ("probability=no",))
    few = scored(300)
    few.loc[few.index[few["hired"] == "yes"][8:], "hired"] = "no"
    with pytest.raises(FermiError, match="The class 'yes' has 8 rows with a probability; expected at least 9"):
        given_rows(few, TASK, ("p",))
