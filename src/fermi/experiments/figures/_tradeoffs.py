"""What the figures about trade-off curves on tables have in common, so that each is a short declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from fermi.experiments.figure import Cell, Figure
from fermi.experiments.judging.claims import Claim, Verdict, Word, overall, verdicts, widest
from fermi.experiments.judging.frontier import (
    EQUAL,
    LEVELS,
    at_levels,
    compare,
    noise_of,
    outcome_said,
    said,
    uncertain,
)
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
    "Every setting is trained out of fold: on one half of Adult's training rows, then on the other (on two thirds of "
    "those of the other data sets, three times). The rows left out, all training rows together, choose the setting; "
    "errors and violations on the test rows are means over these models. A point between two settings is a mixture "
    "which takes either model at random for each row, so that a curve can be read off at any level. Strength 0 is the "
    "unmitigated model for every method. Of a method that draws its labels, what counts is what it draws on average. "
    "On all rows at once `mary` has FERMI's own objective with two groups and two classes: what differs is the "
    f"optimiser, {STEPS} steps of Adam instead of L-BFGS; `baharlouei` has that penalty too (figure 1 compares "
    "them) and is left out. Where no setting within a level is better, every method gives all rows the majority's "
    'label ("constant"). `linear_post` and `fermi_labels` are not in the paper: they choose labels within a bound, on '
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

    return Figure(
        title, cells, tabular.run, summarise, draw, tabular.VERSION, way=tabular.WAY, together=tabular.TOGETHER
    )


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
    records are meant. Both are judged setting by setting.
    """

    def judge(word_of: Callable[[pd.DataFrame], Word], records: pd.DataFrame) -> Verdict:
        found = comparisons(rivals_of(among(records)), by)
        words, told = [], []
        for where, some in found.groupby("where", sort=False):
            words.append(word_of(some[some["outcome"].isin(JUDGED)]))
            told.append(f"{where}: {words[-1]} ({_counted(some)})")
        tested = found[found["outcome"].isin(JUDGED)]
        return Verdict(overall(words), "; ".join(told), widest(tested["width"].tolist()))

    return [
        Claim(text, place, partial(judge, better)),
        Claim("No rival is below FERMI there", "not in the paper", partial(judge, none_below)),
    ]


JUDGED = ("above", "even", "open", "below")


def better(tested: pd.DataFrame) -> Word:
    """Whether all rivals are above FERMI: one that is below it, or equal to it, refutes that."""
    if tested.empty:
        return "could not be tested here"
    if _below(tested).any() or (tested["outcome"] == "even").any():
        return "refuted"
    return "held" if (tested["outcome"] == "above").all() else "not shown"


def none_below(tested: pd.DataFrame) -> Word:
    """Whether no rival is below FERMI: the intervals of all lie above −`EQUAL`."""
    if tested.empty:
        return "could not be tested here"
    if _below(tested).any():
        return "refuted"
    return "held" if (tested["difference"] - tested["width"] >= -EQUAL).all() else "not shown"


def _below(tested: pd.DataFrame) -> pd.Series[bool]:
    """Which rivals are below FERMI beyond an interval that is widened for the number of comparisons (Bonferroni)."""
    wider = stats.norm.ppf(1.0 - 0.025 / max(len(tested), 1)) / stats.norm.ppf(0.975)
    return (tested["outcome"] == "below") & (tested["difference"] + wider * tested["width"] < 0.0)


def rivals_of(records: pd.DataFrame) -> pd.DataFrame:
    """The runs of FERMI and of its rivals, without those of FERMI with other labels."""
    return records[(records["method"] == "fermi") | ~records["method"].isin(OURS)]


def comparisons(records: pd.DataFrame, by: Sequence[str], reference: str = "fermi") -> pd.DataFrame:
    """Compare FERMI, or another method, with its rivals, for each combination of columns."""
    found = []
    for values, some in records.groupby(list(by), dropna=False, sort=False):
        where = ", ".join(named(name, value) for name, value in zip(by, values, strict=True))
        found.append(compare(some, reference=reference).assign(where=where))
    return pd.concat(found, ignore_index=True)


def _counted(outcomes: pd.DataFrame) -> str:
    """Count the outcomes, and name the rivals that are below or equal."""
    counts = outcomes["outcome"].value_counts()
    told = ", ".join(f"{count} {word}" for word, count in counts.items()) or "no rival"
    named_ones = [
        f"{row['method']} at ≤ {row['level']:g} {outcome_said(row['outcome'], row['difference'], row['width'])}"
        for row in outcomes.to_dict("records")
        if row["outcome"] == "below"
    ]
    return ": ".join([told, ", ".join(named_ones)]) if named_ones else told


def damage(records: pd.DataFrame, column: str) -> pd.DataFrame:
    """The error that each method loses where `column` spoils the groups, the mean over levels, with half its interval.

    The same strengths and test rows on both sides. Levels that are not judged, or at which the method had nothing to do
    or gave up on both sides, are left out; the unmitigated model and the naive trade look at no groups.
    """
    spoilt = records[records[column].notna()]
    clean = records[records[column].isna() & records["strength"].isin(spoilt["strength"])]
    levels = [level for level in LEVELS if level >= noise_of(spoilt).least_level]
    key = ["method", "blind", "level"]
    here, there = (at_levels(part, levels).set_index(key) for part in (spoilt, clean))
    pairs = here.join(
        there[["error", "blocks", "constant", "strength"]].add_suffix("_clean"), how="inner"
    ).reset_index()
    gave_up = (pairs["constant"] == 1.0) & (pairs["constant_clean"] == 1.0)
    idle = gave_up | ((pairs["strength"] == 0.0) & (pairs["strength_clean"] == 0.0))
    found = []
    for (method, blind), some in pairs[~pairs["method"].isin(("none", "naive")) & ~idle].groupby(["method", "blind"]):
        lost = some["error"] - some["error_clean"]
        runs = []
        for (split, seed), run in some.groupby(["split", "seed"]):
            blocks = np.stack(run["blocks"].tolist()) - np.stack(run["blocks_clean"].tolist())
            runs.append({"split": split, "seed": seed, "error": lost[run.index].mean(), "blocks": blocks.mean(axis=0)})
        at_each = {level: float(lost[some["level"] == level].mean()) for level in levels}
        found.append([method, blind, *uncertain(pd.DataFrame(runs)), at_each])
    return pd.DataFrame(found, columns=["method", "blind", "lost", "width", "levels"])


def listed_damage(lost: pd.DataFrame) -> str:
    """Put the damage of every method into words."""
    parts = []
    for blind, some in lost.groupby("blind", sort=False):
        told = ", ".join(f"{row['method']} {said(row['lost'], row['width'], sign='+')}" for _, row in some.iterrows())
        parts.append(f"{told} ({named('blind', blind)})")
    return "; ".join(parts) or "nothing at the levels that are judged"


def listed_gains(found: pd.DataFrame) -> str:
    """Put how far each method is below the naive trade, at most, into words, from comparisons with that trade."""
    parts = []
    for where, some in found.groupby("where", sort=False):
        least = some.loc[some.groupby("method")["difference"].idxmin()]
        told = ", ".join(
            f"{row['method']} {said(-row['difference'], row['width'], 3, '+')}" for _, row in least.iterrows()
        )
        parts.append(f"{told} ({where})")
    return "; ".join(parts) or "nothing at the levels that are judged"


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
