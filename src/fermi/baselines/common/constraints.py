"""What the methods that fairlearn implements have in common."""

from __future__ import annotations

import numpy as np

from fermi.baselines.common.protocol import Rows
from fermi.errors import bad_argument


def constraint(rows: Rows) -> str:
    """Fairlearn's name for the notion of these rows, read off their conditions: any class may be advantaged."""
    if (rows.z >= 0).all():
        return "demographic_parity" if rows.n_conditions == 1 else "equalized_odds"
    return "true_positive_rate_parity" if rows.y[rows.z >= 0].any() else "false_positive_rate_parity"


def refuse_uniform_groups(rows: Rows, labels: tuple[str, ...]) -> None:
    """Refuse a group that has one class only: its rates given the other class are undefined."""
    counts = np.zeros((rows.n_groups, rows.n_classes))
    np.add.at(counts, (rows.s, rows.y), 1.0)
    uniform = np.flatnonzero((counts == 0).any(axis=1))
    if len(uniform):
        found = f"holds the group {labels[uniform[0]]!r} with one class only"
        raise bad_argument("sensitive_features", found, "rows of both classes in every group")
