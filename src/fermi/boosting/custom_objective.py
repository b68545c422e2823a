"""The fair objective as LightGBM and XGBoost want it: gradient and Hessian of raw scores, and an evaluation metric."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fermi._typing import Floats
from fermi.boosting import _loops
from fermi.boosting._curvature import CurvatureBound
from fermi.boosting._ranks import Alone, XGBoostRanks, shared_objective
from fermi.boosting._terms import TermRows
from fermi.errors import bad_argument
from fermi.fitting.objective import Value
from fermi.fitting.problem import Problem

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

    def __init__(
        self,
        problem: Problem,
        classes: NDArray[Any],
        lam: float,
        learning_rate: float,
        ranks: XGBoostRanks | None = None,
    ) -> None:
        self.classes, self.target, self.learning_rate = classes, problem.target, learning_rate
        self._ranks: Alone | XGBoostRanks = ranks or Alone()
        self._fair = problem.objective(lam) if ranks is None else shared_objective(problem, lam, ranks)
        self._total = float(self._ranks.sum(problem.weight @ problem.class_weight[problem.target]))
        n, m = len(problem.target), len(classes)
        # The boosters' sums run over the rows' weights, so the means of Φ are scaled by their total.
        self._weight = self._total * self._fair.weight
        self._terms = [TermRows(term, m, self._fair.lam * self._total, self._ranks.sum) for term in self._fair.terms]
        self._bound = CurvatureBound(self._terms, self._weight) if self._fair.lam > 0.0 and self._terms else None
        # Fresh memory in every round would cost more than what is computed in it.
        self._room = np.empty((m, n))
        self._shares = self._ranks.sum(np.bincount(self.target, weights=self._fair.weight, minlength=m))

    @property
    def start(self) -> Floats:
        """The scores to begin with, of a model that knows the base rates alone: (1,) for two classes, else (m,).

        Constant predictions have no ERMI, so that no other constant is better.
        """
        m = len(self.classes)
        shares = self._shares.clip(_RARE, 1.0 - _RARE)
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
        if self._ranks.several:
            F = self._predict(scores)
            loss = self._loss(scores, F)
            violation = sum(rows.term.ermi(rows.laws(F)) for rows in self._terms)
            return Value(loss, violation, loss + self._fair.lam * violation)
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
        return float(self._ranks.sum(float((self._fair.weight * costs).sum())))

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
        own = self._fair.weight / np.sum(self._fair.weight)
        if weight is not None and len(weight) and not np.allclose(weight / np.sum(weight), own):
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
