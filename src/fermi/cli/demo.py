"""`fermi demo`: what exists, on data that needs no file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from fermi.contingency import Contingency
from fermi.datasets import synthetic
from fermi.groups import GroupEncoder
from fermi.measures import MEASURES

_SHOWN = ["parity_difference", "parity_ratio", "linf_violation", "ermi", "mutual_information", "renyi_correlation"]


def run(seed: int, *, as_json: bool) -> None:
    """Draw the data, fit a logistic regression, print its audit."""
    result = audit_logistic_regression(seed)
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        _show(result)


def audit_logistic_regression(seed: int) -> dict[str, Any]:
    """A plain logistic regression on the test rows: rates and errors per group, every measure hard and soft."""
    from sklearn.linear_model import LogisticRegression

    data = synthetic(seed=seed).numeric()
    model = LogisticRegression(max_iter=1000).fit(data.X_train, data.y_train)
    labels, probabilities = model.predict(data.X_test), model.predict_proba(data.X_test)
    hard = Contingency.from_predictions(labels, data.s_test, classes=model.classes_)
    soft = Contingency.from_predictions(probabilities, data.s_test, classes=model.classes_)
    encoder = GroupEncoder()
    codes = encoder.fit_transform(data.s_test)
    wrong = labels != data.y_test.to_numpy()
    sizes = np.bincount(codes)
    errors = np.bincount(codes, weights=wrong) / sizes
    rates = hard.rates()[0, :, -1]
    population = data.population
    return {
        "train_rows": len(data.X_train),
        "test_rows": len(data.X_test),
        "error": float(wrong.mean()),
        "groups": [
            {"group": group, "rows": int(n), "rate": float(rate), "error": float(error)}
            for group, n, rate, error in zip(encoder.groups_, sizes, rates, errors, strict=True)
        ],
        "measures": {name: {"hard": MEASURES[name](hard), "soft": MEASURES[name](soft)} for name in _SHOWN},
        "best_possible": {
            "error": population.unfair_error,
            "parity_difference": MEASURES["parity_difference"](population.contingency()),
            "fair_error": population.fair_error,
        },
    }


def _show(result: dict[str, Any]) -> None:
    console = Console()
    console.print(
        f"A plain logistic regression on {result['train_rows']:,} made-up credit applicants, "
        f"audited on {result['test_rows']:,} others. Test error {result['error']:.3f}."
    )
    groups = Table("group", box=box.SIMPLE)
    for title in ("rows", "granted", "error"):
        groups.add_column(title, justify="right")
    for row in result["groups"]:
        groups.add_row(row["group"], f"{row['rows']:,}", f"{row['rate']:.3f}", f"{row['error']:.3f}")
    console.print(groups)
    measures = Table("demographic parity", box=box.SIMPLE)
    for title in ("hard (labels)", "soft (probabilities)"):
        measures.add_column(title, justify="right")
    for name, value in result["measures"].items():
        measures.add_row(name, f"{value['hard']:.4f}", f"{value['soft']:.4f}")
    console.print(measures)
    best = result["best_possible"]
    console.print(
        f"The population's law is known: no classifier errs less than {best['error']:.3f}, and the best one has a "
        f"parity difference of {best['parity_difference']:.3f}; with none at all, the least error is "
        f"{best['fair_error']:.3f}."
    )
