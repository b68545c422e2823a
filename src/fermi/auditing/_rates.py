"""Single rates and their Wilson intervals, group by group."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.auditing._noise import Sums
from fermi.auditing._tally import N_BINS, Tally
from fermi.formulas import intervals
from fermi.inputs.groups import word_of
from fermi.records import CalibrationBin, Estimate, GroupRecord

SMALL = 30
"""Fewer rows than this are pointed out."""


def wilson(hits: Floats, totals: Floats, confidence: float, missing: str = "no rows") -> Estimate:
    """Estimate a rate with Wilson's interval, from Σw and Σw² of the rows that hit and of all rows.

    The interval is that of as many rows of equal weight as have the rate's variance, Σ w²(x − p)²/(Σw)²: (Σw)²/Σw² if
    weights have nothing to do with hits, and where the rate is 0 or 1.

    Examples
    --------
    >>> found = wilson(np.array([3.0, 3.0]), np.array([10.0, 10.0]), 0.95)
    >>> found.value, round(found.low, 4), round(found.high, 4)
    (0.3, 0.1078, 0.6032)
    """
    total, squares = totals.tolist()
    if not total > 0.0:
        return Estimate(math.nan, note=missing)
    p, of_hits = min(max(hits[0] / total, 0.0), 1.0), hits[1]  # sums of weights are rounded
    variance = ((1.0 - p) ** 2 * of_hits + p**2 * (squares - of_hits)) / total**2
    n = p * (1.0 - p) / variance if 0.0 < p < 1.0 and variance > 0.0 else total**2 / squares
    low, high = intervals.wilson(float(p), float(n), NormalDist().inv_cdf(0.5 + confidence / 2.0))
    return Estimate(float(p), low, high)


def withheld(group: str, classes: tuple[str, ...], least: int, *, labels: bool, soft: bool) -> GroupRecord:
    """The record of a group whose figures are withheld: only its name is told."""
    none = Estimate(math.nan, note="withheld")
    asked = dict.fromkeys(_told(classes), none) if labels else {}
    return GroupRecord(
        group,
        rows=math.nan,
        rates=dict.fromkeys(classes, none),
        error=none if labels else None,
        tpr=asked,
        fpr=dict(asked),
        note=f"withheld: fewer than {least} rows",
        soft_rates=dict.fromkeys(classes, none) if soft else {},
        precision=dict(asked),
        auc=dict(asked) if soft else {},
    )


def _told(classes: tuple[str, ...]) -> tuple[str, ...]:
    """The classes whose true and false positive rates are told: of two only the last, from which the other follows."""
    return classes[1:] if len(classes) == 2 else classes


def words(classes: tuple[object, ...]) -> tuple[str, ...]:
    """Classes as text, kept apart where two read the same, as 1 and "1" do."""
    plain = [word_of(label) for label in classes]
    return tuple(word if plain.count(word) == 1 else repr(label) for word, label in zip(plain, classes, strict=True))


def group_records(tally: Tally, confidence: float) -> tuple[GroupRecord, ...]:
    """The record of every group, with its rates and their intervals."""
    labelled = None
    if tally.label_of is not None:
        labelled = np.stack([tally.labelled(part) for part in (tally.rows, tally.hard, tally.hard_squares)])
    return tuple(
        _group(tally, s, None if labelled is None else labelled[:, :, s], confidence) for s in range(len(tally.groups))
    )


def _group(tally: Tally, s: int, labelled: Floats | None, confidence: float) -> GroupRecord:
    classes = words(tally.classes)
    sums = np.stack([tally.hard[:, s], tally.hard_squares[:, s]])  # of weights and of their squares
    total = sums.sum(axis=(1, 2))
    rows = float(tally.rows[:, s].sum())
    rates = {c: wilson(sums[:, :, j].sum(axis=1), total, confidence) for j, c in enumerate(classes)}
    notes = [f"fewer than {SMALL} rows"] if rows < SMALL else []
    soft = {} if tally.soft is None else _soft_rates(tally, s, classes, confidence)
    if labelled is None:
        return GroupRecord(tally.groups[s], rows, rates, note="; ".join(notes), soft_rates=soft)
    table = labelled[1:]
    notes += _few(labelled[0].sum(axis=1), classes, rows)
    positive, negative, precise = {}, {}, {}
    for c in _told(classes):
        j = classes.index(c)
        precise[c] = wilson(table[:, j, j], table[:, :, j].sum(axis=1), confidence, f"no row is predicted to be {c}")
        own, rest = table[:, j], np.delete(table, j, axis=1)
        positive[c] = wilson(own[:, j], own.sum(axis=1), confidence, f"no row is {c}")
        negative[c] = wilson(rest[:, :, j].sum(axis=1), rest.sum(axis=(1, 2)), confidence, f"every row is {c}")
    error = wilson(total - np.trace(table, axis1=1, axis2=2), total, confidence)
    bins = () if tally.bins is None else _calibration(tally.bins[s], classes, confidence)
    return GroupRecord(
        tally.groups[s],
        rows,
        rates,
        error=error,
        tpr=positive,
        fpr=negative,
        confusion=tuple(tuple(row) for row in table[0].tolist()),
        calibration=bins,
        note="; ".join(notes),
        soft_rates=soft,
        calibration_error=None if tally.bins is None else _calibration_error(tally.bins[s]),
        precision=precise,
        **_ranks(tally, s, classes, confidence),
    )


def _ranks(tally: Tally, s: int, classes: tuple[str, ...], confidence: float) -> dict[str, Any]:
    """How well the probabilities rank the rows of a group, class by class; nothing where that is not known."""
    if tally.ranks is None:
        return {}
    parts = dict(zip(_told(classes), tally.ranks.by_group[s], strict=True))
    areas = {c: part.area(confidence, f"no row is {c}, or every row is") for c, part in parts.items()}
    return {"auc": areas, "roc": {c: part.curve() for c, part in parts.items()}}


def _few(counts: Floats, classes: tuple[str, ...], rows: float) -> list[str]:
    """Say which true classes have no row, or few, in a group."""
    notes = [f"no row is {c}" for c, n in zip(classes, counts, strict=True) if n == 0]
    few = [f"{n:.0f} {c}" for c, n in zip(classes, counts, strict=True) if 0 < n < SMALL <= rows]
    return notes + ([f"few rows of a true class: {', '.join(few)}"] if few else [])


def _soft_rates(tally: Tally, s: int, classes: tuple[str, ...], confidence: float) -> dict[str, Estimate]:
    """The mean probabilities of a group, with normal intervals from their variance."""
    assert tally.soft is not None
    assert tally.soft_squares is not None
    sums = Sums(tally.soft[:, s].sum(axis=0)[None, None], tally.soft_squares[:, s].sum(axis=0)[None, None], soft=True)
    half = NormalDist().inv_cdf(0.5 + confidence / 2.0) * np.sqrt(sums.variance[0, 0])
    if sums.effective[0, 0] < 2.0:
        half = np.full(len(classes), math.nan)
    ends = (np.clip(sums.rates[0, 0] + sign * half, 0.0, 1.0).tolist() for sign in (-1.0, 1.0))
    return {c: Estimate(*found) for c, *found in zip(classes, sums.rates[0, 0].tolist(), *ends, strict=True)}


def _calibration(bins: Floats, classes: tuple[str, ...], confidence: float) -> tuple[CalibrationBin, ...]:
    """The calibration bins that hold rows: ten of equal width, the same for all groups, to be compared."""
    return tuple(
        CalibrationBin(c, float(cell[0]), float(cell[2] / cell[1]), wilson(cell[[3, 5]], cell[[1, 4]], confidence))
        for c, of_class in zip(_told(classes), bins, strict=True)
        for cell in (of_class[b] for b in range(N_BINS))
        if cell[1] > 0.0
    )


def _calibration_error(bins: Floats) -> float:
    """The calibration error: the mean over rows and classes of |observed − predicted| in the bin of a row."""
    return float(np.abs(bins[..., 2] - bins[..., 3]).sum() / bins[..., 1].sum())
