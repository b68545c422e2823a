"""Calls of everything public, with some arguments that are not what they should be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import fermi
from fermi import FermiClassifier
from fermi.measures import MEASURES
from tests.fuzz.attempt import Defect, Family
from tests.fuzz.values import Rng, altered, rows, strange

DATA = ("X", "y", "y_true", "y_pred", "sensitive_features", "sample_weight", "frame", "table", "logits", "sensitive",
        "target", "X_test", "y_test", "sensitive_test", "labels", "scores", "counts")  # fmt: skip
NOTIONS = ("demographic_parity", "equalized_odds", "equal_opportunity")
# How long something goes on, or in how many processes: a number too many is legal and never ends.
_LASTING = ("max_iter", "n_estimators", "max_epochs", "n_jobs", "early_stopping_rounds", "patience", "n_boot", "passes")
_MANY = 200


def mangled(given: Mapping[str, Any], rng: Rng) -> dict[str, Any]:
    """The arguments with one to three that are something else."""
    found = dict(given)
    names = list(found)
    for name in rng.choice(names, size=min(len(names), int(rng.integers(1, 4))), replace=False).tolist():
        value = altered(found[name], rng) if name in DATA and found[name] is not None else strange(rng)
        # Not as a float, which 10**400 is too large for.
        lasting = name in _LASTING and isinstance(value, int | float | np.number) and not -_MANY <= value <= _MANY
        if not lasting and not (name == "n_jobs" and isinstance(value, int | np.number)):
            found[name] = value
    return found


def check_model(model: Any, X: Any) -> None:
    """A model that was fitted predicts, and its probabilities are some."""
    F, labels = model.predict_proba(X), model.predict(X)
    if not np.isfinite(F).all() or not np.allclose(F.sum(axis=1), 1.0, atol=1e-5):
        raise Defect("probabilities that are none")
    if not set(np.asarray(labels).tolist()) <= set(np.asarray(model.classes_).tolist()):
        raise Defect("labels that are no classes")


def _fit(make: Callable[..., Any], options: tuple[str, ...], given: dict[str, Any]) -> None:
    model = make(**{name: given.pop(name) for name in options})
    X = given["X"]
    model.fit(given.pop("X"), given.pop("y"), **given)
    check_model(model, X)


def estimator(make: Callable[..., Any], options: Callable[[Rng], dict[str, Any]]) -> Family:
    """The family of an estimator's constructor and `fit`."""

    def family(rng: Rng) -> None:
        some, own = rows(rng), options(rng)
        given = {"X": some.X, "y": some.y, "sensitive_features": some.s, "sample_weight": None}
        if rng.random() < 0.3:
            given["sample_weight"] = some.w
        _fit(make, tuple(own), mangled(given | own, rng))

    return family


def _linear(rng: Rng) -> dict[str, Any]:
    own = {name: value for name, value in FermiClassifier().get_params().items() if name != "checkpoint"}
    more: list[dict[str, Any]] = [
        {}, {"solver": "sgda", "max_iter": 3, "batch_size": 8}, {"solver": "sreda", "max_iter": 3},
        {"solver": "newton"},
        {"max_violation": 0.1}, {"max_violation": 0.1, "decision": "labels"}, {"batch_size": 1, "max_iter": 2},
        {"batch_size": 5, "max_iter": 2, "eta_theta": "theory"}, {"checkpoint": "fit.npz"},
    ]  # fmt: skip
    return own | _notion(rng) | more[int(rng.integers(len(more)))]


def _notion(rng: Rng) -> dict[str, Any]:
    return {"fairness": NOTIONS[int(rng.integers(3))], "lam": float(rng.choice([0.0, 1.0, 30.0]))}


def _labels(rng: Rng) -> dict[str, Any]:
    own: dict[str, Any] = fermi.FairLabels(LogisticRegression()).get_params(deep=False)
    more: list[dict[str, Any]] = [{}, {"min_ratio": 0.8}, {"slack": 1.0}, {"selection_rate": (0.2, 0.8)}, {"cv": 2}]
    return own | {"fairness": NOTIONS[int(rng.integers(3))]} | more[int(rng.integers(len(more)))]


