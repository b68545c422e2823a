"""Figure 7: objective and test accuracy along training, FERMI and `mary` at batch 128 on Adult."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd

from fermi.experiments.figure import Cell, Figure
from fermi.experiments.judging.claims import (
    Claim,
    Verdict,
    Word,
    at_most,
    equal_within,
    exceeds,
    overall,
    verdicts,
    widest,
)
from fermi.experiments.judging.frontier import interval, said
from fermi.experiments.pages.style import style
from fermi.experiments.runs import convergence

METHODS, MODELS, RATES = ("fermi", "mary"), ("linear", "mlp"), ("constant", "falling")
LAM = 10.0  # where the paper recommends to start
LR = 0.002  # Adam's, within what the paper gives, 0.0005 to 0.01
LR_W = 0.05  # the weight of a batch in W
STATIONARY = 0.01  # of the first gradient: what we call stationary
NEAR = 0.01  # of the way from the start to the exact minimum: what we call near
_Z = 4.0  # standard errors behind what is said of biases, which are compared at several batch sizes
_SHARE = 0.1  # of the bias of `mary`: what we call unbiased
_RUN = ["model", "rates", "method", "seed"]


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of figure 7: both methods with both kinds of rates, and the exact minimum of the linear model."""
    steps, seeds, models = (1000, 1, MODELS[:1]) if quick else (4000, 3, MODELS)
    same: dict[str, Any] = {"lam": LAM, "rows": 10_000 if quick else None}
    yield {"model": "linear", "method": "exact", **same}
    for model, rates, method, seed in product(models, RATES, METHODS, range(seeds)):
        own = {"model": model, "rates": rates, "method": method, "seed": seed, "lr": LR, "lr_w": LR_W}
        yield {**own, "steps": steps, "batch_size": 128, **same}


def settling(records: pd.DataFrame) -> pd.DataFrame:
    """How each run settles: drop of the objective, where it ended, its spread over the last fifth, its gradient."""
    found = []
    for run, path in records[records["kind"] == "path"].groupby(_RUN, sort=False):
        path = path.sort_values("step")
        last = path[path["step"] > 0.8 * path["step"].max()]
        end, start = float(last["objective"].mean()), float(path["objective"].iloc[0])
        entry: dict[str, Any] = dict(zip(_RUN, run, strict=True))
        entry["first_gradient"] = float(path["gradient"].iloc[0])
        entry |= {"drop": start - end, "end": end, "spread": float(last["objective"].std(ddof=1))}
        entry |= {name: float(last[name].mean()) for name in ("loss", "ermi", "gradient", "test_accuracy")}
        entry["seconds"] = float(path["cell_seconds"].iloc[0])
        # A loss that blew up never settles, whatever it does afterwards.
        entry["ratio"] = entry["spread"] / entry["drop"] if entry["drop"] > 0.0 else np.inf
        found.append(entry)
    return pd.DataFrame(found)


def stationary(method: str, rates: str) -> Any:
    """The judge of whether training ends at a stationary point: the gradient of all rows is a hundredth of the first.

    Model by model. A loss that merely stops changing, as any does where rates fall to zero, is no sign of it.
    """

    def judge(records: pd.DataFrame) -> Verdict:
        runs = settling(records)
        runs = runs[(runs["method"] == method) & (runs["rates"] == rates)]
        told, words, widths = [], [], []
        for model, some in runs.groupby("model", sort=False):
            share, width = interval(some["gradient"] / some["first_gradient"])
            words.append(at_most(share, width, STATIONARY))
            widths.append(width)
            told.append(f"{model}: {words[-1]}, {said(share, width)} of the first gradient")
        figures = f"{'; '.join(told) or 'not run'}; stationary is at most {STATIONARY:g}"
        return Verdict(overall(words), figures, widest(widths))

    return judge


def above_minimum(records: pd.DataFrame, rates: str) -> pd.DataFrame:
    """How far each run of the linear model ends above the exact minimum."""
    runs = settling(records)
    runs = runs[(runs["model"] == "linear") & (runs["rates"] == rates)]
    least = records.loc[records["kind"] == "exact", "objective"]
    return runs.assign(excess=runs["end"] - (float(least.iloc[0]) if len(least) else np.nan))


