"""Rows, classifiers and fits that the tests of `FairLabels` share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from fermi.labels import FairLabels

NAMES = ("ash", "birch", "cedar")


class Rows(NamedTuple):
    """Features, labels and groups of some rows."""

    X: Any
    y: NDArray[Any]
    s: NDArray[Any]


def rows(n: int = 900, n_classes: int = 2, seed: int = 0, groups: int = 3) -> Rows:
    """Rows of groups that differ in their first feature, which decides on the label, and the third, which does not."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, groups, n)
    X = rng.normal(0.0, 1.0, (n, 4))
    X[:, 0] += 0.4 * s
    X[:, 2] += 1.5 * s
    score = 1.5 * X[:, 0] + X[:, 1] + rng.normal(0.0, 1.0, n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return Rows(X, y, np.array(NAMES)[s] if groups <= 3 else s)


def table(some: Rows) -> pd.DataFrame:
    """The features as a table with words, categories and entries that are missing."""
    rng = np.random.default_rng(7)
    n = len(some.y)
    return pd.DataFrame(
        {
            "first": some.X[:, 0],
            "gaps": pd.Series(some.X[:, 1]).where(rng.random(n) > 0.1),
            "kind": pd.Series(some.s).where(rng.random(n) > 0.6).astype("category"),
            "word": pd.Series(np.array(["x", "y", "z"])[rng.integers(0, 3, n)]).where(rng.random(n) > 0.1),
        }
    )


def plain() -> Any:
    return LogisticRegression()


def fair(estimator: Any = None, max_violation: float | None = 0.05, **options: Any) -> FairLabels:
    """A model that is ready to be fitted, with a seed."""
    options.setdefault("random_state", 0)
    return FairLabels(plain() if estimator is None else estimator, max_violation=max_violation, **options)


def fitted(some: Rows, estimator: Any = None, **options: Any) -> FairLabels:
    return fair(estimator, **options).fit(some.X, some.y, sensitive_features=some.s)


class AtThreshold(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose labels are not the most probable ones."""

    def __init__(self, threshold: float = 0.35) -> None:
        self.threshold = threshold

    def fit(self, X: Any, y: Any) -> AtThreshold:
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.inner_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] > self.threshold).astype(int)]


class OnlyPredicts:
    """Somebody else's model, which cannot be trained here."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.classes_ = inner, inner.classes_

    def predict_proba(self, X: Any) -> Any:
        return self.inner.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.inner.predict(X)


def gap(predicted: NDArray[Any], s: NDArray[Any]) -> float:
    """The largest difference between two groups' rates of any label, counted by hand."""
    labels, groups = np.unique(predicted), np.unique(s)
    rates = np.array([[np.mean(predicted[s == group] == label) for label in labels] for group in groups])
    return float(np.ptp(rates, axis=0).max())
