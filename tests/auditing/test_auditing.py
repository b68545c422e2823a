"""What goes into an audit and what it says: any rows, weights, unknown and small groups, mistakes, text."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fermi import EqualOpportunity, FermiError, audit
from fermi.auditing import audited_groups, audits_by_column
from fermi.formulas.stacked import NAMES
from fermi.notions import as_notion
from tests.auditing.samples import Rows, estimates, frame_of, rows


def test_the_order_of_rows_does_not_matter() -> None:
    data = rows()
    order = np.random.default_rng(1).permutation(600)
    plain = audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=data["w"], n_boot=200)
    mixed = audit(
        data["y"][order],
        data["F"][order],
        sensitive_features=data["s"][order],
        sample_weight=data["w"][order],
        n_boot=200,
    )
    pd.testing.assert_frame_equal(frame_of(plain), frame_of(mixed))
    for name, found in estimates(plain).items():
        assert estimates(mixed)[name] == pytest.approx(found, rel=1e-6, abs=1e-9)


def test_groups_named_otherwise_give_the_same_values() -> None:
    data = rows()
    plain = audit(data["y"], data["labels"], sensitive_features=data["s"], n_boot=200)
    other = audit(data["y"], data["labels"], sensitive_features=np.array(list("dcba"))[data["s"]], n_boot=200)
    assert list(frame_of(other).index) == list("abcd")
    columns = [c for c in frame_of(plain) if c != "note"]
    assert np.array_equal(frame_of(plain)[columns].to_numpy()[::-1], frame_of(other)[columns].to_numpy())
    for name in set(NAMES) - {"pearson_correlation"}:
        assert plain.record.measure(name).value == pytest.approx(other.record.measure(name).value)


def test_whole_weights_are_repeated_rows_in_value_and_one_observation_in_width() -> None:
    data = rows()
    times = data["w"].astype(int)
    weighted = audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=data["w"], n_boot=200)
    repeated = audit(
        *(np.repeat(data[c], times, axis=0) for c in ("y", "F")),
        sensitive_features=np.repeat(data["s"], times),
        n_boot=200,
    )
    values = [c for c in frame_of(weighted) if c != "rows" and not c.endswith(("_low", "_high", "note"))]
    assert frame_of(weighted)[values].to_numpy(float) == pytest.approx(frame_of(repeated)[values].to_numpy(float))
    for name, found in estimates(weighted).items():
        assert found[0] == pytest.approx(estimates(repeated)[name][0])
    width = [(f["rate_0_high"] - f["rate_0_low"]).to_numpy() for f in (frame_of(weighted), frame_of(repeated))]
    assert (width[0] > width[1]).all()
    assert list(frame_of(weighted)["rows"]) == np.bincount(data["s"]).tolist()


def test_constant_weights_change_nothing() -> None:
    data = rows()
    plain = audit(data["y"], data["F"], sensitive_features=data["s"], n_boot=200)
    weighted = audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=np.full(600, 0.25), n_boot=200)
    columns = [c for c in frame_of(plain) if c != "note"]
    assert frame_of(plain)[columns].to_numpy(float) == pytest.approx(frame_of(weighted)[columns].to_numpy(float))
    for name, found in estimates(plain).items():
        assert estimates(weighted)[name] == pytest.approx(found, rel=1e-9, abs=1e-12)


def test_a_row_without_weight_is_absent() -> None:
    data = rows(n=200)
    weight = np.r_[np.zeros(50), np.ones(150)]
    data["s"][:20] = 9
    found = audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=weight, n_boot=200)
    part = audit(data["y"][50:], data["F"][50:], sensitive_features=data["s"][50:], n_boot=200)
    columns = [c for c in frame_of(part) if c != "note"]
    assert list(frame_of(found).index) == list(frame_of(part).index)
    assert frame_of(found)[columns].to_numpy(float) == pytest.approx(frame_of(part)[columns].to_numpy(float))


def test_probabilities_and_their_labels_are_kept_apart() -> None:
    data = rows()
    both = audit(data["y"], data["F"], sensitive_features=data["s"], n_boot=200)
    hard = audit(data["y"], data["labels"], sensitive_features=data["s"], n_boot=200)
    assert [m for m in both.record.measures if not m.soft] == list(hard.record.measures)
    frame: Any = both.measures.set_index(["measure", "kind"])
    gap = frame.loc[("ermi", "soft"), "value"] - frame.loc[("ermi", "hard"), "value"]
    assert frame.loc[("ermi", "soft"), "gap"] == gap
    assert both.record.error_soft == pytest.approx(1 - data["F"][np.arange(600), data["y"]].mean())
    assert hard.record.error_soft is None
    assert hard.record.p_value_soft is None
    mean = data["F"][data["s"] == 2].mean(axis=0)
    assert frame_of(both).loc["2", ["soft_rate_0", "soft_rate_1", "soft_rate_2"]].to_numpy(float) == pytest.approx(mean)
    half = 1.959964 * data["F"][data["s"] == 2][:, 0].std(ddof=1) / np.sqrt((data["s"] == 2).sum())
    assert frame_of(both).loc["2", "soft_rate_0_high"] - mean[0] == pytest.approx(half, rel=1e-6)


def test_what_cannot_be_estimated_is_nan_with_its_reason() -> None:
    y, labels, s = [1, 0, 0, 0, 1], [1, 0, 0, 1, 1], list("aabbc")
    found = audit(y, labels, sensitive_features=s, notion="equalized_odds", n_boot=200)
    assert math.isnan(frame_of(found).loc["b", "tpr_1"])
    assert math.isnan(frame_of(found).loc["c", "fpr_1"])
    assert "no row is 1" in frame_of(found).loc["b", "note"]
    assert "fewer than 30 rows" in frame_of(found).loc["a", "note"]
    assert found.record.groups[1].tpr["1"].note == "no row is 1"
    assert any("'b under 1', 'c under 0'" in note or "'c under 0', 'b under 1'" in note for note in found.record.notes)
    one = audit(y, labels, sensitive_features=["a"] * 5)
    assert "nothing to compare" in one.record.measure("ermi").note
    assert math.isnan(one.record.measure("ermi").high)
    assert one.record.p_value is None
    same = audit(y, [1] * 5, sensitive_features=s)
    assert "every prediction is the same" in same.record.measure("ermi").note
    assert same.record.measure("ermi").value == 0.0


def test_few_rows_of_a_true_class_are_pointed_out() -> None:
    y = [1] * 3 + [0] * 97
    assert frame_of(audit(y, y, sensitive_features=["a"] * 60 + ["b"] * 40)).loc["a", "note"].startswith("few rows")


def test_withheld_groups_enter_no_figure() -> None:
    data = rows(n=400)
    least = 60
    sizes = np.bincount(data["s"])
    hidden = np.flatnonzero(sizes < least)
    assert len(hidden) == 1
    found = audit(data["y"], data["F"], sensitive_features=data["s"], min_group_size=least, n_boot=200)
    changed = {c: data[c].copy() for c in ("y", "F")}
    mine = data["s"] == hidden[0]
    changed["y"][mine] = 0
    changed["F"][mine] = [0.2, 0.5, 0.3]
    other = audit(changed["y"], changed["F"], sensitive_features=data["s"], min_group_size=least, n_boot=200)
    assert found.record == other.record or repr(found.record) == repr(other.record)
    kept = ~mine
    alone = audit(data["y"][kept], data["F"][kept], sensitive_features=data["s"][kept], n_boot=200)
    assert estimates(found) == estimates(alone)
    assert (found.record.rows, found.record.error) == (alone.record.rows, alone.record.error)
    row = frame_of(found).loc[str(hidden[0])]
    assert row.drop("note").isna().all()
    assert row["note"] == "withheld: fewer than 60 rows"
    assert "withheld" in repr(found)


def test_unknown_groups_are_counted_and_left_out() -> None:
    data = rows()
    s = data["s"].astype(object)
    s[:100] = None
    found = audit(data["y"], data["labels"], sensitive_features=s).record
    assert (found.rows, found.unknown) == (600, 100)
    assert sum(group.rows for group in found.groups) == 500
    part = audit(data["y"][100:], data["labels"][100:], sensitive_features=data["s"][100:]).record
    assert found.measures == part.measures
    assert found.error is not None
    assert found.error.value == pytest.approx(np.mean(data["y"] != data["labels"]))


def test_several_columns_are_their_combinations() -> None:
    data = rows()
    sex, age = np.where(data["s"] % 2, "F", "M"), data["s"] // 2
    frame = pd.DataFrame({"sex": sex, "age": age})
    joint = audit(data["y"], data["labels"], sensitive_features=frame)
    merged = audit(data["y"], data["labels"], sensitive_features=[f"{a} {b}" for a, b in zip(sex, age, strict=True)])
    assert joint.record.measures == merged.record.measures
    assert joint.record.columns == ("sex", "age")
    assert frame_of(joint).index[0] == "sex=F, age=0"


def test_any_library_and_any_labels() -> None:
    data = rows(n=200)
    words = np.array(["low", "mid", "top"])
    plain = audit(words[data["y"]], words[data["labels"]], sensitive_features=data["s"], n_boot=200)
    for make in (pd.Series, pl.Series, list):
        other = audit(
            make(words[data["y"]]), make(words[data["labels"]]), sensitive_features=make(data["s"]), n_boot=200
        )
        assert other.record.measures == plain.record.measures
    F = pd.DataFrame(data["F"], columns=words)
    named = audit(words[data["y"]], F, sensitive_features=data["s"], n_boot=200)
    bare = audit(words[data["y"]], data["F"], sensitive_features=data["s"], n_boot=200)  # the sorted labels
    assert named.record == bare.record or repr(named.record) == repr(bare.record)
    assert [m for m in named.record.measures if not m.soft] == list(plain.record.measures)


def test_true_classes_never_predicted() -> None:
    found = audit([0, 1, 2, 2], [0, 1, 1, 0], sensitive_features=list("abab"), n_boot=200)
    assert found.record.classes == ("0", "1", "2")
    assert frame_of(found).loc["a", "tpr_2"] == 0.0
    assert found.record.error is not None
    assert found.record.error.value == 0.5


BAD: dict[str, tuple[Rows, str]] = {
    "no rows": ({"y_true": [], "y_pred": [], "sensitive_features": []}, "is empty"),
    "lengths": ({"y_pred": [1, 0, 1]}, "`sensitive_features` has 4 rows; expected 3"),
    "indexes": ({"y_true": pd.Series([1, 0, 1, 0], [3, 2, 1, 0]), "y_pred": pd.Series([1, 0, 1, 0])}, "another index"),
    "NaN predictions": ({"y_pred": [1, None, 1, 0]}, "`y_pred` has 1 missing"),
    "NaN probabilities": ({"y_pred": np.array([[0.5, 0.5], [np.nan, 0.5], [1, 0], [0, 1]])}, "has the row 1"),
    "NaN labels": ({"y_true": [1.0, np.nan, np.nan, 0.0]}, "`y_true` has 2 missing"),
    "no labels": ({"y_true": None, "notion": "equalized_odds"}, "conditions on it"),
    "other labels": ({"y_true": ["1", "0", "1", "0"]}, "labels such as those of `y_true`"),
    "labels outside": ({"y_true": [1, 0, 2, 0], "classes": [0, 1]}, "`y_true` holds 2"),
    "predictions outside": ({"y_pred": [1, 0, 2, 0], "classes": [0, 1]}, "`y_pred` holds 2"),
    "no such column": ({"y_true": [1, 0, 5, 0], "y_pred": np.full((4, 2), 0.5)}, "`y_true` holds 5"),
    "confidence": ({"confidence": 1.0}, "`confidence` is 1.0"),
    "size": ({"min_group_size": 2.5}, "`min_group_size` is 2.5"),
    "all withheld": ({"min_group_size": 3}, "more rows than any group has"),
    "draws": ({"n_boot": 10}, "`n_boot` is 10"),
    "no groups": ({"sensitive_features": [None] * 4}, "unknown in every row"),
    "weights": ({"sample_weight": [1e-200, 1, 1, 1]}, "can be squared"),
    "advantaged": ({"notion": EqualOpportunity("yes")}, "does not occur"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_sentence(case: str) -> None:
    changes, words = BAD[case]
    given: Rows = {"y_true": [1, 0, 1, 0], "y_pred": [1, 1, 0, 0], "sensitive_features": list("aabb")} | changes
    with pytest.raises(FermiError) as caught:
        audit(given.pop("y_true"), given.pop("y_pred"), **given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_text_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    data = rows()
    names = np.array(["a very long name of a group that goes on and on", "北海道の人々", "x\ny", "z"])
    s = pd.DataFrame({"place": names[data["s"]]})
    text = repr(audit(data["y"], data["F"], sensitive_features=s, notion="equalized_odds", n_boot=200))
    assert max(len(line) for line in text.splitlines()) <= max(columns, 75)
    assert "parity_difference" in text
    for word in ("pass", "fail", "unfair", "discriminat"):
        assert word not in text.lower()


def test_html(tmp_path: Path) -> None:
    data = rows(n=200)
    s = np.array(["<script>alert(1)</script>", "b", "c", "d"])[data["s"]]
    found = audit(data["y"], data["F"], sensitive_features=s, min_group_size=25, n_boot=200)
    assert "<script>" not in found._repr_html_()
    path = found.to_html(tmp_path / "audit.html")
    assert path.exists()
    assert "<script>alert" not in path.read_text(encoding="utf-8")


def test_the_record_carries_what_the_notion_says_of_itself() -> None:
    y, labels, s = ["yes", "no", "yes", "no"], ["yes", "no", "no", "yes"], ["a", "a", "b", "b"]

    def told(notion: Any, **options: Any) -> tuple[str, str | None]:
        record = audit(y, labels, sensitive_features=s, notion=notion, n_boot=200, **options).record
        assert record.asks == as_notion(notion).explain(as_notion(notion).labels_of(["no", "yes"]))
        return record.rate, record.label

    assert told("demographic_parity") == ("selection", "yes")
    assert told("demographic_parity", classes=["yes", "no"]) == ("selection", "no")
    assert told("equalized_odds") == ("true_positive", "yes")
    assert told("equal_opportunity", classes=["yes", "no"]) == ("true_positive", "yes")
    assert told(EqualOpportunity("no")) == ("true_positive", "no")
    assert told(EqualOpportunity({"no", "yes"})) == ("true_positive", None)


def test_a_label_keeps_its_underscore_where_the_notion_is_named_for_people(tmp_path: Path) -> None:
    found = audit(
        ["not_hired", "hired"] * 4, ["hired", "hired", "not_hired", "hired"] * 2, sensitive_features=list("aabb") * 2,
        notion="equal_opportunity", n_boot=200,
    )  # fmt: skip
    assert found.record.called == "equal opportunity of 'not_hired'"
    assert repr(found).startswith("Audit, equal opportunity of 'not_hired': 8 rows")
    assert "\"equal opportunity of 'not_hired'\"" in found.to_html(tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("attributes", ["intersection", "each"])
def test_groups_coded_beforehand_give_the_same_audits(attributes: str) -> None:
    data = rows()
    columns = {"sex": ["f", "m", None, "f"] * 150, "age": data["s"].tolist()}
    part = np.flatnonzero(data["s"] != 3)  # the last of the coded groups does not occur in it
    groups = {which: g.take(part) for which, g in audited_groups(columns, attributes).items()}
    found = audits_by_column("test", data["y"][part], data["F"][part], groups, n_boot=200)
    asked = {"test": columns} if attributes == "intersection" else {f"test: {c}": {c: columns[c]} for c in columns}
    assert found.keys() == asked.keys()
    for title, given in asked.items():
        s = {name: [values[row] for row in part] for name, values in given.items()}
        peer = audit(data["y"][part], data["F"][part], sensitive_features=s, n_boot=200).record
        peer = replace(peer, groups=tuple(replace(group, roc={}) for group in peer.groups))  # audits of many have none
        assert repr(found[title]) == repr(peer)  # NaN is not itself, but reads the same
    with pytest.raises(FermiError, match=r"`sensitive_features` has \d+ rows; expected 600, as many as `y_pred`"):
        audits_by_column("test", data["y"], data["F"], groups)


def test_labels_beside_probabilities_make_the_hard_figures_and_leave_the_soft_ones() -> None:
    data = rows()
    given = (data["labels"] + (np.arange(600) % 3 == 0)) % data["F"].shape[1]
    ask: dict[str, Any] = {"sensitive_features": data["s"], "sample_weight": data["w"], "n_boot": 200}
    both = audit(data["y"], data["F"], labels=given, **ask)
    hard, soft = audit(data["y"], given, **ask), audit(data["y"], data["F"], **ask)
    for name in NAMES:
        assert both.record.measure(name).value == hard.record.measure(name).value
        assert both.record.measure(name, soft=True).value == soft.record.measure(name, soft=True).value
    assert both.record.error == hard.record.error != soft.record.error
    assert both.record.error_soft == soft.record.error_soft
    columns = [c for c in frame_of(both) if c.startswith(("rate_", "tpr_", "fpr_"))]
    pd.testing.assert_frame_equal(frame_of(both)[columns], frame_of(hard)[columns])
    own = audit(data["y"], data["F"], labels=data["F"].argmax(axis=1), **ask)
    pd.testing.assert_frame_equal(frame_of(own), frame_of(soft))


@pytest.mark.parametrize(
    ("probabilities", "labels", "words"),
    [
        (False, [0, 1], "`labels` is given, and `y_pred` is labels already"),
        (True, [0, 7], "`labels` holds 7; expected one of 0, 1"),
        (True, [0, None], "`labels` has 1 missing entries"),
        (True, [0, 1, 1], "rows"),
    ],
)
def test_labels_that_do_not_belong(probabilities: bool, labels: list[Any], words: str) -> None:
    predicted = [[0.4, 0.6], [0.9, 0.1]] if probabilities else [1, 0]
    with pytest.raises(FermiError, match=words):
        audit([1, 0], predicted, sensitive_features=["a", "b"], labels=labels)
