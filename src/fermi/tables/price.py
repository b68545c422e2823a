"""What a model costs beside the plain one on the same rows: errors as pairs, and who gains or loses which decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fermi.inputs.coded_groups import CodedGroups
from fermi.records import Estimate, MoveRecord, PriceRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Z = 1.959964
_PEOPLE = 1000


def price(
    y: NDArray[Any],
    before: NDArray[Any],
    after: NDArray[Any],
    groups: Mapping[str, CodedGroups],
    favourable: Any,
    rows: str = "test",
) -> PriceRecord:
    """Compare two models' labels for the same rows.

    Both have met the same people, so that only rows which one of them gets right say anything: the interval is that of
    the difference of two shares of pairs, with half a row more in each of the two cells where they differ.

    Parameters
    ----------
    y, before, after : (n,) labels
        What is true, what the plain model says, and what the other one says.
    groups : dict of str to CodedGroups
        The groups, of all columns together or of each.
    favourable : label or None
        The label that people want, where that is known.
    rows : str
        What the rows are called.

    Returns
    -------
    PriceRecord
        The price.
    """
    n = len(y)
    worse = float(np.count_nonzero((before == y) & (after != y)))
    better = float(np.count_nonzero((before != y) & (after == y)))
    value = (worse - better) / n
    b, c, total = worse + 0.5, better + 0.5, n + 2.0
    centre, half = (b - c) / total, _Z * np.sqrt(b + c - (b - c) ** 2 / total) / total
    error = Estimate(value, float(min(centre - half, value)), float(max(centre + half, value)))
    changed = float(np.mean(before != after))
    if favourable is None:
        return PriceRecord(rows, error, changed)
    gain, lose = (before != favourable) & (after == favourable), (before == favourable) & (after != favourable)
    moves = [_moves("everybody", np.ones(n, dtype=bool), gain, lose)]
    for coded in groups.values():
        for code, label in enumerate(coded.labels):
            own = coded.codes == code
            if own.any():
                moves.append(_moves(str(label), own, gain, lose))
    return PriceRecord(rows, error, changed, str(favourable), tuple(moves))


def _moves(group: str, own: NDArray[np.bool_], gain: NDArray[np.bool_], lose: NDArray[np.bool_]) -> MoveRecord:
    n = int(own.sum())
    return MoveRecord(group, n, *(_PEOPLE * float(np.count_nonzero(which & own)) / n for which in (gain, lose)))
