"""The terminal that commands write to: words of a file cannot act on it."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console as RichConsole
from rich.text import Text

# Control characters, and those that turn the direction of what follows.
_CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")


def printable(text: str) -> str:
    """Text without control characters, which could colour, clear or rename a terminal; line breaks and tabs stay."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


class Console(RichConsole):
    """A console on which names and entries of somebody's file are only ever shown."""

    def render_str(self, text: str, *args: Any, **options: Any) -> Text:
        """Make a string ready to print: that of a line, and that of a cell of a table."""
        return super().render_str(printable(text), *args, **options)
