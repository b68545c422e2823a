"""Which label people want: known of plain pairs, asked for of others, and never the last in the alphabet in silence."""

from __future__ import annotations

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
_OTHERS = {"approved": {"rejected", "declined", "refused"}, "accepted": {"declined", "denied"}, "granted": {"denied"}}


def known_favourable(classes: Sequence[Any]) -> Any:
    """The label of two that people want, or None where no plain pair says so.

    Examples
    --------
    >>> known_favourable(["approved", "denied"]), known_favourable([0, 1]), known_favourable(["blue", "green"])
    ('approved', 1, None)
    """
    if len(classes) != 2:
        return None
    for good, bad in (tuple(classes), tuple(reversed(classes))):
        word, other = (str(label).strip().lower() for label in (good, bad))
        if _WANTED.get(word) == other or other in _OTHERS.get(word, ()) or other in (f"not {word}", f"non-{word}"):
            return good
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


def favourable_label(labels: Sequence[str], classes: Sequence[Any], needed_by: str = "") -> Any:
    """The one label that people want, or None where it is neither given nor known; refused if something needs it.

    Parameters
    ----------
    labels : sequence of str
        What the user named.
    classes : sequence
        All classes.
    needed_by : str
        The option that is about this label, for the message.
    """
    named = given_labels(labels, classes)
    if len(named) > 1 and needed_by:
        raise FermiError(f"{needed_by} is about one label; `advantaged` names {len(named)}: {listed(named)}.")
    found = named[0] if len(named) == 1 else None if named else known_favourable(classes)
    if found is None and needed_by and not named:
        example = f"`advantaged` {str(classes[0])!r}"
        raise FermiError(
            f"{needed_by} needs to know which label people want, of {listed(classes)}: name the favourable one, say "
            f"{example}."
        )
    return found
