"""How often labels that do not depend on the group would show as much ERMI as was seen."""

from __future__ import annotations

import numpy as np

from fermi._typing import Floats, Ints
from fermi.formulas.ermi import nonzero

_LARGEST = 10**9 - 1  # rows that numpy's hypergeometric distribution can take


def permutation_p_value(table: Floats, n_draws: int, seed: int) -> float | None:
    """The share of tables with the margins of a given one, condition by condition, whose ERMI is at least its own.

    Permuting the labels of rows within a condition leaves both margins as they are and makes all tables with these
    margins as likely as under independence; they are drawn one group at a time, from a hypergeometric distribution,
    without permuting a row. None where there are too many rows for that.
    """
    if table.sum(axis=(1, 2)).max() > _LARGEST:
        return None
    rng = np.random.default_rng(seed)
    seen, drawn = 0.0, np.zeros(n_draws)
    for counts in table.astype(np.int64):
        by_group, by_class = counts.sum(axis=1), counts.sum(axis=0)
        expected = by_group[:, None] * by_class / nonzero(counts.sum())
        # χ² of one condition over n: the sum over conditions is n · ERMI.
        seen += float((counts**2 / nonzero(expected)).sum())
        left = np.tile(by_class, (n_draws, 1))
        for group, size in enumerate(by_group):
            taken = _without_replacement(left, int(size), rng)
            left -= taken
            drawn += (taken**2 / nonzero(expected[group])).sum(axis=1)
    return (1 + int(np.count_nonzero(drawn >= seen * (1.0 - 1e-12)))) / (1 + n_draws)


def _without_replacement(left: Ints, size: int, rng: np.random.Generator) -> Ints:
    """How many of each class are among `size` rows taken from those left, one row per draw."""
    taken = np.zeros_like(left)
    wanted = np.full(len(left), size)
    others = left.sum(axis=1)
    for j in range(left.shape[1] - 1):
        others = others - left[:, j]
        taken[:, j] = rng.hypergeometric(left[:, j], others, wanted)
        wanted = wanted - taken[:, j]
    taken[:, -1] = wanted
    return taken
