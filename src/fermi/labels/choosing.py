"""The choice of labels from what was trained: within bounds on held-out rows, or with confidence on rows apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fermi.decisions.certificate import gap_limit, ratio_limit, ratio_shortfall
from fermi.decisions.requirements import Requirements
from fermi.decisions.stage import Choice, Stage, Warm
from fermi.labels.training import TrainedLabels

_TIGHTER = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the bound: what the certificate tries, in order


@dataclass(frozen=True, eq=False)
class Chosen:
    """The labels chosen, and whether they keep what was asked.

    `shortfall` says in one sentence what was reached instead; it is empty where everything is kept.
    """

    choice: Choice
    upper_limit: float | None = None
    shortfall: str = ""

    @property
    def reached(self) -> bool:
        """Whether all that was asked is kept."""
        return not self.shortfall


def choose(trained: TrainedLabels, asked: Requirements, confidence: float | None, near: Warm | None = None) -> Chosen:
    """Choose labels for some requirements; with `confidence`, the loosest that the certificate's rows support.

    Bounds are tried from the tightest on, and the first that fails ends it, so that trying many costs no confidence.
    """
    if confidence is None or trained.certificate is None:
        choice = trained.stage.choose(asked, near)
        return Chosen(choice, None, _shortfall(trained.stage, asked, choice))
    best: Chosen | None = None
    warm: Warm | None = None
    for share in _TIGHTER:
        choice = trained.stage.choose(asked.tightened(share), warm)
        warm = choice.warm or warm
        limit, unsupported = _certified(trained, choice, asked, confidence)
        if best is None or not unsupported:
            # What is not about differences has no certificate: it is kept on the held-out rows, as everywhere.
            others = replace(asked, max_violation=None, min_ratio=None)
            shortfall = unsupported or _shortfall(trained.stage, others, choice)
            best = Chosen(choice._replace(asked=asked), limit, shortfall)
        if unsupported:
            break
    assert best is not None
    return best


def _shortfall(stage: Stage, asked: Requirements, choice: Choice) -> str:
    """What was reached instead of what was asked, in one sentence; nothing where it is kept."""
    missed = stage.lacking(asked, choice.labels)
    if not missed:
        return ""
    but = ", one label for all rows apart" if stage.one_label_keeps(asked) else ""
    f = choice.figures
    return (
        f"No labels kept {' and '.join(missed)} on held-out rows{but}; the gap is {f.violation:.4f} (standard error "
        f"{f.standard_error:.4f})."
    )


def _certified(trained: TrainedLabels, choice: Choice, asked: Requirements, confidence: float) -> tuple[float, str]:
    """The upper limit of the gap on the rows kept apart, and what they do not support; nothing if they support all."""
    rows, m = trained.certificate, len(trained.classes)
    assert rows is not None
    unchanged = choice.rule.changes_nothing
    labels = rows.labels if unchanged else choice.rule.labels(rows.F, np.concatenate(rows.q, axis=1))
    occurs = [cells.totals() > 0.0 for cells in trained.problem.cells()]
    limit = gap_limit(labels, rows.cells, m, confidence, occurs)
    found = []
    if asked.max_violation is not None and limit > asked.max_violation:
        found.append(f"max_violation={asked.max_violation:g} (the smallest upper limit of the gap is {limit:.4f})")
    ratio = asked.min_ratio
    if ratio is not None and ratio_shortfall(labels, rows.cells, m, confidence, ratio, occurs) > 0.0:
        least = ratio_limit(labels, rows.cells, m, confidence, occurs)
        found.append(f"min_ratio={ratio:g} (the largest lower limit of the ratio is {least:.4f})")
    if not found:
        return limit, ""
    return limit, (
        f"The rows kept for the certificate cannot support {' and '.join(found)} with confidence {confidence:g}: more "
        "rows, a looser bound or a lower confidence would."
    )
