"""What the paper's appendix E says of its data sets, and the values that figure 5 publishes."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pandas as pd

from fermi.datasets import load
from fermi.experiments.judging.frontier import OVERLAP, interval
from fermi.experiments.pages import published_communities as published
from fermi.experiments.runs.communities import NOTIONS
from fermi.experiments.runs.tabular import joined
from fermi.experiments.statements.statement import Measured, Statement, compared, equal, every, several
from fermi.linear.classifier import FermiClassifier
from fermi.measures import linf_violation, parity_difference

BOTH = ("sex", "marital_status")


def group_ratio(ratio: float, quick: bool) -> Measured:
    """Measure the largest over the smallest p(s) on Communities for 3 to 18 attributes, of all rows."""
    pairs, named = [], []
    for attributes in range(3, 19):
        data = load("communities", n_attributes=attributes, random_state=0)
        sizes = joined(pd.concat([data.s_train, data.s_test])).value_counts()
        pairs.append((ratio, float(sizes.max() / sizes.min()) - 1e-6))
        named.append(f"{attributes} attributes: {sizes.max()} rows against {sizes.min()} of {sizes.sum():,}")
    return every(pairs, of="numbers of attributes", examples=named)


def _german(lam: float, split: int, features: bool) -> float:
    """The parity difference of labels on test rows, groups by sex and marital status."""
    data = load("german", sensitive=BOTH, include_sensitive=features, random_state=split).numeric()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = FermiClassifier(lam=lam).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
        return float(parity_difference(model.predict(data.X_test), data.s_test))


def german_unmitigated(least: float, quick: bool) -> Measured:
    """Measure the violation of the plain model on German by sex and marital status, over ten splits."""
    parts = {}
    for features in (True, False):
        mean, width = interval([_german(0.0, split, features) for split in range(4 if quick else 10)], OVERLAP)
        parts[f"attributes {'' if features else 'not '}among the features"] = compared(
            mean, width, "at least", least, what="parity difference of labels"
        )
    return several(parts)


def german_mitigated(least: float, quick: bool) -> Measured:
    """Measure what λ = 100 takes off the violation on German by sex and marital status, over ten splits."""
    parts = {}
    for features in (True, False):
        found = [_german(0.0, k, features) - _german(100.0, k, features) for k in range(4 if quick else 10)]
        mean, width = interval(found, OVERLAP)
        parts[f"attributes {'' if features else 'not '}among the features"] = compared(
            mean, width, "at least", least, what="what λ = 100 takes off the parity difference"
        )
    return several(parts)


def heavier_features(claim: tuple[bool, int], quick: bool) -> Measured:
    """Measure how many of Adult's 14 features weigh more than sex in plain logistic regression.

    The claim says whether categories are one-hot columns, of which the heaviest counts, and how many are heavier.
    """
    as_one_hot, count = claim
    data = load("adult")
    X, y = data.X_train, data.y_train
    coded = X.apply(lambda column: column.cat.codes if column.dtype == "category" else column).astype(float)
    one_hot = data.numeric().X_train
    parts: dict[str, Measured] = {}
    tables = {"standardised": (coded, True)}
    if as_one_hot:
        tables = {"standardised": (one_hot, True), "in its own units": (one_hot, False)}
    for name, (columns, standardised) in tables.items():
        scale = columns.std().to_numpy() if standardised else np.ones(columns.shape[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = FermiClassifier(lam=0.0, tol=1e-4).fit(columns, y)
        weights = pd.Series(np.abs(model.coef_[0]) * scale, index=columns.columns)
        by_feature = weights.groupby([_feature(str(column), list(X.columns)) for column in weights.index]).max()
        heavier = int((by_feature > by_feature["sex"]).sum())
        parts[f"{name}: {heavier} of 14"] = equal([(heavier, count)], of="counts", within=1e-9)
    return several(parts)


def _feature(column: str, features: list[str]) -> str:
    """The feature that a coded column belongs to: the longest name that the column begins with."""
    return max((name for name in features if column.startswith(name)), key=len)


@functools.lru_cache(maxsize=64)
def _communities(notion: str, attributes: int, split: int, quick: bool) -> list[tuple[float, float]]:
    """The test error of labels and the soft violation of FERMI at several λ, first of them the plain model."""
    data = load("communities", n_attributes=attributes, random_state=split).numeric()
    found = []
    for lam in (0.0, 1.0, 30.0) if quick else (0.0, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = FermiClassifier(NOTIONS[notion], lam).fit(
                data.X_train, data.y_train, sensitive_features=data.s_train
            )
        F = model.predict_proba(data.X_test)
        own: dict[str, Any] = {"y_true": data.y_test.to_numpy(), "notion": NOTIONS[notion], "classes": [0, 1, 2]}
        violation = float(linf_violation(F, joined(data.s_test).to_numpy(), **own))
        found.append((float(np.mean(F.argmax(axis=1) != data.y_test.to_numpy())), violation))
    return found


def published_values(claim: tuple[bool, float], quick: bool) -> Measured:
    """Measure the error in the paper's pairing, hard error and soft violation, less what figure 5 publishes for FERMI.

    The best λ is chosen on the test rows themselves, which no experiment may do: the published values are not reached
    even so. With `divided` it is the unmitigated model whose logits are divided by a large number, which brings the
    soft violation to 0 and changes no label. The claim's number is how far above theirs the error may be.
    """
    divided, margin = claim
    parts: dict[str, Measured] = {}
    chosen, splits = ((1, 9) if quick else (1, 2, 4, 9, 18)), range(3 if quick else 5)
    for notion, values in (("demographic_parity", published.ERRORS), ("equal_opportunity", published.OPPORTUNITY)):
        differences = []
        for split in splits:
            found = []
            for attributes in chosen:
                curve = _communities(notion, attributes, split, quick)
                for level in values:
                    theirs = values[level]["fermi"][published.ATTRIBUTES.index(attributes)]
                    within = [error for error, violation in curve if violation <= level]
                    ours = curve[0][0] if divided else min(within, default=2 / 3)
                    found.append(ours - theirs)
            differences.append(float(np.mean(found)))
        mean, width = interval(differences, OVERLAP)
        what = f"mean error less theirs, {len(chosen)} numbers of attributes, {len(values)} levels"
        parts[notion.replace("_", " ")] = compared(mean, width, "at most", margin, what=what)
    return several(parts)


STATEMENTS = (
    Statement(
        "group-ratio", "max p(s) / min p(s) > 100 for 3 to 18 attributes of Communities", "appendix E.3", group_ratio,
        100.0, 200.0, "above 200",
    ),
    Statement(
        "german-both", "German: without fairness the violation is above 20%, groups by sex and marital status",
        "appendix E.6", german_unmitigated, 0.2, 0.9, "above 90%",
    ),
    Statement(
        "german-fermi", "German by sex and marital status: λ = 100 lowers the violation", "not in the paper",
        german_mitigated, 0.0, 0.9, "it lowers the violation by 0.9",
    ),
    Statement(
        "adult-weights",
        "Adult: 3 of 14 features have larger weights than gender in logistic regression, a column each",
        "appendix E.6", heavier_features, (False, 3), (False, 14), "14 of 14 have",
    ),
    Statement(
        "adult-weights-one-hot", "The same with a column for each category, of which the heaviest counts",
        "not in the paper", heavier_features, (True, 3), (True, 8), "8 of 14 have",
    ),
    Statement(
        "fig5-published",
        "FERMI reaches its published errors of figure 5, in the paper's pairing, λ chosen on test rows",
        "figure 5, both rows", published_values, (False, 0.0), (False, 0.9), "it does within 0.9",
    ),
    Statement(
        "fig5-divided", "What would reach them: the unmitigated model with its logits divided, which changes no label",
        "not in the paper", published_values, (True, 0.0), (True, -0.9), "it is below them by 0.9",
    ),
)  # fmt: skip
