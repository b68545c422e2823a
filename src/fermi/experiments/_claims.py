"""What the paper says, and whether it held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pandas as pd

HEADER = "| claim | where | verdict | figures |"
Verdict: TypeAlias = tuple[Literal["held", "did not hold", "could not be tested here"], str]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper in our words, where it stands, and what the records say of it, with figures."""

    text: str
    place: str
    judge: Callable[[pd.DataFrame], Verdict]


def verdicts(claims: Sequence[Claim], records: pd.DataFrame) -> str:
    """Markdown: a line per claim."""
    lines = ["## What the paper claims", "", HEADER, "|---|---|---|---|"]
    for claim in claims:
        word, figures = claim.judge(records)
        lines.append(f"| {claim.text} | {claim.place} | {word} | {figures} |")
    return "\n".join(lines)


def untestable(reason: str) -> Callable[[pd.DataFrame], Verdict]:
    """A claim about something that is not here."""
    return lambda records: ("could not be tested here", reason)
