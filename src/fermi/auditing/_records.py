"""Plain records of two predictions for the same rows, and of decisions that are followed over time."""

from __future__ import annotations

from dataclasses import dataclass

from fermi.records import Estimate, RateRecord


@dataclass(frozen=True)
class DifferenceRecord:
    """One figure of two predictions for the same rows: of which group, of both, and the second less the first.

    Attributes
    ----------
    group : str
        The group, or what stands for all rows.
    rows : float
        The weight of its rows.
    figure : str
        What is compared, such as `rate_yes` or `error`.
    first, second : float
        The figure of each prediction.
    change : Estimate
        The second less the first, with an interval as of pairs.
    """

    group: str
    rows: float
    figure: str
    first: float
    second: float
    change: Estimate

    @property
    def beyond_noise(self) -> bool:
        """Whether the interval of the difference leaves out 0."""
        return self.change.low > 0.0 or self.change.high < 0.0


@dataclass(frozen=True)
class PeriodRecord:
    """One period of decisions that are followed: its gap between groups, and what has moved since the reference.

    Attributes
    ----------
    period : str
        What the period is called.
    rows : float
        The weight of its rows.
    gap : Estimate
        The parity difference between groups with enough rows.
    behind : RateRecord, optional
        The rates that make the gap.
    error : Estimate, optional
        The error, where true labels are known.
    moves : tuple of str
        What moved beyond noise, in words.
    gap_p_value, rates_p_value : float, optional
        How probable such changes are if nothing has changed.
    """

    period: str
    rows: float
    gap: Estimate
    behind: RateRecord | None = None
    error: Estimate | None = None
    moves: tuple[str, ...] = ()
    gap_p_value: float | None = None
    rates_p_value: float | None = None
