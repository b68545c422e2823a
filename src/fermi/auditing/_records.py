"""Plain records of two predictions for the same rows, and of decisions that are followed over time."""

from __future__ import annotations

from dataclasses import dataclass

from fermi.records import Estimate, RateRecord


@dataclass(frozen=True)
class DifferenceRecord:
    """One figure of two predictions for the same rows: of which group, of both, and the second less the first."""

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

    `gap` is of groups with enough rows, `behind` the rates that make it. `moves` says in words what moved beyond noise;
    `gap_p_value` and `rates_p_value` are those of nothing having changed.
    """

    period: str
    rows: float
    gap: Estimate
    behind: RateRecord | None = None
    error: Estimate | None = None
    moves: tuple[str, ...] = ()
    gap_p_value: float | None = None
    rates_p_value: float | None = None
