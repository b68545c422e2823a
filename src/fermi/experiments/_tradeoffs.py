"""What the figures about trade-off curves on tables have in common, so that each is a short declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from fermi.experiments import _tabular
from fermi.experiments._claims import Claim, Verdict, verdicts
from fermi.experiments._curves import Panels, listed_cells, tables, worse_cells
from fermi.experiments._figure import Cell, Figure

NOTIONS = ("demographic_parity", "equalized_odds", "equal_opportunity")
IN_PROCESSING = (
    "fermi", "none", "naive", "zafar", "kamishima", "jiang", "prost", "mary", "baharlouei", "rezaei", "donini",
    "cho_kde", "agarwal", "zhang", "fairret", "cooper",
)  # fmt: skip
ALL_METHODS = (*IN_PROCESSING, "feldman", "kamiran", "reweighing", "hardt", "oxonfair")
STEPS = 500  # of the methods that train on all rows at once, by Adam
QUICK = {"rows": 3000, "steps": 150}


def figure(
    title: str,
    cells: Callable[[bool], Iterator[Cell]],
    claims: Sequence[Claim],
    *,
    by: Sequence[str],
    panels: tuple[str, str],
) -> Figure:
    """A figure whose tables go by some columns and whose panels by two of them."""

    def summarise(records: pd.DataFrame) -> str:
        parts = [verdicts(claims, records), listed_cells(worse_cells(records, by)), tables(records, by)]
        return "\n\n".join(parts)

    return Figure(title, cells, _tabular.run, summarise, Panels(*panels).draw)


def grid(quick: bool, methods: Sequence[str], **options: Any) -> Iterator[Cell]:
    """The cells of every method, on all rows at once; a quick run takes fewer rows, strengths and splits."""
    options = {"batch_size": "all", "steps": STEPS, **options}
    if quick:
        options |= {**QUICK, "strengths": _tabular.QUICK_STRENGTHS, "blind": (True,), "seeds": 1}
        if "datasets" in options:
            options["datasets"] = [(name, 1) for name, _ in options["datasets"]]
    yield from _tabular.cells(methods, **options)


def dominates(by: Sequence[str]) -> Callable[[pd.DataFrame], Verdict]:
    """Whether no rival that does without the attribute at prediction is below FERMI anywhere."""

    def judge(records: pd.DataFrame) -> Verdict:
        worse = worse_cells(records, by)
        if worse.empty:
            return "held", "at no level is a rival that does without the attribute below FERMI beyond the intervals"
        return "did not hold", f"a rival is below FERMI in {len(worse)} cells, listed below"

    return judge