def near_minimum(rates: str) -> Any:
    """The judge of whether FERMI's linear model ends near the exact minimum: at most a hundredth of the drop above."""

    def judge(records: pd.DataFrame) -> Verdict:
        runs = above_minimum(records, rates)
        ours, theirs = (runs[runs["method"] == method] for method in METHODS)
        if ours.empty or ours["excess"].isna().any():
            return Verdict("could not be tested here", "not run")
        share, width = interval(ours["excess"] / (ours["drop"] + ours["excess"]))
        figures = (
            f"{said(*interval(ours['excess']))} above it, {said(share, width)} of the way from the start; `mary` "
            f"{said(*interval(theirs['excess']))} above; near is at most {NEAR:g} of the way"
        )
        return Verdict(at_most(share, width, NEAR), figures, width)

    return judge


def above(column: str, words: str) -> Any:
    """The judge of whether `mary` ends with more of something than FERMI does, seed by seed, setting by setting."""

    def judge(records: pd.DataFrame) -> Verdict:
        listed, outcomes, widths = [], [], []
        for (model, rates), group in settling(records).groupby(["model", "rates"], sort=False):
            ends = group.pivot_table(index="seed", columns="method", values=column)
            difference, width = interval(ends["mary"] - ends["fermi"])
            outcomes.append(exceeds(difference, width))
            widths.append(width)
            listed.append(
                f"{model}, {rates} rates: {outcomes[-1]}, {ends['mary'].mean():.4f} (FERMI {ends['fermi'].mean():.4f}; "
                f"{said(difference, width, sign='+')})"
            )
        return Verdict(overall(outcomes), f"{words} where training ends: " + "; ".join(listed), widest(widths))

    return judge


def biased(records: pd.DataFrame) -> Verdict:
    """Whether the batch estimate is biased at every batch size, more so the smaller the batch."""
    means = bias(records[records["estimate_of"] == "mary"])
    values, errors = means["bias"].to_numpy(), means["standard_error"].to_numpy()
    words = [exceeds(value, _Z * error) for value, error in zip(values, errors, strict=True)]
    words += [
        exceeds(small - large, _Z * float(np.hypot(*pair)))
        for small, large, pair in zip(values, values[1:], pairwise(errors), strict=False)
    ]
    told = ", ".join(
        f"{value:+.5f} ± {_Z * error:.5f} at {size}"
        for size, value, error in zip(means.index, values, errors, strict=True)
    )
    return Verdict(overall(words), f"bias of `mary`: {told}", float(_Z * errors.max()))


def unbiased(records: pd.DataFrame) -> Verdict:
    """Whether FERMI's estimate is unbiased at every batch size, within a tenth of the bias of `mary` there.

    An interval that holds zero shows nothing by itself: it must also be short beside what the rival's bias is.
    """
    ours, theirs = (bias(records[records["estimate_of"] == method]) for method in METHODS)
    words: list[Word] = []
    told = []
    for (size, own), (_, rival) in zip(ours.iterrows(), theirs.loc[ours.index].iterrows(), strict=True):
        width, limit = _Z * own["standard_error"], _SHARE * abs(rival["bias"])
        known = rival["bias"] > _Z * rival["standard_error"]
        words.append(equal_within(own["bias"], width, limit) if known else "not shown")
        told.append(f"{own['bias']:+.5f} ± {width:.5f} at {size} ({words[-1]}, within {limit:.5f} asked)")
    return Verdict(overall(words), "mean of FERMI's estimate less ERMI: " + ", ".join(told), widest(
        (_Z * ours["standard_error"]).tolist()
    ))  # fmt: skip


