"""Whether a request was met on rows that had no part in the choice: met, missed, or not to be told with these rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from fermi.records import AuditRecord, BoundRecord, Estimate, GroupRecord, JudgedRecord, Outcome, VerdictRecord
from fermi.tables.asked import Asked

_BEGIN: dict[Outcome, str] = {"met": "Met", "missed": "Missed", "undecided": "Cannot be told with these rows"}
_NEEDLESS = " The plain model is within it already: nothing had to be done."
_LEFT = " The plain model kept it on the rows of the choice, and so it was left as it is."
_MOST = 100  # times as many rows: nobody has those


def judge(
    asked: Asked, audits: Mapping[str, AuditRecord], *, kept: bool = True, needless: bool = False
) -> VerdictRecord | None:
    """Compare what was asked with what audits found; None where nothing was asked.

    A bound is met where the whole interval lies within it, and missed where the whole interval lies beyond it, or where
    no choice kept it on held-out training rows and the number lies beyond it here as well. Groups with too few rows can
    show that it is missed, but not that it is met.

    Parameters
    ----------
    asked : Asked
        The bounds.
    audits : dict of str to AuditRecord
        Audits of rows that had no part in the choice, with their judgements, by their names.
    kept : bool
        Whether all that was asked was kept on the rows of the choice.
    needless : bool
        Whether the model is the plain one.

    Returns
    -------
    VerdictRecord or None
        The verdict.
    """
    bounds = tuple(
        bound
        for rows, audit in audits.items()
        if audit.judged is not None
        for bound in _bounds(asked, audit, audit.judged, rows, kept=kept)
    )
    if not bounds:
        return None
    outcomes = {bound.outcome for bound in bounds}
    outcome: Outcome = "missed" if "missed" in outcomes else "met" if outcomes == {"met"} else "undecided"
    first = next(audit for audit in audits.values())
    sentence = f"{_BEGIN[outcome]}: {_told(bounds, outcome, first.rows)}"
    return VerdictRecord(
        outcome, bounds, sentence + ((_NEEDLESS if outcome == "met" else _LEFT) if needless else ""), needless
    )


def _bounds(asked: Asked, audit: AuditRecord, told: JudgedRecord, rows: str, *, kept: bool) -> Iterator[BoundRecord]:
    label, slack, behind = told.favourable, asked.slack or 0.0, told.behind
    noise = (0.0, 0.0)
    if behind is not None:
        noise = _noise(behind.high, behind.high_rows), _noise(behind.low, behind.low_rows)
    if asked.max_violation is not None:
        limit = asked.max_violation + slack * sum(noise)
        words = "a gap between groups of at most"
        found = BoundRecord("max_violation", asked.max_violation, told.gap, "undecided", words, rows, limit)
        yield _decided(found, at_most=True, kept=kept, also=audit.measure("parity_difference"))
    if asked.min_ratio is not None and told.ratio is not None:
        highest = max(behind.high.value, 1e-9) if behind is not None else 1.0
        limit = max(asked.min_ratio - slack * (asked.min_ratio * noise[0] + noise[1]) / highest, 0.0)
        words = f"a ratio of groups’ rates of “{label}” of at least"
        found = BoundRecord("min_ratio", asked.min_ratio, told.ratio, "undecided", words, rows, limit)
        yield _decided(found, at_most=False, kept=kept)
    if asked.min_rate is not None and label is not None:
        lowest, size = _lowest(audit, told, label)
        limit = max(asked.min_rate - slack * _noise(lowest, size), 0.0)
        words = f"a rate of “{label}” in every group of at least"
        found = BoundRecord("min_rate", asked.min_rate, lowest, "undecided", words, rows, limit)
        yield _decided(found, at_most=False, kept=kept)
    if asked.max_rate is not None and label is not None:
        words, overall = f"a rate of “{label}” over all rows of at most", _overall(audit, label)
        found = BoundRecord("max_rate", asked.max_rate, overall, "undecided", words, rows, asked.max_rate)
        yield _decided(found, at_most=True, kept=kept)


def _decided(bound: BoundRecord, *, at_most: bool, kept: bool, also: Estimate | None = None) -> BoundRecord:
    """A bound with its outcome; `also` is the same number with the groups of few rows, which can only show a miss."""
    sign = 1.0 if at_most else -1.0
    asked, value = sign * bound.limit + 1e-12, sign * bound.reached.value
    least, most = sorted((sign * bound.reached.low, sign * bound.reached.high))
    beyond = also is not None and sign * also.low > asked
    if least > asked or beyond or (not kept and value > asked):
        return replace(bound, outcome="missed")
    return replace(bound, outcome="met") if most <= asked and not math.isnan(value) else bound


def _noise(rate: Estimate, rows: float) -> float:
    return math.sqrt(max(rate.value * (1.0 - rate.value), 0.0) / max(rows, 1.0))


def _lowest(audit: AuditRecord, told: JudgedRecord, label: str) -> tuple[Estimate, float]:
    """The lowest rate of a label among groups with enough rows, and how many rows it is of."""
    enough = [group for group in audit.groups if group.rows >= told.least]
    if not enough:
        return Estimate(math.nan, note=f"no group with {told.least} rows"), 0.0
    return min(((_rate(audit, group, label), group.rows) for group in enough), key=lambda pair: pair[0].value)


def _rate(audit: AuditRecord, group: GroupRecord, label: str) -> Estimate:
    return group.tpr.get(label, group.rates[label]) if audit.rate == "true_positive" else group.rates[label]


def _overall(audit: AuditRecord, label: str) -> Estimate:
    """The rate of a label over all rows of known group, with a normal interval."""
    rows = sum(group.rows for group in audit.groups)
    rate = sum(group.rates[label].value * group.rows for group in audit.groups) / rows
    half = 1.96 * math.sqrt(rate * (1.0 - rate) / rows)
    return Estimate(rate, max(rate - half, 0.0), min(rate + half, 1.0))


def _told(bounds: tuple[BoundRecord, ...], outcome: Outcome, rows: float) -> str:
    """The bounds of this outcome, in words."""
    several = len({bound.rows for bound in bounds}) > 1
    named = [bound for bound in bounds if bound.outcome == outcome]
    parts = [f"{_in_words(bound)}" + (f" ({bound.rows})" if several else "") for bound in named]
    words = "; ".join(parts) + f". Judged on {rows:,.0f} rows that had no part in the choice."
    if outcome == "undecided":
        words += "".join(_more_rows(bound, rows) for bound in named[:1])
    return words


def _in_words(bound: BoundRecord) -> str:
    reached = bound.reached
    slack = "" if bound.limit == bound.asked else f", with its slack {bound.limit:.3f},"
    wanted = f"{bound.words} {bound.asked:.4g}{slack} was asked for"
    if math.isnan(reached.value):
        return f"{wanted}, and there is no figure: {reached.note or 'nothing to compare'}"
    return f"{wanted}; it is {reached.value:.3f} [{reached.low:.3f}, {reached.high:.3f}]"


def _more_rows(bound: BoundRecord, rows: float) -> str:
    """How many rows would put the whole interval on one side, if the number stayed."""
    reached = bound.reached
    away = abs(bound.limit - reached.value)
    if math.isnan(reached.value) or not away:
        return ""
    nearer = reached.high if bound.limit > reached.value else reached.low
    times = (abs(nearer - reached.value) / away) ** 2
    if times > _MOST or times <= 1.0:
        return ""
    return f" About {float(f'{times * rows:.2g}'):,.0f} such rows would tell, if the number stayed as it is."
