"""The claims of the paper, and verdicts on them in four words, each with half the width of the interval behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

HEADER = "| claim | where | verdict | half-width | figures |"
Word: TypeAlias = Literal["held", "refuted", "not shown", "could not be tested here"]


class Verdict(NamedTuple):
    """What the records say of a claim: one of four words, figures, and half the width of the widest interval behind it.

    "Held" and "refuted" need an interval that lies on one side; where it holds both, the claim is "not shown".
    """

    word: Word
    figures: str
    width: float = float("nan")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words, where it stands, and what the records say of it, with figures."""

    text: str
    place: str
    judge: Callable[[pd.DataFrame], Verdict]


def verdicts(claims: Sequence[Claim], records: pd.DataFrame) -> str:
    """The claims and their verdicts as Markdown, a line each."""
    lines = ["## What the paper claims", "", HEADER, "|---|---|---|---|---|"]
    for claim in claims:
        word, figures, width = claim.judge(records)
        spread = "" if np.isnan(width) else f"± {width:.2g}"
        lines.append(f"| {claim.text} | {claim.place} | {word} | {spread} | {figures} |")
    return "\n".join(lines)


def exceeds(difference: float, width: float, limit: float = 0.0) -> Word:
    """Whether a difference is more than a limit, as far as its interval can tell."""
    if np.isnan(difference) or np.isnan(width):
        return "could not be tested here"
    if difference - width > limit:
        return "held"
    return "refuted" if difference + width <= limit else "not shown"


def at_most(difference: float, width: float, limit: float) -> Word:
    """Whether a difference is at most a limit, as far as its interval can tell."""
    return opposite(exceeds(difference, width, limit))


def equal_within(difference: float, width: float, limit: float) -> Word:
    """Whether a difference is within a limit on either side, as far as its interval can tell."""
    return at_most(abs(difference), width, limit)


def opposite(word: Word) -> Word:
    """The verdict on the opposite claim."""
    turned: dict[Word, Word] = {"held": "refuted", "refuted": "held"}
    return turned.get(word, word)


def overall(words: Sequence[Word]) -> Word:
    """The word on a claim about every setting: one that refutes it is enough, and all that can be tested must hold."""
    tested = [word for word in words if word != "could not be tested here"]
    if not tested:
        return "could not be tested here"
    if "refuted" in tested:
        return "refuted"
    return "held" if all(word == "held" for word in tested) else "not shown"


def widest(widths: Sequence[float]) -> float:
    """The largest half-width of several intervals, or nan where there is none."""
    known = [width for width in widths if not np.isnan(width)]
    return max(known) if known else float("nan")


def untestable(reason: str) -> Callable[[pd.DataFrame], Verdict]:
    """The judge of a claim about something that is not here."""
    return lambda records: Verdict("could not be tested here", reason)