def bias(some: pd.DataFrame) -> pd.DataFrame:
    """The mean bias over all trained models by batch size, its standard error, what is expected, and ERMI."""
    by_size = some.groupby(some["estimate_batch"].astype(int))
    means = by_size[["bias", "expected_bias", "ermi"]].mean()
    errors = by_size["standard_error"].agg(lambda errors: float(np.sqrt((errors**2).sum()) / len(errors)))
    return means.assign(standard_error=errors)


_PLACE, _NONE = "appendix E.2, figure 7", "not in the paper"
CLAIMS = [
    Claim("FERMI reaches a stationary point in 4,000 steps, rates falling", _PLACE, stationary("fermi", "falling")),
    Claim("FERMI reaches a stationary point in 4,000 steps, rates constant", _PLACE, stationary("fermi", "constant")),
    Claim("FERMI's linear model ends at the exact minimum, rates falling", "not in the paper", near_minimum("falling")),
    Claim("FERMI's linear model ends at it, rates constant", "not in the paper", near_minimum("constant")),
    Claim("`mary` fails to converge: its gradient ends larger than FERMI's", _PLACE, above("gradient", "gradient")),
    Claim("`mary` ends at a larger objective than FERMI", "not in the paper", above("end", "objective")),
    Claim("`mary` reaches one in 4,000 steps too, rates falling", _NONE, stationary("mary", "falling")),
    Claim("`mary` reaches one in 4,000 steps too, rates constant", _NONE, stationary("mary", "constant")),
    Claim("The batch estimate of `mary` is biased, especially for small batches", "appendix E.2", biased),
    Claim("FERMI's estimate is unbiased at any batch size", "section 2, corollary 1", unbiased),
]
SETUP = (
    'The paper names neither the data set nor λ of this figure ("the same setup used in Mary et al., table 1"). Here: '
    "Adult, sex not among the features, demographic parity, λ = 10, batches of 128, a linear model and one with hidden "
    f"layers of 30 and 20. Both methods have the same first weights, batches and Adam with rate {LR}, constant as in "
    "the paper or falling to zero. The rate was 0.005 at first: in a quick run (10,000 rows, 1,000 steps, one seed) "
    "neither settled at that constant rate, with a spread of 3.03% of the drop for FERMI and 1.42% for `mary`; it was "
    "lowered for both after that. So what is said of constant rates holds for small ones. FERMI's W rises by plain "
    "steps of a constant size. The objective is cross-entropy + λ · ERMI of all training rows, computed exactly."
)


def summarise(records: pd.DataFrame) -> str:
    """The claims, where each run ended, and the bias of the estimates."""
    runs = settling(records)
    lines = [
        "| model | rates | method | start − end | objective at the end | spread / drop | gradient | ERMI "
        "| test accuracy | seconds |",
        "|---" * 10 + "|",
    ]
    for (model, rates, method), group in runs.groupby(_RUN[:3], sort=False):
        entries = [f"{group['drop'].mean():.4f}", said(*interval(group["end"])), f"{group['ratio'].max():.2%}"]
        entries += [said(*interval(group[name])) for name in ("gradient", "ermi", "test_accuracy")]
        lines.append(f"| {model} | {rates} | {method} | " + " | ".join(entries) + f" | {group['seconds'].mean():.0f} |")
    for row in records[records["kind"] == "exact"].itertuples():
        lines.append(
            f"| linear | exact, all rows | L-BFGS | | {row.objective:.4f} | | | {row.ermi:.4f} "
            f"| {row.test_accuracy:.4f} | {row.cell_seconds:.0f} |"
        )
    table = "\n".join(lines)
    note = "Over the last fifth of training; mean of the seeds with its 95% interval, of the spread the largest."
    return "\n\n".join([SETUP, verdicts(CLAIMS, records), "## Where training ends", note, table, _bias_part(records)])


