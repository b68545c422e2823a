"""One curve on Communities: a method at several strengths, for one number of sensitive attributes and one split."""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fermi import baselines
from fermi.baselines.common.protocol import geometric
from fermi.baselines.common.several import fit_each
from fermi.baselines.fermi import LAM
from fermi.datasets import Dataset, load
from fermi.experiments.figure import Cell, CellRecord
from fermi.experiments.judging.bounded_errors import Pairing, strengths, with_unmitigated
from fermi.experiments.runs.group_gaps import by_chance, cooled, gaps
from fermi.experiments.runs.tabular import ADAM_LR, joined
from fermi.inputs.folds import folds
from fermi.linear.classifier import FermiClassifier
from fermi.notions import DemographicParity, EqualOpportunity, Notion

EACH, COOLED = "fermi_each", "none_cooled"  # not among the baselines: FERMI on each attribute, a demonstration
HIGH_CRIME = 2
# The paper does not say which label is the advantaged one, only that the task is to tell where crime is high.
NOTIONS: dict[str, Notion] = {notion.name: notion for notion in (DemographicParity(), EqualOpportunity(HIGH_CRIME))}
DIVISORS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
RIVALS = ("mary", "baharlouei", "cho_kde")
METHODS = ("fermi", EACH, *RIVALS)
PAPER_LEVELS, LEVELS = (0.02, 0.03, 0.04, 0.05), (0.02, 0.05, 0.10, 0.20, 0.30)
RUN = ("method", "notion", "attributes", "split")
PAPER = Pairing("error of labels, soft violation over all intersections (the paper's)", "error", "soft_everything")
HONEST = (
    Pairing("labels, worst attribute", "error", "attribute"),
    Pairing("labels, large intersections", "error", "intersection"),
    Pairing("probabilities, worst attribute", "soft_error", "soft_attribute"),
    Pairing("probabilities, large intersections", "soft_error", "soft_intersection"),
    Pairing("probabilities, all intersections", "soft_error", "soft_everything"),
)
_PARTS = 4  # one training row in so many chooses the knob


class CommunitiesSplit(NamedTuple):
    """A split of the data, and the training rows that choose the knob."""

    data: Dataset
    judges: Any


@functools.lru_cache(maxsize=8)
def rows(attributes: int, split: int) -> CommunitiesSplit:
    """Load a split: a fifth of all rows test, a quarter of the others chooses, whatever the number of attributes."""
    data = load("communities", n_attributes=attributes, random_state=split).numeric()
    return CommunitiesSplit(data, folds(data.y_train.to_numpy(), _PARTS, np.random.default_rng(split)) == 0)


def run(cell: Cell) -> list[CellRecord]:
    """Run a cell: a record per strength, or per divisor of the logits for the unmitigated model."""
    data, judges = rows(cell["attributes"], cell["split"])
    notion = NOTIONS[cell["notion"]]
    plain = cell["method"] == "none"
    records, wanted, began = [], [0.0] if plain else strengths(cell["knobs"]), time.perf_counter()
    models = fitted(cell, data, ~judges, notion, wanted)
    seconds = (time.perf_counter() - began) / len(wanted)
    for strength, model in zip(wanted, models, strict=True):
        record: CellRecord = {"strength": strength, "seconds": seconds}
        record["groups"] = joined(data.s_train[~judges]).nunique()
        majority = data.y_train[~judges].mode()[0]
        record["val_constant_error"] = float((data.y_train[judges] != majority).mean())
        record["test_constant_error"] = float((data.y_test != majority).mean())
        F = {"val": model.predict_proba(data.X_train[judges]), "test": model.predict_proba(data.X_test)}
        if plain:
            rng = np.random.default_rng(cell["split"])
            record |= by_chance(F["test"], data.y_test, data.s_test, notion, rng)
            records += [{**record, **measured(F, data, judges, notion, d), "divisor": d} for d in DIVISORS]
        else:
            records.append(record | measured(F, data, judges, notion))
    return records


def fitted(cell: Cell, data: Dataset, train: Any, notion: Notion, wanted: Sequence[float]) -> list[Any]:
    """Train the models of a cell, one for each strength; rivals train on all rows at once, by Adam."""
    X, y, s = data.X_train[train], data.y_train[train], data.s_train[train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if cell["method"] == EACH:
            lams = (geometric(strength, *LAM) for strength in wanted)
            each = (FermiClassifier(notion, lam, attributes="each") for lam in lams)
            return [model.fit(X, y, sensitive_features=s) for model in each]
        known = baselines.find(cell["method"])._get_param_names()
        rival = cell["method"] != "fermi" and "steps" in known
        options = {"batch_size": len(y), "steps": cell["steps"], "lr": ADAM_LR} if rival else {}
        method = baselines.make(cell["method"], wanted[0], notion, cell["split"], **options)
        return list(fit_each(method, wanted, X, y, sensitive_features=s))


def measured(F: Any, data: Dataset, judges: Any, notion: Notion, divisor: float = 1.0) -> CellRecord:
    """Measure probabilities on the rows that choose the knob and on the test rows."""
    own = {"val": (data.y_train[judges], data.s_train[judges]), "test": (data.y_test, data.s_test)}
    return {
        f"{part}_{name}": value
        for part, (y, s) in own.items()
        for name, value in gaps(cooled(F[part], divisor), y, s, notion).items()
    }


def prepared(records: pd.DataFrame) -> pd.DataFrame:
    """Add the unmitigated model as strength 0 of every method, and with its logits divided as a method of its own."""
    plain, others = records[records["method"] == "none"], records[records["method"] != "none"]
    whole = with_unmitigated(others, plain[plain["divisor"] == 1.0])
    return pd.concat([whole, plain.assign(method=COOLED)], ignore_index=True)
