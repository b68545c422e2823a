"""`FairLabels`: the labels of any classifier within a bound, in scikit-learn's conventions."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from fermi._typing import Floats
from fermi.decisions.group_models import group_features
from fermi.fitting.progress import Progress
from fermi.inputs.features import unchanged_on_error
from fermi.labels.cautions import caution
from fermi.labels.choosing import Chosen, choose
from fermi.labels.options import LabelSettings
from fermi.labels.training import train
from fermi.labels.wrapped import probabilities

if TYPE_CHECKING:
    import pandas as pd

_OF_FEATURES = ("n_features_in_", "feature_names_in_")


class FairLabels(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Labels of any classifier whose rates do not differ between groups by more than a bound.

    The classifier's probabilities stay as they are. Labels are the classes with the highest probability after a charge
    that depends on how likely the row is of each group, as far as its features tell: two rows with the same features
    get the same label, nothing is drawn at random, and prediction never needs the sensitive attribute. The charges are
    chosen on rows that the models have not seen, so that the true rates there keep the bound at the least error.

    Parameters
    ----------
    estimator : classifier
        Any with `predict_proba` in scikit-learn's conventions. It is cloned, unless `prefit`.
    fairness : str or Notion
        What must be independent of the group, as in `FermiClassifier`.
    max_violation : float, optional
        The largest hard parity difference; None leaves it out.
    min_ratio : float, optional
        The least ratio of two groups' rates of the last class: 0.8 is the four-fifths rule.
    selection_rate : (low, high), optional
        Limits of the rate of the last class over all rows; None in place of either leaves it out.
    attributes : "intersection" or "each"
        Of several sensitive columns: the groups that their combinations make, or those of each column by itself.
    group_estimator : classifier, optional
        What tells condition and group from the features; by default logistic regression for numbers and small trees
        for tables with categories. It is cloned.
    cv : int or splitter
        Folds by which rows are held out, of 2 or more.
    slack : float
        By how many standard errors of its rate each group may be farther off. 0 is the letter of the bound, 1 or 2 its
        reading with the sampling error of small groups in mind.
    confidence : float, optional
        Choose labels whose gap is within `max_violation`, and ratio at least `min_ratio`, with this confidence, such as
        0.95, judged on a third of the rows that nothing else sees. The models are then trained on the others alone.
    costs : (m, m) numbers, optional
        What it costs to predict a class (column) for a row of another (line), in the order of the sorted classes,
        instead of one for every wrong label.
    prefit : bool
        Whether `estimator` is fitted already, on other rows than these.
    min_rate : float, optional
        The least rate of the last class in every group.
    random_state : int, Generator or RandomState, optional
        Seed of the folds.
    n_jobs : int, optional
        How many fits of the folds at once, through joblib.
    verbose : int
        1 shows progress on a terminal.

    Attributes
    ----------
    estimator_ : classifier
        The classifier, trained on all rows, those of the certificate excepted.
    group_estimator_ : classifier, or tuple of them
        What tells the group; with ``attributes="each"`` one per column.
    multipliers_ : array, conditions × groups × classes
        What a class is charged in each cell, per unit of p(cell | x) / p(cell).
    offset_ : (m,) array
        What a class is charged in every row, to keep `selection_rate`.
    rule_ : Rule
        The rule itself: `rule_.labels(F, q)` gives codes from probabilities of classes and of cells, and
        `rule_.arrays()` is all of it as plain arrays, for serving elsewhere.
    classes_, groups_, conditions_
        The labels, groups and conditions.
    frontier_ : DataFrame
        Over bounds: bound, error, violation, standard_error, beyond_noise, ratio, rate and reached, all on held-out
        rows. `beyond_noise` is what the largest difference between two groups has beyond two standard errors of it.
    violation_ : float
        The hard parity difference on held-out rows.
    reached_ : bool
        Whether all that was asked is kept there.
    upper_limit_ : float
        With `confidence`: the upper confidence limit of the parity difference, on rows of its own.
    figures_ : Figures
        Error, violation, their standard errors, ratio and rate on held-out rows.

    Examples
    --------
    >>> import fermi
    >>> from sklearn.linear_model import LogisticRegression
    >>> data = fermi.datasets.synthetic(n=4000, rated=False).numeric()
    >>> model = fermi.FairLabels(LogisticRegression(max_iter=5000), max_violation=0.02, random_state=0)
    >>> model = model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    >>> model.reached_, round(model.violation_, 2)
    (True, 0.02)
    >>> looser = model.at(0.1)  # the same training
    >>> bool(looser.figures_.error <= model.figures_.error)
    True
    """

    _frontier: pd.DataFrame | None

    # Scikit-learn routes `sensitive_features` here from pipelines and searches without being asked to.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012

    def __init__(
        self,
        estimator: Any,
        fairness: Any = "demographic_parity",
        max_violation: float | None = 0.02,
        *,
        min_ratio: float | None = None,
        selection_rate: Any = None,
        attributes: str = "intersection",
        group_estimator: Any = None,
        cv: Any = 3,
        slack: float = 0.0,
        confidence: float | None = None,
        costs: Any = None,
        prefit: bool = False,
        min_rate: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.fairness = fairness
        self.max_violation = max_violation
        self.min_ratio = min_ratio
        self.selection_rate = selection_rate
        self.attributes = attributes
        self.group_estimator = group_estimator
        self.cv = cv
        self.slack = slack
        self.confidence = confidence
        self.costs = costs
        self.prefit = prefit
        self.min_rate = min_rate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, sensitive_features: Any, sample_weight: Any = None) -> Self:
        """Train the classifier and the group model, and choose the labels.

        Parameters
        ----------
        X : features
            Whatever the classifier takes: an array, a table or a CSR matrix.
        y : (n,) labels
            Two or more classes of any type.
        sensitive_features : array, Series, DataFrame or dict of columns
            One column or several. A row with a missing entry counts in the error and not in the rates.
        sample_weight : (n,) numbers, optional
            Weighs the training of both models, the error and the rates.

        Returns
        -------
        FairLabels
            The model itself, fitted.
        """
        settings = LabelSettings.read(self)
        with unchanged_on_error(self), Progress(settings.verbose > 0) as progress:
            self._trained = train(settings, X, y, sensitive_features, sample_weight, progress)
            self._keep(choose(self._trained, settings.asked, settings.confidence))
        caution(self._trained, self._chosen, level=3)
        return self

    def at(
        self, max_violation: float | None, *, min_ratio: float | None = None, slack: float | None = None
    ) -> FairLabels:
        """Make the same trained model with labels for another bound, without training.

        Parameters
        ----------
        max_violation : float or None
            The largest hard parity difference.
        min_ratio, slack : float, optional
            As in the class; by default as they are.

        Returns
        -------
        FairLabels
            A new model that shares what was trained.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other.max_violation = max_violation
        other.min_ratio = self.min_ratio if min_ratio is None else min_ratio
        other.slack = self.slack if slack is None else slack
        settings = LabelSettings.read(other)
        other._keep(choose(self._trained, settings.asked, settings.confidence, near=self._chosen.choice.warm))
        caution(other._trained, other._chosen, level=3)
        return other

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row.

        Parameters
        ----------
        X : features
            As in `fit`.

        Returns
        -------
        (n,) array
            Labels; those of the classifier itself where they keep what was asked.
        """
        check_is_fitted(self)
        rule = self._chosen.choice.rule
        if rule.changes_nothing:
            own: NDArray[Any] = np.asarray(self.estimator_.predict(X))
            return own
        labels: NDArray[Any] = self.classes_[rule.labels(self.predict_proba(X), self._cells(X))]
        return labels

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class for each row, the classifier's own.

        Parameters
        ----------
        X : features
            As in `fit`.

        Returns
        -------
        (n, m) array
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self)
        return probabilities(self.estimator_, X, self.classes_.tolist())

    @property
    def frontier_(self) -> pd.DataFrame:
        """What labels reach on held-out rows at every bound, from none to that of the classifier itself."""
        check_is_fitted(self)
        if self._frontier is None:
            self._frontier = self._trained.along(self._chosen.choice.asked)
        return self._frontier.copy()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_trained")

    def _cells(self, X: Any) -> Floats:
        """The group models' probabilities of the cells of all attributes, n × C."""
        features = group_features(X)
        return np.concatenate([model.probabilities(features) for model in self._trained.group_models], axis=1)

    def _keep(self, chosen: Chosen) -> None:
        trained = self._trained
        for name in ("upper_limit_", *_OF_FEATURES):  # of another fit
            self.__dict__.pop(name, None)
        self._chosen = chosen
        self._frontier = None
        self.estimator_, self.classes_, self.groups_ = trained.model, trained.classes, trained.problem.groups
        self.conditions_ = trained.problem.condition_names
        models = tuple(model.model for model in trained.group_models)
        self.group_estimator_ = models[0] if len(models) == 1 else models
        self.rule_ = chosen.choice.rule
        self.multipliers_ = trained.by_condition(chosen.choice.rule.psi)
        self.offset_ = chosen.choice.rule.offset
        self.figures_ = chosen.choice.figures
        self.violation_, self.reached_ = chosen.choice.figures.violation, chosen.reached
        if chosen.upper_limit is not None:
            self.upper_limit_ = chosen.upper_limit
        for name in _OF_FEATURES:
            if hasattr(trained.model, name):
                setattr(self, name, getattr(trained.model, name))