def _bias_part(records: pd.DataFrame) -> str:
    """The part of the page on the bias of both estimates at each batch size, in Markdown."""
    lines = ["| batch | `mary` | expected | FERMI | ERMI of all rows |", "|---|---|---|---|---|"]
    ours, theirs = (bias(records[records["estimate_of"] == method]) for method in METHODS)
    for size, own, their in zip(ours.index, ours.itertuples(), theirs.itertuples(), strict=True):
        entries = [f"{row.bias:+.5f} ± {row.standard_error:.5f}" for row in (their, own)]
        lines.append(f"| {size} | {entries[0]} | {their.expected_bias:+.5f} | {entries[1]} | {own.ermi:.5f} |")
    words = (
        f"Mean over {convergence.DRAWS:,} batches of the estimate less ERMI of all rows, where each training ended, "
        "and its standard error; mean over all trained models. Expected of the plug-in near independence: (k − 1)/n · "
        "Σ Var(ŷ | s)/p(ŷ), which for labels is (k − 1)(m − 1)/n."
    )
    return "\n\n".join(["## The bias of a batch's estimate", words, "\n".join(lines)])


def draw(records: pd.DataFrame, canvas: Any) -> None:
    """Draw the objective left and the test accuracy right, as the paper does, a row per model; last the bias."""
    paths = records[records["kind"] == "path"]
    models = list(dict.fromkeys(paths["model"]))
    canvas.set_size_inches(13.0, 3.6 * len(models) + 0.4)
    axes = canvas.subplots(len(models), 3, squeeze=False)
    for i, model in enumerate(models):
        some = paths[paths["model"] == model]
        for (method, rates), group in some.groupby(["method", "rates"]):
            for ax, name in zip(axes[i], ("objective", "test_accuracy"), strict=False):
                _band(ax, group, name, str(method), str(rates))
        _window(axes[i, 0], some)
        if model == "linear":
            for value in records[records["kind"] == "exact"]["objective"]:
                axes[i, 0].axhline(value, color="grey", linewidth=0.8, linestyle=":", label="exact minimum (L-BFGS)")
        axes[i, 0].set(xlabel="step", ylabel=f"objective of all training rows, {model}")
        axes[i, 1].set(xlabel="step", ylabel="test accuracy")
        _draw_bias(axes[i, 2], records[(records["kind"] == "estimate") & (records["model"] == model)])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8, frameon=False)


def _band(ax: Any, group: pd.DataFrame, name: str, method: str, rates: str) -> None:
    """Draw the mean over seeds, and a band from the smallest to the largest."""
    by_step = group.groupby("step")[name].agg(["mean", "min", "max"])
    look = {"color": style(method)["color"], "linestyle": "-" if rates == "falling" else ":"}
    ax.plot(by_step.index, by_step["mean"], label=f"{method}, {rates} rates", linewidth=1.2, **look)
    ax.fill_between(by_step.index, by_step["min"], by_step["max"], color=look["color"], alpha=0.12, linewidth=0)
    ax.grid(alpha=0.3)


def _window(ax: Any, some: pd.DataFrame) -> None:
    """Show the later objectives in full: those of the first steps are far above."""
    late = some[some["step"] >= 0.1 * some["step"].max()]["objective"]
    low, high = float(late.min()), float(late.quantile(0.99))
    ax.set_ylim(low - 0.15 * (high - low), high + 0.3 * (high - low))


def _draw_bias(ax: Any, some: pd.DataFrame) -> None:
    for method in METHODS:
        means = bias(some[some["estimate_of"] == method])
        look = {**style(method), "linestyle": "none"}
        ax.errorbar(means.index, means["bias"], 2.0 * means["standard_error"], label=f"{method}, measured", **look)
        if method == "mary":
            ax.plot(means.index, means["expected_bias"], color=look["color"], linewidth=1.0, label="mary, expected")
    ax.axhline(0.0, color="grey", linewidth=0.8)
    ax.set(xscale="log", xlabel="batch size", ylabel="mean of a batch's estimate − ERMI")
    ax.minorticks_off()
    ax.set_xticks(means.index, [str(size) for size in means.index])
    ax.legend(fontsize=7, frameon=False)
    ax.grid(alpha=0.3)


FIGURE = Figure(
    "Figure 7: training objective and test accuracy along training, FERMI and `mary` at batch 128",
    cells,
    convergence.run,
    summarise,
    draw,
    way="convergence",
)
