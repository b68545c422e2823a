"""What a page and a terminal say first: title, rates behind the gap, price, and whether a model is of any use."""

from __future__ import annotations

import math

from fermi.records import AuditRecord, Estimate, JudgedRecord, MoveRecord, PriceRecord, VerdictRecord

_SHOWN = 5  # groups in a sentence
_KEPT = 0.25  # of what the plain model is better by than one label for everybody, below which little is left
_LITTLE = "Hardly better than a constant"
_TITLES = {
    "met": "A fair model of {}",
    "missed": "A model of {} that misses what was asked of it",
    "undecided": "A model of {}: these rows cannot tell whether it is fair enough",
}


def title(target: str, verdict: VerdictRecord | None, *, warning: str = "") -> str:
    """The title of a model's page, which calls it fair only where it is, and is of some use."""
    if warning:
        much = "hardly" if warning.startswith(_LITTLE) else "no"
        return f"A model of {target} that is {much} better than one answer for all"
    return (_TITLES[verdict.outcome] if verdict is not None else "A model of {}").format(target)


def summary(
    before: AuditRecord | None, after: AuditRecord, price: PriceRecord | None, *, where: str = ""
) -> tuple[str, ...]:
    """The sentences that follow a verdict: the rates behind the gap, the ratio, the price, who gains and who loses.

    Parameters
    ----------
    before, after : AuditRecord
        Of the plain model and of the one chosen, on the same rows; `before` is None where they are the same model.
    price : PriceRecord, optional
        What the second costs.
    where : str
        Which column the groups are of, if there are several audits.
    """
    told = after.judged
    found = []
    if told is not None:
        found += [_behind(told, before, where), _ratio(told, after), _few(told)]
    found.append(_price(before, after, price))
    if price is not None:
        found.append(_moves(price, told))
    return tuple(sentence for sentence in found if sentence)


def useless(audit: AuditRecord, plain: AuditRecord | None = None) -> str:
    """Say that labels are no better than one label for everybody, or hardly, where the plain model's are."""
    use = audit.use
    if use is None or audit.error is None:
        return ""
    if use.better:
        return _little(audit, plain)
    words = (
        f"No better than a constant: these labels err in {_percent(audit.error.value)} of the rows, and always "
        f"answering “{use.constant}” errs in {_percent(use.constant_error)}. {_percent(use.alike)} of the rows get "
        f"“{use.common}”."
    )
    if use.auc is not None and use.auc > 0.55:
        words += f" The probabilities do rank people (AUC {use.auc:.2f}): their order may be of use."
    if plain is not None and plain.use is not None and not plain.use.better:
        words += " The plain model is no better either."
    return words


def _little(audit: AuditRecord, plain: AuditRecord | None) -> str:
    """Say that hardly anything is left of what the plain model is better by; nothing where more is left."""
    use = audit.use
    if use is None or audit.error is None or plain is None or plain.error is None:
        return ""
    now, before = use.constant_error - audit.error.value, use.constant_error - plain.error.value
    if now >= _KEPT * before:
        return ""
    return (
        f"{_LITTLE}: these labels err in {_percent(audit.error.value)} of the rows, always answering “{use.constant}” "
        f"errs in {_percent(use.constant_error)}, and the plain model in {_percent(plain.error.value)}. "
        f"{_percent(use.alike)} of the rows get “{use.common}”."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _behind(told: JudgedRecord, before: AuditRecord | None, where: str) -> str:
    found = told.behind
    if found is None:
        return ""
    among = f"of the rows that are truly “{found.condition}”, " if found.called != "rate" else ""
    if found.called == "rate" and found.condition:
        among = f"within “{found.condition}”, "
    rates = " and ".join(
        f"{_percent(rate.value)} of {group} ({rows:,.0f} rows)"
        for group, rate, rows in (
            (found.highest, found.high, found.high_rows),
            (found.lowest, found.low, found.low_rows),
        )
    )
    then = ""
    if before is not None and before.judged is not None and not math.isnan(before.judged.gap.value):
        then = f" The gap of the plain model is {before.judged.gap.value:.3f}."
    kind = "" if found.called == "rate" else f" (the {found.called})"
    return f"Behind the gap{where}: {among}“{found.label}” is given to {rates}{kind}.{then}"


def _ratio(told: JudgedRecord, audit: AuditRecord) -> str:
    if told.ratio is None or math.isnan(told.ratio.value):
        return ""
    worst = audit.measure("parity_ratio").value
    other = "" if math.isnan(worst) else f" The smallest ratio of any label and group is {worst:.3f}."
    return (
        f"The four-fifths ratio, the lowest over the highest rate of “{told.favourable}”, is "
        f"{_interval(told.ratio)}.{other}"
    )


def _few(told: JudgedRecord) -> str:
    if not told.few:
        return ""
    named = ", ".join(told.few[:_SHOWN]) + (f" and {len(told.few) - _SHOWN} more" if len(told.few) > _SHOWN else "")
    return f"Not judged, having fewer than {told.least} rows: {named}."


def _price(before: AuditRecord | None, after: AuditRecord, price: PriceRecord | None) -> str:
    if after.error is None:
        return ""
    constant = "" if after.use is None else (
        f" Always answering “{after.use.constant}” errs in {_percent(after.use.constant_error)}."
    )  # fmt: skip
    if price is None or before is None or before.error is None:
        return f"It errs in {_percent(after.error.value)} of the rows.{constant}"
    value, low, high = (f"{100 * end:+.1f}" for end in (price.error.value, price.error.low, price.error.high))
    return (
        f"Price: {value} points of error [{low}, {high}]: the plain model errs in {_percent(before.error.value)} of "
        f"the rows, this one in {_percent(after.error.value)}.{constant}"
    )


def _moves(price: PriceRecord, told: JudgedRecord | None) -> str:
    if not price.moves or not price.changed:
        return ""
    everybody, *groups = price.moves
    least = told.least if told is not None else 0
    ranked = sorted((move for move in groups if move.rows >= least), key=lambda move: -(move.gain + move.lose))
    by_group = "; ".join(f"of {move.group} {_moved(move)}" for move in ranked[:_SHOWN])
    return f"Of 1,000 people {_moved(everybody)} “{price.label}”" + (f"; {by_group}." if by_group else ".")


def _moved(move: MoveRecord) -> str:
    return f"{move.gain:.0f} gain and {move.lose:.0f} lose"


def _interval(estimate: Estimate) -> str:
    if math.isnan(estimate.low):
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
