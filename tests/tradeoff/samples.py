"""Rows and curves that the tests of trade-offs share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fermi import FermiClassifier
from fermi.tradeoff import TradeoffCurve, tradeoff_curve

LAMS = [0.0, 1.0, 30.0]


def rows(n: int = 1200, seed: int = 0) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Three classes, and two sensitive columns with two and three values."""
    rng = np.random.default_rng(seed)
    s = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "age": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])})
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("pqrs"))
    X["p"] += (s["sex"] == "M") * 1.0
    X["q"] += (s["age"] == "c") * 1.5
    score = X["p"] + X["q"] + rng.normal(size=n)
    y = pd.Series(np.select([score > 1.5, score > 0.0], ["high", "mid"], "low"), name="y")
    return X, y, s


def curve(estimator: Any = None, **options: Any) -> TradeoffCurve:
    X, y, s = rows()
    given = {"lams": LAMS, "sensitive_features": s, "progress": False, **options}
    return tradeoff_curve(FermiClassifier() if estimator is None else estimator, X, y, **given)


def gap(predicted: Any, groups: Any) -> float:
    """The parity difference by pandas alone."""
    rates = pd.crosstab(pd.Series(np.asarray(groups)), pd.Series(np.asarray(predicted)), normalize="index")
    return float((rates.max() - rates.min()).max())


def same(a: TradeoffCurve, b: TradeoffCurve) -> None:
    pd.testing.assert_frame_equal(a.frame.drop(columns="seconds"), b.frame.drop(columns="seconds"))
