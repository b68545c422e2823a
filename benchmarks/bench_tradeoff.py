"""What a trade-off curve costs beside the same fits made one by one, and whether both end at the same models.

For each case: seconds of the whole curve (splitting, training, predicting, measuring), of its fits alone, of cold fits
at the same λ on the same rows, and of scikit-learn's `LogisticRegression`, which knows no fairness, once per λ; how
far the objectives and the probabilities of warm and cold fits lie apart; and the gap of labels of the model that
`pick(0.02)` returns, on the validation and on the test rows.

Adult is read from the folder that FERMI_DATA names; without it made-up applicants take its place, as the cases say.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import fermi
from fermi import FermiClassifier

BOUND = 0.02
ON_ADULT = (Path(os.environ.get("FERMI_DATA", "")) / "adult" / "adult.data").exists()
DATA = "Adult" if ON_ADULT else "synthetic applicants (FERMI_DATA has no Adult)"
CASES: dict[str, tuple[dict[str, Any], int | None]] = {
    "demographic parity": ({}, None),
    "equalized odds": ({"fairness": "equalized_odds"}, None),
    "equal opportunity": ({"fairness": "equal_opportunity"}, None),
    "demographic parity, three folds": ({}, 3),
}


def measure() -> list[dict[str, Any]]:
    """What both take in each case."""
    data = (fermi.datasets.load("adult") if ON_ADULT else fermi.datasets.synthetic(rated=False)).numeric()
    train = {"X": data.X_train, "y": data.y_train, "sensitive_features": data.s_train}
    test = {"X_test": data.X_test, "y_test": data.y_test, "sensitive_test": data.s_test}
    FermiClassifier().fit(**train)  # compiles, before the clock runs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they are about is in the figures: bounds not reached, constant labels
        return [_case(name, {**train, **test}, *options) for name, options in CASES.items()]


def _case(name: str, rows: dict[str, Any], options: dict[str, Any], cv: int | None) -> dict[str, Any]:
    model = FermiClassifier(**options)
    began = time.perf_counter()
    curve = fermi.tradeoff_curve(model, **rows, cv=cv, progress=False)
    seconds = time.perf_counter() - began
    cold = [fermi.tradeoff_curve(model, **rows, cv=cv, lams=[lam], progress=False) for lam in curve.lams]
    picked = curve.frame[curve.frame["lam"] == curve.pick(BOUND).lam].set_index("split")
    pairs = [(warm, single.models[0]) for warm, single in zip(curve.models, cold, strict=True)]
    X, used = rows["X_test"], int(picked.loc["train", "rows"])
    return {
        "data": DATA,
        "case": name,
        "values": len(curve.lams),
        "rows": used,
        "fits": len(curve.lams) * (1 if cv is None else cv + 1),
        "curve_seconds": seconds,
        "warm_seconds": _fit_seconds(curve, cv),
        "cold_seconds": sum(_fit_seconds(single, cv) for single in cold),
        "peer": "sklearn.linear_model.LogisticRegression, without fairness, once per value",
        "peer_seconds": len(curve.lams) * _peer_seconds(rows["X"][:used], rows["y"][:used]),
        "objectives_apart": max(abs(a.history_[-1]["objective"] / b.history_[-1]["objective"] - 1) for a, b in pairs),
        "probabilities_apart": max(float(np.abs(a.predict_proba(X) - b.predict_proba(X)).max()) for a, b in pairs),
        "standard_error": picked.loc["validation", "standard_error"],
        "picked_validation_gap": picked.loc["validation", "violation"],
        "picked_test_gap": picked.loc["test", "violation"],
    }


def _fit_seconds(curve: fermi.TradeoffCurve, cv: int | None) -> float:
    """Of the models kept and, with folds, of those that judged."""
    splits = ["train"] if cv is None else ["train", "validation"]
    return float(curve.frame.loc[curve.frame["split"].isin(splits), "seconds"].sum())


def _peer_seconds(X: Any, y: Any) -> float:
    """The median of three fits."""
    found = []
    for _ in range(3):
        began = time.perf_counter()
        LogisticRegression(max_iter=1000).fit(X, y)
        found.append(time.perf_counter() - began)
    return float(np.median(found))


def show(cases: list[dict[str, Any]]) -> None:
    """A line per case."""
    print(f"{cases[0]['data']}: seconds, and how far warm and cold fits lie apart")
    print(f"{'':<33}{'fits':>5}{'curve':>7}{'warm':>7}{'cold':>7}{'peer':>7}{'objective':>11}{'probability':>13}")
    for case in cases:
        seconds = "".join(f"{case[f'{name}_seconds']:>7.1f}" for name in ("curve", "warm", "cold", "peer"))
        apart = f"{case['objectives_apart']:>11.1e}{case['probabilities_apart']:>13.1e}"
        print(f"{case['case']:<33}{case['fits']:>5}{seconds}{apart}")
        gaps = (case["picked_validation_gap"], case["standard_error"], case["picked_test_gap"])
        print(
            "  picked for {:.2f}: {:.3f} (standard error {:.3f}) on validation, {:.3f} on test rows".format(
                BOUND, *gaps
            )
        )
