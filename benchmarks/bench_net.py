"""Does `FermiNet` get there untuned? A linear module with the default options, beside L-BFGS on the same objective.

For each notion and λ: how far the exact objective (mean loss + λ ERMI, over all rows) of the module lies above that of
`FermiClassifier`, relative to it, and the dual gap, relative to the objective.

Adult is read from the folder that FERMI_DATA names; without it made-up applicants take its place, as the cases say.
"""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import Any

import torch
from sklearn.preprocessing import StandardScaler

import fermi
from fermi import FermiClassifier
from fermi.torch import FermiNet, models

NOTIONS, LAMBDAS, SEED = ("demographic_parity", "equalized_odds", "equal_opportunity"), (1.0, 20.0), 0
ON_ADULT = (Path(os.environ.get("FERMI_DATA", "")) / "adult" / "adult.data").exists()
DATA = "Adult" if ON_ADULT else "synthetic applicants (FERMI_DATA has no Adult)"


def measure() -> list[dict[str, Any]]:
    """What both reach in each case."""
    torch.set_num_threads(1)  # the steps are too small for more
    data = (fermi.datasets.load("adult") if ON_ADULT else fermi.datasets.synthetic(rated=False)).numeric()
    X = StandardScaler().fit_transform(data.X_train)
    rows: dict[str, Any] = {"X": X, "y": data.y_train, "sensitive_features": data.s_train}
    cases = []
    for notion, lam in product(NOTIONS, LAMBDAS):
        # Without a penalty, which the network has not either.
        exact = FermiClassifier(notion, lam, l2=0.0, max_iter=5000).fit(**rows).history_[-1]
        last = FermiNet(models.logistic, notion, lam, random_state=SEED).fit(**rows).history_[-1]
        cases.append(
            {
                "data": DATA,
                "notion": notion,
                "lam": lam,
                "seed": SEED,
                "epochs": last["epoch"],
                "objective": last["objective"],
                "exact_objective": exact["objective"],
                "excess": last["objective"] / exact["objective"] - 1.0,
                "relative_dual_gap": last["dual_gap"] / last["objective"],
            }
        )
    return cases


def show(cases: list[dict[str, Any]]) -> None:
    """A line per case."""
    print(f"{cases[0]['data']}: a linear module against L-BFGS, in %")
    print(f"{'notion':<18} {'λ':>5} {'excess':>8} {'dual gap':>9}")
    for case in cases:
        excess, gap = (100 * case[name] for name in ("excess", "relative_dual_gap"))
        print(f"{case['notion']:<18} {case['lam']:>5g} {excess:>8.3f} {gap:>9.3f}")
