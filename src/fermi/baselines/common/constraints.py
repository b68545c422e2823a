"""What the methods that fairlearn implements have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fermi.baselines.common.protocol import Rows
from fermi.errors import bad_argument


class Constraint(NamedTuple):
    """One of fairlearn's constraints: what its post-processing calls it, and the class of its reductions."""

    name: str
    moment: str


def constraint(rows: Rows) -> Constraint:
    """The constraint that compares groups where these rows have conditions: any class may be the advantaged one."""
    if (rows.z >= 0).all():
        if rows.n_conditions == 1:
            return Constraint("demographic_parity", "DemographicParity")
        return Constraint("equalized_odds", "EqualizedOdds")
    if rows.y[rows.z >= 0].any():
        return Constraint("true_positive_rate_parity", "TruePositiveRateParity")
    return Constraint("false_positive_rate_parity", "FalsePositiveRateParity")


def refuse_uniform_groups(rows: Rows, labels: tuple[str, ...]) -> None:
    """Refuse a group that has one class only: its rates given the other class are undefined."""
    counts = np.zeros((rows.n_groups, rows.n_classes))
    np.add.at(counts, (rows.s, rows.y), 1.0)
    uniform = np.flatnonzero((counts == 0).any(axis=1))
    if len(uniform):
        found = f"holds the group {labels[uniform[0]]!r} with one class only"
        raise bad_argument("sensitive_features", found, "rows of both classes in every group")
