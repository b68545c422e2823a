"""`fermi demo`: a plain model and a fair one, on data that needs no file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from fermi.classifier import FermiClassifier
from fermi.contingency import Contingency
from fermi.datasets import Dataset, synthetic
from fermi.groups import GroupEncoder
from fermi.measures import MEASURES

_SHOWN = ["parity_difference", "parity_ratio", "linf_violation", "ermi", "mutual_information", "renyi_correlation"]
_BOUND = 0.05


def run(seed: int, *, as_json: bool) -> None:
    """Draw the data, train both models, print their audits."""
    result = compare(seed)
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        _show(result)


def compare(seed: int) -> dict[str, Any]:
    """A plain logistic regression and a fair one, audited on the test rows."""
    data = synthetic(seed=seed, rated=False).numeric()
    plain = FermiClassifier(lam=0.0).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    fair = FermiClassifier(max_violation=_BOUND, random_state=seed)
    fair.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    return {
        "train_rows": len(data.X_train),
        "test_rows": len(data.X_test),
        "max_violation": _BOUND,
        "lam": fair.lam_,
        "plain": audit(plain, data),
        "fair": audit(fair, data),
    }


def audit(model: Any, data: Dataset) -> dict[str, Any]:
    """Error, rates and errors per group, and every measure hard and soft, on the test rows."""
    labels, probabilities = model.predict(data.X_test), model.predict_proba(data.X_test)
    hard = Contingency.from_predictions(labels, data.s_test, classes=model.classes_)
    soft = Contingency.from_predictions(probabilities, data.s_test, classes=model.classes_)
    encoder = GroupEncoder()
    codes = encoder.fit_transform(data.s_test)
    wrong = labels != data.y_test.to_numpy()
    sizes = np.bincount(codes)
    errors = np.bincount(codes, weights=wrong) / sizes
    rates = hard.rates()[0, :, -1]
    return {
        "error": float(wrong.mean()),
        "groups": [
            {"group": group, "rows": int(n), "rate": float(rate), "error": float(error)}
            for group, n, rate, error in zip(encoder.groups_, sizes, rates, errors, strict=True)
        ],
        "measures": {name: {"hard": MEASURES[name](hard), "soft": MEASURES[name](soft)} for name in _SHOWN},
    }


def _show(result: dict[str, Any]) -> None:
    console = Console()
    plain, fair = result["plain"], result["fair"]
    console.print(
        f"Two logistic regressions on {result['train_rows']:,} made-up credit applicants, audited on "
        f"{result['test_rows']:,} others: a plain one, and FermiClassifier(max_violation={result['max_violation']:g}), "
        f"which chose λ = {result['lam']:.3g}. Test error {plain['error']:.3f} and {fair['error']:.3f}."
    )
    groups = _table("group", "rows", "granted", "granted (fair)", "error", "error (fair)")
    for row, other in zip(plain["groups"], fair["groups"], strict=True):
        figures = (row["rate"], other["rate"], row["error"], other["error"])
        groups.add_row(row["group"], f"{row['rows']:,}", *(f"{figure:.3f}" for figure in figures))
    console.print(groups)
    measures = _table("demographic parity", "hard", "hard (fair)", "soft", "soft (fair)")
    for name, value in plain["measures"].items():
        other = fair["measures"][name]
        figures = (value["hard"], other["hard"], value["soft"], other["soft"])
        measures.add_row(name, *(f"{figure:.4f}" for figure in figures))
    console.print(measures)
    console.print("Hard numbers are of labels, soft ones of probabilities. Neither model saw the group as a feature.")


def _table(first: str, *others: str) -> Table:
    table = Table(first, box=box.SIMPLE)
    for title in others:
        table.add_column(title, justify="right")
    return table
