"""What a statement of the paper is here, what a check of it measures, and the verdict that follows.

A verdict has one of four words. *Held*: what was measured is on the statement's side by more than its half-width, or no
counterexample was found. *Refuted*: it is on the other side by more than its half-width, or there is a counterexample.
*Not shown*: the interval holds both. *Could not be tested here*: with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Word: TypeAlias = Literal["held", "refuted", "not shown", "could not be tested here"]
Verdict: TypeAlias = tuple[Word, str]
Measured: TypeAlias = dict[str, Any]  # plain values, kept in the records
Sense: TypeAlias = Literal["at most", "at least"]

ROUNDING = 1e-9  # relative to the larger side, or to 1 where both are smaller
_Z95 = 1.959964


@dataclass(frozen=True)
class Statement:
    """A statement of the paper, the check of it, and a control that the same check must judge otherwise.

    Attributes
    ----------
    name : str
        What the statement is known by in records and tests.
    text, place : str
        The statement in our words, and where it stands.
    measure : function of a claim and `quick`
        What was measured about a claim, with fewer draws if quick.
    claim : anything
        The statement in the form that `measure` takes.
    control : anything
        Another claim of that form: a false one where the statement holds, the corrected one where it does not.
    control_text : str
        The control in words.
    """

    name: str
    text: str
    place: str
    measure: Callable[[Any, bool], Measured]
    claim: Any
    control: Any
    control_text: str


def every(sides: Iterable[tuple[float, float]], *, of: str, examples: Iterable[str] | None = None) -> Measured:
    """What a search for counterexamples found: left and right side of an inequality, left ≤ right, for each draw.

    Parameters
    ----------
    sides : pairs of numbers
        The left and the right side of each draw.
    of : str
        What was drawn, in the plural.
    examples : strings, optional
        What each draw is, to name the worst counterexample.
    """
    pairs = [(float(left), float(right)) for left, right in sides]
    beyond = [left - right - ROUNDING * max(1.0, abs(right)) for left, right in pairs]
    worst = max(range(len(pairs)), key=beyond.__getitem__)
    named = list(examples)[worst] if examples is not None else ""
    return {
        "kind": "every",
        "of": of,
        "draws": len(pairs),
        "violations": sum(not amount <= 0.0 for amount in beyond),
        "left": pairs[worst][0],
        "right": pairs[worst][1],
        "reach": max((left / right for left, right in pairs if right > 0.0), default=0.0),
        "example": named,
        "equation": False,
    }


def equal(sides: Iterable[tuple[float, float]], *, of: str, within: float = ROUNDING) -> Measured:
    """What a search for counterexamples to an equation found: the two sides of each draw.

    They are taken for equal where they differ by at most `within`, relative to the larger or to 1.
    """
    pairs = [(float(left), float(right)) for left, right in sides]
    apart = [abs(left - right) / max(1.0, abs(left), abs(right)) for left, right in pairs]
    found = every(((amount, within) for amount in apart), of=of)
    worst = max(range(len(pairs)), key=apart.__getitem__)
    sides_of = {"left": pairs[worst][0], "right": pairs[worst][1]}
    return {**found, **sides_of, "equation": True, "within": within, "reach": apart[worst]}


def compared(estimate: float, half_width: float, sense: Sense, bound: float, *, what: str) -> Measured:
    """An estimate with the half-width of its 95% interval, which a statement bounds from above or below."""
    return {
        "kind": "compared",
        "what": what,
        "estimate": float(estimate),
        "half_width": float(half_width),
        "sense": sense,
        "bound": float(bound),
    }


def several(parts: Mapping[str, Measured]) -> Measured:
    """Several things measured about one statement, or the statement in several settings."""
    return {"kind": "several", "parts": dict(parts)}


def untested(reason: str) -> Measured:
    """The record of a statement that is not tested, with the reason."""
    return {"kind": "untested", "reason": reason}


def judge(measured: Mapping[str, Any]) -> Verdict:
    """The verdict that follows from what was measured, with its figures."""
    kinds: dict[str, Callable[[Mapping[str, Any]], Verdict]] = {
        "every": _judge_every,
        "compared": _judge_compared,
        "several": _judge_several,
        "untested": lambda one: ("could not be tested here", one["reason"]),
    }
    return kinds[measured["kind"]](measured)


def half_width(measured: Mapping[str, Any]) -> float:
    """Half the width of the widest interval behind a verdict; NaN where nothing was estimated."""
    if measured["kind"] == "several":
        widths = [half_width(part) for part in measured["parts"].values()]
        return max((width for width in widths if not math.isnan(width)), default=math.nan)
    return float(measured["half_width"]) if measured["kind"] == "compared" else math.nan


def _judge_every(one: Mapping[str, Any]) -> Verdict:
    """One counterexample refutes; without any the share of them is below 3/n at 95%."""
    n, found = int(one["draws"]), int(one["violations"])
    if not found:
        named = f" ({one['example']})" if one["example"] else ""
        return "held", f"{_none_among(n, one['of'])}; {_reach(one)}{named}"
    share = found / n
    width = _Z95 / (1.0 + _Z95**2 / n) * math.sqrt(share * (1.0 - share) / n + _Z95**2 / (4.0 * n**2))  # Wilson's
    worst = f"{_number(one['left'])} {'against' if one['equation'] else 'against at most'} {_number(one['right'])}"
    named = f" ({one['example']})" if one["example"] else ""
    many = f"{share:.1%} ± {width:.1%} of {n:,}" if n >= 20 else f"{found} of {n}"
    return "refuted", f"counterexamples: {many} {one['of']}; the worst {worst}{named}"


def _none_among(n: int, of: str) -> str:
    """Say that no counterexample was found, and how frequent they can still be."""
    return f"no counterexample among {n:,} {of}" + (f" (a share below {3.0 / n:.2g} at 95%)" if n >= 20 else "")


def _reach(one: Mapping[str, Any]) -> str:
    """How near the two sides of an inequality come, or how far apart those of an equation are."""
    if one["equation"]:
        return f"sides at most {one['reach']:.1g} apart"
    return f"left side at most {one['reach']:.4g} of the right one"


def _judge_compared(one: Mapping[str, Any]) -> Verdict:
    """Which side of the bound the interval lies on."""
    estimate, width, bound = one["estimate"], one["half_width"], one["bound"]
    figures = f"{one['what']}: {_number(estimate)} ± {_number(width)}, claimed {one['sense']} {_number(bound)}"
    if not (math.isfinite(estimate) and math.isfinite(width)):
        return "not shown", figures
    lead = bound - estimate if one["sense"] == "at most" else estimate - bound
    if lead >= width:
        return "held", figures
    return ("refuted" if lead < -width else "not shown"), figures


def _judge_several(one: Mapping[str, Any]) -> Verdict:
    """Refuted if a part is, held if all parts are that could be tested."""
    judged = {name: judge(part) for name, part in one["parts"].items()}
    words = {word for word, _ in judged.values()}
    order: tuple[Word, ...] = ("refuted", "not shown", "held", "could not be tested here")
    overall = next(word for word in order if word in words)
    parts = list(one["parts"].values())
    drawn = {(part.get("draws"), part.get("of")) for part in parts}
    if words == {"held"} and len(parts) > 1 and len(drawn) == 1 and all(part["kind"] == "every" for part in parts):
        ((n, of),) = drawn
        reached = "; ".join(f"{name}: {_reach(part)}" for name, part in one["parts"].items())
        return overall, f"{_none_among(n, of)}; {reached}"
    word_of = {name: f"{word}, " if len(words) > 1 else "" for name, (word, _) in judged.items()}
    return overall, "; ".join(f"{name}: {word_of[name]}{text}" if name else text for name, (_, text) in judged.items())


def _number(value: float) -> str:
    return f"{value:.4g}"
