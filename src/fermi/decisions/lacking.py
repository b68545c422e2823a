"""Which requirements labels miss, and what they keep instead, in words."""

from __future__ import annotations

from dataclasses import replace

from fermi._typing import Floats
from fermi.decisions.requirements import Layout, Requirements, allowances, misses

_NOTHING = Requirements(None)


def lacking(asked: Requirements, layout: Layout, rates: Floats) -> list[str]:
    """The requirements that true rates miss, in the words of their arguments, each with the nearest that is kept."""
    allowed = allowances(layout, rates[:-1], asked.slack)
    upper, lower = rates[:-1] - allowed, rates[:-1] + allowed
    gap = max((float((upper[b].max(axis=0) - lower[b].min(axis=0)).max()) for b in layout.blocks), default=0.0)
    tops = [(float(lower[b, -1].min()), float(upper[b, -1].max())) for b in layout.blocks]
    ratio = min((low / high for low, high in tops if high > 0.0), default=1.0)
    least = min((float(lower[b, -1].min()) for b in (*layout.blocks, *layout.alone)), default=1.0)
    parts = (
        (replace(_NOTHING, max_violation=asked.max_violation), f"max_violation={asked.max_violation}", gap),
        (replace(_NOTHING, min_ratio=asked.min_ratio), f"min_ratio={asked.min_ratio}", ratio),
        (
            replace(_NOTHING, selection_rate=asked.selection_rate),
            f"selection_rate={asked.selection_rate}",
            float(rates[-1, -1]),
        ),
        (replace(_NOTHING, min_rate=asked.min_rate), f"min_rate={asked.min_rate}", least),
    )
    return [
        f"{words} (the nearest is {kept:.4f})"
        for part, words, kept in parts
        if misses(replace(part, slack=asked.slack), layout, rates)
    ]