def _boosted(rng: Rng) -> dict[str, Any]:
    from fermi.boosting import FermiBoostingClassifier

    own: dict[str, Any] = FermiBoostingClassifier().get_params()
    more: list[dict[str, Any]] = [{}, {"early_stopping_rounds": 2}, {"booster_params": {"num_leaves": 4}}]
    return own | _notion(rng) | more[int(rng.integers(3))] | {
        "n_estimators": 3, "booster": str(rng.choice(["lightgbm", "xgboost"])),
    }  # fmt: skip


def _boosting(**given: Any) -> Any:
    from fermi.boosting import FermiBoostingClassifier

    return FermiBoostingClassifier(**given)


def _network(**given: Any) -> Any:
    from fermi.torch import FermiNet

    return FermiNet(**given)


def _net(rng: Rng) -> dict[str, Any]:
    from fermi.torch import FermiNet, models

    own: dict[str, Any] = FermiNet(models.logistic).get_params(deep=False)
    own.pop("checkpoint")
    return own | _notion(rng) | {"max_epochs": 2, "device": "cpu"}


def _predictions(rng: Rng) -> dict[str, Any]:
    some = rows(rng)
    given: dict[str, Any] = {"y_pred": some.y, "sensitive_features": some.s, "y_true": some.y, "classes": None}
    if rng.random() < 0.5:
        given["y_pred"] = rng.dirichlet(np.ones(len(np.unique(np.asarray(some.y)))), len(some.X))
    given["sample_weight"] = some.w if rng.random() < 0.5 else None
    return given | {"notion": NOTIONS[int(rng.integers(3))]}


def measures(rng: Rng) -> None:
    """Every measure and `bounds`, of arrays."""
    table = fermi.Contingency.from_predictions(**mangled(_predictions(rng), rng))
    for measure in MEASURES.values():
        value = measure(table, **({"q": 3.0} if measure.__name__ == "lq_violation" else {}))
        if np.isinf(value) and measure.__name__ != "parity_ratio":
            raise Defect(f"{measure.__name__} is infinite")
    fermi.bounds(table)
    fermi.optimal_dual(table)


def audits(rng: Rng) -> None:
    """`audit` of arrays."""
    given = _predictions(rng) | {
        "confidence": 0.9,
        "min_group_size": 3,
        "n_boot": 200,
        "random_state": 0,
        "labels": None,
    }
    found = fermi.audit(**mangled(given, rng))
    str(found)
    found.to_html("audit.html")


def counts(rng: Rng) -> None:
    """`Contingency.from_counts` of a GROUP BY."""
    n = int(rng.integers(1, 12))
    frame = pd.DataFrame({"p": rng.integers(0, 3, n), "g": rng.choice(list("abc"), n), "w": rng.integers(0, 9, n)})
    frame["z"] = rng.integers(0, 2, n)
    given = {
        "frame": frame,
        "prediction": "p",
        "group": "g",
        "weight": "w",
        "condition": str(rng.choice(["z", ""])) or None,
    }
    if rng.random() < 0.4:
        column = str(rng.choice(["p", "g", "w"]))
        given["frame"] = frame.astype({column: object}).assign(**{column: [strange(rng) for _ in range(n)]})
    fermi.ermi(fermi.Contingency.from_counts(**mangled(given, rng)))


def tables(rng: Rng) -> None:
    """`Contingency` itself."""
    shape = tuple(int(size) for size in rng.integers(1, 4, 3))
    given = {"table": rng.integers(0, 9, shape).astype(float), "classes": None, "groups": None, "n_unknown": 0}
    found = fermi.Contingency(**mangled(given, rng))
    if found.total > 0:
        fermi.ermi(found)
    found + found


def curves(rng: Rng) -> None:
    """`tradeoff_curve` of a linear model or of labels."""
    some = rows(rng)
    model: Any = FermiClassifier() if rng.random() < 0.7 else fermi.FairLabels(LogisticRegression(), random_state=0)
    given = {"estimator": model, "X": some.X, "y": some.y, "sensitive_features": some.s, "lams": [0.0, 1.0], "cv": None,
             "X_test": some.X, "y_test": some.y, "sensitive_test": some.s, "progress": False}  # fmt: skip
    curve = fermi.tradeoff_curve(**mangled(given, rng))
    curve.pareto()
    curve.pick(max_violation=0.5)


