"""The picture of figure 6: errors on colour MNIST along λ, and by batch size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from fermi.experiments.judging.frontier import interval
from fermi.experiments.pages.published_digits import PUBLISHED, PUBLISHED_LAMS
from fermi.experiments.pages.style import style


def draw(sweep: pd.DataFrame, found: pd.DataFrame, names: Mapping[str, str], canvas: Any) -> None:
    """Draw errors against λ on the left, the authors' in grey, and test errors against batch sizes on the right."""
    canvas.set_size_inches(11.0, 4.4)
    left, right = canvas.subplots(1, 2)
    size = sweep["batch_size"].iloc[0]
    for (model, name), colour in zip(names.items(), ("#0072B2", "#D55E00"), strict=True):
        for part, line in (("test", "-"), ("train", "--")):
            by_lam = sweep[sweep["model"] == model].groupby("lam")[f"{part}_error"]
            means, widths = by_lam.mean(), by_lam.agg(lambda values: interval(values)[1]).fillna(0.0)
            look = {"color": colour, "linestyle": line}
            left.errorbar(means.index, means, widths, marker="o", markersize=3, label=f"{name}, {part}", **look)
            left.plot(PUBLISHED_LAMS, PUBLISHED[model, part], alpha=0.35, label=f"{name}, {part}, published", **look)
    left.set(xlabel="λ", ylabel="error", title=f"FERMI at batch {size}", ylim=(0.0, 1.0))
    for method, group in found.groupby("method"):
        by_size = group.groupby("batch_size")["test_error"]
        widths = by_size.agg(lambda values: interval(values)[1]).fillna(0.0)
        right.errorbar(by_size.mean().index, by_size.mean(), widths, label=method, markersize=4, **style(str(method)))
    sizes = sorted(found["batch_size"].unique())
    right.set(xscale="log", xlabel="batch size", ylabel="test error at the chosen λ", title="LeNet-5", ylim=(0.0, 1.0))
    right.minorticks_off()
    right.set_xticks(sizes, [str(size) for size in sizes])
    for ax in (left, right):
        ax.grid(alpha=0.3)
        ax.legend(fontsize=7, frameon=False, ncols=2)
