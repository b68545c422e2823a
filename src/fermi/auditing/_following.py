"""Decisions followed over periods: the gap of each, and whether it moved since a reference by more than noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.auditing._merging import placed
from fermi.auditing._noise import Sums
from fermi.auditing._rates import SMALL, words
from fermi.auditing._records import PeriodRecord
from fermi.auditing._running import RunningAudit
from fermi.auditing._tally import Tally
from fermi.errors import FermiError
from fermi.formulas.ermi import nonzero
from fermi.formulas.stacked import NAMES, measures

_GAP = NAMES.index("parity_difference")
_DRAWS = 1000


def follow(
    periods: Mapping[str, RunningAudit],
    *,
    reference: RunningAudit | None = None,
    favourable: Any = None,
    confidence: float = 0.95,
    random_state: int = 0,
) -> tuple[PeriodRecord, ...]:
    """Follow the gap between groups over periods, and say where it moved beyond noise.

    A period is compared with the reference or, without one, with all periods before it. What is tested is that nothing
    has changed, every group's rates being those of both together; the gap of tables drawn so tells by how much it moves
    by chance, the bias of few rows included. The level is divided by the number of comparisons, so that the chance of
    any false note in the whole table is at most 1 − `confidence`, roughly.

    Parameters
    ----------
    periods : dict of str to RunningAudit
        The rows of each period, in their order.
    reference : RunningAudit, optional
        The rows that every period is compared with.
    favourable : label, optional
        The class whose rates are told.
    confidence : float
        Of the intervals, and of the notes all together.
    random_state : int
        The seed of the draws.

    Returns
    -------
    tuple of PeriodRecord
        One per period.
    """
    if not periods:
        raise FermiError("There are no periods to follow.")
    first = next(iter(periods.values()))
    nothing = RunningAudit(first.notion, classes=first.classes)
    whole = sum(periods.values(), nothing if reference is None else reference)
    layout = whole.counted()
    compared = len(periods) - (reference is None)
    level = (1.0 - confidence) / max(2 * compared, 1)  # two tests of each
    found, before = [], None if reference is None else placed(reference.counted(), layout)
    for k, (name, running) in enumerate(periods.items()):
        now = placed(running.counted(), layout)
        audited = running.audit(confidence=confidence, random_state=random_state).judged(favourable).record
        told = audited.judged
        assert told is not None
        record = PeriodRecord(name, audited.rows, told.gap, told.behind, audited.error)
        if before is not None:
            record = _moved(record, layout, before, now, favourable, level, random_state + k)
        found.append(record)
        if reference is None:
            before = now if before is None else [a + b for a, b in zip(before, now, strict=True)]
    return tuple(found)


def _moved(
    record: PeriodRecord, layout: Tally, before: Sequence[Floats], now: Sequence[Floats], favourable: Any, level: float,
    seed: int,
) -> PeriodRecord:  # fmt: skip
    """A period with what has moved: the gap, and the rates of single groups."""
    old, new = (_Part.of(layout, tables) for tables in (before, now))
    enough = (old.rows >= SMALL) & (new.rows >= SMALL)
    if not enough.any():
        return record
    outcome = layout.classes.index(favourable) if favourable in layout.classes else None
    gap_p, change = _gap_test(old.kept(enough), new.kept(enough), seed)
    rate_p, told = _rate_test(layout, old.kept(enough), new.kept(enough), outcome)
    moves = []
    if gap_p is not None and gap_p < level:
        moves.append(f"the gap moved by {change:+.3f}")
    if rate_p < level:
        moves.append(told)
    return PeriodRecord(
        record.period, record.rows, record.gap, record.behind, record.error, tuple(moves), gap_p, min(rate_p, 1.0)
    )


class _Part:
    """Some rows: how many there are of each group under each condition, and their sums."""

    def __init__(self, rows: Floats, sums: Sums) -> None:
        self.rows, self.sums = rows, sums

    @classmethod
    def of(cls, layout: Tally, tables: Sequence[Floats]) -> _Part:
        rows, hard, squares = (layout.conditioned(table) for table in tables)
        return cls(rows.sum(axis=2), Sums(hard, squares, soft=False))

    def kept(self, enough: Any) -> Sums:
        return Sums(self.sums.table * enough[..., None], self.sums.squares * enough[..., None], soft=False)


def _gap_test(old: Sums, new: Sums, seed: int) -> tuple[float | None, float]:
    """The p-value of the gap having stayed, and by how much it moved; None where no two groups can be compared."""
    if not ((new.weight > 0).sum(axis=1) > 1).any():
        return None, math.nan
    pooled = (old.table + new.table) / nonzero(old.weight + new.weight)[..., None]
    rng = np.random.default_rng(seed)
    drawn = [measures(side.draw(pooled, _DRAWS, rng))[_GAP] for side in (old, new)]
    chance = drawn[1] - drawn[0]
    change = float(measures(new.table)[_GAP] - measures(old.table)[_GAP])
    spread = float(chance.std())
    if spread <= 0.0:
        return 1.0, change
    return 2.0 * NormalDist().cdf(-abs(change - float(chance.mean())) / spread), change


def _rate_test(layout: Tally, old: Sums, new: Sums, outcome: int | None) -> tuple[float, str]:
    """The p-value of no group's rate having moved, and the rate that moved farthest in its own noise."""
    pooled = (old.table + new.table) / nonzero(old.weight + new.weight)[..., None]
    here = (old.weight > 0) & (new.weight > 0)
    rows = 1.0 / nonzero(old.effective) + 1.0 / nonzero(new.effective)
    spread = np.sqrt(pooled * (1.0 - pooled) * rows[..., None])
    z = np.divide(new.rates - old.rates, spread, out=np.zeros_like(spread), where=(spread > 0) & here[..., None])
    if len(layout.classes) == 2:
        outcome = 1 if outcome is None else outcome
        z[..., 1 - outcome] = 0.0  # it tells the same
    tests = int(here.sum()) * (1 if len(layout.classes) == 2 else len(layout.classes))
    c, s, j = np.unravel_index(int(np.abs(z).argmax()), z.shape)
    p = min(2.0 * NormalDist().cdf(-abs(float(z[c, s, j]))) * tests, 1.0)
    where = f", of “{words((layout.conditions[c],))[0]}”," if len(layout.conditions) > 1 else ""
    before, then = (100 * float(side.rates[c, s, j]) for side in (old, new))
    told = f"“{words(layout.classes)[j]}” is given to {then:.1f}% of {layout.groups[s]}{where} after {before:.1f}%"
    return p, told
