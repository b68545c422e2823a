"""Figure 1: Adult, full batch, three notions, all in-processing rivals, and labels within a bound."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fermi.experiments.figure import Cell
from fermi.experiments.figures._tradeoffs import FULL_BATCH, dominance, figure, grid
from fermi.experiments.judging.claims import Claim, Verdict
from fermi.notions import NAMES

BY = ("notion", "blind")

_SAME = 0.001


def coincide(records: pd.DataFrame) -> Verdict:
    """Whether two methods with one penalty for two groups and two classes are equal within a point in a thousand.

    Settings that do not mitigate are left out: there all methods coincide.
    """
    key = ["notion", "blind", "strength"]
    mary, other = (records[records["method"] == name].set_index(key) for name in ("mary", "baharlouei"))
    plain = records[records["method"] == "none"].groupby(key[:2])["test_violation"].mean()
    both = mary.join(other[["test_error", "test_violation"]].add_suffix("_other"), how="inner").reset_index()
    before = plain.reindex(pd.MultiIndex.from_frame(both[key[:2]])).to_numpy()
    both = both[before - both["test_violation"] > 2.0 * both["test_standard_error"]]
    if both.empty:
        return Verdict("could not be tested here", "no setting of `mary` mitigates anything")
    error, violation = (
        float((both[name] - both[f"{name}_other"]).abs().max()) for name in ("test_error", "test_violation")
    )
    figures = (
        f"equal within {error:.4f} in error and {violation:.4f} in violation, at {len(both)} settings that mitigate"
    )
    return Verdict("held" if max(error, violation) <= _SAME else "refuted", figures, 0.0)


def cells(quick: bool) -> Iterator[Cell]:
    """The cells of figure 1, and those of a method that should coincide with another, which the other figures omit."""
    yield from grid(quick, FULL_BATCH, notions=NAMES)
    yield from grid(quick, ("baharlouei",), notions=NAMES, **({} if quick else {"blind": (True,)}))


FIGURE = figure(
    "Figure 1: Adult, all rows at once, three notions, in-processing rivals",
    cells,
    [
        *dominance("FERMI's curve dominates all rivals for every notion in full batch", "section 4.1.1", BY),
        Claim("mary coincides with baharlouei for two groups and classes", "section 4.2", coincide),
    ],
    by=BY,
    panels=("blind", "notion"),
)
