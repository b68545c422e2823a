"""What an auditor asks of `fermi audit`: weights, names of labels, scores beside labels, columns held equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from tests.cli.samples import answer, run, saved


def decisions(n: int = 1500, seed: int = 0) -> pd.DataFrame:
    """What a bank decided, 1 or 0, beside what was right in words, with a score, a department and weights."""
    rng = np.random.default_rng(seed)
    sex, dept = rng.choice(["f", "m"], n), rng.choice(["car", "home", "study"], n, p=[0.5, 0.3, 0.2])
    p = 1 / (1 + np.exp(-rng.normal(0.4 * (sex == "m") + (dept == "car"), 1, n)))
    right = np.where(rng.random(n) < p, "approved", "denied")
    score = p.round(2)
    more = {"score": score, "guess": (score > 0.45).astype(int), "w": rng.integers(1, 5, n)}
    return pd.DataFrame({"sex": sex, "dept": dept, "age": rng.integers(18, 80, n), "right": right, **more})


ASK = ("--target", "right", "--sensitive", "sex", "--prediction", "guess", "--map-labels", "1:approved,0:denied")


def test_a_label_and_a_score_together_with_weights_are_fairlearns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peers: Any = pytest.importorskip("fairlearn.metrics", reason="the extra `baselines` is not installed")
    frame = decisions()
    file = saved(frame, tmp_path / "d.csv")
    scored = ("--probability", "score", "--probability-of", "approved", "--weight", "w")
    found = answer(capsys, "audit", file, *ASK, *scored)
    right, guess, w = frame["right"] == "approved", frame["guess"] == 1, frame["w"]
    for metric, figure in ((peers.selection_rate, "rates"), (peers.true_positive_rate, "tpr")):
        peer = peers.MetricFrame(
            metrics=metric, y_true=right, y_pred=guess, sensitive_features=frame["sex"],
            sample_params={"sample_weight": w},
        )  # fmt: skip
        ours = [group[figure]["approved"]["value"] for group in found["groups"]]
        assert ours == pytest.approx(peer.by_group.tolist())
        if figure == "rates":
            assert found["hard"]["parity_difference"]["value"] == pytest.approx(peer.difference())
    for group, name in zip(found["groups"], "fm", strict=True):
        own = frame["sex"] == name
        area = roc_auc_score(right[own], frame["score"][own], sample_weight=w[own])
        assert group["auc"]["approved"]["value"] == pytest.approx(area)
        assert group["roc"]["approved"][-1] == {"threshold": frame["score"][own].min(), "fpr": 1.0, "tpr": 1.0}
        assert group["calibration"]
    assert found["use"]["auc"] == pytest.approx(roc_auc_score(right, frame["score"], sample_weight=w))
    plain = answer(capsys, "audit", file, *ASK)
    assert plain["hard"]["parity_difference"]["value"] != found["hard"]["parity_difference"]["value"]


@pytest.mark.parametrize("notion", ["demographic_parity", "equal_opportunity"])
def test_control_columns_compare_within_each_value_as_fairlearn_does(
    notion: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peers: Any = pytest.importorskip("fairlearn.metrics", reason="the extra `baselines` is not installed")
    frame = decisions()
    found = answer(capsys, "audit", saved(frame, tmp_path / "d.csv"), *ASK, "--control", "dept", "--notion", notion)
    metric = peers.selection_rate if notion == "demographic_parity" else peers.true_positive_rate
    peer = peers.MetricFrame(
        metrics=metric, y_true=frame["right"] == "approved", y_pred=frame["guess"] == 1,
        sensitive_features=frame["sex"], control_features=frame["dept"],
    ).difference()  # fmt: skip
    within = {one["condition"].partition(",")[0]: one for one in found["judged"]["within"]}
    assert {name: one["parity_difference"]["value"] for name, one in within.items()} == pytest.approx(peer.to_dict())
    assert found["hard"]["parity_difference"]["value"] == pytest.approx(peer.max())
    assert all(one["parity_difference"]["low"] <= one["parity_difference"]["high"] for one in within.values())


def test_ranges_of_an_age_pages_and_tables_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(decisions(), tmp_path / "d.csv")
    by_age = ("--target", "right", "--sensitive", "age", *ASK[4:])
    assert run(capsys, "audit", file, *by_age)[0] == 2
    outputs = ("--html", tmp_path / "o.html", "--csv", tmp_path / "o.csv", "--output", tmp_path / "o.json")
    code, out, err = run(capsys, "audit", file, *by_age, "--bins", "age=30,60", *outputs)
    assert (code, err) == (0, "")
    assert "precision approved" in out
    assert out.count("Written: ") == 3
    assert pd.read_csv(tmp_path / "o.csv")["group"].tolist() == [
        "age=30 to below 60", "age=60 and above", "age=below 30",
    ]  # fmt: skip
    assert len(json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))["groups"]) == 3
    assert "<html" in (tmp_path / "o.html").read_text(encoding="utf-8")


def test_a_score_that_is_about_the_other_label_is_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = saved(decisions(), tmp_path / "d.csv")
    ask = ("audit", file, "--target", "right", "--sensitive", "sex", "--probability", "score")
    notes = " ".join(answer(capsys, *ask)["notes"])
    assert "'score' ranks people the wrong way round (AUC 0." in notes
    assert "say --probability-of 'approved'" in notes
    assert "wrong way round" not in " ".join(answer(capsys, *ask, "--probability-of", "approved")["notes"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "right", "--prediction", "guess", "--probability", "score"], "--map-labels '0:approved'"),
        (["--prediction", "guess", "--weight", "dept"], "--weight is 'dept', a column that holds"),
        (["--prediction", "guess", "--weight", "weight"], "--weight is 'weight'"),
        (["--prediction", "guess", "--control", "deptt"], "--control is 'deptt'"),
        (["--prediction", "guess", "--control", "age"], "'age' holds 62 different numbers"),
        (["--prediction", "guess", "--map-labels", "1"], "--map-labels is '1'; expected labels and what they are"),
        (["--prediction", "guess", "--map-labels", "yes:1"], "no label is called so"),
        (["--target", "right", "--probability", "score", "--probability-of", "x"], "--probability-of is 'x'"),
        (["--prediction", "guess", "--csv", "o.html"], "--csv is 'o.html'; expected a name that ends in one of .csv"),
        (["--prediction", "guess", "--seed", "-1"], "--seed is -1"),
    ],
)
def test_mistakes_are_told_in_one_line(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = saved(decisions(300), tmp_path / "d.csv")
    code, out, err = run(capsys, "audit", file, "--sensitive", "sex", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_the_seed_moves_the_intervals_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(decisions(300), tmp_path / "d.csv")
    ermi = [answer(capsys, "audit", file, *ASK, "--seed", seed)["hard"]["ermi"] for seed in (0, 0, 1)]
    assert ermi[0] == ermi[1]
    assert ermi[0]["value"] == ermi[2]["value"]
    assert ermi[0]["low"] != ermi[2]["low"]