def scoring(rng: Rng) -> None:
    """The scorers, made and used."""
    some = rows(rng)
    model = LogisticRegression().fit(some.X, some.y)
    asked = mangled({"measure": "ermi", "notion": NOTIONS[int(rng.integers(3))]}, rng)
    scorer = fermi.scorers.violation(**asked)
    given = mangled({"X": some.X, "y": some.y, "sensitive_features": some.s}, rng)
    if rng.random() < 0.5:
        scorer = fermi.scorers.accuracy_within(strange(rng))
    scorer(model, given.pop("X"), given.pop("y"), **given)


def regularizers(rng: Rng) -> None:
    """`FermiRegularizer`, made of numbers or of labels, and its value."""
    import torch

    from fermi.torch import FermiRegularizer

    n, m, k = 12, int(rng.integers(2, 4)), int(rng.integers(1, 4))
    s, y = rng.integers(-1, k, n), rng.integers(0, m, n)
    notion = NOTIONS[int(rng.integers(3))]
    if rng.random() < 0.5:
        own = {"sensitive": s, "target": y, "n_classes": m, "n_groups": k, "lam": 1.0, "notion": notion}
        made = FermiRegularizer.from_labels(**mangled(own, rng))
    else:
        own = {"n_classes": m, "n_groups": k, "lam": 1.0, "notion": notion, "group_prior": None, "radius": None}
        made = FermiRegularizer(**mangled(own, rng))
    given: dict[str, Any] = {
        "logits": torch.randn(n, m),
        "sensitive": torch.from_numpy(s),
        "target": torch.from_numpy(y),
    }
    if rng.random() < 0.5:
        name = str(rng.choice(list(given)))
        changes: list[Callable[[Any], Any]] = [
            lambda v: v[:-1], lambda v: v[None], lambda v: v.double(), lambda v: v.long() + 5, lambda v: v.long() - 7,
            lambda v: v.bool(), lambda v: v.numpy(), lambda v: None, lambda v: 3, lambda v: v.tolist(),
            lambda v: v.half(), lambda v: v * float("nan"), lambda v: v[:0],
        ]  # fmt: skip
        given[name] = changes[int(rng.integers(len(changes)))](given[name])
    made(**given)


def theory(rng: Rng) -> None:
    """`theory.constants` of arrays."""
    some = rows(rng)
    given = {"X": some.X, "y": some.y, "sensitive_features": some.s}
    changed = mangled(given, rng)
    fermi.theory.constants(changed.pop("X"), changed.pop("y"), **changed)


def partial_fits(rng: Rng) -> None:
    """`partial_fit`, twice, the second time with something else."""
    some = rows(rng)
    given = {"X": some.X, "y": some.y, "sensitive_features": some.s, "sample_weight": None}
    model = FermiClassifier(random_state=0)
    classes, groups = np.unique(np.asarray(some.y)), np.unique(some.s)
    first = mangled(given | {"classes": classes, "groups": groups}, rng) if rng.random() < 0.5 else dict(given)
    first.setdefault("classes", classes)
    for changed in (first, mangled(given, rng)):
        model.partial_fit(changed.pop("X"), changed.pop("y"), **changed)
    check_model(model, some.X)


def _make_linear(**given: Any) -> Any:
    return FermiClassifier(**given)


FAMILIES: dict[str, Family] = {
    "linear": estimator(_make_linear, _linear),
    "labels": estimator(fermi.FairLabels, _labels),
    "boosted": estimator(_boosting, _boosted),
    "network": estimator(_network, _net),
    "partial_fit": partial_fits,
    "measures": measures,
    "audit": audits,
    "counts": counts,
    "contingency": tables,
    "curve": curves,
    "scorers": scoring,
    "regularizer": regularizers,
    "constants": theory,
}
