"""Fairness for robust log-loss classification (Rezaei, Fathony, Memarrast and Ziebart 2020).

A fair predictor P plays against the worst law of labels Q that matches the features' moments on the training rows.
With multipliers θ of the moments and λ of the fairness constraint, P is truncated logistic regression: with
t = λ / p(group) for one group and −λ / p(group) for the other, P(1) is σ(θ·x), at most 1/t where t > 1 and at least
1 + 1/t where t < −1, and Q(1) = P(1) (1 + t P(0)). The saddle function is convex in θ and concave in λ; λ is found for
each θ where the groups' rates meet, and θ by L-BFGS. For equalized odds and equal opportunity P depends on y too. A new
row's y is unknown and taken to follow the prediction itself: p = p P(1|y=1) + (1 − p) P(1|y=0). Labels are the more
probable ones. There is no knob: `strength` is the probability with which a row gets the fair label rather than the
plain one. The group is needed to predict; where it is unknown nothing is truncated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import L2, LinearModel, binary_model, mixture, plain_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows
from fermi.baselines.common.several import once

_TINY = 1e-12
_BEYOND = 2.0 * (1.0 + 1e-6)  # groups of one size have their root at 2, which rounding may move


class Rezaei(Baseline):
    """Truncated logistic regression that is fair against the worst case.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(needs_attribute=True, has_knob=False, draws=True)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        self.plain_ = plain_regression(rows)
        self.model_, multipliers = once(rows, "saddle point", lambda: saddle_point(rows, self.plain_))
        # t of each class and group; without conditions both classes have the same.
        of_class = np.array([rows.z[rows.y == label].max() for label in (0, 1)])
        self.tilts_: Floats = np.where(of_class[:, None] >= 0, (multipliers * tilts(rows))[of_class], 0.0)
        self.share_ = strength

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        groups = np.asarray(s)
        t = np.where(groups >= 0, self.tilts_[:, groups], 0.0)
        negative, positive = truncated(self.model_.logits(X)[:, 1], t)  # P(1) given either class
        fair = np.eye(2)[(2.0 * negative > 1.0 - positive + negative).astype(int)]
        return mixture(self.plain_.predict_proba(X), fair, self.share_)


def truncated(scores: Floats, t: Floats) -> Floats:
    """The probability of class 1 of rows with these scores and tilts."""
    p = np.clip(expit(scores), 1.0 - 1.0 / np.maximum(-t, 1.0), 1.0 / np.maximum(t, 1.0))
    return np.clip(p, _TINY, 1.0 - _TINY)


def tilts(rows: Rows) -> Floats:
    """What one unit of a condition's multiplier is worth to a row of each group, conditions × groups."""
    counts = np.bincount(rows.cells[rows.cells >= 0], minlength=rows.n_conditions * 2).reshape(-1, 2)
    return np.array([-1.0, 1.0]) * len(rows.y) / np.maximum(counts, 1)


def saddle_point(rows: Rows, start: Any) -> tuple[LinearModel, Floats]:
    """Find the model and the multiplier λ of each condition."""
    unit, n = tilts(rows), len(rows.y)
    counted = rows.cells >= 0
    own = np.where(counted, unit.ravel()[rows.cells], 0.0)
    parts = [np.flatnonzero(counted & (rows.z == z)) for z in range(rows.n_conditions)]

    def multipliers(scores: Floats) -> Floats:
        """The λ of each condition where the groups' rates meet; twice the larger group's share bounds it."""
        return np.array(
            [equal_rates(scores[part], own[part], _BEYOND / np.abs(unit[z]).min()) for z, part in enumerate(parts)]
        )

    def value_and_gradient(theta: Floats) -> tuple[float, Floats]:
        scores = np.asarray(rows.X @ theta[:-1]) + theta[-1]
        t = np.where(counted, multipliers(scores)[rows.z], 0.0) * own
        p = truncated(scores, t)
        q = p * (1.0 + t * (1.0 - p))
        value = np.mean(-np.log1p(-p) + q * (scores - logit(p)) + t * p - rows.y * scores)
        slope = (q - rows.y) / n
        gradient = np.append(np.asarray(rows.X.T @ slope) + L2 * theta[:-1], slope.sum())
        return float(value) + 0.5 * L2 * float(theta[:-1] @ theta[:-1]), gradient

    first = np.append(start.coef_[0], start.intercept_[0])
    found = minimize(
        value_and_gradient, first, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-7}
    )
    model = binary_model(found.x[:-1], float(found.x[-1]))
    return model, multipliers(model.logits(rows.X)[:, 1])[:, None]


class Clipped:
    """The sum of P over rows of one tilt, for any tilt, from a sort of their probabilities."""

    def __init__(self, scores: Floats) -> None:
        self.p = np.clip(np.sort(expit(scores)), _TINY, 1.0 - _TINY)
        self.below = np.append(0.0, np.cumsum(self.p))

    def total(self, t: float) -> float:
        """The sum of `truncated` at tilt t."""
        n, every = len(self.p), self.below[-1]
        if t > 1.0:
            most = min(max(1.0 / t, _TINY), 1.0 - _TINY)
            first = int(np.searchsorted(self.p, most))
            return float(self.below[first] + most * (n - first))
        if t < -1.0:
            least = min(max(1.0 + 1.0 / t, _TINY), 1.0 - _TINY)
            first = int(np.searchsorted(self.p, least))
            return float(least * first + every - self.below[first])
        return float(every)


def equal_rates(scores: Floats, own: Floats, most: float) -> float:
    """The λ with which both groups have the same mean of P; the difference falls in λ."""
    units = np.unique(own[own != 0.0])
    groups = [(unit, Clipped(scores[own == unit])) for unit in units.tolist()]

    def difference(lam: float) -> float:
        return float(sum(unit * group.total(lam * unit) for unit, group in groups))

    if len(np.unique(np.sign(own))) < 2 or abs(difference(0.0)) < _TINY * len(own):
        return 0.0
    return float(brentq(difference, -most, most, xtol=1e-12))
