"""`FermiClassifier`: fair multinomial logistic regression in scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from fermi.errors import bad_argument
from fermi.fitting import advice
from fermi.fitting.estimator import FairEstimator
from fermi.fitting.problem import Problem, Source
from fermi.inputs.features import natural_labels, read_features, unchanged_on_error
from fermi.inputs.sharing import remembered
from fermi.linear.options import Settings
from fermi.linear.serving import LinearScores
from fermi.linear.solvers.lbfgs import LBFGS
from fermi.linear.stream import Online
from fermi.linear.stream_input import read_chunk
from fermi.linear.trainer import Fit, LinearTrainer


class FermiClassifier(LinearScores, FairEstimator[Settings, Fit]):
    """Logistic regression whose predictions do not depend on a sensitive attribute.

    Minimises mean cross-entropy + `lam` × soft ERMI of the notion + ½ `l2` ‖weights‖², for any number of classes and
    groups. Prediction never needs the sensitive attribute.

    Parameters
    ----------
    fairness : str or Notion
        What must be independent of the group: "demographic_parity", "equalized_odds", "equal_opportunity" or a notion
        such as ``EqualOpportunity({"granted"})`` or ``ConditionalParity(z)``. Under cross-validation the column of a
        ConditionalParity is matched by its pandas index.
    lam : float
        λ, the weight of the fairness term. 0 is the plain model.
    attributes : "intersection" or "each"
        Of several sensitive columns: one term for the groups that their combinations make, or one term per column.
    max_violation : float, optional
        Keep the hard parity difference on held-out rows to at most this; `decision` says how.
    solver : "auto", "lbfgs", "newton", "sgda" or "sreda"
        "lbfgs" minimises over all rows with the adversary W eliminated, "newton" does so by Newton steps. "sgda" is the
        paper's Algorithm 1, with any batch size. "sreda" is its variance-reduced relative. "auto" is lbfgs, or sgda
        where a batch size is given.
    batch_size : int, optional
        Rows per step of sgda (64 by default) and sreda (√n by default).
    max_iter : int, optional
        Passes over the rows for sgda and sreda, iterations for lbfgs and newton.
    tol : float
        Stop when no entry of the objective's gradient is larger, in the units of standardised features. 0 never stops
        early.
    eta_theta, eta_w : float, callable, "auto" or "theory"
        Step sizes of sgda and sreda for the weights, in the units of standardised features, and for W. A callable
        gets the number of the step. "auto" needs no tuning; "theory" takes the convergence theorem's constants;
        sgda then draws rows with replacement, as the theorem does.
    radius : float, "theory" or None
        Keep W within this Frobenius norm.
    output : "last", "random" or "average"
        Which iterate of sgda becomes the model; the paper's theorem is about a random one.
    l2 : float
        Weight of the penalty on the weights, not on the intercept.
    fit_intercept : bool
        Whether the model has an intercept.
    class_weight : dict, "balanced" or None
        What the rows of a class weigh in the loss. The group statistics do not change.
    warm_start : bool
        Start from the coefficients of the last fit.
    checkpoint : path, optional
        Save the state of a long fit here, and go on from there when the same `fit` is called again: the model is that
        of an uninterrupted fit. The file goes when the fit is done.
    decision : "auto", "argmax" or "labels"
        How `max_violation` is kept. "argmax": find the smallest λ whose most probable classes keep it, instead of using
        `lam`. "labels": train with `lam`, and label by the stage of `FairLabels`, which charges classes for the groups
        that a row is likely of. "auto": whichever errs less on held-out rows, the first within one standard error.
    random_state : int, Generator or RandomState, optional
        Seed of the order of rows and of held-out rows.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    coef_, intercept_ : arrays
        As in scikit-learn's LogisticRegression: one row for two classes, else one per class.
    classes_ : array
        The labels.
    groups_ : tuple of str
        The groups of the fairness term, such as ``"sex=Female"``; with ``attributes="each"`` those of all columns.
    dual_ : array, conditions × groups × classes
        W, the adversary.
    lam_ : float
        The λ used.
    n_iter_ : int
        Passes or iterations made.
    history_ : list of dict
        step, seconds, loss, ermi, objective, dual_gap, grad_norm, as training went on.
    lam_path_ : list of dict
        With `max_violation`: every λ tried, its hard violation on held-out rows and that one's standard error.
    decision_ : "argmax" or "labels"
        What a label is: the most probable class, or one within the bound.
    held_out_ : Figures
        With `max_violation`: error, violation, their standard errors and more, of the labels on held-out rows.

    References
    ----------
    A. Lowy, S. Baharlouei, R. Pavan, M. Razaviyayn and A. Beirami, "A Stochastic Optimization Framework for Fair Risk
    Minimization", arXiv:2102.12586.

    Examples
    --------
    >>> import fermi
    >>> data = fermi.datasets.synthetic(n=4000, rated=False).numeric()
    >>> model = fermi.FermiClassifier(lam=20).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    >>> bool(fermi.parity_difference(model.predict(data.X_test), data.s_test) < 0.06)
    True
    """

    __metadata_request__partial_fit = {"sensitive_features": True}  # noqa: RUF012

    _stream: Online | None = None  # what partial_fit goes on from

    def __init__(
        self,
        fairness: Any = "demographic_parity",
        lam: float = 1.0,
        *,
        attributes: str = "intersection",
        max_violation: float | None = None,
        solver: str = "auto",
        batch_size: int | None = None,
        max_iter: int | None = None,
        tol: float = 1e-5,
        eta_theta: Any = "auto",
        eta_w: Any = "auto",
        radius: Any = None,
        output: str = "last",
        l2: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        warm_start: bool = False,
        checkpoint: Any = None,
        decision: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.fairness = fairness
        self.lam = lam
        self.attributes = attributes
        self.max_violation = max_violation
        self.solver = solver
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.eta_theta = eta_theta
        self.eta_w = eta_w
        self.radius = radius
        self.output = output
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.decision = decision
        self.random_state = random_state
        self.verbose = verbose

    def partial_fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        classes: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> FermiClassifier:
        """Pass once over a chunk of rows in their order, going on from the model as it is.

        Of the options, `tol`, `warm_start`, `random_state` and `verbose` have no meaning here; those that ask for more
        than one pass are refused.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            As in `fit`.
        classes : sequence, optional
            All labels, in the first call. Classes not declared are added when met.
        groups : sequence, or dict of group to share, optional
            All groups, in the first call: labels such as ``"sex=F"``, or the values of a single column. A dict also
            gives their prior (for a notion with conditions, one share per condition). Otherwise groups are added when
            met, and the prior is estimated from the rows seen.

        Returns
        -------
        FermiClassifier
            The model itself. `history_` gains one entry, measured on this chunk.
        """
        settings = Settings.read(self, stream=True)
        if sensitive_features is None:
            advice.plain_model()
        source = Source(X, y, sensitive_features, sample_weight)
        with unchanged_on_error(self):
            online, problem = read_chunk(self, source, classes, groups, self._stream, settings)
            entry = online.learn(problem, settings)
        self._stream, self.lam_ = online, settings.lam
        fit = Fit(online.weights, online.shift, tuple(g.W for g in online.groups), [], False, 1)
        history = [*getattr(self, "history_", []), entry]
        self._keep(fit, problem, natural_labels(online.classes))
        self._decide_by(None)
        self.history_ = history
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _settings(self) -> Settings:
        return Settings.read(self)

    def _features(self, X: Any, y: Any, settings: Settings, *, reset: bool) -> tuple[Any, Any]:
        return read_features(self, X, y, reset=reset, rows=reset and settings.solver.one_row_at_a_time)

    def _trainer(self, problem: Problem, settings: Settings) -> LinearTrainer:
        # A trainer goes on with what its last fit knew: the fits that share one must come in the same order everywhere.
        return remembered((*self._reading(), problem), lambda: LinearTrainer(problem, settings), here=True)

    def _searcher(self, settings: Settings, held_out: Problem | None) -> Callable[[Problem], LinearTrainer]:
        # All solvers minimise the same objective, and L-BFGS is the one to do so dozens of times.
        exact = replace(settings, solver=LBFGS())
        return lambda problem: LinearTrainer(problem, exact)

    def _last_fit(self, problem: Problem, classes: NDArray[Any], settings: Settings) -> Fit | None:
        if not (settings.warm_start and hasattr(self, "coef_")):
            return None
        if self.coef_.shape[1] != problem.X.shape[1] or self.classes_.tolist() != classes.tolist():
            raise bad_argument(
                "warm_start", "is True, but the last fit had other features or classes", "the same ones, or False"
            )
        shape = (problem.n_conditions, len(problem.groups), len(classes))
        fits = self.dual_.shape == shape and self.groups_ == problem.groups and problem.attributes
        duals = problem.split_duals(self.dual_) if fits else None
        return Fit(self.coef_, self.intercept_, duals, [], False, 0)

    def _keep(self, fit: Fit, problem: Problem, classes: NDArray[Any]) -> None:
        super()._keep(fit, problem, classes)
        self.coef_, self.intercept_ = fit.weights, fit.shift
        self.dual_ = problem.joined_duals(fit.duals or ())
        self.n_iter_ = max(fit.n_iter, 1)

    def _after(self, fit: Fit, problem: Problem, settings: Settings) -> None:
        self._stream = Online.after(fit, problem, self.classes_.tolist(), settings)
        advice.convergence(fit, settings.solver.name, settings.tol)
