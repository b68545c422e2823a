"""Figure 4: toxic comments with MinDiff's network, batches of 128 and 16, the false positive gap between religions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from fermi.experiments.figure import Cell, Figure
from fermi.experiments.judging.bounded_errors import (
    Comparison,
    Pairing,
    ahead,
    compare,
    table,
    with_unmitigated,
    within,
)
from fermi.experiments.judging.claims import Claim, Verdict, equal_within, exceeds, overall, verdicts, widest
from fermi.experiments.judging.frontier import interval, typical
from fermi.experiments.pages.curves import named
from fermi.experiments.pages.style import style
from fermi.experiments.runs.comments import HELD_AGAINST, run, source

RIVALS = ("prost", "mary", "baharlouei", "naive")
METHODS = ("fermi", *RIVALS)
PASSES = {128: 8, 16: 3}  # over the training rows: about 240 and 720 steps
SEEDS, KNOBS = 4, 5
LEVELS = (0.05, 0.10, 0.15, 0.20)
RUN = ("method", "batch_size", "seed")
HARD = Pairing("labels on both axes", "error", "gap")  # which has a sign
SOFT = Pairing("probabilities on both axes", "soft_error", "soft_violation")
CLOSE = 0.01  # of error: what we call close
OVERLAP = 2 / 3  # test rows over the others: every seed is a split of the same comments
STAND_IN = """\
**A stand-in:** the Wikipedia comments were not there, so these are the templated ones (`toxic_madlibs`): about 2,700
that name a religion to train and choose with and 1,800 to test, and 3,000 others in either part. Any model tells them
apart without error, so they are given a bias and noise. Each of the 21 words found in friendly comments alone is held
against Muslims and Jews with a probability of its own, from 0 to 0.9 by the alphabet: so often a friendly comment that
holds it and names them is labelled toxic. Then one label in ten is flipped. Training, choosing and test rows are
labelled alike: to be fair costs error against these labels, as it does where judges are biased. "Before bias" measures
the same predictions against the labels as they were. Predictions that tell the truth have a gap of 0.04 to 0.08
against the labels as given, since comments labelled friendly hold more flipped ones where more of the friendly were
called toxic. Two fifths test, a third of the others chooses the knob; each seed is a split, a draw of bias and noise
and a first network of its own."""
ABOUT = """\
The network is MinDiff's, from GloVe's vectors where they are there, trained by Adam at a rate of 0.001, with the same
batches and number of steps for every method: 8 passes over the rows with batches of 128, 3 with batches of 16. Five
strengths of each method, and the unmitigated network as a sixth, with straight lines between neighbours. The penalty
takes rows that name one of the religions and are not labelled toxic; all rows train the loss. `naive` replaces the
label of the unmitigated network by the majority's with some probability. The violation is the difference of false
positive rates between comments that name Christians and those that name Muslims or Jews; between two strengths it may
change its sign in labels, but not in probabilities, whose sign was not kept. Where no strength keeps a bound on the
choosing rows, everything gets the majority label ("constant"). An entry is the error, half the width of its 95%
interval over seeds, and the violation on the test rows."""


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of figure 4, each a curve: all strengths of one method, for one batch size and seed."""
    dataset = source()
    for method in ("none", *(name for name in METHODS if name != "naive")):  # which comes with the unmitigated network
        for batch_size, passes in PASSES.items():
            for seed in range(1 if quick else SEEDS):
                yield {
                    "dataset": dataset,
                    "method": method,
                    "batch_size": batch_size,
                    "seed": seed,
                    "knobs": 2 if quick else KNOBS,
                    "passes": -(-passes // 3) if quick else passes,
                }


def prepared(records: pd.DataFrame) -> pd.DataFrame:
    """Add the unmitigated network as strength 0 of every method, and whom the gap of labels favours."""
    gaps = {
        f"{part}_gap": records[f"{part}_false_positives_{HELD_AGAINST}"] - records[f"{part}_false_positives_christian"]
        for part in ("val", "test")
    }
    records = records.assign(**gaps)
    is_plain = records["method"] == "none"
    return with_unmitigated(records[~is_plain], records[is_plain])


def beside(
    records: pd.DataFrame, batch_size: int, pairing: Pairing = HARD, levels: tuple[float, ...] = LEVELS
) -> list[Comparison]:
    """Compare each rival with FERMI over some levels."""
    some = records[records["batch_size"] == batch_size]
    chosen = within(prepared(some), pairing, levels, RUN)
    rivals = RIVALS if pairing is HARD else RIVALS[:-1]  # naive draws labels: its probabilities are other ones
    return [compare(chosen, "fermi", rival, typical(some["test_noise"]), "seed", OVERLAP) for rival in rivals]


def said(found: list[Comparison]) -> str:
    """Put comparisons into one line."""
    return "; ".join(f"{one.rival}: {one}" for one in found)


def unfair_without_care(records: pd.DataFrame) -> Verdict:
    """Whether the unmitigated network has more false positives among comments that name Muslims or Jews."""
    plain = records[records["method"] == "none"]
    theirs, ours = (plain[f"test_false_positives_{group}"] for group in (HELD_AGAINST, "christian"))
    difference, width = interval((theirs - ours).groupby(plain["seed"]).mean(), OVERLAP)
    figures = f"false positive rate {theirs.mean():.3f} for {HELD_AGAINST}, {ours.mean():.3f} for christian"
    if set(records["dataset"]) != {"toxic"}:
        return Verdict("could not be tested here", f"{figures}; but the bias of these rows is ours", width)
    return Verdict(exceeds(difference, width), figures, width)


def closeness(found: list[Comparison], words: str) -> Verdict:
    """Whether all differences are small, as far as their intervals can tell; where nothing was compared, none is."""
    judged = [one for one in found if one.outcome != "idle"]
    word = overall([equal_within(one.difference, one.width, CLOSE) for one in judged])
    return Verdict(word, f"{words}; close is within {CLOSE:g}", widest([one.width for one in judged]))


def close_at_large_batches(records: pd.DataFrame) -> Verdict:
    """Whether FERMI and MinDiff are close at the larger batch size, both kinds of error."""
    found = [beside(records, max(PASSES), pairing)[0] for pairing in (HARD, SOFT)]
    return closeness(found, f"labels: {said(found[:1])}; probabilities: {said(found[1:])}")


def best_at_small_batches(records: pd.DataFrame) -> Verdict:
    """Whether every rival's error is above FERMI's at the smaller batch size, for labels and for probabilities."""
    found = [beside(records, min(PASSES), pairing) for pairing in (HARD, SOFT)]
    words = [ahead(some) for some in found]
    figures = "; ".join(
        f"{kind}: {word} ({said(some)})"
        for kind, word, some in zip(("labels", "probabilities"), words, found, strict=True)
    )
    return Verdict(overall(words), figures, widest([one.width for some in found for one in some]))


def lead_grows(records: pd.DataFrame) -> Verdict:
    """Whether the lead over the rivals' mean grows as batches get smaller; the naive trade does not hang on them."""
    told, words, widths = [], [], []
    for pairing in (HARD, SOFT):
        chosen = within(prepared(records), pairing, LEVELS, RUN)
        error = chosen.pivot_table(index=["seed", "batch_size"], columns="method", values="error")
        lead = (error[list(RIVALS[:-1])].mean(axis=1) - error["fermi"]).unstack("batch_size")
        growth, width = interval(lead[min(PASSES)] - lead[max(PASSES)], OVERLAP)
        words.append(exceeds(growth, width))
        widths.append(width)
        ends = " → ".join(f"{lead[size].mean():+.3f}" for size in PASSES)
        told.append(f"{pairing.words}: {words[-1]}, {ends} (± {width:.3f})")
    return Verdict(overall(words), "; ".join(told), widest(widths))


def coincide(records: pd.DataFrame) -> Verdict:
    """Whether two methods with one penalty for two groups reach the same, but for what rounding does to a run."""
    found = []
    for pairing in (HARD, SOFT):
        chosen = within(prepared(records), pairing, LEVELS, RUN)
        found.append(compare(chosen, "mary", "baharlouei", typical(records["test_noise"]), "seed", OVERLAP))
    return closeness(found, f"labels: {found[0]}; probabilities: {found[1]}")


CLAIMS = [
    Claim("Without care the network has more false positives for Muslims and Jews", "section 4.2", unfair_without_care),
    Claim("At batches of 128 MinDiff and FERMI are close", "figure 4, caption", close_at_large_batches),
    Claim("At batches of 16 FERMI has the better trade-off", "figure 4, caption", best_at_small_batches),
    Claim("FERMI's lead over the rivals grows as batches get smaller", "section 4.2", lead_grows),
    Claim("mary coincides with baharlouei", "section 4.2", coincide),
]


def summarise(records: pd.DataFrame) -> str:
    """The claims, and for each batch size the error within bounds and all points of the curves."""
    stand_in = [] if set(records["dataset"]) == {"toxic"} else [STAND_IN]
    parts = [*stand_in, ABOUT, verdicts(CLAIMS, records)]
    for batch_size in PASSES:
        some = records[records["batch_size"] == batch_size]
        val, test = (typical(some[f"{part}_noise"]) for part in ("val", "test"))
        parts += [f"## {named('batch_size', batch_size)}"]
        parts += [
            f"The standard error of a gap is about {val:.3f} on the choosing rows, {test:.3f} on the test rows: "
            "differences of violation below these mean nothing."
        ]
        for pairing in (HARD, SOFT):
            chosen = within(prepared(some), pairing, LEVELS, RUN)
            parts += [f"{pairing.words.capitalize()}:", table(chosen, ("none", *METHODS), "level", OVERLAP)]
            lines = [f"- ≤ {level:g}: {said(beside(records, batch_size, pairing, (level,)))}" for level in LEVELS]
            lines.append(f"- all of these: {said(beside(records, batch_size, pairing))}")
            parts += ["Rivals beside FERMI:", "\n".join(lines)]
        parts += ["All points, mean over seeds:", points(some)]
    return "\n\n".join(parts)


def points(some: pd.DataFrame) -> str:
    """Write all points of the curves as a Markdown table, a row per method and strength."""
    names = {
        "error": "error",
        "violation": "gap",
        "false_positives": "false positive rate",
        "soft_error": "soft error",
        "soft_violation": "soft gap",
        "clean_error": "error before bias",
        "clean_violation": "gap before bias",
    }
    lines = ["| method | strength | " + " | ".join(names.values()) + " | seconds |", "|---" * (len(names) + 3) + "|"]
    for (method, strength), group in some.groupby(["method", "strength"], sort=False):
        entries = " | ".join(f"{group[f'test_{name}'].mean():.3f}" for name in names)
        lines.append(f"| {method} | {strength:g} | {entries} | {group['seconds'].mean():.1f} |")
    return "\n".join(lines)


def draw(records: pd.DataFrame, canvas: Any) -> None:
    """Draw a panel per batch size, labels above and probabilities below; bars are 95% intervals over seeds."""
    canvas.set_size_inches(10.0, 8.5)
    axes = canvas.subplots(2, len(PASSES), sharey="row")
    everything = prepared(records)
    for row, pairing in zip(axes, (HARD, SOFT), strict=True):
        for ax, batch_size in zip(row, PASSES, strict=True):
            some = everything[everything["batch_size"] == batch_size]
            _curves(ax, some, pairing)
            low = some[f"test_{pairing.error}"].min()
            ax.set(ylim=(low - 0.01, low + 0.2), xlabel="false positive gap", ylabel="test error")
            ax.set_title(f"{named('batch_size', batch_size)}, {pairing.words}", fontsize=10)
            ax.grid(alpha=0.3)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=9, frameon=False)


def _curves(ax: Any, some: pd.DataFrame, pairing: Pairing) -> None:
    for method in ("none", *METHODS):
        own = some[some["method"] == method]
        x, y = (
            own[f"test_{name}"].abs().groupby(own["strength"]).agg(partial(interval, overlap=OVERLAP))
            for name in (pairing.violation, pairing.error)
        )
        (gaps, across), (errors, up) = (zip(*found, strict=True) for found in (x, y))
        looks = {
            **style(method),
            **({"linestyle": "none", "markersize": 10} if method == "none" else {"markersize": 4}),
        }
        ax.errorbar(gaps, errors, up, across, label=method, elinewidth=0.5, **looks)


FIGURE = Figure(
    "Figure 4: toxic comments, batches of 128 and 16 (section 4.2)",
    cells,
    run,
    summarise,
    draw,
    way="comments",
)
