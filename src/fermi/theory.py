"""The constants of the paper's convergence theorem for a data set and a linear model, as published and as corrected.

`docs/theory.md` states the theorem and derives the corrections; the formulas are in `formulas/theory.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fermi.fitting.problem import Source, read_problem
from fermi.formulas.theory import Constants
from fermi.inputs.features import read_matrix, read_target
from fermi.linear.constants import Theory, of_problem
from fermi.linear.design import Design
from fermi.notions import Notion, as_notion

__all__ = ["Constants", "Theory", "constants"]


def constants(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    fairness: str | Notion = "demographic_parity",
    lam: float = 1.0,
    batch_size: int = 1,
    epsilon: float = 0.1,
    theta_radius: float | None = None,
    probabilities: Any = None,
    l2: float = 1e-4,
    sample_weight: Any = None,
) -> Theory:
    """The constants of the convergence theorem for a multinomial logistic model on standardised features.

    Parameters
    ----------
    X : (n, d) array, DataFrame or sparse matrix
        Numeric features.
    y : (n,) labels
        The classes.
    sensitive_features : array, Series, DataFrame or dict of columns
        Several columns mean the combinations that occur; rows with a missing entry count in the loss alone.
    fairness : str or Notion
        What must be independent of the group.
    lam : float
        λ, greater than zero: without it there is no W.
    batch_size : int
        The batch size that `floor` is about. The one the theorem asks for is in the result.
    epsilon : float
        The accuracy: E‖∇Φ‖ ≤ epsilon.
    theta_radius : float, optional
        Bound p_ŷ^min from below for all θ (standardised) of at most this norm. A guarantee, but an absurdly small
        number unless the radius is small.
    probabilities : (n, m) array, optional
        Measure p_ŷ^min at these predictions. By default it is the lesser of two logistic models fitted here, with λ = 0
        and with `lam`.
    l2 : float
        Penalty on the weights, ½ l2 ‖weights‖² in the units of X.
    sample_weight : (n,) numbers, optional
        Weights of the rows.

    Returns
    -------
    Theory
        The constants as published and as corrected, and what they assume.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, y, s = rng.standard_normal((300, 2)), rng.integers(0, 2, 300), rng.integers(0, 3, 300)
    >>> t = constants(X, y, sensitive_features=s, lam=0.5)
    >>> t.corrected.radius < t.published.radius, t.corrected.beta < t.published.beta
    (True, True)
    >>> bool(np.isclose(t.corrected.eta_w, 1 / t.corrected.beta))
    True
    """
    matrix, labels = read_matrix(X), np.asarray(y)
    target, classes = read_target(labels)
    source = Source(X, y, sensitive_features, sample_weight)
    notion = as_notion(fairness, "fairness")
    problem = read_problem(source, matrix, labels, target, classes.tolist(), None, notion, "intersection")
    design = Design.of(matrix, problem.loss_weight, intercept=True, n_classes=problem.n_classes, l2=l2)
    return of_problem(
        design,
        problem.objective(lam),
        theta_radius=theta_radius,
        batch=batch_size,
        epsilon=epsilon,
        l2=l2,
        probabilities=None if probabilities is None else np.asarray(probabilities, dtype=np.float64),
    )
