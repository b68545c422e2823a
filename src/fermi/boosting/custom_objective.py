"""The fair objective as LightGBM and XGBoost want it: gradient and Hessian of raw scores, and an evaluation metric."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from fermi._typing import Floats
from fermi.boosting import _loops
from fermi.boosting._curvature import CurvatureBound
from fermi.boosting._terms import TermRows
from fermi.errors import bad_argument
from fermi.fitting.objective import Value
from fermi.fitting.problem import Problem, Source, read_problem
from fermi.inputs.arguments import AT_LEAST_ZERO, chosen, number
from fermi.inputs.columns import check_rows, read_columns, read_labels
from fermi.inputs.features import known_target, natural_labels, read_target
from fermi.notions import as_notion

_RARE = 1e-15  # share of a class, from which its first score is taken at least
_FLAT = 1e-16  # the smallest Hessian, as in XGBoost
_TINY = 1e-290  # probability


class Derivatives(NamedTuple):
    """The objective Φ at some scores, with its gradient and Hessian in the layout of the scores."""

    value: Value
    gradient: Floats
    hessian: Floats


class BoostingObjective:
    """The loss + λ Σ ERMI of one set of rows, as LightGBM and XGBoost take it. Made by `objective`.

    Raw scores are (n,) for two classes, the logit of the second, and (n, m) for more, in both libraries. With λ = 0
    gradient and Hessian are those of the library's own log-loss, and the sums run over the rows' weights, so that all
    other options of the booster keep their meaning. One object serves one training at a time.

    Attributes
    ----------
    classes : array
        The labels, in the order of the scores' columns.
    target : (n,) int64
        The class of each row, for the library's own data set.
    """

    def __init__(self, problem: Problem, classes: NDArray[Any], lam: float, learning_rate: float) -> None:
        self.classes, self.target, self.learning_rate = classes, problem.target, learning_rate
        self._fair = problem.objective(lam)
        self._total = float(problem.weight @ problem.class_weight[problem.target])
        n, m = len(problem.target), len(classes)
        # The boosters' sums run over the rows' weights, so the means of Φ are scaled by their total.
        self._weight = self._total * self._fair.weight
        self._terms = [TermRows(term, m, self._fair.lam * self._total) for term in self._fair.terms]
        self._bound = CurvatureBound(self._terms, self._weight) if self._fair.lam > 0.0 and self._terms else None
        # Fresh memory in every round would cost more than what is computed in it.
        self._room = np.empty((m, n))

    @property
    def start(self) -> Floats:
        """The scores to begin with, of a model that knows the base rates alone: (1,) for two classes, else (m,).

        Constant predictions have no ERMI, so that no other constant is better.
        """
        m = len(self.classes)
        shares = np.bincount(self.target, weights=self._fair.weight, minlength=m).clip(_RARE, 1.0 - _RARE)
        scores: Floats = np.log(shares[1:] / shares[:1]) if m == 2 else np.log(shares)
        return scores

    def lightgbm(self, scores: Any, data: Any = None) -> tuple[Floats, Floats]:
        """Gradient and Hessian, to be the parameter `objective` of `lightgbm.train` or of `LGBMClassifier`.

        Parameters
        ----------
        scores : array
            Raw scores of the rows.
        data : lightgbm.Dataset, xgboost.DMatrix or array, optional
            What the library passes along; its labels and weights must be those of the objective.

        Returns
        -------
        gradient, hessian : arrays in the layout of the scores
        """
        return self._gradients(self._scores(scores, data), lightgbm_factor(len(self.classes)))[:2]

    def xgboost(self, scores: Any, data: Any = None) -> tuple[Floats, Floats]:
        """Gradient and Hessian, to be the argument `obj` of `xgboost.train`, or `objective` of `XGBClassifier`.

        Parameters
        ----------
        scores, data
            As in `lightgbm`.

        Returns
        -------
        gradient, hessian : arrays in the layout of the scores
        """
        return self._gradients(self._scores(scores, data), xgboost_factor(len(self.classes)))[:2]

    def lightgbm_metric(self, scores: Any, data: Any = None) -> tuple[str, float, bool]:
        """The objective Φ of these rows, to be the argument `feval` of `lightgbm.train`.

        Parameters
        ----------
        scores, data
            As in `lightgbm`.

        Returns
        -------
        name, value, larger_is_better : str, float, bool
        """
        return "fair_objective", self.evaluate(self._scores(scores, data)).objective, False

    def xgboost_metric(self, scores: Any, data: Any = None) -> tuple[str, float]:
        """The objective Φ of these rows, to be the argument `custom_metric` of `xgboost.train`.

        Parameters
        ----------
        scores, data
            As in `lightgbm`.

        Returns
        -------
        name, value : str, float
        """
        return "fair_objective", self.evaluate(self._scores(scores, data)).objective

    def evaluate(self, scores: Any) -> Value:
        """Mean loss, ERMI and objective Φ at some scores.

        Parameters
        ----------
        scores : array
            Raw scores of the rows: (n,) for two classes, else (n, m).

        Returns
        -------
        Value
            With `loss`, `ermi` and `objective`.
        """
        found = self._checked(scores)
        return self._fair.evaluate(np.column_stack([np.zeros(len(found)), found]) if found.ndim == 1 else found)

    def derivatives(self, scores: Any, factor: float) -> Derivatives:
        """Φ, its exact gradient and a positive Hessian under which no step of the booster raises Φ.

        The gradient is that of Φ itself: W is at its optimum for these scores, so that its own movement does not
        count (Danskin). A leaf's step is −η G/H, so that to second order Φ changes by −η Σ G²/H + ½ η² dᵀ ∇²Φ d,
        d = G/H. That is no rise if H ⪰ ½ η ∇²Φ: hence the larger of the library's own Hessian of the loss,
        `factor` · w F (1 − F), and ½ η times `CurvatureBound`. While λη is small the first is the larger, and
        boosting goes as fast as without the fairness term.

        Parameters
        ----------
        scores : array
            Raw scores of the rows: (n,) for two classes, else (n, m).
        factor : float
            The library's Hessian of the log-loss over w F (1 − F).

        Returns
        -------
        Derivatives
        """
        gradient, hessian, violation = self._gradients(scores, factor)
        loss = self._loss(scores, self._room)
        return Derivatives(Value(loss, violation, loss + self._fair.lam * violation), gradient, hessian)

    def _gradients(self, scores: Any, factor: float) -> tuple[Floats, Floats, float]:
        """Gradient, Hessian and Σ ERMI: what a round of boosting needs; `derivatives` says what they are."""
        F = self._predict(scores)
        m, n = F.shape
        gradient, hessian = np.empty((2, 1 if m == 2 else m, n))
        _loops.loss_derivatives(F, self.target, self._weight, factor, gradient, hessian)
        laws = [rows.laws(F) for rows in self._terms]
        violation = sum(rows.term.ermi(P) for rows, P in zip(self._terms, laws, strict=True))
        if self._bound is not None:
            found = [rows.charges(F, P) for rows, P in zip(self._terms, laws, strict=True)]
            for rows, charges in zip(self._terms, found, strict=True):
                rows.add_gradient(F, charges, gradient)
            self._bound.raise_hessian(hessian, F, found, 0.5 * self.learning_rate, factor)
        np.maximum(hessian, _FLAT, out=hessian)
        return (gradient[0], hessian[0], violation) if m == 2 else (gradient.T, hessian.T, violation)

    def _predict(self, scores: Any) -> Floats:
        """The probabilities F = softmax, m × n, by class, since long rows are fast; the next call overwrites them."""
        F = self._room
        if len(F) == 2:
            _loops.predict_two(np.ascontiguousarray(self._checked(scores)), F)
            return F
        F[:] = self._checked(scores).T
        F -= F.max(axis=0)
        np.exp(F, out=F)
        F /= F.sum(axis=0)
        return F

    def _loss(self, scores: Any, F: Floats) -> float:
        """The mean cross-entropy of scores whose probabilities are F."""
        own = F[self.target, np.arange(F.shape[1])]
        if own.min() > _TINY:
            costs = -np.log(own)
        else:  # so small that it has lost digits, or infinite scores
            z = self._checked(scores)
            z = np.column_stack([np.zeros(len(z)), z]) if z.ndim == 1 else z
            costs = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(z)), self.target]
        # No BLAS here: its threads would go on waiting for work while the booster's own threads want the cores.
        return float((self._fair.weight * costs).sum())

    def _scores(self, first: Any, second: Any) -> Any:
        """Tell scores and data apart: `train` passes scores and data set, scikit-learn classes labels and scores."""
        if second is None:
            return first
        if hasattr(second, "get_label"):
            scores, labels, weight = first, second.get_label(), second.get_weight()
        else:
            scores, labels, weight = second, first, None
        if labels is not None and len(labels) and not np.array_equal(labels, self.target):
            raise bad_argument(
                "data", "has other labels than `target` of the objective", "its own rows: others need one of their own"
            )
        if weight is not None and len(weight) and not np.allclose(weight / np.sum(weight), self._fair.weight):
            raise bad_argument("data", "has weights of its own", "none, since `sample_weight` of the objective counts")
        return scores

    def _checked(self, scores: Any) -> Floats:
        """Refuse scores that are not one for each row, or one for each row and class."""
        found, n, m = np.asarray(scores, dtype=np.float64), len(self.target), len(self.classes)
        expected = (n,) if m == 2 else (n, m)
        if found.shape != expected:
            raise bad_argument(
                "scores", f"has the shape {found.shape}",
                f"{expected}: {n} rows of {m} classes (`num_class` is the library's own)",
            )  # fmt: skip
        return found


def lightgbm_factor(n_classes: int) -> float:
    """The factor of LightGBM's Hessian of the log-loss over w F (1 − F)."""
    return 1.0 if n_classes == 2 else n_classes / (n_classes - 1)


