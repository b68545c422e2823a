"""Calls that are allowed and at the edge: huge and tiny numbers, hardly any rows, odd names."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import fermi
from fermi import FermiClassifier
from tests.fuzz.attempt import Family
from tests.fuzz.calls import NOTIONS, check_model
from tests.fuzz.values import Rng

NAMES = ("", " ", "a", "A", "=1+1", "a,b", "ñ", "\u202e", "🙂", "None", "nan", "1", "01", "a & b", "<b>", "\\", "'")


def power(rng: Rng, reach: float = 300.0) -> float:
    """A number of any size."""
    return float(10.0 ** rng.uniform(-reach, reach))


def rows(rng: Rng) -> tuple[Any, Any, Any, Any]:
    """Rows as they may be: few, constant, collinear, huge, tiny, of one row per group, with odd names."""
    n = int(rng.choice([4, 8, 30, 80, 200]))
    width, groups, classes = int(rng.integers(1, 6)), int(rng.integers(1, min(n, 12) + 1)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, width))
    for j in range(width):
        kind = rng.random()
        if kind < 0.2:
            X[:, j] *= power(rng)
        elif kind < 0.3:
            X[:, j] = power(rng)
        elif kind < 0.4:
            X[:, j] = X[:, 0] * 2.0
        elif kind < 0.5:
            X[:, j] += power(rng, 20)
        elif kind < 0.6:
            X[:, j] = (rng.random(n) < 0.02) * power(rng, 100)
    y = rng.permutation(np.arange(n) % classes)
    s = rng.integers(0, groups, n)
    weight = None
    if rng.random() < 0.5:
        weight = rng.random(n) * power(rng, 305) if rng.random() < 0.5 else 10.0 ** rng.uniform(-300, 300, n)
        weight[rng.random(n) < 0.2] = 0.0
        weight = weight / 2.0 / n if np.isinf(weight.sum()) else weight
    names = np.array(NAMES, dtype=object)
    return X, names[rng.permutation(len(names))][y], names[rng.permutation(len(names))][s], weight


def linear(rng: Rng) -> None:
    """Linear fits by every solver."""
    X, y, s, weight = rows(rng)
    options: dict[str, Any] = {"fairness": NOTIONS[int(rng.integers(3))], "random_state": 0}
    options["lam"] = float(rng.choice([0.0, 1.0, power(rng), power(rng, 8)]))
    options["l2"] = float(rng.choice([0.0, 1e-4, power(rng), power(rng, 8)]))
    solver = str(rng.choice(["auto", "lbfgs", "newton", "sgda", "sreda"]))
    options["solver"] = solver
    if solver in ("sgda", "sreda"):
        options |= {"max_iter": 3, "batch_size": int(rng.integers(1, len(X) + 1))}
    if solver == "sgda" and rng.random() < 0.3:
        options |= {"eta_theta": power(rng), "eta_w": power(rng)}
    if rng.random() < 0.2:
        options |= {"max_violation": float(rng.choice([0.0, 1e-300, 0.1, 1.0]))}
    model = FermiClassifier(**options).fit(X, y, sensitive_features=s, sample_weight=weight)
    check_model(model, X)


def labels(rng: Rng) -> None:
    """Labels over logistic regression."""
    X, y, s, weight = rows(rng)
    X = X / (np.abs(X).max(axis=0) + 1e-300)
    options: dict[str, Any] = {"max_violation": float(rng.choice([0.0, 1e-12, 0.05, 1.0])), "random_state": 0}
    options |= {"fairness": NOTIONS[int(rng.integers(3))], "slack": float(rng.choice([0.0, 1.0, 1e300]))}
    model = fermi.FairLabels(LogisticRegression(), **options)
    model.fit(X, y, sensitive_features=s, sample_weight=weight)
    check_model(model, X)
    check_model(model.at(float(rng.choice([0.0, 0.5]))), X)


def measured(rng: Rng) -> None:
    """Measures and audits of weights of any size."""
    _, y, s, weight = rows(rng)
    given = {"sensitive_features": s, "sample_weight": weight, "notion": NOTIONS[int(rng.integers(3))]}
    found = fermi.Contingency.from_predictions(rng.permutation(y), y_true=y, **given)
    for measure in fermi.measures.MEASURES.values():
        measure(found, **({"q": 3.0} if measure.__name__ == "lq_violation" else {}))
    fermi.bounds(found)
    str(fermi.audit(y, rng.permutation(y), n_boot=20, **given))


def boosted(rng: Rng) -> None:
    """Boosted trees of both libraries."""
    from fermi.boosting import FermiBoostingClassifier

    X, y, s, weight = rows(rng)
    lam = float(rng.choice([0.0, 1.0, power(rng), power(rng, 8)]))
    library = str(rng.choice(["lightgbm", "xgboost"]))
    model = FermiBoostingClassifier(library, NOTIONS[int(rng.integers(3))], lam, n_estimators=3, random_state=0)
    check_model(model.fit(X, y, sensitive_features=s, sample_weight=weight), X)


def network(rng: Rng) -> None:
    """Small networks."""
    from fermi.torch import FermiNet, models

    X, y, s, weight = rows(rng)
    lam = float(rng.choice([0.0, 1.0, power(rng), power(rng, 8)]))
    rate = float(rng.choice([1e-3, power(rng, 10)]))
    model = FermiNet(
        models.logistic, NOTIONS[int(rng.integers(3))], lam, lr=rate, max_epochs=2, random_state=0, device="cpu"
    )
    check_model(model.fit(X, y, sensitive_features=s, sample_weight=weight), X)


FAMILIES: dict[str, Family] = {
    "extreme linear": linear,
    "extreme labels": labels,
    "extreme measures": measured,
    "extreme boosted": boosted,
    "extreme network": network,
}
