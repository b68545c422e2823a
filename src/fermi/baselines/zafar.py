"""Decision-boundary covariance (Zafar, Valera, Gomez Rodriguez and Gummadi 2017): logistic regression under bounds.

The covariance between belonging to a group and the score θ·x is linear in θ. Training minimises the log-loss while its
size is at most c for each group; one whose covariance is a sum of others' has the bound that theirs imply. c falls from
that of plain logistic regression to 0 by the factor 1 − `strength`. For equal opportunity and equalized odds the
covariance is taken within the advantaged class or within each class. The paper bounds there the covariance with min(0,
y θ·x), the score of misclassified rows alone, by convex-concave programming; we keep the linear score, so that the
problem stays convex.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import L2, LinearModel, binary_model, group_deviations, plain_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows


class Zafar(Baseline):
    """Logistic regression with bounded covariances between score and groups.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(nonbinary_attribute=True)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        plain = plain_regression(rows)
        A = covariances(rows)
        bounds = (1.0 - strength) * np.abs(A @ plain.coef_[0])
        self.model_ = bounded_logistic(rows.X, rows.y, A, bounds, plain.coef_[0], float(plain.intercept_[0]))

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return self.model_.proba(X)


def covariances(rows: Rows) -> Floats:
    """The covariance of each group's indicator with each feature, one row per condition and group."""
    shares, deviations = group_deviations(rows)
    return (shares[..., None] * deviations).reshape(-1, deviations.shape[-1])


def bounded_logistic(X: Any, y: Ints, A: Floats, bounds: Floats, start: Floats, intercept: float) -> LinearModel:
    """Minimise mean log-loss + ½ L2 ‖θ‖² over θ and an intercept, subject to |A θ| ≤ bounds."""
    basis, bounds = coordinates(A, bounds)
    r, n = len(bounds), len(y)
    Z, gram = np.asarray(X @ basis), basis.T @ basis
    first = np.append(np.linalg.solve(basis, start), intercept)
    first[:r] = np.clip(first[:r], -bounds, bounds)

    def value_and_gradient(v: Floats) -> tuple[float, Floats]:
        scores = Z @ v[:-1] + v[-1]
        slope = (expit(scores) - y) / n
        ridge = L2 * (gram @ v[:-1])
        loss = float(np.mean(np.logaddexp(0.0, scores) - y * scores)) + 0.5 * float(v[:-1] @ ridge)
        return loss, np.append(Z.T @ slope + ridge, slope.sum())

    box = [*zip(-bounds, bounds, strict=True), *[(None, None)] * (len(first) - r)]
    found = minimize(
        value_and_gradient,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=box,
        options={"maxiter": 2000, "maxfun": 20000, "ftol": 1e-12, "gtol": 1e-7},
    )
    return binary_model(basis @ found.x[:-1], float(found.x[-1]))


def coordinates(A: Floats, bounds: Floats) -> tuple[Floats, Floats]:
    """A basis in which the first coordinates of θ are the rows of A θ, scaled, with their bounds.

    Bounds on coordinates are simple to keep. Rows of A that depend on others, such as the last group's, are left out.
    """
    size = np.linalg.norm(A, axis=1)
    kept = size > 1e-12 * max(size.max(), 1e-300)
    A, bounds = A[kept] / size[kept, None], bounds[kept] / size[kept]
    Q, R, order = qr(A.T, pivoting=True)
    r = int((np.abs(np.diag(R)) > 1e-9).sum())
    within = solve_triangular(R[:r, :r], Q[:, :r].T).T
    return np.hstack([within, Q[:, r:]]), bounds[order[:r]]
