"""What was found about a model, as plain records: audits and trade-off curves make them, the report draws them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Rate: TypeAlias = Literal["selection", "true_positive"]
"""How often a class is predicted: for all rows of a group, or for those that are truly of the class."""

Outcome: TypeAlias = Literal["met", "missed", "undecided"]
"""How a request ended; undecided is what the rows at hand cannot tell."""


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


class RocPoint(NamedTuple):
    """One point of an ROC curve: rates of false and true positives where rows from the score `threshold` on count."""

    threshold: float
    fpr: float
    tpr: float


@dataclass(frozen=True)
class GroupRecord:
    """The figures of one group: how many rows, how often each class is predicted, how often wrongly.

    `tpr`, `fpr` and `precision` are by class, each against the rest; for two classes only the last is given, since the
    other's follow from it and `confusion`, which is true class × predicted class, in weights; it is empty without
    true labels, or where it is withheld. `soft_rates` are mean probabilities, `calibration_error` is how far, in the
    mean over rows, observed and predicted rates of a calibration bin lie apart, `auc` is the area under the ROC curve
    of each class against the rest, and `roc` that curve; all of them only where probabilities are known, and the last
    two only where all rows were at hand at once.
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
    precision: dict[str, Estimate] = field(default_factory=dict)
    auc: dict[str, Estimate] = field(default_factory=dict)
    roc: dict[str, tuple[RocPoint, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasureRecord:
    """One measure of violation: of labels (hard) or of probabilities (soft)."""

    name: str
    soft: bool
    estimate: Estimate
    bound: str = ""


@dataclass(frozen=True)
class UseRecord:
    """What labels are worth beside giving one label to everybody.

    `constant` is the most frequent true label and `constant_error` how often it is wrong; `common` is the label given
    most often, to the part `alike` of the rows. `better` says whether the labels err less than the constant by more
    than chance explains. `auc` is how well the probabilities rank; of several classes the mean of each against the
    rest.
    """

    constant: str
    constant_error: float
    balanced_accuracy: float
    common: str
    alike: float
    better: bool
    auc: float | None = None


@dataclass(frozen=True)
class RateRecord:
    """The two rates behind a gap: what they are called, of which class, of which groups with how many rows."""

    called: str
    label: str
    condition: str
    highest: str
    high: Estimate
    lowest: str
    low: Estimate
    high_rows: float
    low_rows: float


@dataclass(frozen=True)
class ConditionRecord:
    """The gap between groups within one condition, and the two rates behind it; NaN where nothing can be compared."""

    condition: str
    rows: float
    gap: Estimate
    behind: RateRecord | None = None


@dataclass(frozen=True)
class JudgedRecord:
    """What can be told of groups with at least `least` rows, within each condition.

    `gap` is their parity difference and `behind` the rates that make it; `ratio` is the smallest over the largest rate
    of the class `favourable`, which the four-fifths rule is about. `few` are the groups with fewer rows. `within` tells
    each condition by itself, where there are several and that was asked for.
    """

    least: int
    rows: float
    gap: Estimate
    behind: RateRecord | None
    favourable: str | None = None
    ratio: Estimate | None = None
    few: tuple[str, ...] = ()
    within: tuple[ConditionRecord, ...] = ()


@dataclass(frozen=True)
class BoundRecord:
    """One thing that was asked for: the option, the number, what was reached on which rows, and how it ended.

    `limit` is `asked` with the slack that each group's rate was given, if any.
    """

    option: str
    asked: float
    reached: Estimate
    outcome: Outcome
    words: str
    rows: str
    limit: float


@dataclass(frozen=True)
class VerdictRecord:
    """Whether a request was met: bound by bound, all in all, and in one sentence.

    `needless` says that the plain model was within it already, so that nothing had to be done.
    """

    outcome: Outcome
    bounds: tuple[BoundRecord, ...]
    sentence: str
    needless: bool = False


@dataclass(frozen=True)
class MoveRecord:
    """How many of 1,000 people of a group gain, and how many lose, the label that people want."""

    group: str
    rows: float
    gain: float
    lose: float


@dataclass(frozen=True)
class PriceRecord:
    """What a model costs beside the plain one, on the same rows.

    `error` is the difference of the two errors with its interval, as of pairs. `changed` is the part of rows whose
    label is another; `moves` are about `label`, for all rows first and then by group.
    """

    rows: str
    error: Estimate
    changed: float
    label: str | None = None
    moves: tuple[MoveRecord, ...] = ()


@dataclass(frozen=True)
class AuditRecord:
    """The audit of one set of predictions.

    `corrected_ermi` is the plug-in ERMI of labels less its bias, and `p_value` that of labels being independent of the
    group, in the notion's sense; those of probabilities end in `_soft`. `called` is the notion's name for people, and
    `asks` says what it asks for. The `rate` of the class `label`, group by group, shows best how far it holds; there is
    no `label` where several classes would have to be told. Groups are compared `within` these true labels, over all
    rows where there are none; None is another condition. `use` is what the labels are worth, and `judged` what can be
    told of the groups that have enough rows, where either was asked for.
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
    within: tuple[str, ...] | None = None
    use: UseRecord | None = None
    judged: JudgedRecord | None = None

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
    as that of a bound is. `rule` is what gives the labels of the chosen model, if they are adjusted. `verdict` says
    whether a request was met, `summary` the sentences that follow it, `price` what the chosen model costs beside the
    first, and `warnings` what must not be overlooked, such as a model of no use. `target` is the column
    that is predicted.
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
    verdict: VerdictRecord | None = None
    summary: tuple[str, ...] = ()
    price: PriceRecord | None = None
    warnings: tuple[str, ...] = ()
    target: str = ""
