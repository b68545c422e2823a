"""What was found about a model, as plain records: audits and trade-off curves make them, the report draws them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Rate: TypeAlias = Literal["selection", "true_positive"]
"""How often a class is predicted: for all rows of a group, or for those that are truly of the class."""


@dataclass(frozen=True)
class Estimate:
    """A number estimated from rows, with the ends of its interval.

    Where it cannot be estimated all three are NaN and `note` says why.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    note: str = ""


@dataclass(frozen=True)
class CalibrationBin:
    """Rows of one group whose probability of a class lies in one range: what was predicted, and what occurred."""

    outcome: str
    rows: float
    predicted: float
    observed: Estimate


@dataclass(frozen=True)
class GroupRecord:
    """The figures of one group: how many rows, how often each class is predicted, how often wrongly.

    `tpr` and `fpr` are by class, each against the rest; for two classes only the last is given, since the other follows
    from it. `confusion` is true class × predicted class, in weights; empty without true labels, or where it is
    withheld. `soft_rates` are mean probabilities, and `calibration_error` is how far, in the mean over rows, observed
    and predicted rates of a calibration bin lie apart; both only where probabilities are known.
    """

    group: str
    rows: float
    rates: dict[str, Estimate]
    error: Estimate | None = None
    tpr: dict[str, Estimate] = field(default_factory=dict)
    fpr: dict[str, Estimate] = field(default_factory=dict)
    confusion: tuple[tuple[float, ...], ...] = ()
    calibration: tuple[CalibrationBin, ...] = ()
    note: str = ""
    soft_rates: dict[str, Estimate] = field(default_factory=dict)
    calibration_error: float | None = None


@dataclass(frozen=True)
class MeasureRecord:
    """One measure of violation: of labels (hard) or of probabilities (soft)."""

    name: str
    soft: bool
    estimate: Estimate
    bound: str = ""


@dataclass(frozen=True)
class AuditRecord:
    """The audit of one set of predictions.

    `corrected_ermi` is the plug-in ERMI of labels less its bias, and `p_value` that of labels being independent of the
    group, in the notion's sense; those of probabilities end in `_soft`. `called` is the notion's name for people, and
    `asks` says what it asks for. The `rate` of the class `label`, group by group, shows best how far it holds; there is
    no `label` where several classes would have to be told.
    """

    notion: str
    confidence: float
    rows: float
    unknown: float
    classes: tuple[str, ...]
    columns: tuple[str, ...]
    groups: tuple[GroupRecord, ...]
    measures: tuple[MeasureRecord, ...]
    error: Estimate | None = None
    error_soft: float | None = None
    corrected_ermi: Estimate | None = None
    p_value: float | None = None
    notes: tuple[str, ...] = ()
    corrected_ermi_soft: Estimate | None = None
    p_value_soft: float | None = None
    called: str = ""
    asks: str = ""
    rate: Rate = "selection"
    label: str | None = None

    def measure(self, name: str, *, soft: bool = False) -> Estimate:
        """The estimate of one measure, by its name, of labels or of probabilities."""
        return next(m.estimate for m in self.measures if m.name == name and m.soft == soft)


@dataclass(frozen=True)
class PointRecord:
    """One model of a report: its strength of fairness, its audits by split and its training history.

    The labels of one that is `adjusted` are not its most probable classes.
    """

    label: str
    lam: float
    splits: dict[str, AuditRecord]
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = math.nan
    adjusted: bool = False


@dataclass(frozen=True)
class ChargeRecord:
    """What a rule charges each class for a group within a condition, and the features that tell the group.

    A charge is what the class's probability is lowered by, per unit by which a row is likelier of the group and less
    likely of the others. `likely` is how likely rows are of the group in the mean, `spread` the standard deviation of
    that. Features come with by how much a standard deviation of theirs moves the log odds of the group. The record of
    the average row, which has no `likely`, is what is charged in any case.
    """

    group: str
    condition: str
    charges: dict[str, float]
    likely: float = math.nan
    spread: float = math.nan
    features: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class ReportRecord:
    """All that a report shows: facts on data and training in their order, models, which one is chosen and why.

    `strength` is the word for what the models differ in; `descending` says that a smaller value of it is more fairness,
    as that of a bound is. `rule` is what gives the labels of the chosen model, if they are adjusted.
    """

    title: str
    facts: dict[str, str]
    points: tuple[PointRecord, ...]
    chosen: int = 0
    reason: str = ""
    lam_path: list[dict[str, float]] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    strength: str = "λ"
    descending: bool = False
    rule: tuple[ChargeRecord, ...] = ()
