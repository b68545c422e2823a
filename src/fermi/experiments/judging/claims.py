"""The claims of the paper, and verdicts on whether they held."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pandas as pd

HEADER = "| claim | where | verdict | figures |"
Word: TypeAlias = Literal["held", "did not hold", "could not be tested here"]
Verdict: TypeAlias = tuple[Word, str]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words, where it stands, and what the records say of it, with figures."""

    text: str
    place: str
    judge: Callable[[pd.DataFrame], Verdict]


def verdicts(claims: Sequence[Claim], records: pd.DataFrame) -> str:
    """The claims and their verdicts as Markdown, a line each."""
    lines = ["## What the paper claims", "", HEADER, "|---|---|---|---|"]
    for claim in claims:
        word, figures = claim.judge(records)
        lines.append(f"| {claim.text} | {claim.place} | {word} | {figures} |")
    return "\n".join(lines)


def leads(outcomes: Mapping[str, int]) -> Word:
    """Whether a method has the better trade-off: no rival is "below" it, and more are "above" it than the "same"."""
    above, same, below = (int(outcomes.get(word, 0)) for word in ("above", "same", "below"))
    if not above + same + below:
        return "could not be tested here"
    return "held" if not below and above > same else "did not hold"


def untestable(reason: str) -> Callable[[pd.DataFrame], Verdict]:
    """The judge of a claim about something that is not here."""
    return lambda records: ("could not be tested here", reason)
