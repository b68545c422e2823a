"""The options of `FairLabels`, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.decisions.requirements import Requirements
from fermi.errors import bad_argument
from fermi.inputs.arguments import chosen, flag, number, whole
from fermi.labels.wrapped import check_classifier
from fermi.notions import Notion, as_notion


@dataclass(frozen=True, eq=False)
class LabelSettings:
    """The options of `FairLabels`, checked; `costs` waits for the number of classes."""

    estimator: Any
    fairness: Notion
    attributes: str
    asked: Requirements
    group_estimator: Any
    cv: Any
    confidence: float | None
    costs: Any
    prefit: bool
    random_state: Any
    n_jobs: int | None
    verbose: int

    @classmethod
    def read(cls, model: Any) -> LabelSettings:
        """Check every option that does not depend on the data."""
        prefit = flag("prefit", model.prefit)
        check_classifier(model.estimator, "estimator", fitted=prefit)
        if model.group_estimator is not None:
            check_classifier(model.group_estimator, "group_estimator")
        asked = Requirements.read(
            model.max_violation, model.min_ratio, model.selection_rate, model.min_rate, model.slack
        )
        if not (asked.about_groups or asked.about_all or model.costs is not None):
            raise bad_argument(
                "max_violation", "is None, and nothing else is asked of the labels", "a number, say 0.02"
            )
        if asked.slack > 0.0 and not asked.about_groups:
            found = f"is {asked.slack:g} without `max_violation`, `min_ratio` or `min_rate`"
            raise bad_argument("slack", found, "0, or one of them")
        confidence = model.confidence
        if confidence is not None:
            expected = "a number above 0.5 and below 1, say 0.95, or None"
            confidence = number("confidence", confidence, expected, low=0.5, high=1.0 - 1e-9, open_low=True)
            if asked.max_violation is None and asked.min_ratio is None:
                raise bad_argument(
                    "confidence", f"is {confidence:g} without `max_violation` or `min_ratio`", "one of them"
                )
        fairness = as_notion(model.fairness, "fairness")
        if fairness.weights is not None:
            expected = f"{fairness.name!r} without: the bound is one for all conditions"
            raise bad_argument("fairness", "has weights, which are for training with λ", expected)
        return cls(
            estimator=model.estimator,
            fairness=fairness,
            attributes=chosen("attributes", model.attributes, ("intersection", "each")),
            asked=asked,
            group_estimator=model.group_estimator,
            cv=_folds(model.cv),
            confidence=confidence,
            costs=model.costs,
            prefit=prefit,
            random_state=model.random_state,
            n_jobs=_jobs(model.n_jobs),
            verbose=whole(
                "verbose", int(model.verbose) if isinstance(model.verbose, bool) else model.verbose, "0 or 1", low=0
            ),
        )

    def cost_table(self, n_classes: int) -> Floats | None:
        """The costs, m × m by true and predicted class, or None."""
        if self.costs is None:
            return None
        expected = f"{n_classes} × {n_classes} finite numbers, a line per true class and a column per predicted one"
        try:
            table = np.array(self.costs, dtype=np.float64)
        except (TypeError, ValueError):
            raise bad_argument("costs", "is no table of numbers", expected) from None
        if table.shape != (n_classes, n_classes):
            raise bad_argument("costs", f"has the shape {table.shape}", expected)
        if not np.isfinite(table).all():
            raise bad_argument("costs", "holds NaN or inf", expected)
        return table


def _jobs(n_jobs: Any) -> int | None:
    expected = "a whole number other than 0 (-1 for all cores), or None"
    if n_jobs is None:
        return None
    if n_jobs == 0:
        raise bad_argument("n_jobs", "is 0", expected)
    return whole("n_jobs", n_jobs, expected, low=-(2**31))


def _folds(cv: Any) -> Any:
    if hasattr(cv, "split") and not isinstance(cv, str):
        return cv
    return whole("cv", cv, "a whole number of at least 2, or a splitter", low=2)
