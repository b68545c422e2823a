"""From runs to statements: the error at a level of violation, how two methods compare there, the area below."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from fermi import baselines
from fermi._typing import Floats

LEVELS = (0.10, 0.05, 0.02, 0.01)
RUN = ["dataset", "split", "seed", "blind", "notion", "method"]  # what has one frontier
_ROWS = ["dataset", "split", "blind", "notion"]  # what two methods must have in common to be compared
EQUAL = 0.002  # of error: two methods whose interval lies within are called equal, within what it says
OVERLAP = 0.25  # test rows over the others, where the data set is split at random
BLOCKS = "test_block_errors"  # the test error in each of some equal parts of the test rows
_CONSTANT = ("val_constant_error", "test_constant_error", "test_constant_block_errors")


def place_within(gaps: Floats, errors: Floats, level: float, spare: float = np.inf) -> float | None:
    """The place on a curve where the error is smallest while no gap is larger than the level, counted in settings.

    None where there is no such place, or its error is larger than `spare`, that of giving all rows the same label.

    Curves are read off as pictures are, with lines between neighbouring settings: a knob has a setting between any two,
    and without the lines a method with one that happens to fall just within the level would look better than another
    with one just outside. `gaps` is settings × gaps, with their signs: between a setting that favours one group and one
    that favours the other lies one that favours none.
    """
    places = [float(i) for i in np.flatnonzero((np.abs(gaps) <= level).all(axis=1))]
    for i, (here, there) in enumerate(pairwise(gaps)):
        change = there - here
        moving = change != 0.0
        if (np.abs(here[~moving]) > level).any():
            continue
        ends = (np.array([[-level], [level]]) - here[moving]) / change[moving]
        low, high = ends.min(axis=0).max(initial=0.0), ends.max(axis=0).min(initial=1.0)
        places += [i + float(share) for share in (low, high) if low <= high and 0.0 < share < 1.0]
    best = min(places, key=lambda place: float(between(errors, place)), default=None)
    return None if best is None or between(errors, best) > spare else best


def between(values: Floats, place: float) -> Any:
    """The value at a place of a curve, on the line between two settings."""
    i = int(place)
    rest = place - i
    return values[i] if rest == 0.0 else (1.0 - rest) * values[i] + rest * values[i + 1]


class Reading(NamedTuple):
    """Which error is read off against which violation: of labels ("") or of probabilities ("soft_")."""

    error: str
    gaps: str


LABELS, PROBABILITIES, PAPER = Reading("", ""), Reading("soft_", "soft_"), Reading("", "soft_")


class Curve:
    """The settings of one method in one run, by strength."""

    def __init__(self, records: pd.DataFrame, reading: Reading = LABELS) -> None:
        self.reading = reading
        self._records = records
        self._order = np.argsort(records["strength"].to_numpy())
        self._read: dict[str, Any] = {}

    def at(self, level: float) -> dict[str, Any]:
        """Test error and violation at the place that the validation rows choose for a level.

        Every method may give all rows the majority's label, which violates nothing, where no setting within the level
        is better: `constant` is 1 there.
        """
        error, gaps = f"{self.reading.error}error", f"{self.reading.gaps}gaps"
        spare, same, same_blocks = (self._column(name)[0] for name in _CONSTANT)
        place = place_within(self._column(f"val_{gaps}"), self._column(f"val_{error}"), level, spare)
        if place is None:
            blocks = None if self.reading.error else same_blocks
            return {"error": same, "violation": 0.0, "strength": np.nan, "constant": 1.0, "blocks": blocks}
        return {
            "error": between(self._column(f"test_{error}"), place),
            # Of each model of the setting, and then the mean.
            "violation": np.abs(between(self._column(f"test_{gaps}"), place)).max(axis=-1).mean(),
            "strength": between(self._column("strength"), place),
            "constant": 0.0,
            "blocks": None if self.reading.error else between(self._column(BLOCKS), place),
        }

    def _column(self, name: str) -> Floats:
        if name not in self._read:
            self._read[name] = np.array(self._records[name].tolist(), dtype=float)[self._order]
        column: Floats = self._read[name]
        return column


def at_levels(records: pd.DataFrame, levels: Sequence[float] = LEVELS, reading: Reading = LABELS) -> pd.DataFrame:
    """How each run tests at the knob with the smallest validation error within each level of violation."""
    found = []
    for run, group in records.groupby(RUN, dropna=False):
        curve = Curve(group, reading)
        found += [{**dict(zip(RUN, run, strict=True)), "level": level, **curve.at(level)} for level in levels]
    return pd.DataFrame(found, columns=[*RUN, "level", "error", "violation", "strength", "constant", "blocks"])


def compare(records: pd.DataFrame, levels: Sequence[float] = LEVELS, reference: str = "fermi") -> pd.DataFrame:
    """Compare FERMI, or another method, with every rival that does without the attribute at prediction.

    Level by level and run by run; the outcomes are those of `contrast`.
    """
    chosen = at_levels(records, levels)
    ours = chosen[chosen["method"] == reference]
    found = []
    for method, theirs in chosen.groupby("method"):
        if method not in (reference, "none") and not needs_attribute(method):
            found.append(contrast(ours, theirs, noise_of(records)).assign(method=method))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=["method", *_CONTRAST])


class Noise(NamedTuple):
    """The standard error of a gap: on the rows that choose the knob, and on the test rows."""

    choosing: float
    testing: float

    @property
    def least_level(self) -> float:
        """The level below which nothing is judged: two standard errors of the choosing rows, one of the test rows."""
        return max(2.0 * self.choosing, self.testing)


def noise_of(records: pd.DataFrame) -> Noise:
    """The typical standard errors of gaps in records."""
    return Noise(*(typical(records[f"{part}_standard_error"]) for part in ("val", "test")))


def contrast(ours: pd.DataFrame, theirs: pd.DataFrame, noise: Noise) -> pd.DataFrame:
    """Compare two methods level by level, from what `at_levels` says of each, run by run on the same rows.

    `outcome` is "above" where the rival's error is larger and "below" where it is smaller, beyond the 95% interval of
    the paired difference, if the one with the smaller error keeps the level on the test rows, or is no less fair than
    the other, but for the standard error of a gap; "even" where the interval lies within `EQUAL`; "open" where it
    holds both; "noise" where the level is below what is judged; "idle" where neither had to do anything, or both gave
    all rows one label; "one run" where there is no interval.
    """
    rows = []
    for level in map(float, ours["level"].unique()):
        pairs = _paired(ours[ours["level"] == level], theirs[theirs["level"] == level])
        difference, width = uncertain(_differences(pairs))
        means = pairs["violation"].mean(), pairs["violation_rival"].mean()
        outcome = outcome_of(difference, width, excesses(*means, level), noise.testing)
        outcome = "idle" if len(pairs) and _idle(pairs).all() else outcome
        outcome = "noise" if level < noise.least_level else outcome
        rows.append([level, len(pairs), difference, width, outcome])
    return pd.DataFrame(rows, columns=_CONTRAST)


_CONTRAST = ["level", "runs", "difference", "width", "outcome"]


def _idle(pairs: pd.DataFrame) -> pd.Series[bool]:
    """Where both gave all rows one label, or both were within the level without mitigation: nothing was compared."""
    constant = (pairs["constant"] == 1.0) & (pairs["constant_rival"] == 1.0)
    return constant | ((pairs["strength"] == 0.0) & (pairs["strength_rival"] == 0.0))


def _paired(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Pair the runs of two methods on the same rows: seed by seed, or one run with all seeds of the other."""
    seeds = [some["seed"].nunique() for some in (ours, theirs)]
    if min(seeds) > 1 or seeds == [1, 1]:
        return ours.merge(theirs, on=[*_ROWS, "seed"], suffixes=("", "_rival"))
    pairs = ours.merge(theirs, on=_ROWS, suffixes=("", "_rival"))
    return pairs.assign(seed=pairs[["seed", "seed_rival"]].max(axis=1))


