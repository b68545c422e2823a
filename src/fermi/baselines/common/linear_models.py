"""Logistic regression, with weights or with a penalty on the scores: what the linear methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from fermi._typing import Floats, Ints
from fermi.baselines.common.protocol import Rows
from fermi.baselines.common.several import once

L2 = 1e-4  # as FermiClassifier, so that without mitigation all linear methods are one model

# Value and gradient of a penalty in the logits, n × m.
Penalty = Callable[[Floats], tuple[float, Floats]]


def logistic_regression(n: int) -> LogisticRegression:
    """Scikit-learn's logistic regression, with the penalty of `FermiClassifier` on the mean loss of n rows."""
    return LogisticRegression(C=1.0 / (L2 * n), max_iter=2000)


def plain_regression(rows: Rows) -> LogisticRegression:
    """Logistic regression on these rows, which is the same whatever the strength."""
    return once(rows, "plain", lambda: logistic_regression(len(rows.y)).fit(dense(rows.X), rows.y))


def dense(X: Any) -> Any:
    """Features as a dense array, for methods that take no sparse ones."""
    return X.toarray() if hasattr(X, "toarray") else X


class LinearModel:
    """A linear model, whose logits are X @ coef + intercept, n × m."""

    def __init__(self, coef: Floats, intercept: Floats) -> None:
        self.coef, self.intercept = coef, intercept

    def logits(self, X: Any) -> Floats:
        """The logits of rows, one per class."""
        scores: Floats = np.asarray(X @ self.coef) + self.intercept
        return scores

    def proba(self, X: Any) -> Floats:
        """The probabilities of rows, the softmax of their logits."""
        return np.asarray(softmax(self.logits(X), axis=1))


def minimise(
    X: Any,
    y: Ints,
    n_classes: int,
    penalty: Penalty | None = None,
    start: LinearModel | None = None,
    max_iter: int = 1000,
) -> LinearModel:
    """Minimise mean cross-entropy + ridge + a penalty of the logits by L-BFGS; without one, logistic regression."""
    n, d = X.shape
    first = np.zeros((d + 1, n_classes)) if start is None else np.vstack([start.coef, start.intercept])
    rows = np.arange(n)
    # Two classes share the weights of one between them, which halves the sum of squares.
    ridge = 2.0 * L2 if n_classes == 2 else L2

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(d + 1, n_classes)
        logits = np.asarray(X @ theta[:-1]) + theta[-1]
        extra, gradient = (0.0, 0.0) if penalty is None else penalty(logits)
        below = logits - logits.max(axis=1, keepdims=True)
        odds = np.exp(below)
        total = odds.sum(axis=1, keepdims=True)
        loss = float(np.mean(np.log(total[:, 0]) - below[rows, y]))
        slope = odds / (n * total)
        slope[rows, y] -= 1.0 / n
        slope = slope + gradient
        whole = np.vstack([np.asarray(X.T @ slope) + ridge * theta[:-1], slope.sum(axis=0)])
        return loss + extra + 0.5 * ridge * float((theta[:-1] ** 2).sum()), whole.ravel()

    found = minimize(value_and_gradient, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter})
    theta = found.x.reshape(d + 1, n_classes)
    return LinearModel(theta[:-1], theta[-1])


def plain_minimum(rows: Rows) -> LinearModel:
    """What `minimise` finds on these rows without a penalty, which is the same whatever the strength."""
    return once(rows, "minimum", lambda: minimise(rows.X, rows.y, rows.n_classes))


def binary_model(weights: Floats, intercept: float) -> LinearModel:
    """A linear model of two classes, with the logits 0 and X @ weights + intercept."""
    return LinearModel(np.stack([np.zeros_like(weights), weights], axis=1), np.array([0.0, intercept]))


def mixture(plain: Floats, mitigated: Floats, share: float) -> Floats:
    """The law of a label that is mitigated with probability `share`, and the plain model's most probable otherwise."""
    certain = np.eye(plain.shape[1])[plain.argmax(axis=1)]
    return np.asarray((1.0 - share) * certain + share * mitigated)


def group_deviations(rows: Rows) -> tuple[Floats, Floats]:
    """Within each condition, the groups' shares and how far their mean features are from the mean of all.

    Conditions × groups and conditions × groups × features; a group without rows in a condition is at its mean.
    """
    shape, counted = (rows.n_conditions, rows.n_groups), np.flatnonzero(rows.cells >= 0)
    member = csr_array((np.ones(len(counted)), (rows.cells[counted], counted)), (shape[0] * shape[1], len(rows.y)))
    sums = member @ rows.X
    totals = np.asarray(sums.toarray() if hasattr(sums, "toarray") else sums).reshape(*shape, -1)
    counts: Floats = np.bincount(rows.cells[counted], minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    n = counts.sum(axis=1, keepdims=True)
    middle = (totals.sum(axis=1) / n)[:, None]
    means = np.where(counts[..., None] > 0, totals / np.maximum(counts, 1.0)[..., None], middle)
    return counts / n, means - middle
