"""Scorers for scikit-learn's searches and cross-validation, which ask for `sensitive_features` themselves.

>>> from sklearn import config_context
>>> from sklearn.model_selection import GridSearchCV
>>> from fermi import FermiClassifier, datasets, scorers
>>> data = datasets.synthetic(n=1000).numeric()
>>> search = GridSearchCV(FermiClassifier(), {"lam": [0, 1]}, scoring=scorers.accuracy_within(0.05), cv=2)
>>> with config_context(enable_metadata_routing=True):
...     search = search.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
>>> search.best_params_["lam"] in (0, 1)
True

With routing enabled scikit-learn hands every fold its own part of `sensitive_features`; a script enables it once, by
``sklearn.set_config(enable_metadata_routing=True)``. More is better for every scorer: a violation counts with a minus
sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fermi.errors import bad_argument, listed
from fermi.inputs.arguments import flag, number
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
    """A scorer that scikit-learn calls with a fitted classifier, rows, labels and groups.

    Attributes
    ----------
    measure : str
        One of the names of `fermi.measures`: any but `parity_ratio`, which is larger for what is fairer, and
        `lq_violation`, which needs its q.
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

    def __post_init__(self) -> None:
        """Refuse what no measure, notion or bound is, here and not in the first fold of a search."""
        known = [name for name in MEASURES if name not in _NOT_HERE]
        if not isinstance(self.measure, str) or self.measure not in known:
            raise bad_argument("measure", f"is {self.measure!r}", f"one of {listed(known)}")
        as_notion(self.notion)
        flag("soft", self.soft)
        if self.max_violation is not None:
            number("max_violation", self.max_violation, "a number of at least 0, or None", low=0.0)

    def __call__(
        self, estimator: Any, X: Any, y_true: Any, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> float:
        """Score a fitted classifier on some rows.

        Parameters
        ----------
        estimator : classifier
            Fitted, with `predict`, and with `predict_proba` where probabilities are measured.
        X, y_true : features and labels
            The rows to score on.
        sensitive_features : array, Series, DataFrame or dict of columns
            The groups of these rows; scikit-learn passes them on where metadata routing is enabled.
        sample_weight : (n,) numbers, optional
            Weights of the rows.

        Returns
        -------
        float
            More is better.
        """
        if sensitive_features is None:
            expected = "sklearn.set_config(enable_metadata_routing=True), with which scikit-learn passes them on"
            raise bad_argument("sensitive_features", "did not reach the scorer", expected)
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
        """Tell scikit-learn to pass `sensitive_features` on to this scorer.

        Returns
        -------
        MetadataRequest
            What the scorer asks for.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sensitive_features", alias=True)
        return request


def violation(
    measure: str = "parity_difference", notion: str | Notion = "demographic_parity", *, soft: bool = False
) -> Scorer:
    """A scorer that gives any measure of `fermi.measures` a minus sign, so that more is better.

    Parameters
    ----------
    measure : str
        The name of the measure: any but `parity_ratio`, which is larger for what is fairer, and `lq_violation`, which
        needs its q.
    notion : str or Notion
        What must be independent of the group.
    soft : bool
        Whether probabilities are measured, or labels.

    Returns
    -------
    Scorer
        For `scoring` of scikit-learn's searches and cross-validation.
    """
    return Scorer(measure, as_notion(notion), soft)


def accuracy_within(max_violation: float, notion: str | Notion = "demographic_parity") -> Scorer:
    """A scorer of accuracy among models whose parity difference of labels is within a bound; others score below them.

    Parameters
    ----------
    max_violation : float
        The bound, from 0 to 1. A model beyond it scores minus its parity difference, so that of models that all violate
        the bound the fairest is best.
    notion : str or Notion
        What must be independent of the group.

    Returns
    -------
    Scorer
        For `scoring` of scikit-learn's searches and cross-validation.
    """
    bound = number("max_violation", max_violation, "a number from 0 to 1", low=0.0, high=1.0)
    return Scorer("parity_difference", as_notion(notion), max_violation=bound)


demographic_parity = Scorer(notion="demographic_parity")
equalized_odds = Scorer(notion="equalized_odds")
equal_opportunity = Scorer(notion="equal_opportunity")
