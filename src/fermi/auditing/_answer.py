"""Sums over rows in, what an audit says of them out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from fermi._typing import Floats
from fermi.auditing._independence import permutation_p_value
from fermi.auditing._measured import Measured, measured
from fermi.auditing._noise import Sums
from fermi.auditing._rates import SMALL, group_records, wilson, withheld, words
from fermi.auditing._result import Audit
from fermi.auditing._tally import Tally
from fermi.errors import bad_argument, listed
from fermi.inputs.arguments import generator, number, whole
from fermi.records import AuditRecord, Estimate

_MOST_CELLS = 1_000_000  # drawn for one law
_LEAST_DRAWS = 200
_BEYOND = 10  # draws that lie beyond the two ends of an interval, at least


@dataclasses.dataclass(frozen=True)
class Asked:
    """How figures are told: with which intervals, drawn how often from which seed, and of which groups."""

    level: float
    least: int
    draws: int
    random_state: Any

    @classmethod
    def of(cls, confidence: float, min_group_size: int, n_boot: int, random_state: Any) -> Asked:
        """What a caller asks for, checked."""
        expected = "a number above 0 and at most 0.999"
        level = number("confidence", confidence, expected, low=0.0, high=0.999, open_low=True)
        least = whole("min_group_size", min_group_size, "a whole number of at least 0", low=0)
        draws = whole("n_boot", n_boot, f"a whole number of at least {_LEAST_DRAWS}", low=_LEAST_DRAWS)
        return cls(level, least, draws, random_state)

    def answer(self, counted: Tally) -> Audit:
        """The audit of what was counted."""
        shown, hidden = _shown(counted, self.least)
        seeds = generator(self.random_state).integers(2**63, size=3).tolist()
        sums = {False: _sums(shown, soft=False)} | ({True: _sums(shown, soft=True)} if shown.soft is not None else {})
        draws = max(self.draws, round(_BEYOND / (1.0 - self.level)))
        draws = min(draws, max(_LEAST_DRAWS, _MOST_CELLS // sums[False].table.size))
        found = {soft: measured(s, shown, self.level, draws, seeds[soft]) for soft, s in sums.items()}
        p_value = found[False].p_value
        if not shown.weighted and p_value is not None:
            p_value = permutation_p_value(sums[False].table, 4 * draws, seeds[2]) or p_value
        return Audit(_record(counted, shown, hidden, found, p_value, self.level, self.least), shown)


def _shown(counted: Tally, least: int) -> tuple[Tally, list[str]]:
    """Leave out the groups that are to be withheld: the sums without them, and their names."""
    kept = counted.rows.sum(axis=(0, 2)) >= least
    if kept.all():
        return counted, []
    if not kept.any():
        raise bad_argument("min_group_size", f"is {least}, more rows than any group has", "a smaller number")
    arrays = {
        field.name: getattr(counted, field.name)[:, kept]
        for field in dataclasses.fields(counted)
        if field.name in ("rows", "hard", "hard_squares", "soft", "soft_squares")
        and getattr(counted, field.name) is not None
    }
    bins = None if counted.bins is None else counted.bins[kept]
    ranks = None if counted.ranks is None else counted.ranks.of(kept)
    names = [group for group, keep in zip(counted.groups, kept, strict=True) if keep]
    hidden = [group for group, keep in zip(counted.groups, kept, strict=True) if not keep]
    return dataclasses.replace(counted, groups=tuple(names), bins=bins, ranks=ranks, **arrays), hidden


def _sums(shown: Tally, *, soft: bool) -> Sums:
    table, squares = (shown.soft, shown.soft_squares) if soft else (shown.hard, shown.hard_squares)
    assert table is not None
    assert squares is not None
    return Sums(shown.conditioned(table), shown.conditioned(squares), soft)


def _record(
    counted: Tally,
    shown: Tally,
    hidden: list[str],
    found: dict[bool, Measured],
    p_value: float | None,
    level: float,
    least: int,
) -> AuditRecord:
    names = words(shown.classes)
    soft, labels = shown.soft is not None, shown.label_of is not None
    records = {record.group: record for record in group_records(shown, level)}
    records |= {group: withheld(group, names, least, labels=labels, soft=soft) for group in hidden}
    unknown = float(shown.unknown[0].sum()) + shown.unplaced
    error, error_soft = _errors(shown, level) if labels else (None, None)
    corrected = {kind: measures.corrected for kind, measures in found.items()}
    return AuditRecord(
        notion=shown.title,
        confidence=level,
        rows=float(shown.rows.sum()) + unknown,
        unknown=unknown,
        classes=names,
        columns=tuple(name or "group" for name in shown.columns),
        groups=tuple(records[group] for group in counted.groups),
        measures=tuple(m for measures in found.values() for m in measures.records),
        error=error,
        error_soft=error_soft,
        corrected_ermi=corrected[False],
        p_value=p_value,
        notes=tuple(_notes(shown, hidden, unknown, least)),
        corrected_ermi_soft=corrected.get(True),
        p_value_soft=found[True].p_value if soft else None,
        called=shown.notion.called(shown.conditions),
        asks=shown.notion.explain(shown.conditions),
        rate=shown.notion.rate,
        label=dict(zip(shown.classes, names, strict=True)).get(shown.notion.label(shown.classes)),
        within=_within(shown),
    )


def _within(shown: Tally) -> tuple[str, ...] | None:
    """The true labels within which groups are compared: none for all rows at once, None for other conditions."""
    if shown.notion.rate == "true_positive":
        return words(shown.conditions)
    return () if len(shown.conditions) == 1 else None


def _errors(shown: Tally, level: float) -> tuple[Estimate, float | None]:
    """The error of labels, and of labels drawn from the probabilities, over all rows but those withheld."""

    def of_all(by_group: Floats, unknown: Floats) -> Floats:
        return shown.labelled(by_group.sum(axis=1) + unknown)

    table = np.stack([of_all(shown.hard, shown.unknown[1]), of_all(shown.hard_squares, shown.unknown[2])])
    total = table.sum(axis=(1, 2))
    error = wilson(total - np.trace(table, axis1=1, axis2=2), total, level)
    if shown.soft is None or shown.soft_unknown is None:
        return error, None
    drawn = of_all(shown.soft, shown.soft_unknown)
    return error, float(1.0 - np.trace(drawn) / drawn.sum())


def _notes(shown: Tally, hidden: list[str], unknown: float, least: int) -> list[str]:
    notes = []
    if unknown:
        where = "are not in the table, and so in no figure" if shown.unplaced else "count in the overall error alone"
        notes.append(f"{unknown:,.0f} rows have no known group: they {where}.")
    if hidden:
        notes.append(
            f"The figures of {len(hidden)} groups with fewer than {least} rows are withheld: {listed(hidden)}. Their "
            "rows enter no figure here, neither measures nor totals."
        )
    sizes = shown.rows.sum(axis=(0, 2))
    small = [group for group, size in zip(shown.groups, sizes, strict=True) if size < SMALL]
    if small:
        notes.append(f"Groups with fewer than {SMALL} rows: {listed(small)}. Their figures say little.")
    if len(shown.conditions) > 1 or shown.label_of is not None:
        rows = shown.conditioned(shown.rows).sum(axis=2)
        empty = [
            f"{group} under {condition}"
            for z, condition in enumerate(shown.conditions)
            for s, group in enumerate(shown.groups)
            if rows[z, s] == 0
        ]
        if empty:
            notes.append(f"Some groups have no row under a condition, and so no rate there: {listed(empty)}.")
    if shown.weighted:
        notes.append("Rows are weighted: intervals follow from the weights, and the p-value is not by permutation.")
    return notes
