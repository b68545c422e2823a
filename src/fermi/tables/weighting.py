"""Weights of a notion's conditions in training, as words of a command line give them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from fermi.errors import bad_argument, listed
from fermi.notions import Notion

_BALANCED = "balanced"


def weighted(notion: Notion, given: Sequence[str], classes: Sequence[Any]) -> Notion:
    """A notion whose conditions count in training what words say: "balanced", or "LABEL=NUMBER" each."""
    plain: Any = notion  # each is a dataclass, of which the base knows nothing
    if "weights" not in {entry.name for entry in fields(plain)}:
        raise bad_argument("weights", f"is given with {notion.name!r}", "a `notion` with several conditions")
    if tuple(given) == (_BALANCED,):
        balanced: Notion = replace(plain, weights=_BALANCED)
        return balanced
    words, found = {str(label): label for label in classes}, {}
    for entry in given:
        label, _, text = entry.rpartition("=")
        if label not in words:
            expected = "'balanced', or LABEL=NUMBER" + (f" with one of {listed(words)}" if words else "")
            raise bad_argument("weights", f"is {entry!r}", expected)
        try:
            found[words[label]] = float(text)
        except ValueError:
            raise bad_argument("weights", f"is {entry!r}", "a number after the last '='") from None
    weighing: Notion = replace(plain, weights=found)
    return weighing
