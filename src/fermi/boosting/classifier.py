"""`FermiBoostingClassifier`: fair boosted trees in scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fermi._typing import Floats
from fermi.boosting._engine import engine
from fermi.boosting._trainer import BoostingFit, BoostingTrainer
from fermi.boosting.features import read_table
from fermi.boosting.options import BoostingSettings
from fermi.fitting.estimator import FairEstimator
from fermi.fitting.lam_search import DEAR
from fermi.fitting.problem import Problem


class FermiBoostingClassifier(FairEstimator[BoostingSettings, BoostingFit]):
    """Boosted trees whose predictions do not depend on a sensitive attribute.

    Minimises mean cross-entropy + `lam` × soft ERMI of the notion with stock LightGBM or XGBoost, for any number of
    classes and groups. Categorical columns of a DataFrame and missing values go to the library as they are. Prediction
    never needs the sensitive attribute.

    Parameters
    ----------
    booster : "lightgbm" or "xgboost"
        The library.
    fairness, lam, attributes, max_violation
        As in `FermiClassifier`. The search for λ trains some twenty boosters, labels take four.
    n_estimators : int
        Rounds of boosting.
    learning_rate : float
        What part of each tree's step is taken.
    early_stopping_rounds : int, optional
        Stop when the objective on the `eval_set`, or else on a tenth of the rows held out, has not fallen for so many
        rounds, and keep the best round.
    booster_params : dict, optional
        The library's other parameters, such as ``{"num_leaves": 15, "bagging_fraction": 0.5, "bagging_freq": 1}``.
    decision : "auto", "argmax" or "labels"
        How `max_violation` is kept, as in `FermiClassifier`.
    random_state : int, Generator or RandomState, optional
        Seed of subsampling and of held-out rows.
    verbose : int
        1 shows progress on a terminal.

    Attributes
    ----------
    booster_ : lightgbm.Booster or xgboost.Booster
        The plain booster. It holds the base rate from which boosting began, and its own `predict` gives probabilities,
        so that saving, explaining and serving it need nothing of fermi. With `decision_` "labels" its probabilities are
        the model's, but the labels within the bound come from `predict` alone.
    classes_, groups_, lam_, lam_path_, decision_, held_out_
        As in `FermiClassifier`.
    n_iter_ : int
        Rounds kept.
    history_ : list of dict
        step, seconds, loss, ermi, objective before the first round and after each one, and held_out_objective with an
        `eval_set` or early stopping.

    Examples
    --------
    >>> import fermi
    >>> from fermi.boosting import FermiBoostingClassifier
    >>> data = fermi.datasets.synthetic(n=2000, rated=False)
    >>> model = FermiBoostingClassifier(lam=20, n_estimators=50)
    >>> model.fit(data.X_train, data.y_train, sensitive_features=data.s_train).predict(data.X_test).shape
    (1000,)
    """

    _pace = DEAR

    def __init__(
        self,
        booster: str = "lightgbm",
        fairness: Any = "demographic_parity",
        lam: float = 1.0,
        *,
        attributes: str = "intersection",
        max_violation: float | None = None,
        n_estimators: int = 300,
        learning_rate: float = 0.05,
        early_stopping_rounds: int | None = None,
        booster_params: Any = None,
        decision: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.booster = booster
        self.fairness = fairness
        self.lam = lam
        self.attributes = attributes
        self.max_violation = max_violation
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.early_stopping_rounds = early_stopping_rounds
        self.booster_params = booster_params
        self.decision = decision
        self.random_state = random_state
        self.verbose = verbose

    def decision_function(self, X: Any) -> Floats:
        """Raw scores of each row, from which probabilities and labels follow.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix, n × d
            Features, categories and missing values as in training.

        Returns
        -------
        (n,) or (n, m) array
            The score of the second class where there are two, else one per class.
        """
        check_is_fitted(self)
        rows, _ = read_table(self, X, reset=False)
        scores: Floats = engine(self._library).raw_scores(self.booster_, rows)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    def _settings(self) -> BoostingSettings:
        return BoostingSettings.read(self)

    def _features(self, X: Any, y: Any, settings: BoostingSettings, *, reset: bool) -> tuple[Any, Any]:
        return read_table(self, X, y, reset=reset)

    def _trainer(self, problem: Problem, settings: BoostingSettings) -> BoostingTrainer:
        return BoostingTrainer(problem, settings)

    def _judges(self, held_out: Problem | None, settings: BoostingSettings) -> Problem | None:
        return held_out

    def _searcher(self, settings: BoostingSettings, held_out: Problem | None) -> Callable[[Problem], BoostingTrainer]:
        judges = held_out if settings.early_stopping_rounds else None
        return lambda problem: BoostingTrainer(problem, settings, judges)

    def _keep(self, fit: BoostingFit, problem: Problem, classes: NDArray[Any]) -> None:
        super()._keep(fit, problem, classes)
        self.booster_, self.n_iter_, self._library = fit.booster, fit.n_iter, fit.library
