"""What each condition counts in the fairness term: Σ_z w_z p(z) D_R(z) / Σ_z w_z p(z)."""

from __future__ import annotations

from typing import Any

from fermi.formulas.ermi import nonzero


def balanced(p_z: Any) -> Any:
    """Weights that make all conditions count alike, 1 / p(z), and 0 where no row is: the term is then the mean D_R."""
    return (p_z > 0) / nonzero(p_z)


def mean_one(weights: Any, p_z: Any) -> Any:
    """Weights of conditions over their mean Σ w_z p(z) / Σ p(z), so that λ times an even D_R stays what it was.

    `p_z` need not sum to one: the weights of the rows in each condition will do. Weights are divided by the largest
    first, since w_z p(z) may be too large to be represented.
    """
    scaled = weights / nonzero((weights * (p_z > 0)).max())
    return scaled * (p_z.sum() / nonzero((scaled * p_z).sum()))
