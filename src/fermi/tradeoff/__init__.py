"""The price of fairness: error against violation along λ, a bound, or the strength of any other method."""

from __future__ import annotations

from fermi.tradeoff._curve import TradeoffCurve
from fermi.tradeoff._sweep import tradeoff_curve

__all__ = ["TradeoffCurve", "tradeoff_curve"]
