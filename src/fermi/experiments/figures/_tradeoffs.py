"""What the figures about trade-off curves on tables have in common, so that each is a short declaration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from fermi.experiments.figure import Cell, Figure
from fermi.experiments.judging.claims import Claim, Verdict, leads, verdicts
from fermi.experiments.judging.frontier import LEVELS, at_levels, compare, said, uncertain
from fermi.experiments.pages.curves import Panels, named, tables
from fermi.experiments.runs import tabular

# Without `baharlouei`: with two groups and two classes it has the penalty of `mary`, which figure 1 checks.
IN_PROCESSING = (
    "fermi",
    "none",
    "naive",
    "zafar",
    "kamishima",
    "jiang",
    "prost",
    "mary",
    "rezaei",
    "donini",
    "cho_kde",
    "agarwal",
    "zhang",
    "fairret",
    "cooper",
)
ON_LABELS = ("fermi_labels", "linear_post")  # which the paper does not have
FULL_BATCH = (*IN_PROCESSING, *ON_LABELS)
ALL_METHODS = (*FULL_BATCH, "feldman", "kamiran", "reweighing", "hardt", "oxonfair")
OURS = ("fermi", "fermi_labels")  # no rivals of each other
STEPS = 300  # of the methods that train on all rows at once, by Adam
STRENGTHS = (0.0, 0.2, 0.35, 0.5, 0.65, 1.0)
QUICK_STEPS = 100
QUICK_ROWS = 3000

NOTE = (
    "Every setting is trained out of fold: on one half of Adult's training rows and then on the other (on two thirds of "
    "those of the other data sets, three times). The rows left out, all training rows together, choose the setting; "
    "errors and violations on the test rows are means over these models. A point between two settings is a mixture "
    "which takes either model at random for each row, so that a curve can be read off at any level. Strength 0 is the "
    "unmitigated model for every method. Of a method that draws its labels, what counts is what it draws on average. "
    "On all rows at once `mary` has FERMI's own objective with two groups and two classes: what differs is the "
    f"optimiser, {STEPS} steps of Adam instead of L-BFGS; `baharlouei` has that penalty too (figure 1 compares the two) "
    "and is left out. Where no setting within a level is better, every method gives all rows the majority's label "
    '("constant"). `linear_post` and `fermi_labels` are not in the paper: they choose labels within a bound, on '
    "logistic regression and on FERMI with λ of at most 1. The first is what the label stage makes of the unmitigated "
    "model, and so is the rivals' share in that stage; the second is no rival of FERMI's, and counts in no claim."
)


def figure(
    title: str,
    cells: Callable[[bool], Iterator[Cell]],
    claims: Sequence[Claim],
    *,
    by: Sequence[str],
    panels: tuple[str, str],
) -> Figure:
    """Make a figure whose tables go by some columns and whose panels go by two of them."""

    def summarise(records: pd.DataFrame) -> str:
        records = with_strength_0(records)
        return "\n\n".join([verdicts(claims, records), NOTE, tables(records, by)])

    def draw(records: pd.DataFrame, canvas: Any) -> None:
        Panels(*panels).draw(with_strength_0(records), canvas)

    return Figure(title, cells, tabular.run, summarise, draw, tabular.VERSION, way=tabular.WAY)


def with_strength_0(records: pd.DataFrame) -> pd.DataFrame:
    """Add the unmitigated model as strength 0 of every method, beside each of its runs."""
    where = [name for name in ("dataset", "split", "blind", "notion", "missing", "forced") if name in records]
    plain, others = records[records["method"] == "none"], records[records["method"] != "none"]
    runs = others[[*where, "method", "seed"]].drop_duplicates()
    seeded = plain.drop(columns=["method"])
    exact = runs.merge(seeded, on=[*where, "seed"])
    once = runs.merge(seeded[seeded["seed"] == 0].drop(columns="seed"), on=where)  # where groups are as they are
    start = pd.concat([exact, once]).drop_duplicates([*where, "method", "seed"])
    return pd.concat([plain, others, start.assign(seconds=np.nan)], ignore_index=True)


def grid(quick: bool, methods: Sequence[str], **options: Any) -> Iterator[Cell]:
    """The cells of every method, on all rows at once; a quick run takes fewer rows, strengths and splits."""
    options = {"batch_size": "all", "steps": QUICK_STEPS if quick else STEPS, "seeds": 3, **options}
    options.setdefault("strengths", STRENGTHS)
    if quick:
        options |= {"rows": QUICK_ROWS, "strengths": tabular.QUICK_STRENGTHS, "blind": (True,), "seeds": 1}
        if "datasets" in options:
            options["datasets"] = [(name, 1) for name, _ in options["datasets"]]
    yield from tabular.cells(methods, **options)


def dominance(
    text: str, place: str, by: Sequence[str], among: Callable[[pd.DataFrame], pd.DataFrame] = lambda records: records
) -> list[Claim]:
    """The paper's claim that FERMI is better than all rivals, and the weaker one that none is better than FERMI.

    Rivals are those that do without the attribute at prediction, FERMI with other labels excepted; `among` says which
    records are meant.
    """

    def better(records: pd.DataFrame) -> Verdict:
        outcomes = comparisons(rivals_of(among(records)), by)
        return leads(Counter(outcomes["outcome"])), _counted(outcomes)

    def none_below(records: pd.DataFrame) -> Verdict:
        outcomes = comparisons(rivals_of(among(records)), by)
        tested, below = (
            outcomes[outcomes["outcome"].isin(words)] for words in (("above", "same", "below"), ("below",))
        )
        if tested.empty:
            return "could not be tested here", f"no interval: {_counted(outcomes)}"
        rivals = [
            f"{row['method']} at ≤ {row['level']:g} by {-row['difference']:.4f} ({row['where']})"
            for row in below.to_dict("records")
        ]
        chance = f"chance alone would put about {0.025 * _distinct(tested):.0f} there"
        figures = "; ".join([f"{len(below)} of {len(tested)} comparisons are below ({chance})", *rivals])
        return "did not hold" if rivals else "held", figures

    return [Claim(text, place, better), Claim("No rival is below FERMI there", "not in the paper", none_below)]


def rivals_of(records: pd.DataFrame) -> pd.DataFrame:
    """The runs of FERMI and of its rivals, without those of FERMI with other labels."""
    return records[(records["method"] == "fermi") | ~records["method"].isin(OURS)]


def comparisons(records: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Compare FERMI with its rivals, for each combination of columns."""
    found = []
    for values, some in records.groupby(list(by), dropna=False, sort=False):
        where = ", ".join(named(name, value) for name, value in zip(by, values, strict=True))
        found.append(compare(some).assign(where=where))
    return pd.concat(found)


