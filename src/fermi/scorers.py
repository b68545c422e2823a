"""Scorers for scikit-learn's searches and cross-validation, which ask for `sensitive_features` themselves.

>>> import sklearn
>>> sklearn.set_config(enable_metadata_routing=True)
>>> from sklearn.model_selection import GridSearchCV
>>> from fermi import FermiClassifier, scorers
>>> model = FermiClassifier().set_fit_request(sensitive_features=True)
>>> search = GridSearchCV(model, {"lam": [0, 1, 10]}, scoring=scorers.accuracy_within(0.05))

Then ``search.fit(X, y, sensitive_features=s)`` hands every fold its own part of s. More is better for every scorer: a
violation counts with a minus sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi.errors import bad_argument, listed
from fermi.inputs.arguments import number
from fermi.measures import MEASURES
from fermi.measures.contingency import Contingency
from fermi.notions import Notion, as_notion

__all__ = [
    "Scorer",
    "accuracy_within",
    "demographic_parity",
    "equal_opportunity",
    "equalized_odds",
    "violation",
]

_NOT_HERE = ("parity_ratio", "lq_violation")  # the one is larger for what is fairer, the other needs its q


@dataclass(frozen=True)
class Scorer:
    """Called by scikit-learn with a fitted classifier, rows, labels and groups.

    Attributes
    ----------
    measure : str
        One of the names of `fermi.measures`.
    notion : str or Notion
        What must be independent of the group.
    soft : bool
        Whether probabilities are measured, or labels.
    max_violation : float, optional
        If given, the score is the accuracy of what violates no more than that, and the violation with a minus sign of
        all else: the most accurate within the bound is best, or else the one that comes nearest.
    """

    measure: str = "parity_difference"
    notion: str | Notion = "demographic_parity"
    soft: bool = False
    max_violation: float | None = None

    def __call__(
        self, estimator: Any, X: Any, y_true: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> float:
        """The score of a fitted classifier."""
        if sensitive_features is None:
            raise bad_argument(
                "sensitive_features", "did not reach the scorer", "sklearn.set_config(enable_metadata_routing=True)"
            )
        predicted = estimator.predict(X)
        table = Contingency.from_predictions(
            estimator.predict_proba(X) if self.soft else predicted,
            sensitive_features,
            y_true=y_true,
            notion=self.notion,
            classes=list(estimator.classes_),
            sample_weight=sample_weight,
        )
        found = float(MEASURES[self.measure](table))
        if self.max_violation is None or found > self.max_violation:
            return -found
        return float(np.average(predicted == np.asarray(y_true), weights=sample_weight))

    def get_metadata_routing(self) -> Any:
        """What scikit-learn is to hand over."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sensitive_features", alias=True)
        return request


def violation(
    measure: str = "parity_difference", notion: str | Notion = "demographic_parity", *, soft: bool = False
) -> Scorer:
    """Minus any measure of `fermi.measures`, of labels or of probabilities (`soft`)."""
    known = [name for name in MEASURES if name not in _NOT_HERE]
    if measure not in known:
        raise bad_argument("measure", f"is {measure!r}", f"one of {listed(known)}")
    return Scorer(measure, as_notion(notion), soft)


def accuracy_within(max_violation: float, notion: str | Notion = "demographic_parity") -> Scorer:
    """The accuracy of models whose parity difference of labels is at most a bound; others score below all of them."""
    bound = number("max_violation", max_violation, "a number from 0 to 1", low=0.0, high=1.0)
    return Scorer("parity_difference", as_notion(notion), max_violation=bound)


demographic_parity = Scorer(notion="demographic_parity")
equalized_odds = Scorer(notion="equalized_odds")
equal_opportunity = Scorer(notion="equal_opportunity")
