"""What can be told of groups that have enough rows: their gap, the rates behind it, and the four-fifths ratio."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.auditing._intervals import Intervals
from fermi.auditing._noise import Sums
from fermi.auditing._rates import SMALL, wilson, words
from fermi.auditing._reading import tally
from fermi.auditing._tally import Tally
from fermi.errors import bad_argument, listed
from fermi.formulas.stacked import NAMES, measures
from fermi.notions import Notion, as_notion
from fermi.records import ConditionRecord, Estimate, JudgedRecord, RateRecord

_DRAWS = 1000
_SEED = 0
_MOST_CONDITIONS = 50
_GAP, _RATIO = NAMES.index("parity_difference"), NAMES.index("parity_ratio")


def judged(
    y_true: Any,
    labels: Any,
    *,
    sensitive_features: Any,
    notion: str | Notion = "demographic_parity",
    classes: Sequence[Any] | None = None,
    favourable: Any = None,
    confidence: float = 0.95,
    least: int = SMALL,
    gap: Estimate | None = None,
) -> JudgedRecord:
    """Judge the groups that have at least `least` rows within a condition, and name the others.

    The largest difference between any two groups is easily that of a group with a handful of rows, which says nothing.

    Parameters
    ----------
    y_true, labels, sensitive_features, notion, classes, confidence
        As in `audit`.
    favourable : label, optional
        The class whose ratio the four-fifths rule is about.
    least : int
        How many rows are enough.
    gap : Estimate, optional
        The parity difference of all groups, if it is known: it need not be estimated again where all have enough rows.

    Returns
    -------
    JudgedRecord
        NaN for a gap where no two groups have enough rows.
    """
    counted = tally(y_true, labels, sensitive_features, as_notion(notion), classes, None)
    return judge_tally(counted, favourable=favourable, confidence=confidence, least=least, gap=gap)


def judge_tally(
    counted: Tally,
    *,
    favourable: Any,
    confidence: float,
    least: int = SMALL,
    gap: Estimate | None = None,
    each: bool = False,
) -> JudgedRecord:
    """Judge what was counted, as `judged` does; with `each`, every condition by itself as well."""
    rows = counted.conditioned(counted.rows).sum(axis=2)
    enough = rows >= least
    sums = Sums(
        counted.conditioned(counted.hard) * enough[..., None],
        counted.conditioned(counted.hard_squares) * enough[..., None],
        soft=False,
    )
    outcome = None
    if favourable is not None:
        if favourable not in counted.classes:
            raise bad_argument("favourable", f"is {favourable!r}", f"one of {listed(counted.classes)}")
        outcome = counted.classes.index(favourable)
    names = words(counted.classes)
    told = bool((enough.sum(axis=1) > 1).any())
    few = tuple(_few(counted, rows, least))
    known = gap if gap is not None and not few and not math.isnan(gap.low) else None
    return JudgedRecord(
        least=least,
        rows=float(rows[enough].sum()),
        gap=known or (_estimate(sums, _GAP, confidence) if told else _nothing(least)),
        behind=_behind(counted, sums, outcome, confidence) if told else None,
        favourable=None if outcome is None else names[outcome],
        ratio=None if outcome is None else _estimate(sums, _RATIO, confidence, outcome) if told else _nothing(least),
        few=few,
        within=tuple(_within(counted, sums, outcome, confidence, least)) if each and len(enough) > 1 else (),
    )


def _within(
    counted: Tally, sums: Sums, outcome: int | None, confidence: float, least: int
) -> Iterator[ConditionRecord]:
    """The gap within each condition, in their order; of very many only those with the most rows."""
    names = words(tuple(counted.conditions))
    shown = np.sort(np.argsort(-sums.weight.sum(axis=1), kind="stable")[:_MOST_CONDITIONS])
    for z in shown.tolist():
        here = np.arange(len(names)) == z
        own = Sums(sums.table * here[:, None, None], sums.squares * here[:, None, None], soft=False)
        told = bool((own.weight[z] > 0).sum() > 1)
        found = _estimate(own, _GAP, confidence) if told else _nothing(least)
        behind = _behind(counted, own, outcome, confidence) if told else None
        yield ConditionRecord(names[z], float(own.weight[z].sum()), found, behind)


def _nothing(least: int) -> Estimate:
    return Estimate(math.nan, note=f"no two groups with {least} rows to compare")


def _estimate(sums: Sums, which: int, confidence: float, outcome: int | None = None) -> Estimate:
    """A measure of the table with its interval, also where every prediction is the same."""
    if which == _RATIO and not sums.table[..., outcome].any():
        return Estimate(math.nan, note="nobody is given the label")
    value = float(measures(sums.table, outcome)[which])
    several = (sums.weight > 0).sum(axis=1) > 1
    varied = ((sums.table.sum(axis=1) > 0).sum(axis=1)[several] > 1).any()
    if varied:
        found = Intervals(sums, confidence, _DRAWS, _SEED, outcome)
        return Estimate(value, float(found.low[which]), float(found.high[which]))
    # No gap was seen, and the label that nobody got may still be given to as many as Wilson's interval allows.
    n = sums.weight[sums.weight > 0]
    most = max(wilson(np.zeros(2), np.array([rows, rows]), confidence).high for rows in n.tolist())
    if which == _GAP:
        return Estimate(value, 0.0, most)
    return Estimate(value, 1.0 - most, 1.0)


def _behind(counted: Tally, sums: Sums, outcome: int | None, confidence: float) -> RateRecord | None:
    """The class, the condition and the two groups whose rates lie farthest apart; None where none do."""
    here = (sums.weight > 0)[..., None] & np.ones_like(sums.rates, dtype=bool)
    high = np.max(sums.rates, axis=1, initial=0.0, where=here)
    low = np.min(sums.rates, axis=1, initial=1.0, where=here)
    spread = np.where((sums.weight > 0).sum(axis=1)[:, None] > 1, high - low, -1.0)
    if len(counted.classes) == 2:  # both classes tell the same: the one that people ask for
        spread = spread[:, [1 if outcome is None else outcome]]
    if spread.max() <= 0.0:
        return None
    z, c = np.unravel_index(int(spread.argmax()), spread.shape)
    if len(counted.classes) == 2:
        c = np.intp(1 if outcome is None else outcome)
    rates = np.where(sums.weight[z] > 0, sums.rates[z, :, c], np.nan)
    a, b = int(np.nanargmax(rates)), int(np.nanargmin(rates))
    names, kind, condition = words(counted.classes), "rate", ""
    if counted.notion.needs_target:
        true = counted.conditions[z]
        condition = words((true,))[0]
        kind = "true positive rate" if true == counted.classes[c] else "rate"
        if kind == "rate" and len(counted.classes) == 2:
            kind = "false positive rate"
    elif len(counted.conditions) > 1:
        condition = words((counted.conditions[z],))[0]

    def rate(s: int) -> Estimate:
        hits = np.array([sums.table[z, s, c], sums.squares[z, s, c]])
        return wilson(hits, np.array([sums.weight[z, s], sums.squares[z, s].sum()]), confidence)

    shown = (counted.groups[a], rate(a), counted.groups[b], rate(b), float(sums.weight[z, a]), float(sums.weight[z, b]))
    return RateRecord(kind, names[int(c)], condition, *shown)


def _few(counted: Tally, rows: Floats, least: int) -> list[str]:
    """The groups with too few rows, with how many they have, and under which condition where that matters."""
    conditions = words(tuple(counted.conditions))
    several = counted.notion.needs_target or len(conditions) > 1
    found = []
    for s, group in enumerate(counted.groups):
        if (rows[:, s] < least).all():
            found.append(f"{group} ({rows[:, s].sum():,.0f})")
        elif several:
            found += [
                f"{group} of “{conditions[z]}” ({rows[z, s]:,.0f})" for z in np.flatnonzero(rows[:, s] < least).tolist()
            ]
    return found
