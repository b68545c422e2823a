"""The picture of a trade-off curve."""

from __future__ import annotations

from typing import Any

import pandas as pd

from fermi._optional import require
from fermi.tradeoff._knob import Knob

# Okabe and Ito's colours, which the colour-blind can tell apart; markers differ as well.
_LOOKS = {
    "train": {"color": "#56B4E9", "marker": "s", "linestyle": ":", "linewidth": 1.0, "markersize": 4, "zorder": 2},
    "test": {"color": "#D55E00", "marker": "^", "linestyle": "--", "linewidth": 1.0, "markersize": 5, "zorder": 3},
}
_FRONT = {"color": "black", "marker": "o", "linestyle": "-", "linewidth": 2.0, "markersize": 5, "zorder": 5}
_LABELS = 5


def draw(frame: pd.DataFrame, front: pd.DataFrame, knob: Knob, ax: Any) -> Any:
    """Draw error against violation of labels; the values on the frontier are written beside some of its points."""
    if ax is None:
        ax = require("matplotlib.pyplot", extra="report").subplots(layout="constrained")[1]
    validation = frame[frame["split"] == "validation"]
    beaten = validation[~validation["lam"].isin(front["lam"])]
    ax.errorbar(
        front["violation"],
        front["error"],
        xerr=front["standard_error"],
        label="validation: the frontier",
        elinewidth=0.7,
        **_FRONT,
    )
    if len(beaten):
        ax.plot(
            beaten["violation"],
            beaten["error"],
            "o",
            color="black",
            markerfacecolor="none",
            markersize=5,
            zorder=4,
            label="validation: models that another beats",
        )
    for name, looks in _LOOKS.items():
        # The same models, in the same order, so that each line shows what became of the frontier elsewhere.
        some = frame[frame["split"] == name].set_index("lam").reindex(front["lam"]).dropna(subset=["violation"])
        if len(some):
            ax.plot(some["violation"], some["error"], label=f"{name}: the models of the frontier", **looks)
    shown = front.iloc[sorted({round(i * (len(front) - 1) / max(_LABELS - 1, 1)) for i in range(_LABELS)})]
    for value, x, y in zip(shown["lam"], shown["violation"], shown["error"], strict=True):
        text = f"{knob.word} = {float(f'{value:.3g}'):g}"  # 1000, not 1e+03
        ax.annotate(text, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=8, zorder=6)
    ax.margins(x=0.1)
    ax.set_xlim(left=-0.02 * ax.get_xlim()[1])
    ax.set_xlabel(f"violation (labels, {knob.notion.words})")
    ax.set_ylabel("error (labels)")
    ax.grid(alpha=0.3)
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = sorted(handles, key=lambda label: (not label.startswith("validation"), "frontier" not in label))
    ax.legend([handles[label] for label in order], order, loc="upper right", fontsize=8, frameon=False)
    return ax