def xgboost_factor(n_classes: int) -> float:
    """The factor of XGBoost's Hessian of the log-loss over w F (1 − F)."""
    return 1.0 if n_classes == 2 else 2.0


def objective(
    sensitive: Any,
    target: Any,
    *,
    notion: Any = "demographic_parity",
    lam: float = 1.0,
    attributes: str = "intersection",
    classes: Any = None,
    sample_weight: Any = None,
    learning_rate: float = 0.3,
) -> BoostingObjective:
    """The fair objective of some rows, for those who call `lightgbm.train` or `xgboost.train` themselves.

    Parameters
    ----------
    sensitive : array, Series, DataFrame or dict of columns
        The groups. A row with a missing entry trains the loss and is left out of the fairness term.
    target : (n,) labels
        Two or more classes of any type.
    notion : str or Notion
        What must be independent of the group, as in `FermiClassifier`.
    lam : float
        λ, the weight of the fairness term.
    attributes : "intersection" or "each"
        Of several sensitive columns: one term for their combinations, or one term per column.
    classes : sequence, optional
        All labels, where these rows may not show them all, as rows held out.
    sample_weight : (n,) numbers, optional
        Weighs the loss and the group statistics alike. The booster's own data set is not asked for weights.
    learning_rate : float
        That of the booster, or a larger one. With a large λ the Hessian grows with it, and boosting slows down.

    Returns
    -------
    BoostingObjective
        `lightgbm` and `xgboost` are the objectives, `lightgbm_metric` and `xgboost_metric` the metrics, `start` the
        scores of the base rate. A metric is about the rows of its own objective: make another one for rows held out.

    Examples
    --------
    >>> import fermi.boosting
    >>> fair = fermi.boosting.objective(["a", "a", "b", "b"], [0, 1, 1, 1], lam=5.0)
    >>> gradient, hessian = fair.lightgbm([0.5, 0.5, 0.5, 0.5])
    >>> gradient.round(3)
    array([ 0.622, -0.378, -0.378, -0.378])
    """
    if sensitive is None:
        raise bad_argument("sensitive", "is None", "the groups, one column or several")
    labels = column_or_1d(target)
    named = read_columns(sensitive, "sensitive")
    columns = [("sensitive" if name is None else f"sensitive[{name!r}]", column) for name, column in named.items()]
    check_rows([("target", target if hasattr(target, "index") else labels), *columns])
    if classes is None:
        codes, known = read_target(labels)
    else:
        known = natural_labels(read_labels(classes, "classes"))
        if len(known) < 2:
            raise bad_argument("classes", f"holds one class only, {known[0]!r}", "at least two classes")
        codes = known_target(labels, known.tolist(), "target")
    problem = read_problem(
        Source(None, target, sensitive, sample_weight), np.empty((len(codes), 0)), labels, codes, known.tolist(), None,
        as_notion(notion), chosen("attributes", attributes, ("intersection", "each")),
    )  # fmt: skip
    rate = number("learning_rate", learning_rate, "a positive number", low=0.0, open_low=True)
    return BoostingObjective(problem, known, number("lam", lam, AT_LEAST_ZERO, low=0.0), rate)
