"""Which label people want: known of plain pairs, asked for of others, and never the last in the alphabet in silence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fermi.errors import FermiError, bad_argument, listed

_WANTED = {
    "1": "0",
    "true": "false",
    "yes": "no",
    "y": "n",
    "t": "f",
    "approved": "denied",
    "approve": "deny",
    "accepted": "rejected",
    "accept": "reject",
    "admitted": "rejected",
    "granted": "refused",
    "hired": "rejected",
    "good": "bad",
    "pass": "fail",
    "passed": "failed",
    "success": "failure",
    "qualified": "unqualified",
    "eligible": "ineligible",
    "repaid": "defaulted",
    "paid": "default",
}
_AFFIRMED = ("1", "true", "yes", "y", "t")  # which say that what the target names is so, be that good or bad
_BAD = re.compile(
    r"reject|refus|denied|denial|(?<![a-z])den(y|ies)(?![a-z])|declin|default|delinq|bankrupt|arrest|recid|re-?offen|"
    r"convict|crim|fraud|churn|attrition|drop[ _-]?out|(?<![a-z])fail|suspen|expel|evict|death|deceas|(?<![a-z])(dead|"
    r"died?|dies|ill|illness|sick)(?![a-z])|mortal|disease|cancer|diabet|readmi|re-?hospital|relaps|complication",
    re.IGNORECASE,
)
_OTHERS = {"approved": {"rejected", "declined", "refused"}, "accepted": {"declined", "denied"}, "granted": {"denied"}}


def known_favourable(classes: Sequence[Any], target: str = "") -> Any:
    """The label of two that people want, or None where no plain pair says so.

    "yes" and 1 say that what the target names is so: where its name is that of something bad, nothing is known.

    Examples
    --------
    >>> known_favourable(["approved", "denied"]), known_favourable([0, 1]), known_favourable(["blue", "green"])
    ('approved', 1, None)
    >>> known_favourable(["no", "yes"], "hired"), known_favourable(["no", "yes"], "readmitted")
    ('yes', None)
    """
    if len(classes) != 2:
        return None
    for good, bad in (tuple(classes), tuple(reversed(classes))):
        word, other = (str(label).strip().lower() for label in (good, bad))
        if _WANTED.get(word) == other or other in _OTHERS.get(word, ()) or other in (f"not {word}", f"non-{word}"):
            return None if word in _AFFIRMED and _BAD.search(target) else good
    return None


def wanted_last(classes: Sequence[Any], wanted: Any) -> list[Any]:
    """The classes with the one that people want at the end, where it is known."""
    return list(classes) if wanted is None else [*(label for label in classes if label != wanted), wanted]


def given_labels(labels: Sequence[str], classes: Sequence[Any]) -> list[Any]:
    """The labels that a user named, in the target's own type."""
    words = {str(label): label for label in classes}
    strange = [word for word in labels if word not in words]
    if strange:
        raise bad_argument("advantaged", f"is {strange[0]!r}", f"one of {listed(words)}")
    return [words[word] for word in dict.fromkeys(labels)]


def favourable_label(labels: Sequence[str], classes: Sequence[Any], needed_by: str = "", target: str = "") -> Any:
    """The one label that people want, or None where it is neither given nor known; refused if something needs it.

    Parameters
    ----------
    labels : sequence of str
        What the user named.
    classes : sequence
        All classes.
    needed_by : str
        The option that is about this label, for the message.
    target : str
        The name of the target, which may be that of something bad.
    """
    named = given_labels(labels, classes)
    if len(named) > 1 and needed_by:
        raise FermiError(f"{needed_by} is about one label; `advantaged` names {len(named)}: {listed(named)}.")
    found = named[0] if len(named) == 1 else None if named else known_favourable(classes, target)
    if found is None and needed_by and not named:
        each = " or ".join(f"`advantaged` {str(label)!r}" for label in classes[:2]) + " or ..." * (len(classes) > 2)
        raise FermiError(f"{needed_by} needs to know which label people want: name the favourable one by {each}.")
    return found