def _counted(outcomes: pd.DataFrame) -> str:
    counts = outcomes["outcome"].value_counts()
    return ", ".join(f"{count} {word}" for word, count in counts.items()) or "no rival"


def _distinct(tested: pd.DataFrame) -> int:
    """Count the comparisons that could have come out otherwise; two constants do not, two equal rivals count once."""
    differ = tested[(tested["difference"] != 0.0) | (tested["width"] != 0.0)]
    return len(differ.round({"difference": 6, "width": 6}).drop_duplicates(["where", "level", "difference", "width"]))


def damage(records: pd.DataFrame, column: str) -> pd.DataFrame:
    """The error that each method loses where `column` spoils the groups, the mean over levels, with half its interval.

    The same strengths and test rows on both sides; the unmitigated model and the naive trade look at no groups.
    """
    spoilt = records[records[column].notna()]
    clean = records[records[column].isna() & records["strength"].isin(spoilt["strength"])]
    here, there = (at_levels(part).set_index(["method", "blind", "level"]) for part in (spoilt, clean))
    pairs = here.join(there[["error", "blocks"]].add_suffix("_clean"), how="inner").reset_index()
    found = []
    for method, some in pairs[~pairs["method"].isin(("none", "naive"))].groupby("method"):
        lost = some["error"] - some["error_clean"]
        runs = []
        for (split, seed), run in some.groupby(["split", "seed"]):
            blocks = np.stack(run["blocks"].tolist()) - np.stack(run["blocks_clean"].tolist())
            runs.append({"split": split, "seed": seed, "error": lost[run.index].mean(), "blocks": blocks.mean(axis=0)})
        at_each = [float(lost[some["level"] == level].mean()) for level in LEVELS]
        found.append([method, *uncertain(pd.DataFrame(runs)), *at_each])
    return pd.DataFrame(found, columns=["method", "lost", "width", *(f"at {level:g}" for level in LEVELS)])


def listed_damage(lost: pd.DataFrame) -> str:
    """Put the damage of every method into words."""
    return ", ".join(f"{row['method']} {said(row['lost'], row['width'], sign='+')}" for _, row in lost.iterrows())


def gains_over_naive(records: pd.DataFrame) -> pd.Series[float]:
    """How far each method's error is below the naive baseline's, at most, at any level, blind and not."""
    errors = at_levels(records).groupby(["blind", "level", "method"])["error"].mean()
    gains = errors.xs("naive", level="method") - errors.drop(["naive", "none"], level="method", errors="ignore")
    return gains.groupby(["blind", "method"]).max()


def listed_gains(gains: pd.Series[float]) -> str:
    """Put the gains over the naive baseline into words."""
    parts = []
    for blind, some in gains.groupby(level="blind", sort=False):
        told = ", ".join(f"{method} {gain:+.3f}" for method, gain in some.droplevel("blind").items())
        parts.append(f"{told} ({named('blind', blind)})")
    return "; ".join(parts)


def three_datasets(number: int, notion: str, claims: Sequence[Claim] = ()) -> Figure:
    """Make one of figures 10 to 12: COMPAS, German and Adult with pre- and post-processing rivals, one notion each."""
    by = ("dataset", "blind")
    return figure(
        f"Figure {number}: COMPAS, German and Adult with pre- and post-processing rivals, {named('notion', notion)}",
        partial(grid, methods=ALL_METHODS, notions=(notion,), datasets=(("compas", 10), ("german", 10), ("adult", 1))),
        [*dominance("FERMI's curve dominates those of all rivals", "appendix E.5", by), *claims],
        by=by,
        panels=("blind", "dataset"),
    )