def _differences(pairs: pd.DataFrame) -> pd.DataFrame:
    """The errors of a rival minus those of FERMI, run by run and block by block."""
    blocks = [b - a for a, b in zip(pairs["blocks"], pairs["blocks_rival"], strict=True)]
    return pairs[["split", "seed"]].assign(error=pairs["error_rival"] - pairs["error"], blocks=blocks)


def needs_attribute(method: Any) -> bool:
    """Whether a method cannot predict without the sensitive attribute of a row."""
    return baselines.find(str(method)).capabilities.needs_attribute


def typical(standard_errors: pd.Series[float]) -> float:
    """The mean of the standard errors that are not zero, as that of a constant prediction is."""
    found = standard_errors[standard_errors > 0.0]
    return float(found.mean()) if len(found) else 0.0


def excesses(ours: Any, theirs: Any, level: Any) -> tuple[Any, Any]:
    """How far our violation is beyond both the level and theirs, and theirs beyond both the level and ours."""
    return np.maximum(ours - np.maximum(level, theirs), 0.0), np.maximum(theirs - np.maximum(level, ours), 0.0)


def outcome_of(difference: float, width: float, excess: tuple[float, float], noise: float) -> str:
    """What can be said of a rival whose error is larger by `difference`; `excess` is FERMI's and the rival's."""
    if np.isnan(difference):
        return "not measured"
    if np.isnan(width):
        return "one run"
    if difference + width < 0.0 and excess[1] <= noise:
        return "below"
    if difference - width > 0.0 and excess[0] <= noise:
        return "above"
    return "even" if abs(difference) + width <= EQUAL else "open"


