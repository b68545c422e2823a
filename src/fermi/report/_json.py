"""A report's record as JSON for its page: ordered, finite, and small enough."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from fermi.records import AuditRecord, Estimate, PointRecord, ReportRecord
from fermi.report._card import model_card

_HISTORY_ROWS = 150


def fitted_json(record: ReportRecord, limit: int) -> str:
    """A report as JSON of at most `limit` bytes, if leaving out detail of the models not chosen achieves it."""
    text, card = "", model_card(record)
    for lighter, left_out in _lighter(by_strength(record)):
        text = page_json({**_plain(lighter), "left_out": left_out, "card": card})
        if len(text) <= limit:
            break
    return text


def page_json(value: Any) -> str:
    r"""JSON in ASCII that no HTML parser can mistake for markup.

    Examples
    --------
    >>> print(page_json({"name": "<i>"}))
    {"name":"\u003ci\u003e"}
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def by_strength(record: ReportRecord) -> ReportRecord:
    """A report with its models in the order of their strength, the weakest first and those without one last."""
    lams = [-point.lam if record.descending else point.lam for point in record.points]
    order = sorted(range(len(lams)), key=lambda i: (math.isnan(lams[i]), lams[i]))
    return replace(record, points=tuple(record.points[i] for i in order), chosen=order.index(record.chosen))


def _lighter(record: ReportRecord) -> Iterator[tuple[ReportRecord, str]]:
    """A report and smaller versions of it, each with a sentence on what it lacks."""
    yield record, ""
    others = _rest(record, lambda audit: replace(audit, groups=_without_calibration(audit)))
    yield others, "To keep this page small, calibration is here for the model first chosen only."
    others = _rest(record, lambda audit: replace(audit, groups=()))
    yield others, "To keep this page small, figures by group are here for the model first chosen only."
    points = tuple(
        _audits(point, lambda audit: replace(audit, groups=_without_calibration(audit))) for point in others.points
    )
    yield (
        replace(others, points=points),
        "To keep this page small, figures by group are here for the model first chosen only, and calibration is not.",
    )


def _rest(record: ReportRecord, change: Callable[[AuditRecord], AuditRecord]) -> ReportRecord:
    points = [p if i == record.chosen else _audits(p, change) for i, p in enumerate(record.points)]
    return replace(record, points=tuple(points))


def _audits(point: PointRecord, change: Callable[[AuditRecord], AuditRecord]) -> PointRecord:
    return replace(point, splits={name: change(audit) for name, audit in point.splits.items()})


def _without_calibration(audit: AuditRecord) -> tuple[Any, ...]:
    return tuple(replace(group, calibration=(), roc={}) for group in audit.groups)


def _plain(value: Any) -> Any:
    """A record in types that JSON can hold.

    Records become objects, estimates lists, and mappings lists of pairs: a class may be called like anything, and an
    object of JavaScript has names of its own.
    """
    if isinstance(value, Estimate):
        numbers = [_number(value.value), _number(value.low), _number(value.high)]
        return [*numbers, value.note] if value.note else numbers
    if is_dataclass(value):
        return {field.name: _field(field.name, getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return [[name, _plain(item)] for name, item in value.items()]
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | bool) else _number(float(value))


def _field(name: str, value: Any) -> Any:
    return _columns(value) if name in ("history", "lam_path") else _plain(value)


def _columns(rows: list[dict[str, float]]) -> list[list[Any]]:
    """Rows of a history as pairs of a column's name and its numbers, thinned: early ones stand closer."""
    last = len(rows) - 1
    kept = {round(last * (i / (_HISTORY_ROWS - 1)) ** 2) for i in range(_HISTORY_ROWS)} if rows else set()
    names = dict.fromkeys(name for row in rows for name in row)
    return [[name, [_number(rows[i].get(name, math.nan)) for i in sorted(kept)]] for name in names]


def _number(value: float) -> float | None:
    """A number with six digits, as many as anyone reads; counts in full; None where there is no number."""
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else float(f"{value:.6g}")
