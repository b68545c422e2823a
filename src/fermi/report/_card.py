"""The model card: a report's record as Markdown, in the layout of model hubs, with YAML in front of its sections."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from fermi.records import AuditRecord, Estimate, PointRecord, ReportRecord

_MOST_GROUPS = 40
_STARTED = (
    "",
    "## How to get started with the model",
    "",
    "```bash",
    "pip install fermi-fair",
    "fermi predict FOLDER FILE --output predictions.csv",
    "```",
)
_OUTCOMES = {"met": "Met", "missed": "Missed", "undecided": "Cannot be told with these rows"}


def model_card(record: ReportRecord) -> str:
    """The model card of the chosen model of a report.

    Parameters
    ----------
    record : ReportRecord
        What the page shows.

    Returns
    -------
    str
        Markdown with YAML front matter. Names from the data are escaped.

    Examples
    --------
    >>> from fermi.records import AuditRecord, Estimate, GroupRecord, PointRecord, ReportRecord
    >>> groups = (GroupRecord("sex=F", 40, {"yes": Estimate(0.5, 0.35, 0.65)}),)
    >>> found = AuditRecord("demographic_parity", 0.95, 40, 0, ("no", "yes"), ("sex",), groups, ())
    >>> card = model_card(ReportRecord("A model of pay", {}, (PointRecord("model", 0.0, {"test": found}),)))
    >>> card.splitlines()[:2]
    ['---', 'library_name: fermi']
    """
    point = record.points[record.chosen]
    tested = {name: audit for name, audit in point.splits.items() if name.partition(":")[0] == "test"}
    audits = tested or dict(list(point.splits.items())[-1:])
    parts = [
        *_front(record, audits),
        f"# {_text(record.title)}",
        *_verdict(record),
        *_details(record),
        *_uses(record),
        *_risks(record, audits),
        *_STARTED,
        *_training(record, point),
        *_evaluation(record, audits),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _front(record: ReportRecord, audits: dict[str, AuditRecord]) -> Iterator[str]:
    """The front matter: strings are JSON's, which are YAML's too."""
    data = record.facts.get("Data", "unknown")
    yield from ("---", "library_name: fermi", "pipeline_tag: tabular-classification", "tags:")
    yield from ("- fairness", "- tabular-classification", "metrics:", "- accuracy", "model-index:")
    yield from (f"- name: {json.dumps(record.title)}", "  results:")
    for split, audit in audits.items():
        figures = list(_metrics(audit))
        if not figures:
            continue
        yield from ("  - task:", "      type: tabular-classification", "    dataset:")
        yield from (f"      name: {json.dumps(data)}", "      type: tabular", f"      split: {json.dumps(split)}")
        yield "    metrics:"
        for name, value in figures:
            yield from (f"    - type: {name}", f"      value: {value:.6g}")
    yield from ("---", "")


def _metrics(audit: AuditRecord) -> Iterator[tuple[str, float]]:
    if audit.error is not None and not math.isnan(audit.error.value):
        yield "accuracy", 1.0 - audit.error.value
    if audit.use is not None:
        yield "balanced_accuracy", audit.use.balanced_accuracy
        if audit.use.auc is not None:
            yield "roc_auc", audit.use.auc
    for measure in audit.measures:
        if measure.name == "parity_difference" and not measure.soft and not math.isnan(measure.estimate.value):
            yield "parity_difference", measure.estimate.value


def _verdict(record: ReportRecord) -> Iterator[str]:
    yield ""
    if record.verdict is None:
        yield "No bound on the gap between groups was asked for, so that there is no verdict."
    else:
        yield f"**{_OUTCOMES[record.verdict.outcome]}.** {_text(record.verdict.sentence.partition(': ')[2])}"
    for sentence in (*record.warnings, *record.summary):
        yield from ("", _text(sentence))


def _details(record: ReportRecord) -> Iterator[str]:
    yield from ("", "## Model details", "")
    names = ("Model", "Target", "Features", "Sensitive columns as features", "Saved model", "Software", "Date")
    yield from _facts(record, names)


def _uses(record: ReportRecord) -> Iterator[str]:
    target = _text(record.target or "the target")
    yield from ("", "## Uses", "", f"Direct use: to predict {target} for rows like those that it was trained on.", "")
    yield "Out of scope: rows of another population, place or time, and decisions that nobody looks at again."


def _risks(record: ReportRecord, audits: dict[str, AuditRecord]) -> Iterator[str]:
    yield from ("", "## Bias, risks and limitations", "")
    first = next(iter(audits.values()))
    if first.asks:
        yield f"What was asked of the groups: {_text(first.asks)}. Other notions of fairness can be violated."
    yield "Differences inside a group, and between groups that no column tells apart, are not seen."
    few = [name for audit in audits.values() if audit.judged is not None for name in audit.judged.few]
    if few:
        yield f"Too few rows to judge: {_text(', '.join(few))}."
    for note in record.notes:
        yield f"- {_text(note)}"


def _training(record: ReportRecord, point: PointRecord) -> Iterator[str]:
    yield from ("", "## Training details", "")
    yield from _facts(record, ("Data", "Rows", "Columns used", "Columns left out", "Groups", "Fairness", "Settings"))
    if record.reason:
        yield f"- How it was chosen: {_text(record.reason)}"
    if not math.isnan(point.seconds):
        yield f"- Seconds: {point.seconds:.3g}"


def _evaluation(record: ReportRecord, audits: dict[str, AuditRecord]) -> Iterator[str]:
    yield from ("", "## Evaluation")
    plain = record.points[0] if record.chosen else None
    for split, audit in audits.items():
        before = None if plain is None else plain.splits.get(split)
        yield from ("", f"### Results on the {_text(split)} rows ({audit.rows:,.0f})", "")
        yield from _overall(audit, before)
        yield from _groups(audit, before)


def _overall(audit: AuditRecord, before: AuditRecord | None) -> Iterator[str]:
    yield from ("| figure | this model | plain model |", "|---|---|---|")
    if audit.error is not None:
        yield f"| error | {_share(audit.error)} | {_share(None if before is None else before.error)} |"
    gap = "parity_difference"
    if any(measure.name == gap and not measure.soft for measure in audit.measures):
        then = None if before is None else before.measure(gap)
        yield f"| largest difference between groups’ rates | {_share(audit.measure(gap))} | {_share(then)} |"
    if audit.use is not None:
        always = f"error of always answering {_text(audit.use.constant)}"
        yield f"| {always} | {100 * audit.use.constant_error:.1f}% | |"


def _groups(audit: AuditRecord, before: AuditRecord | None) -> Iterator[str]:
    label = audit.label if audit.label is not None else audit.classes[-1]
    found = {} if before is None else {group.group: group for group in before.groups}
    yield from ("", f"| group | rows | given “{_text(label)}” | by the plain model | error | TPR | FPR |")
    yield "|---|---|---|---|---|---|---|"
    for group in audit.groups[:_MOST_GROUPS]:
        then = found.get(group.group)
        cells = (
            _text(group.group),
            f"{group.rows:,.0f}",
            _share(group.rates.get(label)),
            _share(None if then is None else then.rates.get(label)),
            _share(group.error),
            *(_share(rates.get(label)) for rates in (group.tpr, group.fpr)),
        )
        yield f"| {' | '.join(cells)} |"
    if len(audit.groups) > _MOST_GROUPS:
        yield from ("", f"{len(audit.groups) - _MOST_GROUPS:,} more groups are in the report.")


def _facts(record: ReportRecord, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if name in record.facts:
            yield f"- {name}: {_text(record.facts[name])}"


def _share(estimate: Estimate | None) -> str:
    if estimate is None or math.isnan(estimate.value):
        return "–"
    if math.isnan(estimate.low):
        return f"{100 * estimate.value:.1f}%"
    return f"{100 * estimate.value:.1f}% [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def _text(words: str) -> str:
    r"""Words that Markdown shows as they are, in one line.

    Examples
    --------
    >>> print(_text("a|b <i>*x*</i>"))
    a\|b &lt;i&gt;\*x\*&lt;/i&gt;
    """
    line = " ".join(words.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", line)