def outcome_said(outcome: str, difference: float, width: float, digits: int = 4) -> str:
    """Put an outcome into words, with the difference and half the width of its interval."""
    word = f"equal within {abs(difference) + width:.{digits}f}" if outcome == "even" else outcome
    return f"{word} {said(difference, width, digits, '+')}"


def area(records: pd.DataFrame, limit: float = 0.2) -> dict[str, Any]:
    """The mean test error, and its blocks, over bounds on the violation from 0 to `limit`, kept on validation rows."""
    curve = Curve(records)
    found = pd.DataFrame([curve.at(level) for level in np.linspace(0.0, limit, 21)[1:]])
    return {"error": float(found["error"].mean()), "blocks": np.stack(found["blocks"].tolist()).mean(axis=0)}


def uncertain(runs: pd.DataFrame) -> tuple[float, float]:
    """The mean error of runs, and half the width of its 95% interval.

    Over the splits, where there are several. On one split the test rows are the same for all seeds: the spread of
    their blocks says how other test rows would differ, that of the seeds how other seeds would.
    """
    if runs["split"].nunique() > 1 or runs.empty:
        return interval(runs.groupby("split")["error"].mean(), OVERLAP)
    blocks = runs["blocks"].dropna()
    if len(blocks) < len(runs):
        return interval(runs["error"])
    by_block = np.stack(blocks.tolist()).mean(axis=0)
    parts = [(by_block.var(ddof=1) / len(by_block), len(by_block) - 1)]
    if len(runs) > 1:
        parts.append((runs["error"].var(ddof=1) / len(runs), len(runs) - 1))
    variance = sum(size for size, _ in parts)
    # Welch and Satterthwaite's degrees of freedom for a sum of two estimated variances.
    freedom = variance**2 / sum(size**2 / own for size, own in parts) if variance > 0.0 else 1.0
    return float(runs["error"].mean()), float(stats.t.ppf(0.975, freedom) * np.sqrt(variance))


def interval(values: Any, overlap: float = 0.0) -> tuple[float, float]:
    """The mean of values, and half the width of its 95% interval over splits or seeds (nan for a single one).

    Random splits of one file share most of their rows, so their spread says too little. Nadeau and Bengio (2003) add
    `overlap` times their variance, test rows over training rows.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return (float(values[0]) if len(values) else float("nan")), float("nan")
    width = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) * np.sqrt(1.0 / len(values) + overlap)
    return float(values.mean()), float(width)


def said(mean: float, width: float, digits: int = 4, sign: str = "") -> str:
    """A mean and half the width of its interval, if there is one, as text."""
    spread = "" if np.isnan(width) else f" ± {width:.{digits}f}"
    return f"{mean:{sign}.{digits}f}{spread}"


def level_table(found: pd.DataFrame, levels: Sequence[float] = LEVELS) -> str:
    """A Markdown table with a row per method and a column per level, "error ± interval (violation)"."""
    lines = ["| method | " + " | ".join(f"≤ {level:g}" for level in levels) + " |", "|---" * (len(levels) + 1) + "|"]
    for method, group in found.groupby("method"):
        star = "*" if needs_attribute(method) else ""
        entries = (_entry(group[group["level"] == level]) for level in levels)
        lines.append(f"| {method}{star} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def _entry(some: pd.DataFrame) -> str:
    if some["constant"].all():
        return f"{said(*uncertain(some))} (constant)"
    constant = "" if not some["constant"].any() else f", constant in {some['constant'].sum():.0f} of {len(some)} runs"
    return f"{said(*uncertain(some))} (at {some['violation'].mean():.3f}{constant})"
