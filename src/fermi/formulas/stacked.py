"""The measures of many tables at once, for tables drawn in simulation.

These spend no care on cells too rare to be represented, which a simulation never draws. A test holds them to
`fermi.measures`, one table at a time.
"""

from __future__ import annotations

import numpy as np

from fermi._typing import Floats
from fermi.formulas.ermi import nonzero

NAMES = (
    "ermi",
    "mutual_information",
    "renyi_mutual_information",
    "renyi_correlation",
    "pearson_correlation",
    "lq_violation(q=1)",
    "lq_violation(q=2)",
    "linf_violation",
    "parity_difference",
    "parity_ratio",
)


def measures(tables: Floats, outcome: int | None = None) -> Floats:
    """Every measure, in the order of `NAMES`, of tables (…, conditions × groups × classes): one row per measure.

    With an `outcome`, the number of a class, parity difference and ratio are about that class alone.
    """
    outer, shape = tables.shape[:-3], tables.shape[-3:]
    # Conditions × groups × classes × tables: sums over short axes are fast where the last one is long.
    T = np.ascontiguousarray(tables.reshape(-1, *shape).transpose(1, 2, 3, 0))
    by_condition = T.sum(axis=(1, 2))
    p_z = by_condition / nonzero(by_condition.sum(axis=0))
    P = T / nonzero(by_condition)[:, None, None]
    p_s, p_y = P.sum(axis=2, keepdims=True), P.sum(axis=1, keepdims=True)
    independent, rates = p_s * p_y, P / nonzero(p_s)
    E = P - independent
    ermi_z = (E / nonzero(p_s) * (E / nonzero(p_y))).sum(axis=(1, 2))
    ermi = (p_z * ermi_z).sum(axis=0)
    here, counted = p_s > 0, by_condition > 0
    low = np.minimum(np.where(here, rates, 1.0).min(axis=1), 1.0)
    high = np.where(here, rates, 0.0).max(axis=1)
    of = slice(None) if outcome is None else slice(outcome, outcome + 1)
    ratios = np.divide(low, high, out=np.ones_like(high), where=high > 0)[:, of].min(axis=1)
    away = np.where(here, np.abs(rates - p_y), 0.0).max(axis=(1, 2))
    found = [
        ermi,
        (p_z * _information(P, independent, E)).sum(axis=0),
        np.log1p(ermi),
        (p_z * _renyi(E, p_s, p_y, ermi_z)).sum(axis=0),
        (p_z * _pearson(E, p_s[:, :, 0], p_y[:, 0])).sum(axis=0),
        (p_z * np.abs(E).sum(axis=(1, 2))).sum(axis=0),
        (p_z * np.sqrt((E * E).sum(axis=(1, 2)))).sum(axis=0),
        (p_z * away).sum(axis=0),
        np.where(counted, (high - low)[:, of].max(axis=1), 0.0).max(axis=0),
        np.where(counted, ratios, 1.0).min(axis=0),
    ]
    return np.stack(found).reshape(len(NAMES), *outer)


def ermi_bias(weight: Floats, pooled: Floats, variance: Floats) -> float:
    """How much too large the plug-in ERMI is on average: Σ p(z) p(s|z)(1 − p(s|z)) Var p̂(ŷ|s, z) / p(ŷ|z).

    Of the weight of each group under each condition, p(ŷ|z), and the variance of each rate. From E[(r̂_s − Σ p_s r̂_s)²]
    with independent rates. Under independence and equal weights this is (k − 1)(m − 1)/n per condition, and it holds
    away from independence as well.
    """
    by_condition = weight.sum(axis=1, keepdims=True)
    p_s = weight / nonzero(by_condition)
    terms = (p_s * (1.0 - p_s))[..., None] * variance / nonzero(pooled)
    return float((by_condition[:, 0] * terms.sum(axis=(1, 2))).sum() / nonzero(by_condition.sum()))


def _information(P: Floats, independent: Floats, E: Floats) -> Floats:
    """Shannon's mutual information Σ P log(P/(p_s p_y)) of each law, conditions × tables."""
    ratio = np.divide(P, independent, out=np.ones_like(P), where=P > 0)
    terms: Floats = P * np.log(ratio) - E  # the excess sums to nothing, and with it no term is negative
    found: Floats = np.maximum(terms.sum(axis=(1, 2)), 0.0)
    return found


def _renyi(E: Floats, p_s: Floats, p_y: Floats, ermi_z: Floats) -> Floats:
    """The Rényi correlation of each law: the largest singular value of the centred matrix.

    With two groups or two classes there is only one.
    """
    k, m = E.shape[1:3]
    if min(k, m) <= 2:
        return np.sqrt(ermi_z)
    M = np.moveaxis(E / np.sqrt(nonzero(p_s)) / np.sqrt(nonzero(p_y)), -1, 1)
    square = M @ np.swapaxes(M, -1, -2) if k < m else np.swapaxes(M, -1, -2) @ M
    largest: Floats = np.linalg.eigvalsh(square)[..., -1]
    return np.sqrt(np.maximum(largest, 0.0))


def _pearson(E: Floats, p_s: Floats, p_y: Floats) -> Floats:
    """Pearson's correlation of the numbers of group and class in each law; 0 where either is constant."""
    s, y = np.arange(p_s.shape[1])[:, None], np.arange(p_y.shape[1])[:, None]
    covariance = (E * (s * y.T)[:, :, None]).sum(axis=(1, 2))
    spread_s = (p_s * s**2).sum(axis=1) - (p_s * s).sum(axis=1) ** 2
    variance = spread_s * ((p_y * y**2).sum(axis=1) - (p_y * y).sum(axis=1) ** 2)
    found: Floats = np.divide(
        covariance, np.sqrt(np.maximum(variance, 0.0)), out=np.zeros_like(variance), where=variance > 1e-15
    )
    return found
