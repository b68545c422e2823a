"""Records for the report's tests, with numbers that belong together: every one comes from drawn rows."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fermi.measures import ermi, linf_violation, mutual_information, parity_difference, parity_ratio
from fermi.measures.contingency import Contingency
from fermi.notions import DemographicParity
from fermi.records import (
    AuditRecord,
    CalibrationBin,
    ChargeRecord,
    Estimate,
    GroupRecord,
    MeasureRecord,
    PointRecord,
    ReportRecord,
)

HOSTILE = "<script>alert(1)</script>"
SPLITS = {"train": 6000, "validation": 1500, "test": 1500}
MEASURES = (parity_difference, parity_ratio, ermi, mutual_information, linf_violation)
FACTS = {
    "Data": "census.csv, 9,000 rows, 12 columns",
    "Target": "income, 2 classes",
    "Sensitive": "sex",
    "Model": "multinomial logistic regression, l2 = 0.0001",
    "Trained with": "lbfgs; sensitive columns are not among the features",
}

Labels = NDArray[np.int64]


def wilson(hits: float, rows: float) -> Estimate:
    if rows == 0:
        return Estimate(math.nan, note="no rows")
    p, z2 = hits / rows, 1.96**2
    centre, spread = p + z2 / (2 * rows), 1.96 * math.sqrt(p * (1 - p) / rows + z2 / (4 * rows**2))
    return Estimate(p, (centre - spread) / (1 + z2 / rows), (centre + spread) / (1 + z2 / rows))


def audit(
    rng: np.random.Generator,
    n: int,
    groups: Sequence[str],
    classes: Sequence[str],
    bias: float,
    column: str = "sex",
) -> AuditRecord:
    """`n` rows of an outcome that depends on the group, of which the prediction knows the share `bias`."""
    k, m = len(groups), len(classes)
    share = np.r_[np.ones(k - 1), 0.4]
    s = rng.choice(k, n, p=share / share.sum())
    known, lean = rng.normal(size=n), 0.8 * (s / (k - 1) - 0.5) * 2
    y = np.digitize(known + lean + 0.6 * rng.normal(size=n), np.linspace(-1, 1, m + 1)[1:-1])
    scores = -2.0 * (known + bias * lean)[:, None] * np.linspace(1, -1, m) - 2.0 * (np.linspace(-1, 1, m) ** 2 - 1)
    chances = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    labels = scores.argmax(1)
    names, wrong = np.array(classes), labels != y
    tables = {
        soft: Contingency.from_predictions(
            chances if soft else names[labels], np.array(groups)[s], classes=list(classes) if soft else None
        )
        for soft in (False, True)
    }
    measures = [
        MeasureRecord(m.__name__, soft, Estimate(v := m(table), 0.8 * v, 1.2 * v), "" if soft else "≤ √ERMI")
        for soft, table in tables.items()
        for m in MEASURES
    ]
    return AuditRecord(
        notion="demographic_parity",
        confidence=0.95,
        rows=n,
        unknown=17,
        classes=tuple(classes),
        columns=(column,),
        groups=tuple(group(name, classes, y[s == i], labels[s == i], chances[s == i]) for i, name in enumerate(groups)),
        measures=tuple(measures),
        error=wilson(wrong.sum(), n),
        error_soft=float(1 - chances[np.arange(n), y].mean()),
        corrected_ermi=Estimate(ermi(tables[False]) * 0.9, 0.0, ermi(tables[False])),
        p_value=0.0004,
        notes=("Group sizes differ by more than a factor of five.",),
        asks=DemographicParity().explain(()),
        label=classes[-1],
    )


def group(name: str, classes: Sequence[str], y: Labels, labels: Labels, chances: NDArray[np.float64]) -> GroupRecord:
    m = len(classes)
    confusion = np.zeros((m, m))
    np.add.at(confusion, (y, labels), 1)
    shown = range(m) if m > 2 else [m - 1]
    bins = [
        CalibrationBin(classes[c], len(rows), float(chances[rows, c].mean()), wilson((y[rows] == c).sum(), len(rows)))
        for c in range(m)
        for low in np.arange(0, 1, 0.2)
        if len(rows := np.flatnonzero((chances[:, c] >= low) & (chances[:, c] < low + 0.2)))
    ]
    return GroupRecord(
        group=name,
        rows=len(y),
        rates={classes[c]: wilson((labels == c).sum(), len(y)) for c in range(m)},
        error=wilson((labels != y).sum(), len(y)),
        tpr={classes[c]: wilson(confusion[c, c], (y == c).sum()) for c in shown},
        fpr={classes[c]: wilson(((labels == c) & (y != c)).sum(), (y != c).sum()) for c in shown},
        confusion=tuple(map(tuple, confusion.tolist())),
        calibration=tuple(bins),
    )


def history(lam: float) -> list[dict[str, float]]:
    return [
        {
            "step": float(step),
            "seconds": step / 500,
            "loss": 0.4 + math.exp(-step / 40),
            "ermi": 0.1 / (1 + lam),
            "objective": 0.42 + 1.2 * math.exp(-step / 40),
            "dual_gap": 10 ** (-1 - step / 60),
            "grad_norm": math.exp(-step / 50),
        }
        for step in range(0, 400, 2)
    ]


@functools.cache  # to draw and audit thousands of rows takes longer than most tests of a page
def report(
    n_points: int = 15,
    groups: Sequence[str] = ("sex=Female", "sex=Male"),
    classes: Sequence[str] = ("<=50K", ">50K"),
    *,
    splits: Sequence[str] = ("train", "validation", "test"),
    chosen: int | None = None,
    title: str = "Income on the census file",
    column: str = "sex",
    seed: int = 0,
) -> ReportRecord:
    """A trade-off of models from λ = 0 to 1000; one model makes an audit."""
    lams = [0.0, *np.geomspace(0.1, 1000, n_points - 1)] if n_points > 1 else [0.0]
    points = [
        PointRecord(
            label=f"λ = {lam:.4g}" if n_points > 1 else "the column “decision”",
            lam=lam,
            splits={
                name: audit(np.random.default_rng([seed, i]), SPLITS[name], groups, classes, 1 / (1 + lam / 4), column)
                for i, name in enumerate(splits)
            },
            history=history(lam) if n_points > 1 else [],
            seconds=0.4,
        )
        for lam in lams
    ]
    gaps = [list(point.splits.values())[-1].measure("parity_difference").value for point in points]
    if chosen is None:
        chosen = next((i for i, gap in enumerate(gaps) if gap < 0.05), n_points - 1)
    tried = [0.0, 1.0, 2.0, 4.0, 64.0, lams[chosen]]
    return ReportRecord(
        title=title,
        facts=FACTS,
        points=tuple(points),
        chosen=chosen,
        reason="It has the smallest error among those whose parity difference on the validation rows is at most 0.05."
        if n_points > 1
        else "",
        lam_path=[{"lam": x, "violation": 0.6 / (1 + x / 4), "standard_error": 0.01} for x in tried if n_points > 1],
        notes=("Two constant columns were left out.",),
    )


def audit_of(record: ReportRecord, model: int, split: str) -> AuditRecord:
    return record.points[model].splits[split]


def percent(estimate: Estimate) -> str:
    return f"{100 * estimate.value:.1f}%"


def with_interval(estimate: Estimate) -> str:
    return f"{percent(estimate)} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def error(record: ReportRecord, model: int, split: str = "test") -> Estimate:
    found = audit_of(record, model, split).error
    assert found is not None
    return found


def gap(record: ReportRecord, model: int, split: str = "test") -> str:
    return f"{100 * audit_of(record, model, split).measure('parity_difference').value:.1f}"


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def selection_rate(group: GroupRecord) -> Estimate:
    return group.rates[">50K"]


def hit_rate(group: GroupRecord) -> Estimate:
    return group.tpr[">50K"]


@functools.cache
def adjusted() -> ReportRecord:
    """A plain model, and the same one with labels after charges."""
    plain, other = report(2, splits=("train", "test")).points
    rule = (
        ChargeRecord("sex=Female", "income=<=50K", {">50K": -0.351}, 0.34, 0.12, ((HOSTILE, -0.9), ("hours", 0.2))),
        ChargeRecord("sex=Male", "income=<=50K", {">50K": 0.351}, 0.66, 0.12, ((HOSTILE, 0.9),)),
        ChargeRecord("the average row", "", {">50K": 0.0389}),
    )
    points = (plain, replace(other, lam=0.0, adjusted=True))
    return replace(report(2, splits=("train", "test")), points=points, chosen=1, lam_path=[], rule=rule)


FOUR = ("race=A, sex=Female", "race=A, sex=Male", "race=B, sex=Female", "race=B, sex=Male")
SAMPLES: dict[str, Callable[[], ReportRecord]] = {
    "tradeoff": report,
    "four groups, three classes": lambda: report(6, FOUR, ("no", "maybe", "yes")),
    "adjusted labels": adjusted,
    "two models": lambda: report(2, splits=("train", "test")),
    "one model": lambda: report(1),
    "audit": lambda: report(1, splits=("test",)),
}
