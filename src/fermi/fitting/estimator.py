"""The one `fit` of all estimators, whatever it is that trains."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from fermi._typing import Floats
from fermi.decisions.figures import Figures
from fermi.errors import bad_argument, listed
from fermi.fitting import advice
from fermi.fitting.contract import FitT, Trainer
from fermi.fitting.decision import decide
from fermi.fitting.label_stage import AdjustedLabels
from fermi.fitting.lam_search import CHEAP, Pace
from fermi.fitting.options import Common
from fermi.fitting.problem import Problem, Source, read_problem, refuse_other_rows
from fermi.fitting.progress import Progress
from fermi.fitting.scores import most_probable, probabilities
from fermi.inputs.arguments import generator
from fermi.inputs.columns import row_index
from fermi.inputs.features import known_target, read_features, read_target, unchanged_on_error
from fermi.inputs.sharing import remembered

SettingsT = TypeVar("SettingsT", bound=Common)


class FairEstimator(ClassifierMixin, BaseEstimator, Generic[SettingsT, FitT], metaclass=ABCMeta):
    """A classifier with `fairness`, `lam`, `attributes` and `max_violation`.

    One that trains in its own way says how it reads its options, what trains one problem at any λ, what trains in the
    search for λ, what to keep of a fit, and how it scores rows.
    """

    # Scikit-learn routes `sensitive_features` here from pipelines and searches without being asked to.
    __metadata_request__fit = {"sensitive_features": True}  # noqa: RUF012

    classes_: NDArray[Any]
    groups_: tuple[str, ...]
    lam_: float
    lam_path_: list[dict[str, float]]
    history_: list[dict[str, float]]
    decision_: str
    held_out_: Figures

    _adjusted: AdjustedLabels | None = None  # what gives labels that are not the most probable classes
    _pace: ClassVar[Pace] = CHEAP

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None, eval_set: Any = None
    ) -> Self:
        """Train on rows X with labels y.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix, n × d
            Features.
        y : (n,) labels
            Two or more classes of any type.
        sensitive_features : array, Series, DataFrame or dict of columns
            One column or several. A row with a missing entry trains the loss and is left out of the fairness term.
        sample_weight : (n,) numbers, optional
            Weighs the loss and the group statistics alike; integer weights make the objective of repeated rows.
        eval_set : (X, y, sensitive), optional
            Rows, each of weight 1, on which `max_violation` is judged, instead of rows held out of these. Without
            `max_violation`, training stops early when the objective on them no longer falls; boosted trees do so
            where `early_stopping_rounds` is given, with `max_violation` as well.

        Returns
        -------
        estimator
            The estimator itself, fitted.
        """
        settings = self._settings()
        with unchanged_on_error(self):
            problem, classes, seen = remembered(
                (*self._reading(), X, y, sensitive_features, sample_weight),
                lambda: (*self._read(X, y, sensitive_features, sample_weight, settings), self._seen()),
            )
            self.__dict__.update(seen)
            held_out = None if eval_set is None else self._read_held_out(eval_set, X, problem, classes, settings)
            if not problem.attributes:
                advice.plain_model()
            advice.small_groups(problem)
            rng = generator(self.random_state)
            start = self._last_fit(problem, classes, settings)
            trainer = self._trainer(problem, settings)
            with Progress(settings.verbose > 0) as progress:
                search = self._searcher(settings, held_out)
                decision = decide(problem, settings, search, held_out, rng, progress, self._pace)
                judges = self._judges(held_out, settings)
                fit = trainer.fit(decision.lam, rng, start, progress.record, held_out=judges, saving=True)
        self.lam_, self.lam_path_ = decision.lam, decision.path
        self._keep(fit, problem, classes)
        self._decide_by(decision.labels)
        if decision.held_out is not None:
            self.held_out_ = decision.held_out
        self._after(fit, problem, settings)
        advice.constant_predictions(self._codes_of(fit), problem, decision.lam, classes.tolist())
        return self

    @abstractmethod
    def decision_function(self, X: Any) -> Floats:
        """Logits of each row, from which probabilities and labels follow.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix, n × d
            Features.

        Returns
        -------
        (n,) or (n, m) array
            The logit of the second class where there are two, else one per class.
        """

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class for each row.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix, n × d
            Features.

        Returns
        -------
        (n, m) array
            One column per class, in the order of `classes_`.
        """
        return probabilities(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row: the most probable one, or with `decision_` "labels" one within the bound.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix, n × d
            Features.

        Returns
        -------
        (n,) array
            Labels.
        """
        if self._adjusted is None:
            codes = most_probable(self.decision_function(X))
        else:
            F = self.predict_proba(X)  # says first if there is no fit
            codes = self._adjusted.codes(F, self._group_features(X))
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def _reading(self) -> tuple[Any, ...]:
        """What `_read` depends on, beside the rows: all options but λ."""
        return type(self), *(value for name, value in sorted(self.get_params(deep=False).items()) if name != "lam")

    def _seen(self) -> dict[str, Any]:
        """What scikit-learn has noted of the features."""
        return {name: value for name, value in vars(self).items() if name in ("n_features_in_", "feature_names_in_")}

    @abstractmethod
    def _settings(self) -> SettingsT:
        """The options of `FermiNet`, checked."""

    def _features(self, X: Any, y: Any, settings: SettingsT, *, reset: bool) -> tuple[Any, Any]:
        """Read X and y as arrays."""
        return read_features(self, X, y, reset=reset)

    @abstractmethod
    def _trainer(self, problem: Problem, settings: SettingsT) -> Trainer[FitT]:
        """Make what trains a problem at any λ."""

    def _judges(self, held_out: Problem | None, settings: SettingsT) -> Problem | None:
        """The rows that say when to stop; none where λ is searched, whose fits do not stop early either."""
        return held_out if settings.max_violation is None else None

    def _searcher(self, settings: SettingsT, held_out: Problem | None) -> Callable[[Problem], Trainer[FitT]]:
        """What trains a problem in the search for λ; rows held out, if given, judge the fits."""
        return lambda problem: self._trainer(problem, settings)

    def _last_fit(self, problem: Problem, classes: NDArray[Any], settings: SettingsT) -> FitT | None:
        """The last fit, where a warm start begins, or None."""
        return None

    def _group_features(self, X: Any) -> Any:
        """Features of new rows as the group models of the fit had them."""
        return self._features(X, None, self._settings(), reset=False)[0]

    def _decide_by(self, labels: AdjustedLabels | None) -> None:
        """Set what gives labels: a rule, or None for the most probable class."""
        self._adjusted, self.decision_ = labels, "argmax" if labels is None else "labels"

    def _codes_of(self, fit: FitT) -> Callable[[Any], Any]:
        """What predicts the codes of rows, as `predict` does."""
        adjusted = self._adjusted
        if adjusted is None:
            return fit.predict
        return lambda X: adjusted.codes(probabilities(fit.scores(X)), X)

    def _keep(self, fit: FitT, problem: Problem, classes: NDArray[Any]) -> None:
        """Set the attributes that a fit has learned."""
        self.classes_, self.groups_, self.history_ = classes, problem.groups, fit.history

    def _after(self, fit: FitT, problem: Problem, settings: SettingsT) -> None:
        """Do or say what else is due after a fit."""

    def _read(
        self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, settings: SettingsT
    ) -> tuple[Problem, NDArray[Any]]:
        """Read the training rows as codes, and their classes."""
        matrix, labels = self._features(X, y, settings, reset=True)
        target, classes = read_target(labels)
        source = Source(X, y, sensitive_features, sample_weight)
        weights = getattr(self, "class_weight", None)
        problem = read_problem(
            source, matrix, labels, target, classes.tolist(), weights, settings.fairness, settings.attributes
        )
        return problem, classes

    def _read_held_out(
        self, eval_set: Any, training: Any, problem: Problem, classes: NDArray[Any], settings: SettingsT
    ) -> Problem:
        """Read the rows of `eval_set` as codes."""
        if not isinstance(eval_set, tuple | list) or len(eval_set) != 3:
            raise bad_argument("eval_set", "is no triple", "(X, y, sensitive_features)")
        X, y, sensitive_features = eval_set
        if sensitive_features is None:
            raise bad_argument("eval_set", "has no sensitive features", "(X, y, sensitive_features)")
        matrix, labels = self._features(X, y, settings, reset=False)
        target = known_target(labels, classes.tolist(), "eval_set")
        source = Source(X, y, sensitive_features, None)
        refuse_other_rows(settings.fairness, source, row_index(training), "eval_set")
        held_out = read_problem(
            source, matrix, labels, target, classes.tolist(), None, settings.fairness, settings.attributes
        )
        if held_out.columns != problem.columns:
            found, expected = (listed([c or "one without a name" for c in p.columns]) for p in (held_out, problem))
            raise bad_argument(
                "eval_set", f"has the sensitive columns {found}", f"those of the fit, {expected or 'none'}"
            )
        return replace(held_out, class_weight=problem.class_weight)
