"""The charting library: Vega, Vega-Lite and Vega-Embed as one script, from the package `vl-convert-python`."""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from fermi._files import cache_folder, whole_file
from fermi.errors import FermiError


@functools.cache
def charting_script() -> str:
    """The text of the charting script, which puts `vegaEmbed` on `window`.

    Bundling takes seconds, so the text is kept in the user's cache folder, under the version that made it.
    """
    kept = _folder() / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    import vl_convert  # large, and needed for the first report only

    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # A folder that cannot be written costs the next process its seconds, nothing else.
    with suppress(OSError, FermiError), whole_file(kept) as partial:
        partial.write_text(script, encoding="utf-8", newline="\n")
    return script


def _folder() -> Path:
    try:
        return Path(cache_folder()).expanduser()
    except RuntimeError:  # a user without a home
        return Path(os.devnull)
