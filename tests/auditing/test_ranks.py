"""Precision, areas under ROC curves and the curves themselves, group by group, against scikit-learn and fairlearn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import precision_score, roc_auc_score, roc_curve

from fermi import RunningAudit, audit
from tests.auditing.samples import frame_of, rows


def coarse(m: int = 2, **options: Any) -> Any:
    """Rows whose probabilities are rounded, so that many are tied."""
    data = rows(m=m, **options)
    if m == 2:
        p = np.round(data["F"][:, 1], 2)
        data["F"] = np.column_stack([1 - p, p])
        data["labels"] = (p > 0.5).astype(int)
    return data


@pytest.mark.parametrize("weighted", [False, True])
def test_precision_and_areas_are_those_of_fairlearn_with_scikit_learn(weighted: bool) -> None:
    peers: Any = pytest.importorskip("fairlearn.metrics", reason="the extra `baselines` is not installed")
    data = coarse()
    weight = data["w"] if weighted else None
    params = {"sample_weight": weight} if weighted else {}

    def by_group(metric: Any, predicted: Any) -> Any:
        return peers.MetricFrame(
            metrics=metric, y_true=data["y"], y_pred=predicted, sensitive_features=data["s"], sample_params=params
        ).by_group.to_numpy(dtype=float)

    found = frame_of(
        audit(data["y"], data["F"], sensitive_features=data["s"], sample_weight=weight, labels=data["labels"])
    )
    assert found["precision_1"].to_numpy() == pytest.approx(by_group(precision_score, data["labels"]))
    assert found["auc_1"].to_numpy() == pytest.approx(by_group(roc_auc_score, data["F"][:, 1]))


def test_several_classes_have_an_area_each_against_the_rest() -> None:
    data = rows(m=3)
    found = audit(data["y"], data["F"], sensitive_features=data["s"], n_boot=200)
    for s in range(4):
        mine = data["s"] == s
        for c in range(3):
            peer = roc_auc_score(data["y"][mine] == c, data["F"][mine, c])
            assert frame_of(found).loc[str(s), f"auc_{c}"] == pytest.approx(peer)
            own = precision_score(data["y"][mine], data["labels"][mine], labels=[c], average="micro")
            assert frame_of(found).loc[str(s), f"precision_{c}"] == pytest.approx(own)
    use = found.judged().record.use
    assert use is not None
    assert use.auc == pytest.approx(roc_auc_score(data["y"], data["F"], multi_class="ovr"))


def test_the_curve_is_scikit_learns_and_long_ones_are_thinned() -> None:
    data = coarse(n=400)
    found = audit(data["y"], data["F"], sensitive_features=data["s"], n_boot=200)
    mine = data["s"] == 3
    fpr, tpr, thresholds = roc_curve(data["y"][mine], data["F"][mine, 1], drop_intermediate=False)
    ours = found.roc[found.roc["group"] == "3"][["threshold", "fpr", "tpr"]].to_numpy()
    assert ours == pytest.approx(np.column_stack([thresholds, fpr, tpr]))
    many = rows(n=20_000, m=2, k=2)
    curve = audit(many["y"], many["F"], sensitive_features=many["s"], n_boot=200).record.groups[1].roc["1"]
    fpr, tpr, thresholds = roc_curve(many["y"][many["s"] == 1], many["F"][many["s"] == 1, 1], drop_intermediate=False)
    assert 90 < len(curve) <= 103
    assert {point.threshold for point in curve} <= set(thresholds.tolist())
    area = np.trapezoid([p.tpr for p in curve], [p.fpr for p in curve])
    assert area == pytest.approx(np.trapezoid(tpr, fpr), abs=2e-3)


def test_intervals_of_areas_hold_the_truth_about_as_often_as_they_say() -> None:
    rng, hits, truth = np.random.default_rng(0), 0, 0.7602499  # P(a > b) of two normals one apart: Phi(1/sqrt 2)
    for _ in range(400):
        y = rng.random(120) < 0.3
        score = rng.normal(y * 1.0)
        p = 1 / (1 + np.exp(-score))
        found = audit(y.astype(int), np.column_stack([1 - p, p]), sensitive_features=["a"] * 120, n_boot=200)
        area = found.record.groups[0].auc["1"]
        hits += area.low <= truth <= area.high
    assert 0.92 < hits / 400 < 0.98


def test_counts_are_repeated_rows_and_unranked_groups_say_why() -> None:
    data = coarse(n=120)
    often = data["w"].astype(int)
    ask: dict[str, Any] = {"n_boot": 200}
    once = audit(data["y"], data["F"], sensitive_features=data["s"], counts=often, **ask)
    again = {name: np.repeat(data[name], often, axis=0) for name in ("y", "F", "s")}
    whole = audit(again["y"], again["F"], sensitive_features=again["s"], **ask)
    for column in ("auc_1", "auc_1_low", "auc_1_high", "precision_1"):
        assert frame_of(once)[column].to_numpy() == pytest.approx(frame_of(whole)[column].to_numpy())
    data["y"][data["s"] == 0] = 1
    lone = audit(data["y"], data["F"], sensitive_features=data["s"], **ask).record.groups[0]
    assert np.isnan(lone.auc["1"].value)
    assert lone.auc["1"].note == "no row is 1, or every row is"


def test_withheld_groups_are_ranked_with_nobody_and_parts_have_no_ranks() -> None:
    data = coarse(n=200)
    shown = audit(data["y"], data["F"], sensitive_features=data["s"], n_boot=200, min_group_size=30).judged()
    hidden = np.isin(data["s"], [int(g.group) for g in shown.record.groups if np.isnan(g.rows)])
    assert hidden.any()
    assert shown.record.use is not None
    assert shown.record.use.auc == pytest.approx(roc_auc_score(data["y"][~hidden], data["F"][~hidden, 1]))
    assert not any(group.roc for group in shown.record.groups if np.isnan(group.rows))
    running = RunningAudit(classes=[0, 1])
    for part in (slice(0, 100), slice(100, 200)):
        running.add(data["y"][part], data["F"][part], sensitive_features=data["s"][part])
    assert all(not group.auc for group in running.audit(n_boot=200).record.groups)
