"""Fair empirical risk minimisation for linear models (Donini, Oneto, Ben-David, Shawe-Taylor and Pontil 2018).

The groups' mean scores within the advantaged class coincide when θ is orthogonal to u, the difference of their mean
features; so u is projected out of the features before training. Equalized odds projects out the differences within
each class, demographic parity those of all rows, and several groups all their differences. The paper bounds |θ·u| by ε
and takes ε = 0, which is strength 1. Removing a part of u from the features would change nothing, since training scales
the rest up again: between 0 and 1 we go straight from the plain θ to the fair one, and |θ·u| falls by 1 − `strength`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import orth

from fermi._typing import Floats, Ints
from fermi.baselines.common.linear_models import binary_model, group_deviations, logistic_regression, plain_regression
from fermi.baselines.common.protocol import Baseline, Capabilities, Rows
from fermi.baselines.common.several import once


class Donini(Baseline):
    """Logistic regression orthogonal to the differences of the groups' means.

    Parameters
    ----------
    strength, notion, random_state
        As in `Baseline`.
    """

    capabilities = Capabilities(nonbinary_attribute=True, beyond_logistic=True)

    def _fit(self, rows: Rows, strength: float, rng: np.random.Generator) -> None:
        deviations = group_deviations(rows)[1]
        U = orth(deviations.reshape(-1, deviations.shape[-1]).T, rcond=1e-9)
        plain, projected = plain_regression(rows), np.asarray(rows.X - (rows.X @ U) @ U.T)
        fair = once(rows, "orthogonal", lambda: logistic_regression(len(rows.y)).fit(projected, rows.y))
        theta = fair.coef_[0] - U @ (U.T @ fair.coef_[0])
        self.model_ = binary_model(
            (1.0 - strength) * plain.coef_[0] + strength * theta,
            float((1.0 - strength) * plain.intercept_[0] + strength * fair.intercept_[0]),
        )

    def _proba(self, X: Any, s: Ints | None) -> Floats:
        return self.model_.proba(X)
