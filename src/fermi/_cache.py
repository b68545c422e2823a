"""Where a user's programs keep what they can fetch or make again."""

from __future__ import annotations

import os
import sys


def cache_folder() -> str:
    """The folder of fermi, by the custom of the system; ``~`` stands for the user's home."""
    if sys.platform == "win32":
        return f"{os.environ.get('LOCALAPPDATA', '~')}/fermi"
    if sys.platform == "darwin":
        return "~/Library/Caches/fermi"
    return f"{os.environ.get('XDG_CACHE_HOME') or '~/.cache'}/fermi"
