"""Draw the pictures of README and pages: `python tools/pictures.py`, with matplotlib and FERMI_DATA; a minute.

All are made by the library from the Adult data set, but the last, which draws benchmarks/results/convergence.json
(`fermi bench convergence`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd

mpl.use("Agg")

from matplotlib import pyplot as plt

from fermi import Contingency, FermiClassifier, audit, datasets, ermi

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
WOMEN, MEN, GREY = "#b4530a", "#1f5fa8", "#6b7280"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "savefig.facecolor": "white",
}


def trained() -> tuple[Any, FermiClassifier, FermiClassifier]:
    """Adult without the columns that tell the sex by name, a plain model of it and one within a bound of 0.02."""
    data = datasets.load("adult", include_sensitive=False).numeric()
    plain, fair = FermiClassifier(lam=0), FermiClassifier(max_violation=0.02, random_state=0)
    for model in (plain, fair):
        model.fit(data.X_train, data.y_train, sensitive_features=data.s_train)
    return data, plain, fair


def before_after(data: Any, plain: FermiClassifier, fair: FermiClassifier) -> None:
    """Share of women and men who are given the favourable label, by the plain and by the fair model."""
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.5), sharex=True, sharey=True)
    for ax, (name, model) in zip(axes, {"Before": plain, "After": fair}.items(), strict=True):
        labels = model.predict(data.X_test)
        rates = audit(data.y_test, labels, sensitive_features=data.s_test).frame
        error = float((labels != data.y_test).mean())
        gap = 100 * float(np.ptp(rates["rate_>50K"]))
        ax.set_title(f"{name}: a gap of {gap:.1f} points, {100 * error:.1f}% wrong")
        for place, (group, row) in enumerate(rates.iterrows()):
            rate = 100 * row["rate_>50K"]
            reach = [[rate - 100 * row["rate_>50K_low"]], [100 * row["rate_>50K_high"] - rate]]
            ax.barh(place, rate, color=WOMEN if "Female" in str(group) else MEN, height=0.62)
            ax.errorbar(rate, place, xerr=reach, color="black", capsize=3, linewidth=1)
            ax.text(rate + 1.4, place, f"{rate:.1f}%", va="center")
        ax.set_yticks(
            range(len(rates)), [{"Female": "women", "Male": "men"}[str(g).split("=")[-1]] for g in rates.index]
        )
        ax.set_xlim(0, 34)
        ax.xaxis.set_major_formatter("{x:g}%")
    figure.supxlabel("share of the test rows predicted to earn over $50,000", fontsize=10)
    save(figure, "before-after")


def tables(data: Any, plain: FermiClassifier) -> None:
    """What ERMI compares: the table that is, the table of independence, and what each cell adds."""
    table = Contingency.from_predictions(plain.predict(data.X_test), data.s_test)
    seen = table.table[0] / table.table[0].sum()
    alone = seen.sum(axis=1, keepdims=True) * seen.sum(axis=0, keepdims=True)
    adds = (seen - alone) ** 2 / alone
    named = {
        "What the model does": (100 * seen, "{:.1f}%", "Blues"),
        "If the group played no part": (100 * alone, "{:.1f}%", "Blues"),
        f"What each cell adds (sum {ermi(table):.3f})": (adds, "{:.3f}", "Oranges"),
    }
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.6))
    for ax, (title, (cells, form, colours)) in zip(axes, named.items(), strict=True):
        ax.imshow(cells, cmap=colours, vmin=0, vmax=cells.max() * 1.6, aspect="auto")
        ax.set_title(title)
        ax.set_xticks(range(2), [str(c) for c in table.classes])
        ax.set_yticks(range(2), [g.split("=")[-1] for g in table.groups])
        ax.tick_params(length=0)
        for (row, column), value in np.ndenumerate(cells):
            ax.text(column, row, form.format(value), ha="center", va="center")
    save(figure, "ermi-tables")


def path(data: Any) -> None:
    """Rates of both groups and the error along λ, of labels and of probabilities."""
    lams = np.array([0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50])
    lines: dict[str, list[float]] = {}
    model = FermiClassifier(warm_start=True)
    woman = (data.s_test == "Female").to_numpy().ravel()
    for lam in lams:
        model.set_params(lam=lam).fit(data.X_train, data.y_train, sensitive_features=data.s_train)
        given = {
            "labels": model.predict(data.X_test) == ">50K",
            "probabilities": model.predict_proba(data.X_test)[:, 1],
        }
        for kind, values in given.items():
            lines.setdefault(f"women, {kind}", []).append(100 * values[woman].mean())
            lines.setdefault(f"men, {kind}", []).append(100 * values[~woman].mean())
        lines.setdefault("error", []).append(100 * (1 - model.score(data.X_test, data.y_test)))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.1))
    shown = np.where(lams == 0, 0.05, lams)
    for name, values in lines.items():
        ax = right if name == "error" else left
        colour = GREY if name == "error" else WOMEN if name.startswith("women") else MEN
        ax.plot(shown, values, "--" if "probabilities" in name else "-", marker=".", color=colour, label=name)
    left.set_title("Share predicted over $50,000")
    left.set_ylim(0, 34)
    left.legend(frameon=False, fontsize=8, ncols=2)
    right.set_title("Wrong labels")
    right.set_ylim(14, 20)
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xticks([0.05, 0.1, 1, 10], ["0", "0.1", "1", "10"])
        ax.set_xlabel("λ")
        ax.yaxis.set_major_formatter("{x:g}%")
    save(figure, "lambda-path")


def batch_sizes() -> None:
    """How far above the least objective training ends, by batch size, with and without the variable W."""
    cases = pd.DataFrame(json.loads((ROOT / "benchmarks/results/convergence.json").read_text("utf-8"))["cases"])
    cases = cases[(cases["notion"] == "demographic_parity") & cases["lam"].isin([5, 20]) & cases["batch"].notna()]
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 2.9), sharey=True)
    names = {"sgda": ("Algorithm 1", MEN), "mary": ("each batch's own estimate", WOMEN)}
    for ax, (lam, those) in zip(axes, cases.groupby("lam"), strict=True):
        for method, (name, colour) in names.items():
            line = those[those["method"] == method].sort_values("batch")
            ax.plot(line["batch"], 100 * line["worst_excess"], marker="o", color=colour, label=name)
        ax.set_title(f"λ = {lam:g}")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks([1, 4, 64], ["1", "4", "64"])
        ax.set_yticks([0.01, 0.1, 1, 10, 100], ["0.01%", "0.1%", "1%", "10%", "100%"])
        ax.minorticks_off()
        ax.set_xlabel("rows in a batch")
    axes[0].set_ylabel("above the least objective")
    axes[0].legend(frameon=False, fontsize=9)
    save(figure, "batch-size")


def save(figure: Any, name: str) -> None:
    """Write a picture that is the same file whenever it is drawn with the same versions."""
    figure.tight_layout()
    figure.savefig(IMAGES / f"{name}.png", dpi=140, metadata={"Software": None})
    plt.close(figure)


def main() -> None:
    """Draw all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        data, plain, fair = trained()
        drawn: list[Callable[[], None]] = [
            lambda: before_after(data, plain, fair),
            lambda: tables(data, plain),
            lambda: path(data),
            batch_sizes,
        ]
        for draw in drawn:
            draw()


if __name__ == "__main__":
    main()
