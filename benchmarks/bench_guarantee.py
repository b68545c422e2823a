"""How often the guarantee of `FairLabels(confidence=0.95)` fails, on populations from which rows can be drawn at will.

Each draw is a training sample. A logistic regression is wrapped, the model says whether the data support the bound with
95% confidence (`reached_`), and its labels are judged on 200,000 fresh rows, the same for all draws of a population,
whose gap stands for the truth: its own standard error is a few thousandths. Where the model says that the data support
the bound, the true gap may exceed it in at most 5% of the draws; 500 draws have a standard error of 1 point at 5%. The
share is given both of all draws and of those in which the model makes the claim. Where the data do not support the
bound the model says so, which is no failure but is counted. Populations are those of `fermi.datasets.synthetic` without
its rating, and numbers are scaled alike in all draws; sizes are such that the bound is usually supported.

`--quick` takes 20 draws, and 50,000 rows for the truth.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fermi
from fermi import datasets

DRAWS, QUICK_DRAWS, FRESH, QUICK_FRESH = 500, 20, 200_000, 50_000
CONFIDENCE, FRESH_SEED = 0.95, 1_000_000


class Population(NamedTuple):
    """What is drawn, how much of it, and what is asked."""

    notion: str
    bound: float
    n: int
    n_classes: int = 2
    groups: int = 2
    bias: float = 0.9

    def draw(self, n: int, seed: int) -> datasets.Dataset:
        """Training rows."""
        return datasets.synthetic(n, self.n_classes, self.groups, self.bias, seed, rated=False)

    @property
    def name(self) -> str:
        """What it is, in words."""
        return f"{self.notion}, {self.groups} groups, {self.n_classes} classes, {self.n} rows, bound {self.bound:g}"


POPULATIONS = (
    Population("demographic_parity", 0.08, 12_000),
    Population("equalized_odds", 0.1, 12_000),
    Population("demographic_parity", 0.12, 12_000, n_classes=3, groups=3),
)


def measure(quick: bool = False) -> list[dict[str, Any]]:
    """A case per population."""
    cases = []
    for population in POPULATIONS:
        cases.append(cover(population, *((QUICK_DRAWS, QUICK_FRESH) if quick else (DRAWS, FRESH))))
        print(line(cases[-1]), file=sys.stderr, flush=True)
    return cases


def cover(population: Population, draws: int, fresh: int) -> dict[str, Any]:
    """Draw and train again and again, and count."""
    test, began = population.draw(fresh, FRESH_SEED), time.perf_counter()
    numbers = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(sparse_output=False), make_column_selector(dtype_include="category")),
    )
    X = numbers.fit_transform(test.X_train)
    claimed, gaps, limits, errors, plain = [], [], [], [], []
    for seed in range(draws):
        drawn = population.draw(population.n, seed)
        model = fermi.FairLabels(
            LogisticRegression(max_iter=1000),
            population.notion,
            population.bound,
            confidence=CONFIDENCE,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where the data do not support the bound, which is counted
            model.fit(numbers.transform(drawn.X_train), drawn.y_train, sensitive_features=drawn.s_train)
        labels = model.predict(X)
        gaps.append(gap(labels, test, population))
        errors.append(float(np.mean(labels != test.y_train)))
        claimed.append(bool(model.reached_))
        limits.append(float(model.upper_limit_))
        if seed == 0:
            plain.append(gap(model.estimator_.predict(X), test, population))
    truth, says = np.array(gaps), np.array(claimed)
    failed = int((says & (truth > population.bound)).sum())
    return {
        "population": population.name,
        "draws": draws,
        "plain_gap": plain[0],
        "claimed": int(says.sum()),
        "unsupported": int((~says).sum()),
        "failed": failed,
        "failed_of_all": failed / draws,
        "failed_of_claimed": failed / max(int(says.sum()), 1),
        "gap": float(truth[says].mean()) if says.any() else None,
        "largest_gap": float(truth[says].max()) if says.any() else None,
        "upper_limit": float(np.mean(limits)),
        "error": float(np.mean(errors)),
        "seconds": (time.perf_counter() - began) / draws,
    }


def gap(labels: Any, rows: datasets.Dataset, population: Population) -> float:
    return float(fermi.parity_difference(labels, rows.s_train, y_true=rows.y_train, notion=population.notion))


def line(case: dict[str, Any]) -> str:
    gaps = (
        ""
        if case["gap"] is None
        else f"; the true gap of the claims {case['gap']:.4f}, at most {case['largest_gap']:.4f}"
    )
    return (
        f"{case['population']}: the plain gap is {case['plain_gap']:.3f}; of {case['draws']} draws {case['claimed']} "
        f"claim the bound, {case['unsupported']} say that the data do not support it; {case['failed']} claims are "
        f"false, {100 * case['failed_of_all']:.1f}% of all draws, {100 * case['failed_of_claimed']:.1f}% of the "
        f"claims{gaps}; error {case['error']:.4f}, {case['seconds']:.2f} s a draw"
    )


def show(cases: list[dict[str, Any]]) -> None:
    """A line per population."""
    print(f"FairLabels(confidence={CONFIDENCE:g}): how often a claim that the gap is within the bound is false")
    for case in cases:
        print(line(case))
