"""The colours and markers of methods, which each keeps in every figure."""

from __future__ import annotations

from typing import Any

from fermi import baselines

# Okabe and Ito's colours, which the colour-blind can tell apart; lines and markers differ where colours repeat. Grey is
# that of the naive trade.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255")
_MARKERS = "os^Dv<>pPX*hd"
_LINES = ("-", "--", ":", "-.")
# Those that stand out, and those that came after the others had their looks.
_OWN: dict[str, dict[str, Any]] = {
    "fermi": {"color": "black", "marker": "o", "linewidth": 2.0, "zorder": 5},
    "fermi_labels": {"color": "black", "marker": "s", "linestyle": "--", "linewidth": 1.5, "zorder": 5},
    "linear_post": {"color": "#D55E00", "marker": "D", "linestyle": "--", "linewidth": 1.5, "zorder": 4},
}


def style(method: str) -> dict[str, Any]:
    """The look of a method, as keyword arguments for matplotlib's `plot`."""
    if method in _OWN:
        return dict(_OWN[method])
    place = [name for name in baselines.available() if name not in _OWN].index(method)
    colour, line = _COLOURS[place % len(_COLOURS)], _LINES[place // len(_COLOURS) % len(_LINES)]
    return {"color": colour, "marker": _MARKERS[place % len(_MARKERS)], "linestyle": line, "linewidth": 1.0}
